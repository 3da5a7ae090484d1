"""`PaymentsAccount`: the operations of a test on its account, and the report of a failed test."""

import asyncio
import gc
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from ..domain.durations import parse_duration_ms
from ..http import emulator_calls as calls
from ..http.addresses import BaseUrl
from ..http.blocking_client import BlockingEmulator
from ..http.emulator_calls import EmulatorCall, Json, PaymentsEmulatorError, without_none
from .webhooks import Webhook, WebhookSubscription, register_endpoint


def runs_event_loop() -> bool:
    """Whether this thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def blocked_ports() -> set[int]:
    """The ports of servers whose event loop this thread runs, or no thread.

    Such a server cannot respond while this thread waits. No function of asyncio lists the servers
    of a loop, so that all objects are searched, for about 10 ms.
    """
    running = asyncio.get_running_loop() if runs_event_loop() else None
    return {
        listener.getsockname()[1]
        for server in _servers()
        if (loop := server.get_loop()) is running or not loop.is_running()
        for listener in server.sockets
        if listener.family in (socket.AF_INET, socket.AF_INET6)
    }


def _servers() -> Iterator[Any]:
    """The servers of asyncio and of uvloop, whose class has another base.

    Only attributes of types are read: a proxy would load the object that it stands for.
    """
    for value in gc.get_objects():
        kind = type(value)
        if kind.__name__ == "Server" and hasattr(kind, "get_loop") and hasattr(kind, "sockets"):
            yield value


MAX_LINES_PER_KIND = 20

_FAILED = "payment.failed"
# Pytest shows the line of the test instead.
__tracebackhide__ = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address that receives webhooks; `secret` verifies them."""

    id: str
    url: str
    secret: str


class PaymentsAccount:
    """A merchant's account at the emulator, with its own clock, payments, webhooks and journal.

    Objects are as in the API. Lists have the newest thousand entries, the oldest first.
    Operations apply to the test mode, and raise PaymentsEmulatorError.
    """

    def __init__(
        self, control: BlockingEmulator, account: Json, subscription: WebhookSubscription
    ) -> None:
        self.base_url = control.base_url
        self.id: str = account["id"]
        self.test_key: str = account["test_key"]
        self.live_key: str = account["live_key"]
        self._control = control
        self._subscription = subscription
        self._seen_webhooks = 0

    def __repr__(self) -> str:
        return f"<PaymentsAccount {self.id} at {self.base_url}>"

    def control(self, method: str, path: str, body: object = None) -> Any:
        """Call any operation of the control API: `control("PUT", "/clock", {"frozen": False})`."""
        if not path.startswith("/"):
            raise ValueError(f"found {path!r}, expected a path such as /clock")
        call = EmulatorCall(method, f"{calls.CONTROL}{path}", calls.any_json, body)
        return self._control.call(call)

    # Time

    @property
    def now(self) -> datetime:
        """The time of the account's clock."""
        return datetime.fromisoformat(self._control.call(calls.CLOCK)["now"])

    def advance(
        self, by: str | float | timedelta | None = None, *, until: str | datetime | None = None
    ) -> list[Json]:
        """Advance the clock, and return what happened until then.

        By a duration such as "30s" or seconds, to the "next" thing that is due, or `until` an
        instant. Webhooks that become due have been delivered when this returns.
        """
        if (by is None) == (until is None):
            raise TypeError("advance() takes either a duration or until=…")
        if by == "next":
            # Webhooks that are being sent are due now, and would be the next thing.
            self._settle()
            return self._advance({"to": "next"})
        if by is not None:
            return self._advance({"seconds": _seconds(by)})
        instant = until.isoformat() if isinstance(until, datetime) else until
        return self._advance({"until": instant})

    def _settle(self) -> None:
        """Wait for the webhooks that are being sent."""
        self._advance({"seconds": 0})

    def _advance(self, target: Mapping[str, Any]) -> list[Json]:
        self._check_event_loop()
        advanced = self._control.call(calls.ADVANCE(body=target))
        if not advanced["settled"]:
            raise PaymentsEmulatorError(
                f"the clock stopped early, at {advanced['now']}: one call makes at most 100,000"
                " changes and waits at most a minute for the receivers of webhooks"
            )
        return [effect for effect in advanced["effects"] if not self._subscription.is_own(effect)]

    def _check_event_loop(self) -> None:
        """Raise PaymentsEmulatorError if an application on this thread's event loop cannot respond.

        The call would wait for its responses, each until the time limit of an attempt.
        """
        if runs_event_loop() and (urls := self._blocked_urls()):
            raise PaymentsEmulatorError(
                f"this call waits for webhooks to {urls[0]}, and blocks the event loop of the test,"
                " which has a server on this port; run the call in a thread, such as"
                " `await asyncio.to_thread(payments_account.pay, payment_id)` or"
                " `await asyncio.to_thread(lambda: payments_account.webhooks)`"
            )

    def _blocked_urls(self) -> list[str]:
        """The endpoints on ports that cannot respond while this thread waits."""
        if not (ports := blocked_ports()):
            return []
        endpoints = self._control.call(calls.ENDPOINTS)
        urls: list[str] = [endpoint["url"] for endpoint in endpoints if endpoint["enabled"]]
        return [url for url in urls if BaseUrl.parse(url).port in ports]

    # Payments

    @property
    def payments(self) -> list[Json]:
        """The payments of the newest thousand events, in their present state.

        This is not recorded as a request of the merchant.
        """
        return list({event["data"]["id"]: event["data"] for event in self.events}.values())

    def payment(self, payment_id: str) -> Json:
        """The present state of a payment."""
        return dict(self.history(payment_id)["payment"])

    def history(self, payment_id: str) -> Json:
        """The past and the scheduled changes of a payment: `reason`, `timeline`, `next` etc."""
        return self._control.call(calls.PAYMENT(_checked(payment_id)))

    def pay(
        self,
        payment_id: str,
        *,
        phone: str | None = None,
        bank: str | None = None,
        method: str | None = None,
    ) -> Json:
        """Submit the checkout page with a phone or a bank, as the customer does.

        Without either, with a phone or a bank of the method whose payments succeed. The default
        method is the phone's or the bank's method, else the first that the payment offers. A
        `bank_transfer` stays `processing` until `answer`. Here and below, webhooks have been
        delivered when the call returns.
        """
        submission = {"method": method, "phone": phone, "bank": bank}
        return self._act(calls.PAY(_checked(payment_id), body=without_none(submission)))

    def answer(self, payment_id: str, answer: str) -> Json:
        """Answer on the phone or at the bank: "approve", "cancel", "wrong_pin" etc."""
        return self._act(calls.ANSWER(_checked(payment_id), body={"answer": answer}))

    def cancel(self, payment_id: str) -> Json:
        """Press the page's cancel button, which leaves the payment pending."""
        return self._act(calls.CANCEL(_checked(payment_id)))

    def refund(self, payment_id: str) -> Json:
        return self.transition(payment_id, "refunded")

    def transition(self, payment_id: str, status: str, **more: object) -> Json:
        """Set a status; `more` are `method`, `reason` and `unusual`."""
        change = {"status": status, **more}
        return self._act(calls.TRANSITION(_checked(payment_id), body=change))

    def _act(self, call: EmulatorCall[Json]) -> Json:
        self._check_event_loop()
        payment = self._control.call(call)
        self._settle()
        return payment

    # Faults and scenarios

    def fault(
        self,
        request: str | None = None,
        *,
        times: int | None = 1,
        when: Mapping[str, Any] | None = None,
        **then: object,
    ) -> Json:
        """Make a request fail: `fault("create_payment", status=500, point="after_commit")`.

        The default is any request. It fails `times` times, or always if that is None.
        """
        conditions = {"request": "any" if request is None else request, **(when or {})}
        if request is not None and conditions["request"] != request:
            raise TypeError("fault() takes the request either by its name or in when=…")
        rule = {"when": conditions, "then": then, "times": times}
        return self._control.call(calls.ADD_FAULT(body=without_none(rule)))

    def use_scenario(self, scenario: str | Path | Mapping[str, Any]) -> Json:
        """Enable a scenario: one of the emulator by its name, a file, or an object.

        A file must have the name of its scenario, and an object must have a `name`.
        """
        call, name = calls.PUT_SCENARIO, None
        body: object = None
        if isinstance(scenario, Path):
            name, body = scenario.stem, scenario.read_text(encoding="utf-8")
        elif isinstance(scenario, Mapping):
            name, body = scenario.get("name"), dict(scenario)
        else:
            call, name, body = calls.ENABLE_SCENARIO, scenario, {"enabled": True}
        if not isinstance(name, str):
            raise TypeError("use_scenario() takes an object with a name")
        return self._control.call(call(name, body=body))

    # The merchant's requests, and the webhooks

    @property
    def requests(self) -> list[Json]:
        """The requests to `/v1` with the test key, and their responses."""
        return self._listed(calls.REQUESTS)

    def checklist(self) -> list[Json]:
        """The ten items about the merchant's integration: `id`, `result`, `evidence` etc."""
        self._settle()
        return self._subscription.checklist()

    @property
    def events(self) -> list[Json]:
        """The events, as webhooks contain them."""
        return self._listed(calls.EVENTS)

    @property
    def deliveries(self) -> list[Json]:
        """The deliveries to the merchant's endpoints, with all attempts until now."""
        self._settle()
        return self._present_deliveries()

    def _present_deliveries(self) -> list[Json]:
        deliveries = self._listed(calls.DELIVERIES)
        return [delivery for delivery in deliveries if not self._subscription.is_own(delivery)]

    def _reported_deliveries(self) -> list[Json]:
        """As `deliveries`, without waiting for an application that cannot respond."""
        return self._present_deliveries() if self._blocked_urls() else self.deliveries

    def _listed(self, call: EmulatorCall[list[Json]]) -> list[Json]:
        return self._control.call(call(limit=calls.MAX_ENTRIES))[::-1]

    @property
    def webhooks(self) -> list[Webhook]:
        """The webhooks that this process has received, in order of arrival."""
        self._settle()
        return self._subscription.webhooks

    def new_webhooks(self) -> list[Webhook]:
        """The webhooks that have arrived since the last call."""
        webhooks = self.webhooks
        new = webhooks[self._seen_webhooks :]
        self._seen_webhooks = len(webhooks)
        return new

    @property
    def webhook_secret(self) -> str:
        """The secret of those webhooks, for the merchant's handler."""
        return self._subscription.secret

    def deliver_to(
        self,
        url: str,
        *,
        secret: str | None = None,
        events: Sequence[str] | None = None,
        format: str | Mapping[str, Any] | None = None,  # noqa: A002 - its name in the API
    ) -> Endpoint:
        """Send webhooks of later events to the merchant's application, too.

        The default secret is PAYMENTS_EMULATOR_WEBHOOK_SECRET, else a new one; the default format
        is the emulator's format.
        """
        members: Json = {"url": url, "secret": secret, "events": events and list(events)}
        members["format"] = format
        endpoint = register_endpoint(self._control, members)
        return Endpoint(id=endpoint["id"], url=endpoint["url"], secret=endpoint["secret"])

    def reset(self) -> None:
        """Restore the initial state: clock, payments, endpoints, faults, journal."""
        self._control.call(calls.RESET)
        self._subscription.subscribe()
        self._seen_webhooks = 0


def _checked(payment_id: str) -> str:
    if not isinstance(payment_id, str):
        raise TypeError(f"expected the id of a payment, found {payment_id!r}")
    return payment_id


def _seconds(duration: str | float | timedelta) -> float:
    """Raises ValueError for a text that is not a duration."""
    if isinstance(duration, str):
        try:
            return parse_duration_ms(duration) / 1000
        except ValueError as error:
            # `from None`: the report shows the line of the test alone.
            raise ValueError(str(error)) from None
    return duration.total_seconds() if isinstance(duration, timedelta) else duration


def failure_report(account: PaymentsAccount) -> str:
    """The newest requests, events and deliveries, one line each."""
    try:
        return "\n".join(_lines(account)) or "The account has no requests and no events."
    except PaymentsEmulatorError as error:
        return str(error)
    except (LookupError, TypeError):
        # An external emulator may have another version; the test's failure is still worth reading.
        return f"The account's data from {account.base_url} cannot be read."


def _lines(account: PaymentsAccount) -> Iterator[str]:
    kinds = (
        ("requests", account.requests, _request),
        ("events", account.events, partial(_event, account)),
        ("webhooks", account._reported_deliveries(), _delivery),  # noqa: SLF001 - of this module
    )
    for kind, entries, line in kinds:
        for number, entry in enumerate(entries[-MAX_LINES_PER_KIND:]):
            yield f"{'' if number else kind:<9} {line(entry)}"


def _request(request: Json) -> str:
    error = request["error"] or {}
    fault = ", by a fault" if request["fault"] else ""
    outcome = " ".join(filter(None, [str(request["status"] or "no answer"), error.get("code")]))
    warnings = f"  (warnings: {', '.join(request['warnings'])})" if request["warnings"] else ""
    variants = f"  (variants: {', '.join(request['variants'])})" if request.get("variants") else ""
    return f"{request['method']} {request['path']}  {outcome}{fault}{warnings}{variants}"


def _event(account: PaymentsAccount, event: Json) -> str:
    payment_id = event["data"].get("id")
    is_failure = event["type"] == _FAILED
    reason = f", {account.history(payment_id)['reason']}" if is_failure else ""
    return f"{event['type']}  {payment_id}, at {event['timestamp']}{reason}"


def _delivery(delivery: Json) -> str:
    attempts = delivery["attempts"]
    url = attempts[-1]["request"]["url"] if attempts else "no URL yet"
    outcomes = ", ".join(str(attempt["status"] or attempt["error"]) for attempt in attempts)
    return f"{delivery['type']} to {url}  {outcomes or delivery['status']}"
