"""Writes the deliveries of an event, in the transaction of the event."""

import logging
from collections.abc import Iterable, Sequence
from functools import partial

from emulator.domain.instants import Instant
from emulator.domain.payment import CREATION, RETURN, NewEvent
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


PlacedEvent = tuple[int, NewEvent]
"""The position of an event that was just written, and the event."""


class Outbox:
    """Writes deliveries; the dispatcher sends them after the commit."""

    def __init__(self, dispatcher: Dispatcher, change_notifier: ChangeNotifier) -> None:
        self._dispatcher = dispatcher
        self._change_notifier = change_notifier

    def add(self, tx: Transaction, owner: Owner, written: Iterable[PlacedEvent]) -> None:
        """Write the deliveries of events that were just written, in order."""
        new_events = [each for each in written if each[1].type != RETURN]
        # Before its creation a payment has none.
        changed = {event.payment.position for _, event in new_events if event.type != CREATION}
        postponed = deliveries.postponed(tx, changed)
        rows: list[Delivery] = []
        for placed in new_events:
            payment = placed[1].payment.position
            new = list(self._rows(tx, owner, placed))
            # After the event that they were waiting for.
            rows += [_released(tx, row, placed[1].at, new) for row in postponed.pop(payment, ())]
            rows += [row for row in new if not row.is_postponed]
            postponed[payment] = [row for row in new if row.is_postponed]
        rows += [row for waiting in postponed.values() for row in waiting]
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

    def _rows(self, tx: Transaction, owner: Owner, placed: PlacedEvent) -> Iterable[Delivery]:
        """The deliveries of one event, with the fault that a scenario adds to them."""
        event, (payment, _, event_type) = placed
        endpoints = owner.endpoints.values()
        subscribed = [endpoint for endpoint in endpoints if endpoint.receives(event_type)]
        if not subscribed:
            return
        fault = delivery_fault(tx, owner, payment.position, event_type)
        effect = _NO_EFFECT if fault is None else fault.effect
        variants, ordinal = owner.account.variants, event & LAST_ORDINAL
        has_unknown = variants is not None and variants.chosen("unknown-event", "event", ordinal)
        for endpoint in subscribed:
            if has_unknown and endpoint.form.shows_type:
                row = _row(tx, owner, endpoint, placed, None)
                yield row._replace(event=None)
            applied = _applied(fault, endpoint)
            for copy in range(1 if effect.drop else effect.copies):
                yield _row(tx, owner, endpoint, placed, applied, copy=copy)


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
    placed: PlacedEvent,
    fault: Fault[DeliveryEffect] | None,
    *,
    copy: int = 0,
) -> Delivery:
    event, (payment, at, _) = placed
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
        event=event,
        payment=payment.position,
        created_at=at,
        state=DeliveryState.DROPPED if effect.drop else DeliveryState.PENDING,
        attempts=0,
        due_at=None if effect.drop else at + delay_ms,
        sequence=tx.next_timer(),
        is_postponed=effect.until_next_event,
        tamper=effect.tamper,
        fault=written,
        is_concurrent=effect.concurrent,
        timeout_ms=effect.timeout_ms,
    )


def _released(
    tx: Transaction, postponed: Delivery, at: Instant, new: Sequence[Delivery]
) -> Delivery:
    """The delivery, due after those of a new event at an instant, unless it is due earlier."""
    delays = [
        row.due_at for row in new if row.endpoint == postponed.endpoint and not row.is_postponed
    ]
    # Of several copies, after the first.
    due_at = min(filter(None, delays), default=at)
    due_at = min(due_at, postponed.due_at or due_at)
    return postponed._replace(due_at=due_at, sequence=tx.next_timer(), is_postponed=False)
