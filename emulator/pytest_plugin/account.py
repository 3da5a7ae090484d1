"""What a test does with its account, each in one call: what the customer does, what time it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..domain.instants import parse_duration_ms
from ..domain.payment_methods import method_of_phone, normalise_phone
from .control_client import ControlClient, PaymentsEmulatorError
from .receiver import Webhook
from .webhook_subscription import WebhookSubscription

# Where a test has failed, the place in the test is what is worth showing.
__tracebackhide__ = True
# The number of telebirr that always pays.
PAYING_PHONE = "0900000001"
BANK_TRANSFER = "bank_transfer"
MAX_LISTED = 1_000

Json = dict[str, Any]
"""An object as the API writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """What an account is called, and the keys with which a merchant's code is it."""

    id: str
    test_key: str
    live_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address that is told of events; `secret` is what the merchant verifies them with."""

    id: str
    url: str
    secret: str


class PaymentsAccount:
    """A merchant's account at the emulator, all of its own: clock, payments, webhooks, journal.

    What comes from the API is an object as the API writes it. What is listed begins with the
    oldest, and is a thousand at most, the newest. It acts on the test mode. Everything raises
    PaymentsEmulatorError.
    """

    def __init__(self, control: ControlClient, keys: Keys, ear: WebhookSubscription) -> None:
        self.base_url = control.base_url
        self.id = keys.id
        self.test_key = keys.test_key
        self.live_key = keys.live_key
        self._control = control
        self._ear = ear

    def __repr__(self) -> str:
        return f"<PaymentsAccount {self.id} at {self.base_url}>"

    def control(self, method: str, path: str, body: object = None) -> Any:
        """Any call of the control API, as `control("PUT", "/clock", {"frozen": False})`."""
        if not path.startswith("/"):
            raise ValueError(f"found {path!r}, expected a path such as /clock")
        return self._control.call(method, path, body)

    # Time

    @property
    def now(self) -> datetime:
        """What the account's clock shows."""
        return datetime.fromisoformat(self.control("GET", "/clock")["now"])

    def advance(
        self,
        by: str | float | timedelta | None = None,
        *,
        until: str | datetime | None = None,
    ) -> list[Json]:
        """Let time pass, and return what happened on the way.

        By a span such as "30s" or seconds, to what is due "next", or `until` an instant. Every
        webhook that falls due is sent, and answered, before this returns.
        """
        if (by is None) == (until is None):
            raise TypeError("advance() takes either a span of time or until=…")
        if by == "next":
            # What is still being sent is due already, and would be all that is waited for.
            self._settle()
            return self._advance({"to": "next"})
        if by is not None:
            return self._advance({"seconds": _seconds(by)})
        instant = until.isoformat() if isinstance(until, datetime) else until
        return self._advance({"until": instant})

    def _settle(self) -> None:
        """Wait for the webhooks that are on their way."""
        self._advance({"seconds": 0})

    def _advance(self, target: Mapping[str, Any]) -> list[Json]:
        advanced = self.control("POST", "/clock/advance", target)
        if not advanced["settled"]:
            raise PaymentsEmulatorError(
                f"the clock was stopped on its way, at {advanced['now']}: in one go it lets 100,000"
                " things happen, and waits a minute for those who take webhooks"
            )
        return [effect for effect in advanced["effects"] if not self._ear.is_own(effect)]

    # Payments

    @property
    def payments(self) -> list[Json]:
        """The payments of the newest thousand events, as they are now.

        To look is no request of the merchant's.
        """
        return list({event["data"]["id"]: event["data"] for event in self.events}.values())

    def payment(self, payment_id: str) -> Json:
        """One of them."""
        return dict(self.history(payment_id)["payment"])

    def history(self, payment_id: str) -> Json:
        """What has happened to a payment and what will: `reason`, `timeline`, `next` and more."""
        return dict(self.control("GET", _path(payment_id)))

    def pay(
        self,
        payment_id: str,
        *,
        phone: str | None = None,
        bank: str | None = None,
        method: str | None = None,
    ) -> Json:
        """Do what the customer does on the page: name a phone, or a bank, and submit.

        Without either it is the phone that always pays. The method is that of the phone or the
        bank, unless it is named. Here and below, webhooks have been sent, and answered, when it
        returns.
        """
        if phone is None and bank is None and method != BANK_TRANSFER:
            phone = PAYING_PHONE
        if method is None:
            method = BANK_TRANSFER if phone is None else _method_of(phone)
        # Whatever the test has given is sent: the emulator says what does not fit together.
        submission = {"method": method, "phone": phone, "bank": bank}
        told = {name: value for name, value in submission.items() if value is not None}
        return self._do(payment_id, "pay", told)

    def answer(self, payment_id: str, answer: str) -> Json:
        """Answer on the phone or at the bank: "approve", "cancel", "wrong_pin" and so on."""
        return self._do(payment_id, "answer", {"answer": answer})

    def cancel(self, payment_id: str) -> Json:
        """Press the page's cancel button, which leaves the payment pending."""
        return self._do(payment_id, "cancel", None)

    def refund(self, payment_id: str) -> Json:
        return self.transition(payment_id, "refunded")

    def transition(self, payment_id: str, status: str, **more: object) -> Json:
        """Change a status by hand; `more` are `method`, `reason` and `unusual`."""
        return self._do(payment_id, "transition", {"status": status, **more})

    def _do(self, payment_id: str, verb: str, body: object) -> Json:
        payment = dict(self.control("POST", f"{_path(payment_id)}/{verb}", body))
        self._settle()
        return payment

    # What goes wrong

    def fault(
        self,
        request: str | None = None,
        *,
        times: int | None = 1,
        when: Mapping[str, Any] | None = None,
        **then: object,
    ) -> Json:
        """Let a request fail, as in `fault("create_payment", status=500, point="after_commit")`.

        It is any request where none is named. It fails once, unless `times` is another number, or
        None for every time.
        """
        conditions = {"request": "any" if request is None else request, **(when or {})}
        if request is not None and conditions["request"] != request:
            raise TypeError("fault() takes the request either by its name or in when=…")
        rule = {"when": conditions, "then": then, "times": times}
        told = {name: value for name, value in rule.items() if value is not None}
        return dict(self.control("POST", "/faults", told))

    def use_scenario(self, scenario: str | Path | Mapping[str, Any]) -> Json:
        """Let a scenario decide: one that the emulator has, by name, a file, or an object.

        A file must be named as its scenario is, and an object must have its `name`.
        """
        if isinstance(scenario, Path):
            text = scenario.read_text(encoding="utf-8")
            return self._put(scenario.stem, text)
        if isinstance(scenario, Mapping):
            if not isinstance(scenario.get("name"), str):
                raise TypeError("use_scenario() takes an object that has its name")
            return self._put(scenario["name"], dict(scenario))
        switch = f"/scenarios/{quote(scenario, safe='')}/enabled"
        return dict(self.control("PUT", switch, {"enabled": True}))

    def _put(self, name: str, source: object) -> Json:
        return dict(self.control("PUT", f"/scenarios/{quote(name, safe='')}", source))

    # What the merchant's code has done, and what it was told

    @property
    def requests(self) -> list[Json]:
        """The requests to `/v1` with the test key, each with its answer."""
        return self._listed("/requests")

    @property
    def events(self) -> list[Json]:
        """The events, as they are sent."""
        return self._listed("/events")

    @property
    def deliveries(self) -> list[Json]:
        """What was sent to the merchant's endpoints, with every attempt that has been made."""
        self._settle()
        return [one for one in self._listed("/deliveries") if not self._ear.is_own(one)]

    def _listed(self, path: str) -> list[Json]:
        return list(self.control("GET", f"{path}?limit={MAX_LISTED}")["data"])[::-1]

    @property
    def webhooks(self) -> list[Webhook]:
        """What this process was told of, waiting for what is on its way, in order of arrival."""
        inbox = self._ear.inbox
        self._settle()
        return list(inbox.webhooks)

    @property
    def webhook_secret(self) -> str:
        """What verifies those webhooks, where they are handed on to the merchant's handler."""
        return self._ear.inbox.secret

    def deliver_to(
        self, url: str, *, secret: str | None = None, events: Sequence[str] | None = None
    ) -> Endpoint:
        """Tell the merchant's own application, too, of what happens from now on."""
        terms = {"url": url, "secret": secret, "events": events and list(events)}
        told = self.control("POST", "/webhook_endpoints", terms)
        return Endpoint(id=told["id"], url=told["url"], secret=told["secret"])

    def reset(self) -> None:
        """Let it be as it was at first: clock, payments, endpoints, faults, journal, all."""
        self.control("POST", "/reset")
        self._ear.listen()


def _path(payment_id: str) -> str:
    if not isinstance(payment_id, str):
        raise TypeError(f"expected the id of a payment, found {payment_id!r}")
    return f"/payments/{quote(payment_id, safe='')}"


def _seconds(span: str | float | timedelta) -> float:
    """Raises ValueError for a text that is no span of time."""
    if isinstance(span, str):
        return parse_duration_ms(span) / 1000
    return span.total_seconds() if isinstance(span, timedelta) else span


def _method_of(phone: str) -> str:
    try:
        return method_of_phone(normalise_phone(phone))
    except ValueError:
        return "telebirr"  # The emulator says what is wrong with the number.
