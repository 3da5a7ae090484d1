"""Sends requests to the merchant's application: as a customer, as its job, and as the service."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urljoin, urlsplit

from emulator.clock import SystemClock
from emulator.domain.webhooks import Tamper
from emulator.http.response import HttpResponse
from emulator.http.webhook_messages import Message, foreign_secret, webhook_request
from emulator.scenarios.values import Json
from emulator.tools.explore.connections import Connections, Request
from emulator.tools.explore.integration import Integration, ShopRequest
from emulator.tools.explore.judgement import Sample
from emulator.tools.explore.service import ExploreError, ServiceEvent
from emulator.tools.explore.steps import Manner

JSON = "application/json"
MAX_REDIRECTS = 5
_TAMPERS = {
    Manner.FORGED: Tamper.SIGNATURE,
    Manner.STALE: Tamper.STALE,
    Manner.UNSIGNED: Tamper.UNSIGNED,
}


@dataclass(slots=True)
class Browser:
    """The cookies of one customer, by host."""

    cookies: dict[str, dict[str, str]] = field(default_factory=dict)

    def headers(self, url: str) -> dict[str, str]:
        pairs = self.cookies.get(urlsplit(url).hostname or "", {})
        text = "; ".join(f"{name}={value}" for name, value in pairs.items())
        return {"cookie": text} if text else {}

    def store(self, url: str, response: HttpResponse) -> None:
        """Store the cookies of a response.

        A browser that comes back from the checkout page sends no cookie that is strictly limited
        to its own site.
        """
        for name, value in response.headers:
            if name == "set-cookie" and "samesite=strict" not in value.lower().replace(" ", ""):
                pair, _, _ = value.partition(";")
                cookie, _, content = pair.partition("=")
                host = urlsplit(url).hostname or ""
                self.cookies.setdefault(host, {})[cookie.strip()] = content.strip()


class Shop:
    """The merchant's application."""

    def __init__(
        self, integration: Integration, connections: Connections, *, secret: str, wall: SystemClock
    ) -> None:
        self.connections = connections
        self.integration = integration
        self._secret = secret
        self._wall = wall
        self._has_read_state = False

    async def serves_several(self) -> bool:
        """Whether the application serves a connection while another one is idle."""
        url = urljoin(self.integration.start.url(), "/")
        return await self.connections.serves_several(Request(method="GET", url=url))

    async def start(self, browser: Browser, *, closes: bool = False) -> HttpResponse:
        """The customer starts an order."""
        request = _request(self.integration.start)
        response = await self.send(request, closes=closes)
        browser.store(request.url, response)
        return response

    async def read_state(self, order: str, *, step: int, payment_status: str) -> Sample:
        """Read an order. Raises ExploreError when its state cannot be read."""
        state = self.integration.state
        request = _request(state, order)
        response = await self.send(request)
        if not response.is_success or response.json is None:
            seen = response.text if not response.is_success else "no JSON"
            raise ExploreError(f"cannot read the state of order {order}: {_line(request)}: {seen}")
        document = response.json
        if not self._has_read_state:
            self._check_paths(document, order)
            self._has_read_state = True
        return Sample(
            step=step,
            payment_status=payment_status,
            is_paid=state.paid.holds(document),
            is_closed=state.closed is not None and state.closed.holds(document),
            is_refunded=state.refunded is not None and state.refunded.holds(document),
            fulfilled=None if state.fulfilled is None else state.fulfilled.read(document),
            state=response.body,
        )

    def _check_paths(self, document: Json, order: str) -> None:
        """Raises ExploreError where a path of the file does not exist in a state."""
        for key, path in self.integration.state.paths.items():
            if (found := path.missing_in(document)) is not None:
                raise ExploreError(
                    f"state.{key}.path: {path} does not exist in the state of order {order}, where"
                    f" {found}; correct the path in the file of the integration"
                )

    def settle_request(self, order: str) -> Request:
        """The request that starts the reconciliation job."""
        assert self.integration.settle is not None  # noqa: S101 - no such step otherwise
        return _request(self.integration.settle, order)

    async def settle(self, order: str) -> HttpResponse:
        return await self.send(self.settle_request(order))

    async def open(self, browser: Browser, url: str) -> HttpResponse:
        """Open a page as a browser does, with its redirects."""
        request = self.page_request(browser, url)
        response = await self.send(request)
        return await self.follow(browser, url, response)

    @staticmethod
    def page_request(browser: Browser, url: str) -> Request:
        headers = {"accept": "text/html", **browser.headers(url)}
        return Request(method="GET", url=url, headers=headers)

    async def follow(self, browser: Browser, url: str, response: HttpResponse) -> HttpResponse:
        """Follow the redirects of a response."""
        for _ in range(MAX_REDIRECTS):
            browser.store(url, response)
            location = response.header("location")
            if not 300 <= response.status < 400 or location is None:
                break
            url = urljoin(url, location)
            if urlsplit(url).scheme not in {"http", "https"}:
                break
            response = await self.connections.send(self.page_request(browser, url))
        return response

    def webhook(self, event: ServiceEvent, manner: Manner, *, is_rotated: bool) -> Request:
        """The request of an attempt to deliver an event, with the present time.

        `is_rotated`: the secret is being replaced by another one.
        """
        # The newest secret comes first.
        secrets = [foreign_secret(self._secret)] * is_rotated + [self._secret]
        now_s = self._wall.system_ms() // 1000
        sent = webhook_request(
            Message(event_id=event.id, timestamp_s=now_s, body=event.body),
            url=self.integration.webhook or "",
            secrets=secrets,
            tamper=_TAMPERS.get(manner),
        )
        return Request(method="POST", url=sent.url, headers=dict(sent.headers), body=sent.body)

    async def send(self, request: Request, *, closes: bool = False) -> HttpResponse:
        """Send a request. Raises ExploreError when no connection is possible."""
        response = await self.connections.send(request, closes=closes)
        if response.is_refused:
            raise ExploreError(f"cannot reach the shop: {_line(request)}: {response.failure}")
        return response


def _request(shop_request: ShopRequest, order: str = "") -> Request:
    headers: Mapping[str, str] = {name.lower(): value for name, value in shop_request.headers}
    body = b""
    if shop_request.json is not None:
        headers = {"content-type": JSON, **headers}
        body = json.dumps(shop_request.json, ensure_ascii=False).encode()
    url = shop_request.url(quote(order, safe=""))
    return Request(method=shop_request.method, url=url, headers=headers, body=body)


def _line(request: Request) -> str:
    return f"{request.method} {request.url}"
