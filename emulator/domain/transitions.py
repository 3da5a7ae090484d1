"""The table of status transitions, the function that applies one, and scheduled changes."""

from collections.abc import Iterable
from enum import Enum, StrEnum
from typing import NamedTuple

from emulator.domain.errors import IllegalTransition, InvalidField
from emulator.domain.instants import Instant
from emulator.domain.message_text import not_accepted, received
from emulator.domain.payment import DEFAULT_REASON, Payment, Reason, Status

DueKey = tuple[Instant, int]
"""The due instant, and the place in the order of creation among equal instants."""

LAST_SEQUENCE = 1 << 62
# The kind of a scheduled delivery attempt in the list of due timers.
ATTEMPT = "webhook_attempt"


class Edge(Enum):
    """Whether a change of status is ordinary."""

    ORDINARY = "ordinary"
    # It occurs in real mobile money systems; a caller must request it explicitly.
    UNUSUAL = "unusual"
    # Only a checkout rule of a scenario causes it.
    SETTING = "setting"


TRANSITIONS: dict[tuple[Status, Status], Edge] = {
    (Status.PENDING, Status.PROCESSING): Edge.ORDINARY,
    (Status.PENDING, Status.EXPIRED): Edge.ORDINARY,
    (Status.PROCESSING, Status.COMPLETED): Edge.ORDINARY,
    (Status.PROCESSING, Status.FAILED): Edge.ORDINARY,
    (Status.COMPLETED, Status.REFUNDED): Edge.ORDINARY,
    (Status.FAILED, Status.COMPLETED): Edge.UNUSUAL,
    (Status.EXPIRED, Status.COMPLETED): Edge.UNUSUAL,
    (Status.PROCESSING, Status.PENDING): Edge.SETTING,
    (Status.PENDING, Status.FAILED): Edge.SETTING,
}
# What the rule contains.
_SETTINGS = {Status.PENDING: "attempts: 2", Status.FAILED: "cancel: fails"}


class Change(NamedTuple):
    """A new status. `method`, `phone` and `bank` are set where the payment has none yet.

    `by_setting` permits the edges that only a checkout rule causes.
    """

    to: Status
    method: str | None = None
    phone: str | None = None
    bank: str | None = None
    reason: Reason | None = None
    unusual: bool = False
    by_setting: bool = False


def decide(payment: Payment, change: Change, *, now: Instant) -> Payment:
    """The payment after a change of status at `now`; no other function sets a status.

    Raises IllegalTransition where the table has no such edge, or has an unusual one and `unusual`
    is false; InvalidField for a reason or method that the edge does not accept.
    """
    edge = TRANSITIONS.get((payment.status, change.to))
    if edge is None:
        raise IllegalTransition(
            f"A payment that is {payment.status} cannot become {change.to}.", param="status"
        )
    if edge is Edge.UNUSUAL and not change.unusual:
        raise IllegalTransition(
            f"A payment that is {payment.status} becomes {change.to} only with 'unusual': true.",
            param="status",
        )
    if edge is Edge.SETTING and not change.by_setting:
        raise IllegalTransition(
            f"A payment that is {payment.status} becomes {change.to} only by the page, where a"
            f" checkout rule of a scenario has '{_SETTINGS[change.to]}'.",
            param="status",
        )
    to = change.to
    # The payer of a failed attempt is not that of the next one.
    payer = (None, None) if to is Status.PENDING else (payment.phone, payment.bank)
    # Positional, because keywords take twice as long.
    return Payment(
        payment.position,
        payment.id,
        payment.amount_minor,
        payment.methods,
        payment.terms_json,
        payment.created_at,
        payment.expires_at,
        to,
        _method_after(payment, change),
        _reason_after(change),
        now if to is Status.COMPLETED else payment.completed_at,
        change.phone or payer[0],
        change.bank or payer[1],
    )


def _method_after(payment: Payment, change: Change) -> str | None:
    if change.by_setting:
        return None
    if change.method is None and (payment.method is not None or change.to is Status.EXPIRED):
        return payment.method
    if change.to is Status.EXPIRED:
        raise InvalidField(
            "method", f"A payment that expires has no method (got {received(change.method)})."
        )
    if payment.method is None:
        method = payment.methods[0] if change.method is None else change.method
        if method not in payment.methods:
            raise not_offered(method, payment)
        return method
    if change.method != payment.method:
        raise not_accepted(
            "method", change.method, f"{payment.method}, which the payment has already"
        )
    return payment.method


def _reason_after(change: Change) -> Reason | None:
    if change.to is Status.FAILED:
        return change.reason or DEFAULT_REASON
    if change.reason is not None:
        raise InvalidField(
            "reason",
            f"A payment that becomes {change.to} has no reason (got {received(change.reason)}).",
        )
    return None


def not_offered(method: str | None, payment: Payment) -> InvalidField:
    """The refusal of a method that the payment does not offer."""
    return not_accepted(
        "method", method, f"one that the payment offers: {', '.join(payment.methods)}"
    )


class TimerKind(StrEnum):
    EXPIRY = "expiry"
    OUTCOME = "outcome"
    HANDSET_TIMEOUT = "handset_timeout"


class Timer(NamedTuple):
    """A change of a payment, due at an instant of its account's clock.

    `sequence` is its place in the order of creation, and orders equal instants.
    """

    due_at: Instant
    sequence: int
    payment: int
    kind: TimerKind
    change: Change


class Due(NamedTuple):
    """The next due timer or delivery attempt, for display."""

    at: Instant
    kind: str
    payment_id: str


class ComingAttempt(NamedTuple):
    """A scheduled attempt to deliver an event of a payment."""

    due_at: Instant
    sequence: int
    delivery_id: str
    event_type: str


def is_asked(scheduled: Iterable[Timer]) -> bool:
    """Whether an answer on the phone or at the bank is pending, according to the timers."""
    return any(timer.kind is TimerKind.HANDSET_TIMEOUT for timer in scheduled)
