"""Converts an account's history into the scenario steps and webhook rules that reproduce it.

An event that arrived after the next event of its payment is held; one that arrived later still is
delayed, and the script advances the clock to it.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from emulator.domain.durations import duration_text
from emulator.domain.instants import Instant
from emulator.domain.payment import DEFAULT_EXPIRES_IN_S, Event, Payment, Status
from emulator.domain.payment_methods import DEFAULT_METHODS, local_phone
from emulator.domain.webhooks import Attempt, DeliveryState
from emulator.scenarios import values
from emulator.scenarios.history_script import (
    NOWHERE,
    EventDelivery,
    HistoryScript,
    arrived_types,
    by_arrival,
    expect,
    webhook_rules,
)
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

MAX_RECORDED_DELIVERIES = 1_000
# Between two delayed events.
_STEP_MS = 1_000


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


def script_of(
    history: AccountHistory, *, sets_expiry: bool
) -> tuple[tuple[Step, ...], Mapping[int, str]]:
    """The steps that reproduce a history, with an expectation for each status at its instant; and
    the names of the payments, by their positions.

    `sets_expiry` is whether the create steps set how long a checkout stays open; else rules do.
    """
    if not history.payments:
        return (expect(None, {"events": []}),), {}
    script = HistoryScript(len(history.payments))
    stored = {payment.position: (payment, key) for payment, key in history.payments}
    cancels: deque[Action] = deque()
    performed: dict[int, PaymentAction] = {}
    for taken in history.actions:
        action = payment_action(taken)
        if isinstance(action, Cancelled):
            cancels.append(taken)
        # The outcome of the submit reproduces a completion that was postponed.
        elif not (isinstance(action, Answered) and action.is_postponed):
            performed[taken.event] = action

    def add_cancel(action: Action) -> None:
        name = script.names[action.payment]
        script.add_step(action.at, values.Cancel(place=NOWHERE, payment=name))

    for event in history.events:
        while cancels and cancels[0].event <= event.position:
            add_cancel(cancels.popleft())
        if event.status is Status.PENDING and not event.is_failed_attempt:
            members = _create_members(*stored[event.payment], sets_expiry=sets_expiry)
            script.add_create(event, members)
        else:
            name = script.names[event.payment]
            script.add_event(event, _step(name, performed.get(event.position)))
    for taken in cancels:
        add_cancel(taken)
    return script.end(history.now), script.names


def _step(name: str, action: PaymentAction | None) -> Step | None:
    """The step of an action; None for a scheduled change."""
    if isinstance(action, Paid):
        return values.Pay(
            place=NOWHERE,
            payment=name,
            method=action.method,
            phone=None if action.phone is None else local_phone(action.phone),
            # An unknown method may have both, but no step takes both.
            bank=action.bank if action.phone is None else None,
        )
    if isinstance(action, Answered):
        return values.CustomerAnswer(place=NOWHERE, payment=name, answer=action.answer)
    if isinstance(action, Transitioned):
        return values.Transition(
            place=NOWHERE,
            payment=name,
            status=action.status,
            method=action.method,
            reason=action.reason,
            unusual=action.unusual,
        )
    return None


def _create_members(
    payment: Payment, idempotency_key: str | None, *, sets_expiry: bool
) -> dict[str, Json]:
    members: dict[str, Json] = {"amount": payment.amount_minor}
    if payment.methods != DEFAULT_METHODS:
        members["methods"] = list(payment.methods)
    if payment.terms.metadata:
        members["metadata"] = payment.terms.metadata
    if idempotency_key is not None:
        members["idempotency_key"] = idempotency_key
    expires_in_s = (payment.expires_at - payment.created_at) // 1000
    if sets_expiry and expires_in_s != DEFAULT_EXPIRES_IN_S:
        members["expires_in"] = expires_in_s
    return members


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
            arrivals[payment] = arrived_types(of_payment)
    return DeliveryRules(rules=webhook_rules(sent), wait_ms=wait_ms, arrivals=arrivals)


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


def _reorder(sent: Sequence[EventDelivery]) -> int:
    """Hold or delay what arrived late; returns how long after the last event it arrives."""
    order = {id(each): place for place, each in enumerate(by_arrival(sent))}
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
