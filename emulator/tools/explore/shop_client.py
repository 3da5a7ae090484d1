"""Sends requests to the merchant's application, also at the same moment, and measures them.

Each request has its own connection: an application that serves one connection at a time is common,
and an idle connection would block it. A browser holds the page and the cookies of a customer.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Mapping
from contextlib import aclosing, suppress
from urllib.parse import urlsplit

from msgspec import Struct, field

from emulator.clock import SystemClock
from emulator.domain.webhooks import WebhookRequest
from emulator.http.client import MAX_CONNECT_S, HttpClient
from emulator.http.exchange import HttpExchange
from emulator.http.failures import RequestStage, connection_failure
from emulator.http.name_lookup import NameLookups
from emulator.http.response import HttpResponse, parse_date, timed_out
from emulator.http.tls import tls_context

# For each host; the oldest cookie goes first, as in a browser.
MAX_COOKIES = 180


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
    expires = parse_date(attributes.get("expires", ""))
    return expires is not None and expires <= now_ms


MAX_RESPONSE_S = 15
MAX_SECOND_RESPONSE_S = 0.5
HUNG = timed_out(MAX_RESPONSE_S)
"""There was no response in the time of an attempt."""


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


class ShopClient:
    """Sends requests; every failure is a response, too."""

    def __init__(self, wall: SystemClock) -> None:
        self._wall = wall
        self._http = HttpClient(keeps_connections=False)
        self._lookups = NameLookups()
        self._tls: ssl.SSLContext | None = None

    async def send(self, request: Request, *, timeout_s: float = MAX_RESPONSE_S) -> HttpResponse:
        headers = {**request.headers, "connection": "close"}
        sent = self._http.send(
            request.method, request.url, headers, request.body, timeout_s=timeout_s
        )
        return await self._measured(request, sent)

    async def deliver(
        self, *requests: Request, timeout_s: float = MAX_RESPONSE_S
    ) -> list[HttpResponse]:
        """Send requests as the service sends webhooks, at the same moment."""
        exchanges = [self._exchange(request) for request in requests]
        try:
            if len(exchanges) > 1:
                with suppress(TimeoutError):
                    async with asyncio.timeout(MAX_CONNECT_S):
                        for exchange in exchanges:
                            await exchange.connect()
            sent = (_response(exchange, timeout_s) for exchange in exchanges)
            return await asyncio.gather(*map(self._measured, requests, sent))
        finally:
            for exchange in exchanges:
                exchange.close()

    async def serves_several(self, request: Request) -> bool:
        """Whether the server answers on a second connection while the first one is idle."""
        addresses = []
        async with aclosing(HttpClient()) as idle:
            for _ in range(2):
                first = await idle.send(
                    request.method, request.url, {}, b"", timeout_s=MAX_RESPONSE_S
                )
                if first.failure is not None:
                    return False
                addresses.append(idle.local_address)
            # A server that closes each connection may still serve several; that is not known.
            if len(set(addresses)) > 1:
                return False
            second = await self.send(request, timeout_s=MAX_SECOND_RESPONSE_S)
        return second.failure is None

    def _exchange(self, request: Request) -> HttpExchange:
        headers = tuple(request.headers.items())
        sent = WebhookRequest(url=request.url, headers=headers, body=request.body)
        return HttpExchange(sent, self._lookups, self._tls_context, method=request.method)

    async def _tls_context(self) -> ssl.SSLContext:
        self._tls = self._tls or tls_context()
        return self._tls

    async def _measured(self, request: Request, response: Awaitable[HttpResponse]) -> HttpResponse:
        request.began_ms = self._wall.monotonic_ms()
        request.response = await response
        request.ended_ms = self._wall.monotonic_ms()
        return request.response


async def _response(exchange: HttpExchange, timeout_s: float) -> HttpResponse:
    """Run an exchange; its status decides, also where the body is incomplete."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await exchange.run()
    if (received := exchange.response) is not None:
        return HttpResponse(status=received.status, headers=received.headers)
    if exchange.failure is None:
        return timed_out(timeout_s)
    host, stage = urlsplit(exchange.url).hostname or "", exchange.stage
    return HttpResponse(
        failure=connection_failure(exchange.failure, host=host, stage=stage),
        is_refused=stage is not RequestStage.AWAITING_RESPONSE,
    )
