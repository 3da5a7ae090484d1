"""What happened, told as steps that make it happen again.

What comes by itself (an expiry, a time-out, a later step of an outcome) is no step: the clock is
moved to where it comes. What neither a verb explains nor what was to come was done by a version
that kept no verbs; it is told as a change by hand.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from emulator.domain.durations import MAX_MS
from emulator.domain.instants import Instant
from emulator.domain.outcomes import Outcome, Scripted, answer_due_at
from emulator.domain.payment import (
    DEFAULT_EXPIRES_IN_S,
    DEFAULT_METHODS,
    DEFAULT_REASON,
    Event,
    Payment,
    Reason,
    Status,
)
from emulator.domain.phones import local_phone
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.engine.payments.actions import (
    Answered,
    Cancelled,
    Paid,
    PaymentAction,
    Transitioned,
    payment_action,
)
from emulator.engine.recording.recorder import AccountHistory
from emulator.scenarios import steps
from emulator.scenarios.steps import Json, Step
from emulator.storage.actions import Action

# So many events of an account can be looked at; where there are more, they are not expected.
MAX_EXPECTED_EVENTS = 1_000

_NOWHERE = steps.Place(line=1, column=1)


def script_of(past: AccountHistory, *, says_expiry: bool) -> tuple[Step, ...]:
    """The steps that make it happen again, each status expected at its instant.

    `says_expiry` is whether the creations say how long a checkout stays open; if not, rules do.
    """
    if not past.payments:
        return (_expect(None, {"events": []}),)
    return _ScriptBuilder(past, says_expiry=says_expiry).tell()


class _Coming(NamedTuple):
    """What a payment is going to become by itself, unless something is done to it."""

    at: Instant
    status: Status
    reason: Reason | None


@dataclass(slots=True, kw_only=True)
class _PaymentSteps:
    """A payment as far as it has been told."""

    name: str
    payment: Payment
    coming: deque[_Coming]
    latest: Event
    is_asked: bool = False
    types: list[str] = field(default_factory=list)
    shown_method: str | None = None

    def become(self, event: Event, action: PaymentAction | None) -> Step | None:
        """Take on a status; returns the step that makes it do so, unless it comes by itself."""
        before, self.latest = self.latest, event
        self.types.append(event.type)
        if isinstance(action, Paid):
            self._await(action.outcome, event)
            return _pay(self.name, action)
        was_asked, self.is_asked = self.is_asked, False
        if action is None and self._came(event):
            return None
        self.coming.clear()
        if isinstance(action, Answered) and was_asked:
            return steps.CustomerAnswer(place=_NOWHERE, payment=self.name, answer=action.answer)
        if isinstance(action, Transitioned):
            return steps.Transition(
                place=_NOWHERE,
                payment=self.name,
                status=action.status,
                method=action.method,
                reason=action.reason,
                unusual=action.unusual,
            )
        return self._by_hand(before, event)

    def _came(self, event: Event) -> bool:
        """Whether this is what was to come next."""
        if not self.coming or self.coming[0] != (event.at, event.status, event.reason):
            return False
        self.coming.popleft()
        return True

    def _await(self, outcome: Outcome, submitted: Event) -> None:
        self.coming.clear()
        if isinstance(outcome, Scripted):
            for step in outcome.steps:
                reason = DEFAULT_REASON if step.status is Status.FAILED else None
                due_at = submitted.at + step.after_ms
                self.coming.append(_Coming(due_at, step.status, step.reason or reason))
            return
        due_at = answer_due_at(
            submitted.method, submitted_at=submitted.at, expires_at=self.payment.expires_at
        )
        self.coming.append(_Coming(due_at, Status.FAILED, Reason.TIMEOUT))
        self.is_asked = True

    def _by_hand(self, before: Event, event: Event) -> Step:
        is_new_method = event.method is not None and before.method is None
        return steps.Transition(
            place=_NOWHERE,
            payment=self.name,
            status=event.status,
            method=event.method if is_new_method else None,
            reason=event.reason,
            unusual=TRANSITIONS.get((before.status, event.status)) is Edge.UNUSUAL,
        )

    def expected(self) -> dict[str, Json]:
        """What is to be said of its present status, and was not said before."""
        checks: dict[str, Json] = {"status": self.latest.status.value}
        if self.latest.method != self.shown_method:
            checks["method"] = self.shown_method = self.latest.method
        if self.latest.reason is not None:
            checks["reason"] = self.latest.reason.value
        return checks


class _ScriptBuilder:
    """Tells event after event, and moves the clock to each."""

    def __init__(self, past: AccountHistory, *, says_expiry: bool) -> None:
        self._past = past
        self._says_expiry = says_expiry
        self._names = _names(len(past.payments))
        self._payments = {payment.position: (payment, key) for payment, key in past.payments}
        self._told: dict[int, _PaymentSteps] = {}
        # Of the present instant, in the order in which they took on their last status.
        self._changed: dict[int, _PaymentSteps] = {}
        self._now: Instant | None = None
        self._steps: list[Step] = []
        # What has to be done by hand comes after all that comes by itself at the same instant.
        self._forced_at: Instant | None = None
        self._keeps_order = True

    def tell(self) -> tuple[Step, ...]:
        cancels: deque[Action] = deque()
        done: dict[int, PaymentAction] = {}
        for stored in self._past.actions:
            action = payment_action(stored)
            if isinstance(action, Cancelled):
                cancels.append(stored)
            else:
                done[stored.event] = action
        for event in self._past.events:
            while cancels and cancels[0].event <= event.position:
                self._cancel(cancels.popleft())
            self._happen(event, done.get(event.position))
        for stored in cancels:
            self._cancel(stored)
        self._end()
        return tuple(self._steps)

    def _cancel(self, action: Action) -> None:
        self._move(action.at)
        name = self._told[action.payment].name
        self._steps.append(steps.Cancel(place=_NOWHERE, payment=name))

    def _happen(self, event: Event, action: PaymentAction | None) -> None:
        self._move(event.at)
        if event.status is Status.PENDING:
            self._create(event)
        else:
            self._become(self._told[event.payment], event, action)
        self._changed.pop(event.payment, None)
        self._changed[event.payment] = self._told[event.payment]

    def _become(self, told: _PaymentSteps, event: Event, action: PaymentAction | None) -> None:
        is_at_once = told.latest.at == event.at
        step = told.become(event, action)
        if step is not None:
            self._steps.append(step)
            if action is None:
                self._forced_at = event.at
        elif event.at == self._forced_at and not is_at_once:
            self._keeps_order = False

    def _create(self, event: Event) -> None:
        payment, idempotency_key = self._payments[event.payment]
        told = _PaymentSteps(
            name=next(self._names),
            payment=payment,
            coming=deque([_Coming(payment.expires_at, Status.EXPIRED, None)]),
            latest=event,
            types=[event.type],
        )
        self._told[event.payment] = told
        members: dict[str, Json] = {"amount": payment.amount_minor}
        if payment.methods != DEFAULT_METHODS:
            members["methods"] = list(payment.methods)
        if payment.terms.metadata:
            members["metadata"] = payment.terms.metadata
        if idempotency_key is not None:
            members["idempotency_key"] = idempotency_key
        expires_in_s = (payment.expires_at - payment.created_at) // 1000
        if self._says_expiry and expires_in_s != DEFAULT_EXPIRES_IN_S:
            members["expires_in"] = expires_in_s
        self._steps.append(
            steps.Create(place=_NOWHERE, name=told.name, members=tuple(members.items()))
        )

    def _move(self, instant: Instant) -> None:
        """Let time pass, after saying what was true before."""
        if self._now is None:
            self._now = instant
        span_ms = instant - self._now
        if span_ms <= 0:
            return
        for told in self._changed.values():
            self._steps.append(_expect(told.name, told.expected()))
        self._changed.clear()
        while span_ms > 0:
            by_ms = min(span_ms, MAX_MS)
            self._steps.append(steps.Advance(place=_NOWHERE, by_ms=by_ms))
            span_ms -= by_ms
        self._now = instant

    def _end(self) -> None:
        self._move(self._past.now)
        for told in self._told.values():
            self._steps.append(_expect(told.name, {**told.expected(), "events": told.types}))
        types = [event.type for event in self._past.events]
        if len(self._told) > 1 and len(types) <= MAX_EXPECTED_EVENTS and self._keeps_order:
            self._steps.append(_expect(None, {"events": types}))


def _names(count: int) -> Iterator[str]:
    """What the payments are called, in the order of their creation."""
    return iter(["order"] if count == 1 else [f"order_{n}" for n in range(1, count + 1)])


def _pay(name: str, action: Paid) -> Step:
    return steps.Pay(
        place=_NOWHERE,
        payment=name,
        method=action.method,
        phone=None if action.phone is None else local_phone(action.phone),
        # Of a method that is none of ours both may be known; nothing that we do asks for both.
        bank=action.bank if action.phone is None else None,
    )


def _expect(name: str | None, checks: dict[str, Json]) -> Step:
    return steps.Expect(
        place=_NOWHERE,
        payment=name,
        checks=tuple(
            steps.FieldCheck(place=_NOWHERE, key=key, expected=expected)
            for key, expected in checks.items()
        ),
    )
