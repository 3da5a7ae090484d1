"""Builds the identifier and the body of an event."""

from emulator import ids
from emulator.domain.payment import Event, Payment
from emulator.domain.wire import event_json
from emulator.engine.state.account import Owner
from emulator.storage.batch import LAST_ORDINAL


def event_id(owner: Owner, event: Event) -> str:
    return ids.event_id(owner.stream, event.position & LAST_ORDINAL)


def event_body(owner: Owner, event: Event, payment: Payment) -> str:
    """The event as webhooks and the control API show it, with the payment as it was then."""
    payment_then = payment._replace(
        status=event.status,
        method=event.method,
        reason=event.reason,
        completed_at=event.completed_at,
    )
    return event_json(event, payment_then, event_id=event_id(owner, event), mode=owner.mode)
