"""How a payment and an event are written as JSON (contract, section 2.1)."""

from emulator.domain.accounts import Mode
from emulator.domain.instants import format_instant
from emulator.domain.payment import CURRENCY, EVENT_TYPES, Event, Payment
from emulator.domain.timers import Timer


def payment_json(payment: Payment) -> str:
    """The payment object: exactly the contract's 13 fields, in its order.

    Written by hand because it is most of what a request costs; ids, statuses and methods are
    plain ASCII words, and `terms` is JSON already.
    """
    method = "null" if payment.method is None else f'"{payment.method}"'
    completed_at = payment.completed_at
    completed = "null" if completed_at is None else f'"{format_instant(completed_at)}"'
    return (
        f'{{"id":"{payment.id}","object":"payment","amount":{payment.amount_minor},'
        f'"currency":"{CURRENCY}","status":"{payment.status.value}","method":{method},'
        f"{payment.terms.text[1:-1]},"
        f'"created_at":"{format_instant(payment.created_at)}",'
        f'"expires_at":"{format_instant(payment.expires_at)}","completed_at":{completed}}}'
    )


def event_json(event: Event, payment: Payment, *, event_id: str, mode: Mode) -> str:
    """The body of an event: what happened, and the payment as it was then.

    `payment` is the payment at the event, as `Payment` values are never changed.
    """
    return (
        f'{{"id":"{event_id}","object":"event","type":"{EVENT_TYPES[event.status]}",'
        f'"timestamp":"{format_instant(event.at)}","mode":"{mode.value}",'
        f'"data":{payment_json(payment)}}}'
    )


def effect_json(timer: Timer, payment: Payment) -> str:
    """One thing that an advance made happen, for its list of effects."""
    reason = timer.change.reason
    told = "" if reason is None else f',"reason":"{reason.value}"'
    return (
        f'{{"at":"{format_instant(timer.due_at)}","type":"{EVENT_TYPES[timer.change.to]}",'
        f'"payment":"{payment.id}","kind":"{timer.kind.value}",'
        f'"status":"{timer.change.to.value}"{told}}}'
    )
