"""Sends requests to the merchant's application: as a customer, as its job, and as the service."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import quote, urlencode, urljoin, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from emulator.clock import SystemClock
from emulator.domain.webhook_forms import STANDARD, WebhookForm
from emulator.domain.webhooks import Tamper
from emulator.http.addresses import is_web_url
from emulator.http.response import HttpResponse, timed_out
from emulator.http.webhook_messages import Message, foreign_secret, webhook_request
from emulator.scenarios.values import Json
from emulator.tools.child_process import MAX_OUTPUT_BYTES, run_command
from emulator.tools.explore.connections import MAX_RESPONSE_S, Browser, Connections, Request
from emulator.tools.explore.integration import VALUE_NAME, Integration, ShopCall
from emulator.tools.explore.judgement import Sample
from emulator.tools.explore.service import ExploreError, ServiceEvent
from emulator.tools.explore.steps import Manner

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
Values = dict[str, Json]
MAX_REDIRECTS = 5
MAX_SHOWN_CHARACTERS = 200
_TAMPERS = {
    Manner.FORGED: Tamper.SIGNATURE,
    Manner.STALE: Tamper.STALE,
    Manner.UNSIGNED: Tamper.UNSIGNED,
}


class StartFailed(ExploreError):
    """The customer has no order; the last response is the reason."""

    def __init__(self, message: str, response: HttpResponse) -> None:
        super().__init__(message)
        self.response = response


class Shop(Struct):
    """The merchant's application; `variables` are added to the environment of commands.

    `form` and `secret` are those of its webhooks.
    """

    integration: Integration
    connections: Connections
    secret: str
    wall: SystemClock
    variables: Mapping[str, str]
    form: WebhookForm = STANDARD
    _has_read_state: bool = False

    async def serves_several(self) -> bool:
        """Whether the application serves a connection while another one is idle."""
        url = urljoin(self.integration.url, "/")
        request = Request(method="GET", url=url)
        return is_web_url(url) and await self.connections.serves_several(request)

    async def start(self, browser: Browser, *, closes: bool = False) -> tuple[HttpResponse, Values]:
        """A new customer starts an order: the last response, and the values of all responses.

        Raises StartFailed, or ExploreError when no connection is possible.
        """
        response, values = HttpResponse(), Values()
        browser.cookies.clear()
        for call in self.integration.start:
            response = await self._call(call, values, browser, closes=closes)
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
                raise ExploreError(f"state.idle: {idle}: {_shown(response)}")

    async def read_state(self, order: str, browser: Browser, step: int, status: str) -> Sample:
        """Read an order when its background work is done. Raises ExploreError."""
        await self.finish_work()
        state = self.integration.state
        response = await self._call(state, {"order": order}, browser)
        needs_json = any(value.path is not None for value in state.found_values.values())
        if not response.is_success or (needs_json and response.json is None):
            seen = "no JSON" if response.is_success else response.text
            raise ExploreError(f"cannot read the state of order {order}: {state.line}: {seen}")
        for key, value in () if self._has_read_state else state.found_values.items():
            if (found := value.missing_in(response)) is not None:
                raise ExploreError(
                    f"state.{key}.path: {value.path} does not exist in the state of order {order},"
                    f" where {found}; correct the path in the file of the integration"
                )
        self._has_read_state = True
        sample = Sample(
            step=step,
            payment_status=status,
            is_paid=state.paid.holds(response),
            is_closed=state.closed is not None and state.closed.holds(response),
            is_refunded=state.refunded is not None and state.refunded.holds(response),
            fulfilled=None if state.fulfilled is None else state.fulfilled.count(response),
            state=response.body,
        )
        # Pages differ in tokens and times.
        is_page = response.json is None
        return replace(sample, state=json.dumps(sample.summary).encode()) if is_page else sample

    async def _call(
        self, call: ShopCall, values: Mapping[str, Json], browser: Browser, *, closes: bool = False
    ) -> HttpResponse:
        """Send a request of the customer, or run a command. Raises ExploreError."""
        if call.command is not None:
            return await self._run(_filled(call.command, values, shlex.quote))
        request = _request(call, values, browser)
        response = await self.send(request, closes=closes)
        browser.store(request.url, response, now_ms=self.wall.system_ms())
        return response

    async def _run(self, command: str) -> HttpResponse:
        """What a command prints, as the response to a request."""
        words, max_ms = ("/bin/sh", "-c", command), MAX_RESPONSE_S * 1_000
        run = run_command(words, self.variables, self.wall, max_ms=max_ms, splits_errors=True)
        code, output, errors = await run
        if code is None:
            return timed_out(MAX_RESPONSE_S)
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
            browser.store(url, response, now_ms=self.wall.system_ms())
            location = response.header("location")
            if not 300 <= response.status < 400 or location is None:
                break
            url = urljoin(url, location)
            if urlsplit(url).scheme not in {"http", "https"}:
                break
            response = await self.connections.send(self.page_request(browser, url))
        return response

    @staticmethod
    def page_request(browser: Browser, url: str) -> Request:
        headers = {"accept": "text/html", **browser.headers(url, from_other_site=True)}
        return Request(method="GET", url=url, headers=headers)

    def webhook(self, event: ServiceEvent, manner: Manner, *, is_rotated: bool) -> Request:
        """The request of an attempt to deliver an event, with the present time.

        `is_rotated`: the secret is being replaced by another one.
        """
        # The newest secret comes first.
        secrets = [foreign_secret(self.secret, self.form)] * is_rotated + [self.secret]
        now_s = self.wall.system_ms() // 1000
        sent = webhook_request(
            Message(event_id=event.id, timestamp_s=now_s, body=event.body),
            form=self.form,
            url=self.integration.webhook or "",
            secrets=secrets,
            tamper=_TAMPERS.get(manner),
        )
        headers, title = dict(sent.headers), event.type
        return Request(method="POST", url=sent.url, headers=headers, body=sent.body, title=title)

    async def send(self, request: Request, *, closes: bool = False) -> HttpResponse:
        """Send a request. Raises ExploreError when no connection is possible."""
        response = await self.connections.send(request, closes=closes)
        if response.is_refused:
            line = f"{request.method} {request.url}"
            raise ExploreError(f"cannot reach the shop: {line}: {response.failure}")
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
    """The request of a call. Raises ExploreError where a value is no URL."""
    method, _, target = call.line.partition(" ")
    is_value = VALUE_NAME.fullmatch(target) is not None
    url = _filled(target, values, str if is_value else partial(quote, safe=""))
    url = urljoin(browser.url, url)
    if not is_web_url(url):
        raise ExploreError(f"{call.line}: {url!r} is no http or https URL")
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
