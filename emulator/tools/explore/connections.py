"""HTTP client that keeps one connection per host, and can send requests at the same moment.

An application that serves one connection at a time is common; more connections would block it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from emulator.http.addresses import BaseUrl
from emulator.http.client import ConnectionPool, HttpConnection, NoConnection, encode_request
from emulator.http.response import HttpResponse, timed_out

MAX_RESPONSE_S = 15
MAX_SECOND_RESPONSE_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to an absolute URL."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

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
        return await self.exchange(request.server, content, timeout_s=timeout_s, closes=closes)

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
            return await asyncio.gather(*map(_in_time, responses))
        except NoConnection as error:
            return [HttpResponse(failure=str(error), is_refused=True)] * len(requests)
        finally:
            for connection in connections:
                connection.transport.close()

    async def send_and_leave(self, request: Request, *, after_ms: int) -> bool:
        """Send a request, and close the connection after a time or with the response.

        Returns whether there was a response.
        """
        self.close()
        try:
            connection = await self.connect(request.server)
        except NoConnection:
            return False
        try:
            response = connection.send(request.encode(closes=True))
            return (await _in_time(response, after_ms / 1000)).failure is None
        finally:
            connection.transport.close()

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


async def _in_time(
    response: "asyncio.Future[HttpResponse]", timeout_s: float = MAX_RESPONSE_S
) -> HttpResponse:
    try:
        async with asyncio.timeout(timeout_s):
            return await response
    except TimeoutError:
        return timed_out(timeout_s)
