"""Converts an account's history into scenario steps that reproduce it.

A scheduled change (an expiry, a timeout, a later step of an outcome) needs no step of its own: the
clock is advanced to its instant.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from emulator.domain.durations import MAX_DURATION_MS
from emulator.domain.instants import Instant
from emulator.domain.payment import DEFAULT_EXPIRES_IN_S, Event, Payment, Status
from emulator.domain.payment_methods import DEFAULT_METHODS, local_phone
from emulator.scenarios import values
from emulator.scenarios.values import Json, Step
from emulator.server.engine.payments.customer import (
    Answered,
    Cancelled,
    Paid,
    PaymentAction,
    Transitioned,
    payment_action,
)
from emulator.server.storage.events import Action

# The control API returns so many events; a longer list is not expected.
MAX_EXPECTED_EVENTS = 1_000

_NOWHERE = values.Place(line=1, column=1)


class AccountHistory(NamedTuple):
    """An account's payments with their idempotency keys, events and actions, oldest first.

    No timer is due at `now`.
    """

    payments: list[tuple[Payment, str | None]]
    events: list[Event]
    actions: list[Action]
    now: Instant


def script_of(history: AccountHistory, *, sets_expiry: bool) -> tuple[Step, ...]:
    """The steps that reproduce a history, with an expectation for each status at its instant.

    `sets_expiry` is whether the create steps set how long a checkout stays open; else rules do.
    """
    if not history.payments:
        return (_expect(None, {"events": []}),)
    return _ScriptBuilder(history, sets_expiry=sets_expiry).build()


def arrival_steps(
    history: AccountHistory, arrivals: Mapping[int, list[Json]], *, wait_ms: int
) -> tuple[Step, ...]:
    """The steps that wait for delayed webhooks and expect the webhooks of each payment."""
    names = _names(len(history.payments))
    waits = [values.AdvanceStep(place=_NOWHERE, by_ms=wait_ms)] if wait_ms else []
    expected = [
        _expect(name, {"webhooks": arrivals[payment.position]})
        for name, (payment, _) in zip(names, history.payments, strict=True)
        if payment.position in arrivals
    ]
    return (*waits, *expected)


@dataclass(slots=True, kw_only=True)
class _PaymentSteps:
    """A payment, as the steps so far have changed it."""

    name: str
    latest: Event
    types: list[str]
    shown_method: str | None = None

    def apply(self, event: Event, action: PaymentAction | None) -> Step | None:
        """Apply an event; returns the step that causes it, or None for a scheduled change."""
        self.latest = event
        self.types.append(event.type)
        if isinstance(action, Paid):
            return _pay(self.name, action)
        if isinstance(action, Answered):
            return values.CustomerAnswer(place=_NOWHERE, payment=self.name, answer=action.answer)
        if isinstance(action, Transitioned):
            return values.Transition(
                place=_NOWHERE,
                payment=self.name,
                status=action.status,
                method=action.method,
                reason=action.reason,
                unusual=action.unusual,
            )
        return None

    def expected(self) -> dict[str, Json]:
        """The checks of its present status that no earlier step has made."""
        checks: dict[str, Json] = {"status": self.latest.status.value}
        if self.latest.method != self.shown_method:
            checks["method"] = self.shown_method = self.latest.method
        if self.latest.reason is not None:
            checks["reason"] = self.latest.reason.value
        return checks


class _ScriptBuilder:
    """Adds the steps of each event, and advances the clock to it."""

    def __init__(self, history: AccountHistory, *, sets_expiry: bool) -> None:
        self._history = history
        self._sets_expiry = sets_expiry
        self._names = _names(len(history.payments))
        self._stored = {payment.position: (payment, key) for payment, key in history.payments}
        self._payments: dict[int, _PaymentSteps] = {}
        # Those that changed at the present instant, in the order of their last changes.
        self._changed: dict[int, _PaymentSteps] = {}
        self._now: Instant | None = None
        self._steps: list[Step] = []

    def build(self) -> tuple[Step, ...]:
        cancels: deque[Action] = deque()
        performed: dict[int, PaymentAction] = {}
        for stored in self._history.actions:
            action = payment_action(stored)
            if isinstance(action, Cancelled):
                cancels.append(stored)
            else:
                performed[stored.event] = action
        for event in self._history.events:
            while cancels and cancels[0].event <= event.position:
                self._add_cancel(cancels.popleft())
            self._add_event(event, performed.get(event.position))
        for stored in cancels:
            self._add_cancel(stored)
        self._add_final_checks()
        return tuple(self._steps)

    def _add_cancel(self, action: Action) -> None:
        self._advance_to(action.at)
        name = self._payments[action.payment].name
        self._steps.append(values.Cancel(place=_NOWHERE, payment=name))

    def _add_event(self, event: Event, action: PaymentAction | None) -> None:
        self._advance_to(event.at)
        if event.status is Status.PENDING:
            self._add_create(event)
        else:
            step = self._payments[event.payment].apply(event, action)
            if step is not None:
                self._steps.append(step)
        self._changed.pop(event.payment, None)
        self._changed[event.payment] = self._payments[event.payment]

    def _add_create(self, event: Event) -> None:
        payment, idempotency_key = self._stored[event.payment]
        steps_of_payment = _PaymentSteps(name=next(self._names), latest=event, types=[event.type])
        self._payments[event.payment] = steps_of_payment
        members: dict[str, Json] = {"amount": payment.amount_minor}
        if payment.methods != DEFAULT_METHODS:
            members["methods"] = list(payment.methods)
        if payment.terms.metadata:
            members["metadata"] = payment.terms.metadata
        if idempotency_key is not None:
            members["idempotency_key"] = idempotency_key
        expires_in_s = (payment.expires_at - payment.created_at) // 1000
        if self._sets_expiry and expires_in_s != DEFAULT_EXPIRES_IN_S:
            members["expires_in"] = expires_in_s
        self._steps.append(
            values.Create(
                place=_NOWHERE, name=steps_of_payment.name, members=tuple(members.items())
            )
        )

    def _advance_to(self, instant: Instant) -> None:
        """Advance the clock to an instant, after the checks of the instant before."""
        if self._now is None:
            self._now = instant
        span_ms = instant - self._now
        if span_ms <= 0:
            return
        for payment in self._changed.values():
            self._steps.append(_expect(payment.name, payment.expected()))
        self._changed.clear()
        while span_ms > 0:
            by_ms = min(span_ms, MAX_DURATION_MS)
            self._steps.append(values.AdvanceStep(place=_NOWHERE, by_ms=by_ms))
            span_ms -= by_ms
        self._now = instant

    def _add_final_checks(self) -> None:
        self._advance_to(self._history.now)
        for payment in self._payments.values():
            self._steps.append(
                _expect(payment.name, {**payment.expected(), "events": payment.types})
            )
        types = [event.type for event in self._history.events]
        if len(self._payments) > 1 and len(types) <= MAX_EXPECTED_EVENTS:
            self._steps.append(_expect(None, {"events": types}))


def _names(count: int) -> Iterator[str]:
    """The names of the payments, in the order of their creation."""
    return iter(["order"] if count == 1 else [f"order_{n}" for n in range(1, count + 1)])


def _pay(name: str, action: Paid) -> Step:
    return values.Pay(
        place=_NOWHERE,
        payment=name,
        method=action.method,
        phone=None if action.phone is None else local_phone(action.phone),
        # An unknown method may have both, but no step takes both.
        bank=action.bank if action.phone is None else None,
    )


def _expect(name: str | None, checks: dict[str, Json]) -> Step:
    return values.Expect(
        place=_NOWHERE,
        payment=name,
        checks=tuple(
            values.FieldCheck(place=_NOWHERE, key=key, expected=expected)
            for key, expected in checks.items()
        ),
    )
