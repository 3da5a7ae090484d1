"""Converts an account's history into the scenario steps and webhook rules that reproduce it.

A scheduled change (an expiry, a timeout, a later step of an outcome) needs no step of its own: the
clock is advanced to its instant. An event that arrived after the next event of its payment is held;
one that arrived later still is delayed, and the script advances the clock to it. Repetitions of an
event follow it at once.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from emulator.domain.durations import MAX_DURATION_MS, duration_text
from emulator.domain.instants import Instant
from emulator.domain.payment import DEFAULT_EXPIRES_IN_S, Event, Payment, Status
from emulator.domain.payment_methods import DEFAULT_METHODS, local_phone
from emulator.domain.transitions import DueKey
from emulator.domain.webhooks import Attempt, DeliveryState
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
from emulator.server.storage.deliveries import Delivery
from emulator.server.storage.events import Action

# The control API returns so many events; a longer list is not expected.
MAX_EXPECTED_EVENTS = 1_000
MAX_RECORDED_DELIVERIES = 1_000
# Between two delayed events.
_STEP_MS = 1_000
# Rules are used up in order, so an event without a fault needs one that changes nothing.
_NO_FAULT: dict[str, Json] = {"copies": 1}

_NOWHERE = values.Place(line=1, column=1)


class AccountHistory(NamedTuple):
    """An account's payments with their idempotency keys, events and actions, oldest first.

    No timer is due at `now`. `attempt_limits` are by the positions of the payments, and
    `left_early` are the positions of those whose pages have redirected before the completion.
    """

    payments: list[tuple[Payment, str | None]]
    events: list[Event]
    actions: list[Action]
    now: Instant
    attempt_limits: Mapping[int, int]
    left_early: Collection[int]


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
        if not event.is_failed_attempt:
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
        is_pending = self.latest.status is Status.PENDING
        method = None if is_pending else self.latest.method
        if method != self.shown_method:
            checks["method"] = self.shown_method = method
        if self.latest.reason is not None and not is_pending:
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
            # The outcome of the submit reproduces a completion that was postponed.
            elif not (isinstance(action, Answered) and action.is_postponed):
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
        if event.status is Status.PENDING and not event.is_failed_attempt:
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
        events = self._history.events
        types = [event.type for event in events if not event.is_failed_attempt]
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


@dataclass(slots=True, kw_only=True)
class EventDelivery:
    """What happened to an event at the first endpoint that it was sent to.

    `arrived` orders arrivals; it is None for an event that was dropped, or is pending.
    """

    event: Event
    arrived: DueKey | None
    is_dropped: bool
    then: dict[str, Json] = field(default_factory=dict)

    @property
    def copies(self) -> int:
        return int(self.then.get("copies", 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRules:
    """The rules; the time that the script has to advance for the last delay; the arrivals.

    `arrivals` are the types of the webhooks of each payment, by its position, in order.
    """

    rules: list[Json]
    wait_ms: int
    arrivals: Mapping[int, list[Json]]


def delivery_rules(
    events: Sequence[Event], stored: Iterable[tuple[Delivery, Sequence[Attempt]]]
) -> DeliveryRules:
    """The rules for events, oldest first, with their deliveries and attempts."""
    rows: dict[int | None, list[tuple[Delivery, Sequence[Attempt]]]] = {}
    for delivery, attempts in stored:
        rows.setdefault(delivery.event, []).append((delivery, attempts))
    sent = [
        _event_delivery(event, rows[event.position]) for event in events if event.position in rows
    ]
    wait_ms = 0
    arrivals: dict[int, list[Json]] = {}
    by_payment: dict[int, list[EventDelivery]] = {}
    for each in sent:
        by_payment.setdefault(each.event.payment, []).append(each)
    for payment, of_payment in by_payment.items():
        wait_ms = max(wait_ms, _reorder(of_payment))
        if all(each.is_dropped or each.arrived is not None for each in of_payment):
            arrivals[payment] = [
                each.event.type for each in _by_arrival(of_payment) for _ in range(each.copies)
            ]
    return DeliveryRules(rules=_rules(sent), wait_ms=wait_ms, arrivals=arrivals)


def _event_delivery(
    event: Event, rows: Sequence[tuple[Delivery, Sequence[Attempt]]]
) -> EventDelivery:
    endpoint = min(delivery.endpoint for delivery, _ in rows)
    rows = [row for row in rows if row[0].endpoint == endpoint]
    arrivals = [
        (attempt.at, delivery.sequence)
        for delivery, attempts in rows
        for attempt in attempts
        if attempt.result.has_succeeded
    ]
    is_dropped = all(delivery.state is DeliveryState.DROPPED for delivery, _ in rows)
    each = EventDelivery(
        event=event, arrived=min(arrivals, default=None), is_dropped=is_dropped and not arrivals
    )
    if each.is_dropped:
        each.then["drop"] = True
    if len(arrivals) > 1:
        each.then["copies"] = len(arrivals)
    tamper = rows[0][0].tamper
    if tamper is not None:
        each.then["tamper"] = tamper.value
    return each


def _by_arrival(sent: Iterable[EventDelivery]) -> list[EventDelivery]:
    arrived = (each for each in sent if each.arrived)
    return sorted(arrived, key=lambda each: each.arrived or (0, 0))


def _reorder(sent: Sequence[EventDelivery]) -> int:
    """Hold or delay what arrived late; returns how long after the last event it arrives."""
    order = {id(each): place for place, each in enumerate(_by_arrival(sent))}
    ordered = [each for each in sent if id(each) in order]
    wait_ms = 0
    for each in sorted(ordered, key=lambda each: order[id(each)]):
        later = ordered[ordered.index(each) + 1 :]
        passed = [other for other in later if order[id(other)] < order[id(each)]]
        if wait_ms == 0 and not passed:
            continue
        is_next = passed == later[:1] and sent[sent.index(each) + 1 :][:1] == passed
        if wait_ms == 0 and is_next and "hold" not in passed[0].then:
            each.then["hold"] = True
        else:
            # Also what arrived after a delayed event.
            wait_ms += _STEP_MS
            each.then["delay"] = duration_text(sent[-1].event.at - each.event.at + wait_ms)
    return wait_ms


def _rules(sent: Sequence[EventDelivery]) -> list[Json]:
    rules: list[Json] = []
    for event_type in dict.fromkeys(each.event.type for each in sent):
        effects = [each.then for each in sent if each.event.type == event_type]
        runs = [(effect, len(list(run))) for effect, run in groupby(effects)]
        if not runs[-1][0]:
            runs.pop()
        for effect, times in runs:
            rule: dict[str, Json] = {"when": {"event": event_type}, "then": effect or _NO_FAULT}
            rules.append({**rule, "times": times})
    return rules
