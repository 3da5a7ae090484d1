"""What has to be delivered: written in the transaction of the event that it tells of."""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.domain.payment import EVENT_TYPES, Payment, Status
from emulator.domain.webhooks import MAX_HOLD_MS, DeliveryEffect, DeliveryState, Endpoint
from emulator.engine.delivery.dispatcher import Dispatcher
from emulator.engine.state.account import Owner
from emulator.scenarios.values import Fault
from emulator.scenarios.writing import delivery_fault_json
from emulator.storage import deliveries
from emulator.storage.batch import Transaction
from emulator.storage.deliveries import Delivery

_USUAL = DeliveryEffect()


class _News(NamedTuple):
    """An event to tell of: its position and its payment's, and what happened when."""

    event: int
    payment: int
    status: Status
    at: Instant


class Outbox:
    """Writes deliveries; sending them is the dispatcher's, once they are committed."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def tell(
        self,
        tx: Transaction,
        owner: Owner,
        changed: Sequence[tuple[Payment, Instant]],
        *,
        first_event: int,
    ) -> None:
        """Write the deliveries of the events of payments that took on a status, in order."""
        news = [
            _News(event, payment.position, payment.status, at)
            for event, (payment, at) in enumerate(changed, start=first_event)
        ]
        held = deliveries.held(tx, {told.payment for told in news})
        rows: list[Delivery] = []
        for told in news:
            new = [row for row, _ in self._rows(tx, owner, told)]
            # Behind the event that they were waiting for.
            rows += [_released(tx, row, told) for row in held.pop(told.payment, ())]
            for row in new:
                (held.setdefault(told.payment, []) if row.is_held else rows).append(row)
        rows += [row for waiting in held.values() for row in waiting]
        if rows:
            deliveries.put(tx, rows)
            tx.after_commit.append(partial(self._dispatcher.wake, owner))

    def tell_of_new(
        self, tx: Transaction, owner: Owner, created: Iterable[tuple[Payment, int]]
    ) -> None:
        """As `tell`, of payments that were just inserted, each with its event's position."""
        rows: list[Delivery] = []
        for payment, event in created:
            told = _News(event, payment.position, payment.status, payment.created_at)
            mine = list(self._rows(tx, owner, told))
            rows += [row for row, _ in mine]
            awaited = [row.position for row, effect in mine if effect.before_response]
            if awaited:
                tx.after_commit.append(
                    partial(self._dispatcher.give_head_start, owner, payment.id, awaited)
                )
        if rows:
            deliveries.put(tx, rows)
            tx.after_commit.append(partial(self._dispatcher.wake, owner))

    def is_awaited(self, owner: Owner, status: Status) -> bool:
        """Whether something may have to be sent as soon as a payment takes on a status."""
        return owner.account.rules.has_webhooks(owner) or any(
            endpoint.is_enabled and EVENT_TYPES[status] in endpoint.events
            for endpoint in owner.endpoints.values()
        )

    def _rows(
        self, tx: Transaction, owner: Owner, told: _News
    ) -> Iterable[tuple[Delivery, DeliveryEffect]]:
        """The deliveries of one event, with what a scenario does to them."""
        event_type = EVENT_TYPES[told.status]
        listening = [
            endpoint
            for endpoint in owner.endpoints.values()
            if endpoint.is_enabled and event_type in endpoint.events
        ]
        if not listening:
            return
        fault = owner.account.rules.webhook(tx, owner, told.payment, event_type)
        effect = _USUAL if fault is None else fault.effect
        for endpoint in listening:
            for _ in range(1 if effect.drop else effect.copies):
                yield _row(tx, owner, endpoint, told, fault), effect


def _row(
    tx: Transaction,
    owner: Owner,
    endpoint: Endpoint,
    told: _News,
    fault: Fault[DeliveryEffect] | None,
) -> Delivery:
    effect = _USUAL if fault is None else fault.effect
    delay_ms = MAX_HOLD_MS if effect.hold else effect.delay_ms
    return Delivery(
        position=tx.next_position("deliveries", owner.number),
        endpoint=endpoint.position,
        event=told.event,
        payment=told.payment,
        created_at=told.at,
        state=DeliveryState.DROPPED if effect.drop else DeliveryState.PENDING,
        attempts=0,
        due_at=None if effect.drop else told.at + delay_ms,
        sequence=tx.next_timer(),
        is_held=effect.hold,
        tamper=effect.tamper,
        oddity=None if fault is None else json.dumps(delivery_fault_json(fault)),
    )


def _released(tx: Transaction, held: Delivery, told: _News) -> Delivery:
    return held._replace(due_at=told.at, sequence=tx.next_timer(), is_held=False)
