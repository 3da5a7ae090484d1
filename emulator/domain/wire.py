"""Encodes payments and events as JSON (contract, section 2.1)."""

from functools import lru_cache

from emulator.domain.accounts import Mode
from emulator.domain.instants import Instant, format_instant
from emulator.domain.payment import CURRENCY, EVENT_TYPES, Event, Payment, Status
from emulator.domain.transitions import Change, Timer, TimerKind

# The type of an event without a payment.
PING = "ping"
# Of an event of `--vary unknown-event`.
UNKNOWN_EVENT_TYPE = "payment.reviewed"
PAYMENT_MEMBERS = (
    *("id", "object", "amount", "currency", "status", "method", "checkout_url", "success_url"),
    *("cancel_url", "metadata", "created_at", "expires_at", "completed_at"),
)


def payment_json(payment: Payment) -> str:
    """The payment object: exactly the contract's 13 fields, in its order.

    It does not use an encoder, because it takes most of the time of a request. Ids, statuses and
    methods are plain ASCII words, and `terms` is JSON already.
    """
    method = "null" if payment.method is None else f'"{payment.method}"'
    completed_at = payment.completed_at
    completed = "null" if completed_at is None else f'"{format_instant(completed_at)}"'
    return (
        f'{{"id":"{payment.id}","object":"payment","amount":{payment.amount_minor},'
        f'"currency":"{CURRENCY}","status":"{payment.status.value}","method":{method},'
        f"{payment.terms_json[1:-1]},"
        f'"created_at":"{format_instant(payment.created_at)}",'
        f'"expires_at":"{format_instant(payment.expires_at)}","completed_at":{completed}}}'
    )


def event_json(event: Event, payment: Payment, *, event_id: str, mode: Mode) -> str:
    """The body of an event; `payment` is the payment at the time of the event."""
    return (
        f'{{"id":"{event_id}","object":"event","type":"{EVENT_TYPES[event.status]}",'
        f'"timestamp":"{format_instant(event.at)}","mode":"{mode.value}",'
        f'"data":{payment_json(payment)}}}'
    )


def ping_json(
    *, event_id: str, at: Instant, mode: Mode, event_type: str, payment_id: str | None
) -> str:
    """The body of a ping, or of an event that has only the id of a payment."""
    data = "{}" if payment_id is None else f'{{"id":"{payment_id}"}}'
    return (
        f'{{"id":"{event_id}","object":"event","type":"{event_type}",'
        f'"timestamp":"{format_instant(at)}","mode":"{mode.value}","data":{data}}}'
    )


def effect_json(timer: Timer, payment: Payment) -> str:
    """An entry in the list of effects of an advance."""
    before, after = _around_payment(timer.due_at, timer.kind, timer.change)
    return f"{before}{payment.id}{after}"


@lru_cache(maxsize=1024)
def _around_payment(due_at: Instant, kind: TimerKind, change: Change) -> tuple[str, str]:
    """An effect without its payment, shared by all payments that expire at one instant."""
    reason = "" if change.reason is None else f',"reason":"{change.reason.value}"'
    # A payment that is pending again has no event.
    event_type = "null" if change.to is Status.PENDING else f'"{EVENT_TYPES[change.to]}"'
    return (
        f'{{"at":"{format_instant(due_at)}","type":{event_type},"payment":"',
        f'","kind":"{kind.value}","status":"{change.to.value}"{reason}}}',
    )
