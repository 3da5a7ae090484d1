"""What the service does, by its contract and its documents: in memory, without HTTP and storage."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from emulator.domain.instants import format_instant
from tests.world import START_MS

Json = dict[str, Any]
METHODS = ("telebirr", "mpesa", "bank_transfer")
BANKS = ("walia_test", "gelada_test", "semien_test", "fidel_test")
HANDSET_MS = 30_000
DAY_MS = 86_400_000
DELAYS_MS = {
    "default": (0, 1_000, 5_000, 15_000, 60_000),
    "standard": (0, 5_000, *(1_000 * 60 * each for each in (5, 30, 120, 300, 600, 840, 1200, 1440))),
}
REASONS = (
    *("insufficient_balance", "user_cancelled", "timeout", "wrong_pin", "bank_declined"),
    *("limit_exceeded", "provider_error"),
)
EDGES = {
    *(("pending", "processing"), ("pending", "expired"), ("processing", "completed")),
    *(("processing", "failed"), ("completed", "refunded")),
}
UNUSUAL_EDGES = {("failed", "completed"), ("expired", "completed")}
ANSWERS: dict[str, tuple[str, str | None]] = {
    "approve": ("completed", None),
    "wrong_pin": ("failed", "wrong_pin"),
    "insufficient_balance": ("failed", "insufficient_balance"),
    "cancel": ("failed", "user_cancelled"),
    "decline": ("failed", "bank_declined"),
}
_FAILS = {"status": "failed", "reason": "insufficient_balance"}
_TIMES_OUT = {"after": "30s", "status": "failed", "reason": "timeout"}
_NUMBERS = [{"status": "completed"}, _FAILS, _TIMES_OUT]
_NUMBERS += [{"status": "failed", "reason": "user_cancelled"}]


def _numbers(method: str, prefix: str) -> Json:
    steps = enumerate(_NUMBERS, start=1)
    where = {"mode": "test", "method": method}
    phones = [({**where, "phone": f"{prefix}{number}"}, [step]) for number, step in steps]
    return {"outcomes": [{"when": when, "then": then} for when, then in phones]}


_LATE = [_TIMES_OUT, {"after": "2m", "status": "completed", "unusual": True}]
_UNAVAILABLE = {"method": "bank_transfer", "bank": "fidel_test"}
_PROVIDER_ERROR = {"status": "failed", "reason": "provider_error"}
SHIPPED: dict[str, Json] = {
    "cancel-fails": {"enabled": False, "checkout": [{"when": {}, "then": {"cancel": "fails"}}]},
    "late-success": {"enabled": False, "outcomes": [{"when": {}, "then": _LATE}]},
    "several-attempts": {"enabled": False, "checkout": [{"when": {}, "then": {"attempts": 3}}]},
    "stuck-in-processing": {"enabled": False, "outcomes": [{"when": {}, "then": []}]},
    "banks": {"outcomes": [{"when": _UNAVAILABLE, "then": [_PROVIDER_ERROR]}]},
    "mpesa-test-numbers": _numbers("mpesa", "+25170000000"),
    "telebirr-test-numbers": _numbers("telebirr", "+25190000000"),
}


class Refused(Exception):
    """The call is refused with a status, a code and a `param`."""


def text(at: int | None) -> str | None:
    return None if at is None else format_instant(at)


def span_ms(duration: str) -> int:
    return int(duration[:-1]) * {"s": 1_000, "m": 60_000}[duration[-1]]


@dataclass
class Due:
    """A change that happens by itself."""

    at: int
    sequence: int
    kind: str
    status: str
    reason: str | None = None
    unusual: bool = False


@dataclass
class Payment:
    """A payment, its history, and what is going to happen to it."""

    id: str
    url: str
    order: Json
    created_at: int
    expires_at: int
    expiry: int
    status: str = "pending"
    method: str | None = None
    phone: str | None = None
    bank: str | None = None
    reason: str | None = None
    completed_at: int | None = None
    steps: list[Due] = field(default_factory=list)
    timeline: list[tuple[str | None, str, str | None, str | None, str]] = field(
        default_factory=list
    )
    attempts: int | None = None
    scenario: str | None = None

    @property
    def due(self) -> list[Due]:
        expiry = Due(self.expires_at, self.expiry, "expiry", "expired")
        due = [expiry, *self.steps] if self.status == "pending" else self.steps
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
            **{"id": self.id, "object": "payment", "amount": self.order["amount"]},
            **{"currency": "ETB", "status": self.status, "method": self.method},
            **{"checkout_url": self.url, "success_url": self.order["success_url"]},
            "cancel_url": self.order["cancel_url"],
            "metadata": self.order.get("metadata") or {},
            **{"created_at": text(self.created_at), "expires_at": text(self.expires_at)},
            "completed_at": text(self.completed_at),
        }


@dataclass
class Endpoint:
    id: str
    url: str
    events: list[str]
    profile: str
    enabled: bool = True
    deleted: bool = False


@dataclass
class Delivery:
    endpoint: Endpoint
    event: Json
    created_at: int
    due_at: int | None
    sequence: int
    status: str = "pending"
    tries: int = 0
    attempts: list[tuple[int, str, int | None]] = field(default_factory=list)


@dataclass
class Owner:
    """What one mode of an account has; events are bodies without an id."""

    mode: str
    payments: list[Payment] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    endpoints: list[Endpoint] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    keys: dict[str, tuple[Json, int, Payment]] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)

    def find(self, payment_id: str) -> Payment:
        for payment in self.payments:
            if payment.id == payment_id:
                return payment
        raise Refused(404, "payment_not_found", None)


@dataclass
class State:
    """What a snapshot saves of an account."""

    now: int
    test: Owner = field(default_factory=lambda: Owner("test"))
    live: Owner = field(default_factory=lambda: Owner("live"))
    scenarios: dict[str, Json] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)
    faults: dict[str, Json] = field(default_factory=dict)
    uses: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    @property
    def owners(self) -> tuple[Owner, Owner]:
        return self.test, self.live

    def listed(self) -> list[tuple[str, Json, bool]]:
        """All scenarios with whether they are on, the strongest first."""
        own = list(self.scenarios.items())[::-1]
        others = [(name, rules) for name, rules in SHIPPED.items() if name not in self.scenarios]
        return [
            (name, rules, self.switches.get(name, rules.get("enabled", True)))
            for name, rules in (*own, *others)
        ]

    def in_force(self, placed: str | None = None) -> Iterator[tuple[str, Json]]:
        listed = self.listed()
        yield from ((name, rules) for name, rules, _ in listed if name == placed)
        yield from ((name, rules) for name, rules, is_on in listed if is_on)

    def choose(
        self, section: str, applies: Callable[[Json], bool], placed: str | None = None
    ) -> Any:
        """The effect of the first rule that applies, whose use is counted."""
        for name, rules in self.in_force(placed):
            for index, rule in enumerate(rules.get(section, ())):
                place = (name, section, index)
                if applies(rule) and self.uses[place] < rule.get("times", 1 << 62):
                    self.uses[place] += "times" in rule
                    return rule["then"] if section != "expiry" else rule["after"]
        return None


def matches(when: Json, owner: Owner, payment: Payment, method: str | None) -> bool:
    methods = payment.methods if method is None else [method]
    return (
        when.get("mode") in (None, owner.mode)
        and when.get("method", methods[0]) in methods
        and when.get("phone") in (None, payment.phone)
        and when.get("bank") in (None, payment.bank)
        and when.get("amount") in (None, payment.order["amount"])
    )


@dataclass
class Account:
    """An account: its state, and what a reset or a restore gives it."""

    id: str
    test_key: str
    live_key: str
    state: State
    name: str = ""
    initial_now: int = START_MS
    snapshots: dict[str, State] = field(default_factory=dict)

    def owner(self, mode: str) -> Owner:
        return self.state.test if mode == "test" else self.state.live


_FIRST = ("acct_demo", "test_demo_key", "live_demo_key")
_OTHER = ("acct_other", "test_other_key", "live_other_key")


class Model:
    """All accounts, the responses of the receivers, and the order of creation."""

    def __init__(self) -> None:
        self.accounts = {each[0]: Account(*each, State(START_MS)) for each in (_FIRST, _OTHER)}
        self.replies: dict[str, int | None] = {}
        self.sequence = 0

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence

    # Payments

    def create(self, state: State, owner: Owner, order: Json, shown: Json) -> Payment:
        """A new payment, with the identifiers that the service has given it."""
        now = state.now
        payment = Payment(shown["id"], shown["checkout_url"], order, now, now, 0)
        after = state.choose("expiry", lambda rule: matches(rule["when"], owner, payment, None))
        lasts_ms = (order.get("expires_in") or 1800) * 1000 if after is None else span_ms(after)
        payment.expires_at, payment.expiry = now + lasts_ms, self.next_sequence()
        owner.payments.append(payment)
        self._happen(state, owner, payment, "created", now)
        if order.get("idempotency_key"):
            owner.keys[order["idempotency_key"]] = (fingerprint(order), now, payment)
        return payment

    def replayed(self, state: State, owner: Owner, order: Json) -> Json | None:
        """The first response to an idempotency key; None where the key is free."""
        first, used_at, payment = owner.keys.get(order.get("idempotency_key") or "", ({}, 0, None))
        if payment is None or state.now >= used_at + DAY_MS:
            return None
        if first != fingerprint(order):
            raise Refused(409, "idempotency_key_reused", "idempotency_key")
        as_created = {"status": "pending", "method": None, "completed_at": None}
        return {**payment.shown(), **as_created}

    def pay(self, state: State, owner: Owner, payment: Payment, body: Json) -> None:
        """Submit a method. Raises Refused."""
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
        payer = replace(payment, phone=phone, bank=bank)
        outcome = state.choose(
            "outcomes", lambda rule: matches(rule["when"], owner, payer, method), payment.scenario
        )
        payment.method, payment.phone, payment.bank = method, phone, bank
        self.change(state, owner, payment, "processing", None, state.now)
        if outcome is None or outcome == "handset":
            at = state.now + HANDSET_MS
            at = max(at, payment.expires_at) if method == "bank_transfer" else at
            self._schedule(payment, at, "handset_timeout", "failed", "timeout")
            return
        for step in outcome:
            after_ms = span_ms(step["after"]) if "after" in step else 0
            if after_ms:
                at, unusual = state.now + after_ms, step.get("unusual", False)
                self._schedule(payment, at, "outcome", step["status"], step.get("reason"), unusual)
            elif self._end(state, owner, payment, step["status"], step.get("reason"), state.now):
                return

    def default_payer(self, state: State, owner: Owner, payment: Payment, body: Json) -> Json:
        """The method, and the phone or bank, that `pay` chooses where none is given."""
        method = body.get("method")
        if method is None and body.get("phone"):
            number = normalised(body["phone"])
            method = "telebirr" if number[4] == "9" else "mpesa"
        method = method or ("bank_transfer" if body.get("bank") else payment.methods[0])
        if body.get("phone") or body.get("bank") or method not in METHODS:
            return {**body, "method": method}
        rules = [r for _, s in state.in_force(payment.scenario) for r in s.get("outcomes", ())]
        own = [rule["when"] for rule in rules if rule["when"].get("method", method) == method]
        is_bank = method == "bank_transfer"
        names = BANKS if is_bank else [when["phone"] for when in own if "phone" in when]
        kind, answers = "bank" if is_bank else "phone", None
        for name in names:
            payer = replace(payment, **{kind: name})
            fits = [r for r in rules if kind in r["when"] and matches(r["when"], owner, payer, method)]
            then = fits[0]["then"] if fits else "handset"
            if then != "handset" and {step["status"] for step in then} == {"completed"}:
                return {"method": method, kind: name}
            answers = answers or (name if then == "handset" else None)
        if answers is None and method in payment.methods:
            raise Refused(400, "missing_parameter", kind)
        return {"method": method, kind: answers}

    def answer(self, state: State, owner: Owner, payment: Payment, answer: str) -> None:
        if not payment.is_asked:
            raise Refused(409, "invalid_state_transition", None)
        if answer == ("wrong_pin" if payment.method == "bank_transfer" else "decline"):
            raise Refused(409, "invalid_state_transition", "answer")
        payment.steps.clear()
        self._end(state, owner, payment, *ANSWERS[answer], state.now)

    def cancel(self, state: State, owner: Owner, payment: Payment) -> None:
        if payment.status != "pending":
            raise Refused(409, "invalid_state_transition", None)
        if self._checkout(state, owner, payment, "cancel") == "fails":
            self.change(state, owner, payment, "failed", "user_cancelled", state.now)

    def transition(self, state: State, owner: Owner, payment: Payment, body: Json) -> None:
        status, method, reason = body["status"], body.get("method"), body.get("reason")
        edge = (payment.status, status)
        if edge not in EDGES and not (body.get("unusual") and edge in UNUSUAL_EDGES):
            raise Refused(409, "invalid_state_transition", "status")
        fits = [payment.method] if payment.method else payment.methods
        if method is not None and (status == "expired" or method not in fits):
            raise Refused(400, "invalid_method", "method")
        if reason is not None and status != "failed":
            raise Refused(400, "invalid_reason", "reason")
        payment.steps.clear()
        if status != "expired":
            payment.method = method or payment.method or payment.methods[0]
        reason = (reason or "provider_error") if status == "failed" else None
        self.change(state, owner, payment, status, reason, state.now)

    def change(
        self,
        state: State,
        owner: Owner,
        payment: Payment,
        status: str,
        reason: str | None,
        at: int,
    ) -> None:
        payment.status, payment.reason = status, reason
        if status == "completed":
            payment.completed_at = at
        self._happen(state, owner, payment, status, at)

    def _end(
        self, state: State, owner: Owner, payment: Payment, status: str, reason: str | None, at: int
    ) -> bool:
        """End an attempt to pay; returns whether the customer may try again."""
        if payment.status == "processing" and status == "failed" and at < payment.expires_at:
            if payment.attempts is None:
                attempts = self._checkout(state, owner, payment, "attempts") or 1
                payment.attempts = attempts if attempts > 1 else None
            failed = [each for each in payment.timeline if each[0] is None]
            if len(failed) + 1 < (payment.attempts or 1):
                entry = (None, "pending", payment.method, reason, format_instant(at))
                payment.timeline.append(entry)
                payment.steps.clear()
                payment.status, payment.method = "pending", None
                payment.phone = payment.bank = payment.reason = None
                return True
        self.change(state, owner, payment, status, reason, at)
        return False

    @staticmethod
    def _checkout(state: State, owner: Owner, payment: Payment, setting: str) -> Any:
        def applies(rule: Json) -> bool:
            return setting in rule["then"] and matches(rule["when"], owner, payment, payment.method)

        return (state.choose("checkout", applies, payment.scenario) or {}).get(setting)

    def _schedule(self, payment: Payment, at: int, *change: Any) -> None:
        payment.steps.append(Due(at, self.next_sequence(), *change))

    def _happen(self, state: State, owner: Owner, payment: Payment, name: str, at: int) -> None:
        """Add an event and its deliveries."""
        kind, shown, stamp = f"payment.{name}", payment.shown(), format_instant(at)
        event = {"object": "event", "type": kind, "timestamp": stamp, "mode": owner.mode}
        event["data"] = shown
        owner.events.append(event)
        payment.timeline.append((kind, shown["status"], payment.method, payment.reason, stamp))
        subscribed = [each for each in owner.endpoints if each.enabled and kind in each.events]
        if not subscribed:
            return

        def applies(rule: Json) -> bool:
            when = rule["when"]
            return when.get("mode", owner.mode) == owner.mode and when.get("event", kind) == kind

        effect = state.choose("webhooks", applies, payment.scenario) or {}
        for endpoint in subscribed:
            for _ in range(effect.get("copies", 1)):
                due_at = at + span_ms(effect.get("delay", "0s"))
                delivery = Delivery(endpoint, event, at, due_at, self.next_sequence())
                if effect.get("drop"):
                    delivery.status, delivery.due_at = "dropped", None
                owner.deliveries.append(delivery)

    # Time

    def next_due(self, state: State) -> tuple[int, int, Owner, Any, Any] | None:
        """The first scheduled change or attempt: its due key, and what it belongs to."""
        due: list[tuple[int, int, Owner, Any, Any]] = []
        for owner in state.owners:
            for payment in owner.payments:
                due += [(one.at, one.sequence, owner, payment, one) for one in payment.due[:1]]
            for each in owner.deliveries:
                if each.due_at is not None:
                    due.append((each.due_at, each.sequence, owner, None, each))
        return min(due, key=lambda each: each[:2], default=None)

    def advance(self, state: State, until: int) -> list[Json]:
        """Everything due, in order of due time and then of creation; the effects."""
        effects: list[Json] = []
        while (due := self.next_due(state)) is not None and due[0] <= until:
            at, _, owner, payment, change = due
            state.now = max(state.now, at)
            if payment is None:
                effects.append(self.attempt(owner, change, "schedule", state.now))
                continue
            if change in payment.steps:
                payment.steps.remove(change)
            effect = {"at": format_instant(at), "payment": payment.id, "kind": change.kind}
            if change.kind == "expiry" or payment.status != "processing":
                self.change(state, owner, payment, change.status, change.reason, at)
            else:
                self._end(state, owner, payment, change.status, change.reason, at)
            is_again = payment.status == "pending"
            effect["type"] = None if is_again else f"payment.{change.status}"
            effects.append({**effect, "status": payment.status})
        state.now = until
        return effects

    # Deliveries

    def attempt(self, owner: Owner, delivery: Delivery, trigger: str, at: int) -> Json:
        """Make one attempt; returns it as an effect."""
        endpoint = delivery.endpoint
        reply = self.replies[endpoint.url]
        delivery.attempts.append((at, trigger, reply))
        is_scheduled = trigger == "schedule"
        delivery.tries += is_scheduled
        if reply is not None and 200 <= reply < 300:
            delivery.status, delivery.due_at = "succeeded", None
        elif is_scheduled and delivery.status == "pending":
            delays = DELAYS_MS[endpoint.profile]
            if reply == 410 or delivery.tries == len(delays):
                delivery.status, delivery.due_at = "failed", None
            else:
                retry_after_ms = 7_000 if reply == 503 else 0
                delivery.due_at = at + max(delays[delivery.tries], retry_after_ms)
        if reply == 410 and not endpoint.deleted:
            self.disable(owner, endpoint)
        return {
            **{"at": format_instant(at), "payment": delivery.event["data"].get("id")},
            **{"kind": "webhook_attempt", "type": "webhook.attempt"},
            **{"event_type": delivery.event["type"], "number": len(delivery.attempts)},
            **{"response_status": reply, "delivery_status": delivery.status},
        }

    @staticmethod
    def disable(owner: Owner, endpoint: Endpoint, *, deletes: bool = False) -> None:
        endpoint.enabled, endpoint.deleted = False, deletes
        if deletes:
            owner.endpoints.remove(endpoint)
        for delivery in owner.deliveries:
            if delivery.endpoint is endpoint and delivery.status == "pending":
                delivery.status, delivery.due_at = "cancelled", None

    # Faults

    def fault(self, state: State, owner: Owner, request: str) -> tuple[str, Json] | None:
        """The fault rule of a request, which is counted for every rule of its kind."""
        found = None
        for name, rule in list(state.faults.items())[::-1]:
            when = rule.get("when", {})
            if when.get("request", request) != request or when.get("mode", owner.mode) != owner.mode:
                continue
            owner.requests[name] += 1
            count, nth, every = owner.requests[name], when.get("nth"), when.get("every")
            is_left = state.uses[name, "faults", 0] < rule.get("times", 1 << 62)
            if found is None and is_left and nth in (None, count) and not count % (every or 1):
                found = (name, rule["then"])
        return found

    def save(self, account: Account, name: str) -> bool:
        """Save a snapshot; returns whether its name is new."""
        is_new = account.snapshots.pop(name, None) is None
        account.snapshots[name] = deepcopy(account.state)
        return is_new

    @staticmethod
    def saved(account: Account, name: str) -> State:
        """Raises Refused."""
        if name not in account.snapshots:
            raise Refused(404, "snapshot_not_found", None)
        return account.snapshots[name]

    def restore(self, account: Account, name: str) -> State:
        account.state = deepcopy(self.saved(account, name))
        return account.state

    def reset(self, account: Account | None) -> None:
        """Reset one account, or all (None), which deletes those that were created."""
        if account is None:
            first, other = self.accounts["acct_demo"], Account(*_OTHER, State(START_MS))
            self.accounts = {"acct_demo": first, "acct_other": other}
        account = account or first
        account.state, account.snapshots = State(account.initial_now), {}


def fingerprint(order: Json) -> Json:
    """The parameters that a second request with an idempotency key must repeat."""
    compared = {name: order[name] for name in ("amount", "success_url", "cancel_url")}
    lasts = {"metadata": order.get("metadata") or {}, "expires_in": order.get("expires_in") or 1800}
    return {**compared, **lasts, "methods": list(dict.fromkeys(order["methods"]))}


def normalised(phone: str | None, method: str | None = None) -> str:
    digits = re.fullmatch(
        r"(?:\+251|00251|251|0)?([79][0-9]{8})", re.sub("[ -]", "", phone or "")
    )
    if digits is None or method not in (None, "telebirr" if digits[1][0] == "9" else "mpesa"):
        raise Refused(400, "invalid_phone", "phone")
    return f"+251{digits[1]}"
