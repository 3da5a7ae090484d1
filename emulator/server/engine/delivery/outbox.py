"""Writes the deliveries of an event, in the transaction of the event."""

import logging
from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import Struct

from emulator.domain.instants import Instant
from emulator.domain.payment import EVENT_TYPES, RETURN, NewEvent, Payment
from emulator.domain.webhooks import (
    MAX_POSTPONED_MS,
    DeliveryEffect,
    DeliveryState,
    RegisteredEndpoint,
    tamper_problem,
)
from emulator.scenarios.values import Fault
from emulator.server.engine.delivery.dispatcher import Dispatcher
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.context import ChangeNotifier
from emulator.server.engine.state.rule_choice import delivery_fault, may_have_delivery_faults
from emulator.server.storage import deliveries
from emulator.server.storage.batch import LAST_ORDINAL, Transaction
from emulator.server.storage.deliveries import Delivery

_NO_EFFECT = DeliveryEffect()

logger = logging.getLogger(__name__)


class _NewEvent(Struct, frozen=True):
    """An event that was just written; `event` and `payment` are positions."""

    event: int
    payment: int
    type: str
    at: Instant


class Outbox:
    """Writes deliveries; the dispatcher sends them after the commit."""

    def __init__(self, dispatcher: Dispatcher, change_notifier: ChangeNotifier) -> None:
        self._dispatcher = dispatcher
        self._change_notifier = change_notifier

    def add(
        self,
        tx: Transaction,
        owner: Owner,
        written: Sequence[NewEvent],
        *,
        first_event: int,
    ) -> None:
        """Write the deliveries of events that were just written, in order."""
        new_events = [
            _NewEvent(event, each.payment.position, each.type, each.at)
            for event, each in enumerate(written, start=first_event)
            if each.type != RETURN
        ]
        postponed = deliveries.postponed(tx, {new_event.payment for new_event in new_events})
        rows: list[Delivery] = []
        for new_event in new_events:
            new = list(self._rows(tx, owner, new_event))
            # After the event that they were waiting for.
            waiting = postponed.pop(new_event.payment, ())
            rows += [_released(tx, row, new_event, new) for row in waiting]
            rows += [row for row in new if not row.is_postponed]
            postponed[new_event.payment] = [row for row in new if row.is_postponed]
        rows += [row for waiting in postponed.values() for row in waiting]
        self._put(tx, owner, rows)

    def add_created(
        self, tx: Transaction, owner: Owner, created: Iterable[tuple[Payment, int]]
    ) -> None:
        """As `add`, for payments that were just inserted, each with its event's position."""
        rows: list[Delivery] = []
        for payment, event in created:
            event_type, at = EVENT_TYPES[payment.status], payment.created_at
            new_event = _NewEvent(event, payment.position, event_type, at)
            rows += self._rows(tx, owner, new_event)
        self._put(tx, owner, rows)

    def _put(self, tx: Transaction, owner: Owner, rows: list[Delivery]) -> None:
        if rows:
            deliveries.put(tx, rows)
            # A dropped delivery is over already.
            tx.after_commit += [
                partial(self._dispatcher.wake, owner),
                partial(self._change_notifier.changed, (owner, *{row.payment for row in rows})),
            ]

    @staticmethod
    def may_deliver(owner: Owner, event_type: str) -> bool:
        """Whether an event of a type may cause a delivery."""
        return event_type != RETURN and (
            may_have_delivery_faults(owner)
            or any(endpoint.receives(event_type) for endpoint in owner.endpoints.values())
        )

    def _rows(self, tx: Transaction, owner: Owner, new_event: _NewEvent) -> Iterable[Delivery]:
        """The deliveries of one event, with the fault that a scenario adds to them."""
        endpoints = owner.endpoints.values()
        subscribed = [endpoint for endpoint in endpoints if endpoint.receives(new_event.type)]
        if not subscribed:
            return
        fault = delivery_fault(tx, owner, new_event.payment, new_event.type)
        effect = _NO_EFFECT if fault is None else fault.effect
        variants, ordinal = owner.account.variants, new_event.event & LAST_ORDINAL
        has_unknown = variants is not None and variants.chosen("unknown-event", "event", ordinal)
        for endpoint in subscribed:
            if has_unknown and endpoint.form.shows_type:
                row = _row(tx, owner, endpoint, new_event, None)
                yield row._replace(event=None)
            applied = _applied(fault, endpoint)
            for copy in range(1 if effect.drop else effect.copies):
                yield _row(tx, owner, endpoint, new_event, applied, copy=copy)


def _applied(
    fault: Fault[DeliveryEffect] | None, endpoint: RegisteredEndpoint
) -> Fault[DeliveryEffect] | None:
    """The fault without a `tamper` that the form of an endpoint has no place for."""
    tamper = None if fault is None else fault.effect.tamper
    problem = None if tamper is None else tamper_problem(endpoint.form, tamper)
    if fault is None or problem is None:
        return fault
    logger.warning("'tamper: %s' is not applied: %s", tamper, problem)
    settings = tuple(pair for pair in fault.settings if pair[0] != "tamper")
    return Fault(effect=fault.effect._replace(tamper=None), settings=settings) if settings else None


def _row(
    tx: Transaction,
    owner: Owner,
    endpoint: RegisteredEndpoint,
    new_event: _NewEvent,
    fault: Fault[DeliveryEffect] | None,
    *,
    copy: int = 0,
) -> Delivery:
    effect, written = _NO_EFFECT, None
    if fault is not None:
        from emulator.scenarios.scenario_file import delivery_fault_json

        effect, written = fault.effect, delivery_fault_json(fault)
    delay_ms = MAX_POSTPONED_MS if effect.until_next_event else effect.delay_ms
    if effect.delays_ms:
        delay_ms = effect.delays_ms[copy]
    return Delivery(
        position=tx.next_position("deliveries", owner.number),
        endpoint=endpoint.position,
        event=new_event.event,
        payment=new_event.payment,
        created_at=new_event.at,
        state=DeliveryState.DROPPED if effect.drop else DeliveryState.PENDING,
        attempts=0,
        due_at=None if effect.drop else new_event.at + delay_ms,
        sequence=tx.next_timer(),
        is_postponed=effect.until_next_event,
        tamper=effect.tamper,
        fault=written,
        is_concurrent=effect.concurrent,
        timeout_ms=effect.timeout_ms,
    )


def _released(
    tx: Transaction, postponed: Delivery, new_event: _NewEvent, new: Sequence[Delivery]
) -> Delivery:
    """The delivery, due after the new event's deliveries, unless it is due earlier."""
    delays = [
        row.due_at for row in new if row.endpoint == postponed.endpoint and not row.is_postponed
    ]
    # Of several copies, after the first.
    due_at = min(filter(None, delays), default=new_event.at)
    due_at = min(due_at, postponed.due_at or due_at)
    return postponed._replace(due_at=due_at, sequence=tx.next_timer(), is_postponed=False)
