"""Converts an account's history into the scenario steps that reproduce it."""

from collections import deque
from collections.abc import Collection, Mapping
from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.domain.payment import DEFAULT_EXPIRES_IN_S, Event, Payment, Status
from emulator.domain.payment_methods import DEFAULT_METHODS, local_phone
from emulator.scenarios import values
from emulator.scenarios.history_script import NOWHERE, HistoryScript, expect
from emulator.scenarios.values import Json, Step
from emulator.server.engine.payments.customer import (
    Answered,
    Cancelled,
    Paid,
    PaymentAction,
    PerformedAction,
    Transitioned,
)


class AccountHistory(NamedTuple):
    """An account's payments with their idempotency keys, events and actions, oldest first.

    No timer is due at `now`. `attempt_limits` are by the positions of the payments, and
    `left_early` are the positions of those whose pages have redirected before the completion.
    """

    payments: list[tuple[Payment, str | None]]
    events: list[Event]
    actions: list[PerformedAction]
    now: Instant
    attempt_limits: Mapping[int, int]
    left_early: Collection[int]


def script_of(history: AccountHistory, *, sets_expiry: bool) -> tuple[Step, ...]:
    """The steps that reproduce a history, with an expectation for each status at its instant.

    `sets_expiry` is whether the create steps set how long a checkout stays open; else rules do.
    """
    if not history.payments:
        return (expect(None, {"events": []}),)
    script = HistoryScript(len(history.payments))
    stored = {payment.position: (payment, key) for payment, key in history.payments}
    cancels: deque[PerformedAction] = deque()
    performed: dict[int, PaymentAction] = {}
    for taken in history.actions:
        action = taken.detail
        if isinstance(action, Cancelled):
            cancels.append(taken)
        # The outcome of the submit reproduces a completion that was postponed.
        elif not (isinstance(action, Answered) and action.is_postponed):
            performed[taken.event] = action

    def add_cancel(action: PerformedAction) -> None:
        name = script.names[action.payment]
        script.add_step(action.at, values.Cancel(place=NOWHERE, payment=name))

    for event in history.events:
        while cancels and cancels[0].event <= event.position:
            add_cancel(cancels.popleft())
        if event.status is Status.PENDING and not event.is_return:
            members = _create_members(*stored[event.payment], sets_expiry=sets_expiry)
            script.add_create(event, members)
        else:
            name = script.names[event.payment]
            script.add_event(event, _step(name, performed.get(event.position)))
    for taken in cancels:
        add_cancel(taken)
    return script.end(history.now)


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
    expires_in_s = payment.lifetime_ms // 1000
    if sets_expiry and expires_in_s != DEFAULT_EXPIRES_IN_S:
        members["expires_in"] = expires_in_s
    return members
