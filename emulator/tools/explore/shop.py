"""Sends requests to the merchant's application: as a customer, as its job, and as the service."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from urllib.parse import quote, urlencode, urljoin, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from emulator.clock import SystemClock, poll
from emulator.domain.instants import Instant
from emulator.domain.user_error import UserError
from emulator.domain.webhooks import STANDARD, WebhookForm
from emulator.http.addresses import is_web_url
from emulator.http.response import HttpResponse, parse_date
from emulator.scenarios.values import Json
from emulator.tools.child_process import MAX_OUTPUT_BYTES, run_command
from emulator.tools.explore.integration import (
    VALUE_NAME,
    Account,
    FileMistake,
    Integration,
    ShopCall,
)
from emulator.tools.explore.observation import ObservedOrder, Sample
from emulator.tools.explore.response_value import Amount, Condition, Count
from emulator.tools.explore.shop_client import HUNG, MAX_RESPONSE_S, Browser, Request, ShopClient

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
Values = dict[str, Json]
Started = tuple[HttpResponse, Values]
MAX_REDIRECTS = 5
MAX_SHOWN_CHARACTERS = 200
DATE_PAUSE_MS = 100
# Servers make a date once a second; the requests take a moment.
MAX_DATE_LAG_MS = 2_000
MAX_DATE_DIFFERENCE_MS = 60_000


class RequestFailed(UserError):
    """A response is the reason of a failure."""

    def __init__(self, message: str, response: HttpResponse) -> None:
        super().__init__(message)
        self.response = response


class StartFailed(RequestFailed):
    """The customer has no order."""


class StateUnreadable(RequestFailed):
    """The state of an order cannot be read."""


class Shop(Struct):
    """The merchant's application; `variables` are added to the environment of commands.

    Its webhooks have `form` and `secret`. Its clock is `ahead_ms` ahead of real time.
    """

    integration: Integration
    client: ShopClient
    secret: str
    wall: SystemClock
    variables: Mapping[str, str]
    form: WebhookForm = STANDARD
    ahead_ms: int = 0
    _has_read_state: bool = False

    @property
    def now_ms(self) -> Instant:
        """The present time of the application."""
        return self.wall.system_ms() + self.ahead_ms

    async def has_time(self) -> bool:
        """Whether the application has this present time, by the `Date` header of its responses."""
        url = urljoin(self.integration.url, "/")
        if not is_web_url(url):
            return False

        async def has_followed() -> bool:
            response = await self.send(Request(method="GET", url=url))
            date = parse_date(response.header("date") or "")
            return date is not None and abs(date - self.now_ms) < MAX_DATE_DIFFERENCE_MS

        return await poll(
            self.wall, has_followed, every_ms=DATE_PAUSE_MS, within_ms=MAX_DATE_LAG_MS
        )

    async def serves_several(self) -> bool:
        """Whether the application serves a connection while another one is idle."""
        url = urljoin(self.integration.url, "/")
        request = Request(method="GET", url=url)
        return is_web_url(url) and await self.client.serves_several(request)

    async def start(
        self,
        browser: Browser,
        *,
        is_new: bool = True,
        is_tampered: bool = False,
        known: Mapping[str, Json] | None = None,
        skipped: int = 0,
    ) -> Started:
        """A customer starts an order: the last response, and the values of all responses.

        A new customer has no cookies; one who tampers sends other members. The values of the first
        calls, which are `skipped`, are `known`. Raises StartFailed, or UserError when no connection
        is possible.
        """
        response, values = HttpResponse(), dict(known or {})
        if is_new:
            browser.cookies.clear()
        for each in self.integration.start[skipped:]:
            call = each.tampered if is_tampered else each
            response = await self.call(call, values, browser)
            if not 200 <= response.status < 400:
                problem = f"the order cannot be started: {call.line}: {_shown(response)}"
                raise StartFailed(problem, response)
            for name, value in call.found_values.items():
                if value.payment is not None:
                    continue
                if (found := value.read(response)) is None:
                    missing = value.missing_in(response)
                    where = f"{value}, where {missing}" if missing else value
                    problem = f"{call.line}: the response has no {name} at {where}"
                    raise StartFailed(problem, response)
                values[name] = found
        return response, values

    async def finish_work(self) -> None:
        """Wait until no background work is left, where the file has a request for it."""
        if (idle := self.integration.state.idle) is not None:
            response = await self.send(_request(ShopCall(request=idle), {}, Browser()))
            if not response.is_success:
                raise UserError(f"state.idle: {idle}: {_shown(response)}")

    async def read_state(self, order: ObservedOrder, step: int, *, is_new: bool = False) -> Sample:
        """Read an order when its background work is done. Raises UserError."""
        await self.finish_work()
        state = self.integration.state
        response = await self.call(state, {"order": order.id}, order.browser)
        has_path = any(value.path is not None for value in state.declared.values())
        if not response.is_success or (has_path and response.json is None):
            seen = "no JSON" if response.is_success else response.text
            problem = f"cannot read the state of order {order.id}: {state.line}: {seen}"
            raise StateUnreadable(problem, response)
        self._check(order, response, is_new=is_new)
        sample = Sample(
            step=step,
            money=order.money[1],
            is_paid=state.paid.holds(response),
            is_closed=state.closed is not None and state.closed.holds(response),
            is_refunded=state.refunded is not None and state.refunded.holds(response),
            fulfilled=None if state.fulfilled is None else state.fulfilled.count(response),
            state=response.body,
            shown={
                key: value.shown(response)
                for key, value in state.found_values.items()
                if isinstance(value, Condition)
            },
            amount=None if state.amount is None else state.amount.number(response),
            once=tuple((path, Count(path=path).number(response)) for path in state.once),
        )
        # Pages differ in tokens and times.
        is_page = response.json is None
        return replace(sample, state=json.dumps(sample.summary).encode()) if is_page else sample

    async def check_new(self, order: ObservedOrder) -> None:
        """Check the first order before anything else happens. Raises FileMistake."""
        if not self._has_read_state:
            with suppress(StateUnreadable):  # The application may store it a moment later.
                await self.read_state(order, 0, is_new=True)

    def _check(self, order: ObservedOrder, response: HttpResponse, *, is_new: bool) -> None:
        """Check that the first state has what the file names. Raises FileMistake."""
        values = {} if self._has_read_state else self.integration.state.declared
        for keys, value in values.items():
            if (found := value.missing_in(response)) is not None:
                where = f"in the state of order {order.id}, where {found}"
                raise FileMistake(keys, f"{value.path} does not exist {where}")
            if isinstance(value, Amount | Count) and keys[1] != "fulfilled":
                try:
                    value.number(response)
                except UserError as error:
                    raise FileMistake(keys, error.lines[0]) from None
        fulfilled = self.integration.state.fulfilled
        if is_new and fulfilled and (seen := fulfilled.shown_unless_zero(response)):
            expected = "0, false or an empty list in a new order"
            message = f"fulfilled must be {expected}, not {seen} (order {order.id})"
            raise FileMistake(("state", "fulfilled", "path"), message)
        self._has_read_state = True

    async def read_account(self, values: Mapping[str, Json], browser: Browser) -> int:
        """The account beside the orders. Raises UserError."""
        account = self._account
        response = await self.call(account, values, browser)
        if not response.is_success:
            raise UserError(f"account: {account.line}: {_shown(response)}")
        return account.value.number(response)

    def account_key(self, values: Mapping[str, Json]) -> str:
        """Equal for orders with the same account."""
        return repr(_filled([self._account.line, self._account.json], values))

    @property
    def _account(self) -> Account:
        assert self.integration.account is not None  # noqa: S101 - not read otherwise
        return self.integration.account

    async def call(
        self, call: ShopCall, values: Mapping[str, Json], browser: Browser
    ) -> HttpResponse:
        """Send a request of the customer, or run a command. Raises UserError."""
        if call.command is not None:
            return await self._run(_filled(call.command, values, shlex.quote))
        request = _request(call, values, browser)
        response = await self.send(request)
        browser.store(request.url, response, now_ms=self.now_ms)
        return response

    async def _run(self, command: str) -> HttpResponse:
        """What a command prints, as the response to a request."""
        words, max_ms = ("/bin/sh", "-c", command), MAX_RESPONSE_S * 1_000
        run = run_command(words, self.variables, self.wall, max_ms=max_ms, splits_errors=True)
        code, output, errors = await run
        if code is None:
            return HUNG
        if code:
            last = (errors or output).decode("utf-8", "replace").rstrip().split("\n")[-1]
            return HttpResponse(failure=f"exit code {code}: {last[:MAX_SHOWN_CHARACTERS]}")
        if len(output) >= MAX_OUTPUT_BYTES:
            return HttpResponse(failure=f"the output has {MAX_OUTPUT_BYTES:,} bytes or more")
        return HttpResponse(status=200, body=output)

    def settle_request(self, order: str) -> Request:
        """The request that starts the reconciliation job."""
        assert self.integration.settle is not None  # noqa: S101 - no such step otherwise
        return _request(self.integration.settle, {"order": order}, Browser())

    async def open(
        self, browser: Browser, url: str, response: HttpResponse | None = None
    ) -> HttpResponse:
        """Open a page as a browser does, with its redirects, unless it was requested already."""
        response = response or await self.send(self.page_request(browser, url))
        for _ in range(MAX_REDIRECTS):
            browser.store(url, response, now_ms=self.now_ms)
            location = response.header("location")
            if not 300 <= response.status < 400 or location is None:
                break
            url = urljoin(url, location)
            if urlsplit(url).scheme not in {"http", "https"} or not self.integration.names(url):
                break
            response = await self.client.send(self.page_request(browser, url))
        return response

    def unopened(self, name: str, url: str) -> str:
        """Why a page is not opened, if it is not."""
        host, is_named = urlsplit(url).netloc, self.integration.names(url)
        return "" if is_named else f"{name} is on {host}, a host that the file does not name"

    @staticmethod
    def page_request(browser: Browser, url: str) -> Request:
        headers = {"accept": "text/html", **browser.headers(url, from_other_site=True)}
        return Request(method="GET", url=url, headers=headers)

    async def send(self, request: Request) -> HttpResponse:
        """Send a request. Raises UserError when no connection is possible."""
        return _reached(request, await self.client.send(request))

    async def deliver(self, webhook: Request) -> HttpResponse:
        """Send a webhook. Raises UserError when no connection is possible."""
        [response] = await self.client.deliver(webhook)
        return _reached(webhook, response)


def with_payment(url: str, own: str, other: str) -> str:
    """A page's URL with another payment's id in place of its own, or as `payment_id`."""
    query = f"{'&' if urlsplit(url).query else '?'}payment_id={other}"
    return url.replace(own, other) if own in url else f"{url}{query}"


def _reached(request: Request, response: HttpResponse) -> HttpResponse:
    if response.is_refused:
        line = f"{request.method} {request.url}"
        raise UserError(f"cannot reach the shop: {line}: {response.failure}")
    return response


def _filled(value: Json, values: Mapping[str, Json], quoted: Callable[[str], str] = str) -> Json:
    """A text, or the texts of a JSON value, in which names such as `{order}` are replaced."""

    def replaced(name: re.Match[str]) -> str:
        return quoted(str(values[name[1]])) if name[1] in values else name[0]

    if isinstance(value, dict):
        return {key: _filled(member, values) for key, member in value.items()}
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    return VALUE_NAME.sub(replaced, value) if isinstance(value, str) else value


def _request(call: ShopCall, values: Mapping[str, Json], browser: Browser) -> Request:
    """The request of a call. Raises UserError where a value is no URL."""
    method, _, target = call.line.partition(" ")
    is_value = VALUE_NAME.fullmatch(target) is not None
    url = _filled(target, values, str if is_value else partial(quote, safe=""))
    url = urljoin(browser.url, url)
    if not is_web_url(url):
        raise UserError(f"{call.line}: {url!r} is no http or https URL")
    headers = browser.headers(url, from_other_site=False)
    body = b""
    if call.json is not None:
        headers["content-type"] = JSON
        body = json.dumps(_filled(call.json, values), ensure_ascii=False).encode()
    elif call.form:
        headers["content-type"] = FORM
        body = urlencode([(name, _filled(value, values)) for name, value in call.form]).encode()
    headers |= {name.lower(): _filled(value, values) for name, value in call.headers}
    return Request(method=method, url=url, headers=headers, body=body)


def _shown(response: HttpResponse) -> str:
    """The result of a response, with the beginning of its body."""
    body = response.body[:MAX_SHOWN_CHARACTERS].decode("utf-8", "replace")
    return f"{response.text} {body}".rstrip()
