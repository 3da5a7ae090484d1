"""What the service does with payments, by its contract: without HTTP and storage."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import permutations
from typing import Any

import yaml

from emulator.domain.instants import format_instant
from emulator.domain.payment import ORDER_TERMS
from tests.cli.processes import REPOSITORY
from tests.world import START_MS

Json = dict[str, Any]
METHODS = ("telebirr", "mpesa", "bank_transfer")
STATUSES = ("pending", "processing", "completed", "failed", "expired", "refunded")
ENABLED = ("banks", "mpesa-test-numbers", "telebirr-test-numbers")
BANKS = ("walia_test", "gelada_test", "semien_test", "fidel_test")
MINUTE_MS = 60_000
DAY_MS = 86_400_000
EDGES = (
    *(("pending", "processing"), ("pending", "expired"), ("processing", "completed")),
    *(("processing", "failed"), ("completed", "refunded")),
)
UNUSUAL_EDGES = tuple(pair for pair in permutations(STATUSES, 2) if pair not in EDGES)
ANSWERS: dict[str, tuple[str, str | None]] = {
    "approve": ("completed", None),
    "wrong_pin": ("failed", "wrong_pin"),
    "insufficient_balance": ("failed", "insufficient_balance"),
    "cancel": ("failed", "user_cancelled"),
    "decline": ("failed", "bank_declined"),
}


class Refused(Exception):
    """The call is refused; the arguments are the status, the code and the `param`."""


@cache
def outcomes() -> list[Json]:
    """The rules of the shipped scenarios that are on."""
    texts = [(REPOSITORY / f"scenarios/{name}.yaml").read_text("utf-8") for name in ENABLED]
    return [rule for text in texts for rule in yaml.safe_load(text)["outcomes"]]


def text(at: int | None) -> str | None:
    return None if at is None else format_instant(at)


@dataclass
class Due:
    """A change that happens by itself."""

    at: int
    sequence: int
    kind: str
    status: str
    reason: str | None = None


@dataclass
class Payment:
    """A payment with its timeline and the changes that are due."""

    id: str
    url: str
    order: Json
    created_at: int
    expires_at: int = 0
    expiry: int = 0
    lasts_ms: int = 0
    status: str = "pending"
    method: str | None = None
    phone: str | None = None
    bank: str | None = None
    reason: str | None = None
    completed_at: int | None = None
    steps: list[Due] = field(default_factory=list)
    timeline: list[tuple[str | None, ...]] = field(default_factory=list)

    @property
    def due(self) -> list[Due]:
        expiry = Due(self.expires_at, self.expiry, "expiry", "expired")
        due = [*self.steps, expiry] if self.status == "pending" else self.steps
        return sorted(due, key=lambda each: (each.at, each.sequence))

    @property
    def is_asked(self) -> bool:
        return any(each.kind == "handset_timeout" for each in self.steps)

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(self.order["methods"]))

    def shown(self) -> Json:
        """The payment object."""
        return {
            "id": self.id,
            "object": "payment",
            "amount": self.order["amount"],
            "currency": "ETB",
            "status": self.status,
            "method": self.method,
            "checkout_url": self.url,
            **terms_of(self.order),
            "created_at": text(self.created_at),
            "expires_at": text(self.expires_at),
            "completed_at": text(self.completed_at),
        }


@dataclass
class Owner:
    """What one mode of an account has; events are bodies without an id."""

    mode: str
    state: "State"
    payments: list[Payment] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    keys: dict[str, tuple[Json, int, Payment]] = field(default_factory=dict)


@dataclass
class State:
    """The clock of an account, and its modes."""

    key: str
    now: int = START_MS

    def __post_init__(self) -> None:
        self.owners = (Owner("test", self), Owner("live", self))

    def due(self) -> Iterator[tuple[int, int, Owner, Payment, Due]]:
        """The next change of each payment, with the key of its order."""
        for owner in self.owners:
            for payment in owner.payments:
                yield from ((one.at, one.sequence, owner, payment, one) for one in payment.due[:1])

    def next_due(self) -> tuple[int, int, Owner, Payment, Due] | None:
        return min(self.due(), key=lambda each: each[:2], default=None)


class Model:
    """Two accounts, and the order of creation."""

    def __init__(self) -> None:
        self.states = [State(key) for key in ("demo_key", "other_key")]
        self.sequence = 0

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence

    def create(self, owner: Owner, order: Json, payment_id: str, url: str) -> Payment:
        """A new payment, with the identifiers that the service has given it."""
        now = owner.state.now
        payment = Payment(payment_id, url, order, now)
        payment.lasts_ms = (order.get("expires_in") or 1800) * 1000
        payment.expires_at, payment.expiry = now + payment.lasts_ms, self.next_sequence()
        owner.payments.append(payment)
        self._happen(owner, payment, "created", now)
        if order.get("idempotency_key"):
            owner.keys[order["idempotency_key"]] = (fingerprint(order), now, payment)
        return payment

    def replayed(self, owner: Owner, order: Json) -> Json | None:
        """The first response to an idempotency key; None where the key is free."""
        first, used_at, payment = owner.keys.get(order.get("idempotency_key") or "", ({}, 0, None))
        if payment is None or owner.state.now >= used_at + DAY_MS:
            return None
        if first != fingerprint(order):
            raise Refused(409, "idempotency_key_reused", "idempotency_key")
        first = replace(payment, expires_at=payment.created_at + payment.lasts_ms)
        return {**first.shown(), "status": "pending", "method": None, "completed_at": None}

    def find(self, owner: Owner, payment_id: str) -> Payment:
        for payment in reversed(owner.payments):
            if payment_id in ("latest", payment.id):
                return payment
        raise Refused(404, "payment_not_found", None)

    def pay(self, owner: Owner, payment: Payment, body: Json) -> None:
        """Submit a method, as on the page."""
        method, phone, bank = (body.get(name) for name in ("method", "phone", "bank"))
        if method not in payment.methods:
            raise Refused(400, "invalid_method", "method")
        other = "phone" if method == "bank_transfer" else "bank"
        if body.get(other) is not None:
            raise Refused(400, f"invalid_{other}", other)
        if method != "bank_transfer":
            phone = normalised(phone, method)
        elif bank not in BANKS:
            raise Refused(400, "invalid_bank", "bank")
        if payment.status != "pending":
            raise Refused(409, "payment_not_payable", None)
        payment.phone, payment.bank = phone, bank
        payment.method = method
        now = owner.state.now
        facts = {"mode": owner.mode, "method": method, "phone": phone, "bank": bank}
        fitting = (rule["then"] for rule in outcomes() if rule["when"].items() <= facts.items())
        steps = next(fitting, None)
        self._change(owner, payment, "processing", None, now)
        if steps is None:
            at = now + 30_000
            at = max(at, payment.expires_at) if method == "bank_transfer" else at
            self._schedule(payment, at, "handset_timeout", "failed", "timeout")
        for step in steps or ():
            status, reason = step["status"], step.get("reason")
            if "after" in step:
                self._schedule(payment, now + span_ms(step["after"]), "outcome", status, reason)
            else:
                self._change(owner, payment, status, reason, now)

    def with_method(self, payment: Payment, body: Json) -> Json:
        """A body of the control API with the method that it leaves out."""
        method, phone, bank = (body.get(name) for name in ("method", "phone", "bank"))
        if method is None and phone:
            method = "telebirr" if normalised(phone)[4] == "9" else "mpesa"
        return {**body, "method": method or ("bank_transfer" if bank else payment.methods[0])}

    def answer(self, owner: Owner, payment: Payment, answer: str) -> None:
        if not payment.is_asked:
            raise Refused(409, "invalid_state_transition", None)
        if answer == ("wrong_pin" if payment.method == "bank_transfer" else "decline"):
            raise Refused(409, "invalid_state_transition", "answer")
        payment.steps.clear()
        self._change(owner, payment, *ANSWERS[answer], owner.state.now)

    def cancel(self, payment: Payment) -> None:
        if payment.status != "pending":
            raise Refused(409, "invalid_state_transition", None)

    def transition(self, owner: Owner, payment: Payment, body: Json) -> None:
        status, method, reason = body["status"], body.get("method"), body.get("reason")
        edge = (payment.status, status)
        if edge not in EDGES and not (body.get("unusual") and edge in UNUSUAL_EDGES):
            raise Refused(409, "invalid_state_transition", "status")
        is_expiry = edge == ("pending", "expired")
        is_fixed = payment.method and payment.status != "pending"
        fits = [payment.method] if is_fixed else payment.methods
        if is_expiry and not body.get("unusual"):
            fits = []
        if method is not None and method not in fits:
            raise Refused(400, "invalid_method", "method")
        if reason is not None and status != "failed":
            raise Refused(400, "invalid_reason", "reason")
        payment.steps.clear()
        payment.method = method or payment.method
        if payment.method is None and not is_expiry:
            payment.method = payment.methods[0]
        reason = (reason or "provider_error") if status == "failed" else None
        self._change(owner, payment, status, reason, owner.state.now)

    def _change(
        self, owner: Owner, payment: Payment, status: str, reason: str | None, at: int
    ) -> None:
        payment.status, payment.reason = status, reason
        if status == "completed":
            payment.completed_at = payment.completed_at or at
        if status != "pending":
            self._happen(owner, payment, status, at)
            return
        payment.phone = payment.bank = None
        payment.timeline.append((None, status, payment.method, None, format_instant(at)))
        if at >= payment.expires_at:
            payment.expires_at, payment.expiry = at + payment.lasts_ms, self.next_sequence()

    def _schedule(self, payment: Payment, at: int, *change: Any) -> None:
        payment.steps.append(Due(at, self.next_sequence(), *change))

    def _happen(self, owner: Owner, payment: Payment, name: str, at: int) -> None:
        kind, stamp = f"payment.{name}", format_instant(at)
        event = {"object": "event", "type": kind, "timestamp": stamp, "mode": owner.mode}
        owner.events.append({**event, "data": payment.shown()})
        payment.timeline.append((kind, payment.status, payment.method, payment.reason, stamp))

    def advance(self, state: State, until: int) -> list[Json]:
        """Everything due, in order of due time and then of creation; the effects."""
        effects: list[Json] = []
        while (due := state.next_due()) is not None and due[0] <= until:
            at, _, owner, payment, change = due
            state.now = max(state.now, at)
            if change.kind != "expiry":
                payment.steps.remove(change)
            self._change(owner, payment, change.status, change.reason, at)
            effect = {"at": format_instant(at), "payment": payment.id, "kind": change.kind}
            effects.append({**effect, "type": f"payment.{change.status}", "status": change.status})
        state.now = until
        return effects


def span_ms(duration: str) -> int:
    return int(duration[:-1]) * {"s": 1_000, "m": MINUTE_MS}[duration[-1]]


def fingerprint(order: Json) -> Json:
    """The parameters that a second request with an idempotency key must repeat."""
    compared = {"amount": order["amount"], **terms_of(order), "colour": order.get("colour")}
    compared |= {"expires_in": order.get("expires_in") or 1800}
    return {**compared, "methods": list(dict.fromkeys(order["methods"]))}


def terms_of(order: Json) -> Json:
    """The members of a payment that its create call sets."""
    return {
        **{name: order.get(name) for name in ORDER_TERMS},
        "metadata": order.get("metadata") or {},
    }


def normalised(phone: str | None, method: str | None = None) -> str:
    """A phone number as `+251…`, which must belong to the method, if one is given."""
    written = re.sub("[ -]", "", phone or "")
    digits = re.fullmatch(r"(?:\+251|00251|251|0)?([79][0-9]{8})", written)
    if digits is None or method not in (None, METHODS[digits[1][0] == "7"]):
        raise Refused(400, "invalid_phone", "phone")
    return f"+251{digits[1]}"
