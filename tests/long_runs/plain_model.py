"""What the service does, by its contract and its documents: without HTTP and storage."""

import re
from dataclasses import replace
from typing import Any

from emulator.domain.instants import format_instant
from tests.long_runs.plain_state import (
    METHODS,
    UNLIMITED,
    Account,
    Delivery,
    Due,
    Endpoint,
    Json,
    Owner,
    Payment,
    State,
)

BANKS = ("walia_test", "gelada_test", "semien_test", "fidel_test")
MINUTE_MS = 60_000
DAY_MS = 86_400_000
DELAYS_MS = {
    "default": (0, 1_000, 5_000, 15_000, MINUTE_MS),
    "standard": (0, 5_000, *(n * MINUTE_MS for n in (5, 30, 120, 300, 600, 840, 1_200, 1_440))),
}
EDGES = (
    *(("pending", "processing"), ("pending", "expired"), ("processing", "completed")),
    *(("processing", "failed"), ("completed", "refunded")),
)
UNUSUAL_EDGES = (("failed", "completed"), ("expired", "completed"))
ANSWERS: dict[str, tuple[str, str | None]] = {
    "approve": ("completed", None),
    "wrong_pin": ("failed", "wrong_pin"),
    "insufficient_balance": ("failed", "insufficient_balance"),
    "cancel": ("failed", "user_cancelled"),
    "decline": ("failed", "bank_declined"),
}
_FIRST = ("acct_demo", "test_demo_key", "live_demo_key")
_OTHER = ("acct_other", "test_other_key", "live_other_key")


class Refused(Exception):
    """The call is refused; the arguments are the status, the code and the `param`."""


class Model:
    """All accounts, the responses of the receivers by path, and the order of creation."""

    def __init__(self) -> None:
        self.accounts = {each[0]: Account(*each) for each in (_FIRST, _OTHER)}
        self.replies: dict[str, int | None] = {}
        self.sequence = 0

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence

    def create(self, owner: Owner, order: Json, payment_id: str, url: str) -> Payment:
        """A new payment, with the identifiers that the service has given it."""
        now = owner.state.now
        payment = Payment(payment_id, url, order, now)
        after = owner.state.choose(
            "expiry", None, lambda rule: owner.matches(rule["when"], payment)
        )
        lasts_ms = span_ms(after) if after else (order.get("expires_in") or 1800) * 1000
        payment.expires_at, payment.expiry = now + lasts_ms, self.next_sequence()
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
        return {**payment.shown(), "status": "pending", "method": None, "completed_at": None}

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
        steps = owner.state.choose(
            *("outcomes", payment.scenario),
            lambda rule: owner.matches(rule["when"], payment, method),
        )
        payment.method = method
        now = owner.state.now
        self._change(owner, payment, "processing", None, now)
        if steps is None:
            at = now + 30_000
            at = max(at, payment.expires_at) if method == "bank_transfer" else at
            self._schedule(payment, at, "handset_timeout", "failed", "timeout")
        for step in steps or ():
            status, reason = step["status"], step.get("reason")
            if "after" in step:
                self._schedule(payment, now + span_ms(step["after"]), "outcome", status, reason)
            elif self._end(owner, payment, status, reason, now):
                break

    def with_payer(self, owner: Owner, payment: Payment, body: Json) -> Json:
        """A body of the control API with the method, and the phone or bank, that it leaves out."""
        method, phone, bank = (body.get(name) for name in ("method", "phone", "bank"))
        if method is None and phone:
            method = "telebirr" if normalised(phone)[4] == "9" else "mpesa"
        method = method or ("bank_transfer" if bank else payment.methods[0])
        if phone or bank:
            return {**body, "method": method}
        scenarios = [rules for _, rules in owner.state.in_force(payment.scenario)]
        rules = [rule for each in scenarios for rule in each.get("outcomes", ())]
        kind, names = "bank", list(BANKS)
        if method != "bank_transfer":
            own = [rule["when"] for rule in rules if rule["when"].get("method", method) == method]
            kind, names = "phone", [when["phone"] for when in own if "phone" in when]
        answers = None
        for name in names:
            payer = replace(payment, **{"phone": None, "bank": None, kind: name})
            named = [rule for rule in rules if {"phone", "bank"} & rule["when"].keys()]
            then = [each["then"] for each in named if owner.matches(each["when"], payer, method)]
            if then and {step["status"] for step in then[0]} == {"completed"}:
                return {"method": method, kind: name}
            answers = answers or (None if then else name)
        if answers is None and method in payment.methods:
            raise Refused(400, "missing_parameter", kind)
        return {"method": method, kind: answers}

    def answer(self, owner: Owner, payment: Payment, answer: str) -> None:
        if not payment.is_asked:
            raise Refused(409, "invalid_state_transition", None)
        if answer == ("wrong_pin" if payment.method == "bank_transfer" else "decline"):
            raise Refused(409, "invalid_state_transition", "answer")
        payment.steps.clear()
        self._end(owner, payment, *ANSWERS[answer], owner.state.now)

    def cancel(self, owner: Owner, payment: Payment) -> None:
        if payment.status != "pending":
            raise Refused(409, "invalid_state_transition", None)
        if self._checkout(owner, payment, "cancel") == "fails":
            self._change(owner, payment, "failed", "user_cancelled", owner.state.now)

    def transition(self, owner: Owner, payment: Payment, body: Json) -> None:
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
        self._change(owner, payment, status, reason, owner.state.now)

    def _change(
        self, owner: Owner, payment: Payment, status: str, reason: str | None, at: int
    ) -> None:
        payment.status, payment.reason = status, reason
        if status == "completed":
            payment.completed_at = at
        self._happen(owner, payment, status, at)

    def _end(
        self, owner: Owner, payment: Payment, status: str, reason: str | None, at: int
    ) -> bool:
        """End an attempt to pay; returns whether the customer may try again."""
        is_open = payment.status == "processing" and at < payment.expires_at
        if status == "failed" and is_open:
            limit = payment.attempts or self._checkout(owner, payment, "attempts") or 1
            payment.attempts = limit if limit > 1 else None
            if sum(each[0] is None for each in payment.timeline) + 1 < limit:
                entry = (None, "pending", payment.method, reason, format_instant(at))
                payment.timeline.append(entry)
                payment.steps.clear()
                payment.status = "pending"
                payment.method = payment.phone = payment.bank = payment.reason = None
                return True
        self._change(owner, payment, status, reason, at)
        return False

    @staticmethod
    def _checkout(owner: Owner, payment: Payment, setting: str) -> Any:
        def applies(rule: Json) -> bool:
            return setting in rule["then"] and owner.matches(rule["when"], payment, payment.method)

        return (owner.state.choose("checkout", payment.scenario, applies) or {}).get(setting)

    def _schedule(self, payment: Payment, at: int, *change: Any) -> None:
        payment.steps.append(Due(at, self.next_sequence(), *change))

    def _happen(self, owner: Owner, payment: Payment, name: str, at: int) -> None:
        """Add an event and its deliveries."""
        kind, stamp = f"payment.{name}", format_instant(at)
        event = {"object": "event", "type": kind, "timestamp": stamp, "mode": owner.mode}
        event["data"] = payment.shown()
        owner.events.append(event)
        payment.timeline.append((kind, payment.status, payment.method, payment.reason, stamp))
        waiting = [
            each
            for each in owner.deliveries
            if each.is_postponed and each.due_at is not None and each.payment == payment.id
        ]
        new = self._deliver(owner, payment, event, at)
        owner.deliveries += new
        for held in waiting:
            mine = [
                each for each in new if each.endpoint is held.endpoint and not each.is_postponed
            ]
            held.due_at = min([held.due_at, max([at, *(each.due_at or at for each in mine)])])
            held.sequence, held.is_postponed = self.next_sequence(), False

    def _deliver(self, owner: Owner, payment: Payment, event: Json, at: int) -> list[Delivery]:
        """The deliveries of an event, as a webhook rule changes them."""
        kind = event["type"]
        subscribed = [each for each in owner.endpoints if each.enabled and kind in each.events]
        if not subscribed:
            return []
        effect = owner.state.choose(
            *("webhooks", payment.scenario), lambda rule: rule["when"].get("event", kind) == kind
        )
        effect = effect or {}
        holds, drops = "hold" in effect, "drop" in effect
        due_at = None if drops else at + span_ms("60s" if holds else effect.get("delay", "0s"))
        status = "dropped" if drops else "pending"
        each_endpoint = [each for each in subscribed for _ in range(effect.get("copies", 1))]
        return [
            Delivery(each, event, at, due_at, self.next_sequence(), status, holds)
            for each in each_endpoint
        ]

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
                effects.append(self.attempt(owner, change, "schedule"))
                continue
            if change.kind == "expiry":
                self._change(owner, payment, "expired", None, at)
            else:
                payment.steps.remove(change)
                self._end(owner, payment, change.status, change.reason, at)
            status = payment.status
            effect = {"at": format_instant(at), "payment": payment.id, "kind": change.kind}
            effect |= {"type": None if status == "pending" else f"payment.{status}"}
            effects.append(effect | {"status": status})
        state.now = until
        return effects

    def pass_time(self, ms: int) -> None:
        """Let real time pass: the clocks that run show it at once, and what is due happens."""
        for account in self.accounts.values():
            state = account.state
            if not state.is_frozen:
                state.now += round(ms * state.rate)
                self.advance(state, state.now)

    def attempt(self, owner: Owner, delivery: Delivery, trigger: str) -> Json:
        """Make one attempt; returns it as an effect."""
        endpoint, now = delivery.endpoint, owner.state.now
        reply = self.replies[endpoint.url]
        delivery.attempts.append((now, trigger, reply))
        is_scheduled = trigger == "schedule"
        delivery.is_postponed &= not is_scheduled
        delivery.tries += is_scheduled
        if reply is not None and 200 <= reply < 300:
            delivery.status, delivery.due_at = "succeeded", None
        elif is_scheduled and delivery.status == "pending":
            delays = DELAYS_MS[endpoint.profile]
            if reply == 410 or delivery.tries == len(delays):
                delivery.status, delivery.due_at = "failed", None
            else:
                retry_after_ms = 7_000 if reply == 503 else 0
                delivery.due_at = now + max(delays[delivery.tries], retry_after_ms)
        if reply == 410:
            self.disable(owner, endpoint)
        effect = {"at": format_instant(now), "payment": delivery.payment}
        effect |= {"kind": "webhook_attempt", "event_type": delivery.event["type"]}
        effect |= {"number": len(delivery.attempts), "response_status": reply}
        return effect | {"delivery_status": delivery.status}

    @staticmethod
    def disable(owner: Owner, endpoint: Endpoint) -> None:
        endpoint.enabled = False
        for delivery in owner.deliveries:
            if delivery.endpoint is endpoint and delivery.status == "pending":
                delivery.status, delivery.due_at = "cancelled", None

    def fault(self, owner: Owner, request: str) -> tuple[str, Json] | None:
        """The fault of a request, the newest first; each rule counts the requests of its kind."""
        found = None
        for name, rule in list(owner.state.faults.items())[::-1]:
            when = rule["when"]
            if (
                when.get("request", request) == request
                and when.get("mode", owner.mode) == owner.mode
            ):
                owner.requests[name] += 1
                count = owner.requests[name]
                is_left = owner.state.uses[name, "faults", 0] < rule.get("times", UNLIMITED)
                applies = when.get("nth", count) == count and count % when.get("every", 1) == 0
                found = found or ((name, rule["then"]) if is_left and applies else None)
        return found

    def saved(self, account: Account, name: str) -> State:
        if name not in account.snapshots:
            raise Refused(404, "snapshot_not_found", None)
        return account.snapshots[name]

    def reset(self, account: Account | None) -> None:
        """Reset one account, or all (None), which deletes those that were created."""
        if account is None:
            first = self.accounts["acct_demo"]
            self.accounts = {"acct_demo": first, "acct_other": Account(*_OTHER)}
        account = account or first
        account.state, account.snapshots = State(account.initial_now), {}


def span_ms(duration: str) -> int:
    return int(duration[:-1]) * {"s": 1_000, "m": MINUTE_MS}[duration[-1]]


def fingerprint(order: Json) -> Json:
    """The parameters that a second request with an idempotency key must repeat."""
    compared = {name: order[name] for name in ("amount", "success_url", "cancel_url")}
    lasts = {"metadata": order.get("metadata") or {}, "expires_in": order.get("expires_in") or 1800}
    return {**compared, **lasts, "methods": list(dict.fromkeys(order["methods"]))}


def normalised(phone: str | None, method: str | None = None) -> str:
    """A phone number as `+251…`, which must belong to the method, if one is given."""
    written = re.sub("[ -]", "", phone or "")
    digits = re.fullmatch(r"(?:\+251|00251|251|0)?([79][0-9]{8})", written)
    if digits is None or method not in (None, METHODS[digits[1][0] == "7"]):
        raise Refused(400, "invalid_phone", "phone")
    return f"+251{digits[1]}"
