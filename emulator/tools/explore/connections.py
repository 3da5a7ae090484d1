"""HTTP client that keeps one connection per host, and can send requests at the same moment.

An application that serves one connection at a time is common; more connections would block it.
`Browser` holds what the browser of a customer holds: the page and the cookies.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from msgspec import Struct, field

from emulator.clock import SystemClock
from emulator.http.addresses import BaseUrl
from emulator.http.client import ConnectionPool, HttpConnection, NoConnection, encode_request
from emulator.http.response import HttpResponse, timed_out

MAX_RESPONSE_S = 15
MAX_SECOND_RESPONSE_S = 0.5
# For each host; the oldest cookie goes first, as in a browser.
MAX_COOKIES = 180


class Request(Struct, kw_only=True):
    """A request to an absolute URL; once sent, its begin and end in real time, and its response.

    `title` names it in diagrams.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    title: str = ""
    began_ms: float = 0.0
    ended_ms: float = 0.0
    response: HttpResponse = field(default_factory=HttpResponse)

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
    """Sends requests, and measures them; idle connections are used again."""

    def __init__(self, wall: SystemClock) -> None:
        super().__init__(repeats=True)
        self._wall = wall

    async def send(
        self, request: Request, *, timeout_s: float = MAX_RESPONSE_S, closes: bool = False
    ) -> HttpResponse:
        """Send a request and return its response; a failure is a response too.

        `closes` requests the end of the connection after it, for other connections to be served.
        """
        content = request.encode(closes=closes)
        response = self.exchange(request.server, content, timeout_s=timeout_s, closes=closes)
        return await self._measured(request, response)

    async def _measured(self, request: Request, response: Awaitable[HttpResponse]) -> HttpResponse:
        request.began_ms = self._wall.monotonic_ms()
        try:
            async with asyncio.timeout(MAX_RESPONSE_S):
                request.response = await response
        except TimeoutError:
            request.response = timed_out(MAX_RESPONSE_S)
        request.ended_ms = self._wall.monotonic_ms()
        return request.response

    async def send_together(self, requests: Sequence[Request]) -> list[HttpResponse]:
        """Send requests at the same moment, each on its own connection."""
        self.close()
        connections: list[HttpConnection] = []
        try:
            for request in requests:
                connections.append(await self.connect(request.server))  # noqa: PERF401
            sent = [
                (each, request.encode(closes=True))
                for each, request in zip(connections, requests, strict=True)
            ]
            responses = [connection.send(content[:-1]) for connection, content in sent]
            for connection, content in sent:
                connection.transport.write(content[-1:])
            return await asyncio.gather(*map(self._measured, requests, responses))
        except NoConnection as error:
            return [HttpResponse(failure=str(error), is_refused=True)] * len(requests)
        finally:
            for connection in connections:
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


class Browser(Struct):
    """The cookies of one customer, by host; `url` is the page.

    A cookie is its value, and whether it is strictly limited to its own site.
    """

    url: str = ""
    cookies: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=dict)

    def headers(self, url: str, *, from_other_site: bool) -> dict[str, str]:
        """The header with the cookies for a URL, for a link of the shop or of another site."""
        own = self.cookies.get(urlsplit(url).hostname or "", {})
        sent = {
            name: value for name, (value, strict) in own.items() if not (strict and from_other_site)
        }
        text = "; ".join(f"{name}={value}" for name, value in sent.items())
        return {"cookie": text} if text else {}

    def store(self, url: str, response: HttpResponse, *, now_ms: int) -> None:
        """Open a page: store its URL and the cookies of its response."""
        self.url = url
        own = self.cookies.setdefault(urlsplit(url).hostname or "", {})
        for text in (text for header, text in response.headers if header == "set-cookie"):
            parts = ([*map(str.strip, part.partition("=")[::2])] for part in text.split(";"))
            (name, value), *rest = parts
            attributes = {key.lower(): text.lower() for key, text in rest}
            own[name] = value, attributes.get("samesite") == "strict"
            if _has_ended(attributes, now_ms):
                del own[name]
            elif len(own) > MAX_COOKIES:
                del own[next(iter(own))]


def _has_ended(attributes: Mapping[str, str], now_ms: int) -> bool:
    """Whether a cookie with these attributes is deleted: Max-Age precedes Expires."""
    if "max-age" in attributes:
        return attributes["max-age"].startswith(("0", "-"))
    try:
        return parsedate_to_datetime(attributes["expires"]).timestamp() * 1000 <= now_ms
    except (LookupError, ValueError, OverflowError):
        return False
