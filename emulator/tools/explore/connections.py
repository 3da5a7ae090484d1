"""HTTP client that keeps one connection per host, and can send requests at the same moment.

An application that serves one connection at a time is common; more connections would block it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from emulator.http.addresses import BaseUrl
from emulator.http.client import ConnectionPool, HttpConnection, NoConnection, encode_request
from emulator.http.response import HttpResponse, timed_out

MAX_RESPONSE_S = 15
MAX_SECOND_RESPONSE_S = 0.5


@dataclass(slots=True)
class Span:
    """Measures a request: when it was sent and when it ended, in real time, and how."""

    title: str
    now_ms: Callable[[], float]
    began_ms: float = 0.0
    ended_ms: float = 0.0
    response: HttpResponse = field(default_factory=HttpResponse)

    async def measure(self, response: Awaitable[HttpResponse]) -> HttpResponse:
        self.began_ms = self.now_ms()
        self.response = await response
        self.ended_ms = self.now_ms()
        return self.response


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to an absolute URL; `span` measures it."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    span: Span | None = field(default=None, compare=False)

    @property
    def server(self) -> BaseUrl:
        return replace(BaseUrl.parse(self.url), path="")

    def encode(self, *, closes: bool) -> bytes:
        """The bytes of the request; `closes` requests the end of the connection after it."""
        parts = urlsplit(self.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {**self.headers, "connection": "close" if closes else "keep-alive"}
        return encode_request(self.server, self.method, target, headers, self.body)


class Connections(ConnectionPool):
    """Sends requests; idle connections are used again."""

    def __init__(self) -> None:
        super().__init__(repeats=True)

    async def send(
        self, request: Request, *, timeout_s: float = MAX_RESPONSE_S, closes: bool = False
    ) -> HttpResponse:
        """Send a request and return its response; a failure is a response too.

        `closes` requests the end of the connection after it, for other connections to be served.
        """
        content = request.encode(closes=closes)
        response = self.exchange(request.server, content, timeout_s=timeout_s, closes=closes)
        return await (request.span.measure(response) if request.span else response)

    async def send_together(self, requests: Sequence[Request]) -> list[HttpResponse]:
        """Send requests at the same moment, each on its own connection."""
        self.close()
        connections: list[HttpConnection] = []
        try:
            for request in requests:
                connections.append(await self.connect(request.server))  # noqa: PERF401
            contents = [request.encode(closes=True) for request in requests]
            sent = list(zip(connections, contents, strict=True))
            responses = [connection.send(content[:-1]) for connection, content in sent]
            for connection, content in sent:
                connection.transport.write(content[-1:])
            ends = [_in_time(response) for response in responses]
            pairs = zip(requests, ends, strict=True)
            return await asyncio.gather(
                *(each.span.measure(end) if each.span else end for each, end in pairs)
            )
        except NoConnection as error:
            return [HttpResponse(failure=str(error), is_refused=True)] * len(requests)
        finally:
            for connection in connections:
                connection.transport.close()

    async def send_and_leave(self, request: Request, *, after_ms: int) -> HttpResponse:
        """Send a request, and close the connection after a time or with the response."""
        self.close()
        return await self.send(request, timeout_s=after_ms / 1000, closes=True)

    async def serves_several(self, request: Request) -> bool:
        """Whether the server answers on a second connection while the first one is open."""
        first, second = await self.send(request), HttpResponse(failure="")
        idle = self._idle.pop(request.server, [])
        try:
            if first.failure is None and idle:
                second = await self.send(request, timeout_s=MAX_SECOND_RESPONSE_S, closes=True)
        finally:
            for connection in idle:
                connection.transport.close()
        # A server that closes each connection may still serve several; that is not known.
        return second.failure is None


async def _in_time(response: "asyncio.Future[HttpResponse]") -> HttpResponse:
    try:
        async with asyncio.timeout(MAX_RESPONSE_S):
            return await response
    except TimeoutError:
        return timed_out(MAX_RESPONSE_S)
