"""The table of status transitions, the function that applies one, and scheduled changes."""

from collections.abc import Iterable
from enum import Enum, StrEnum
from itertools import permutations
from typing import NamedTuple

from emulator.domain.errors import IllegalTransition, InvalidField
from emulator.domain.instants import Instant
from emulator.domain.message_text import not_accepted, received
from emulator.domain.payment import DEFAULT_REASON, EVENT_TYPES, RETURN, Payment, Reason, Status

DueKey = tuple[Instant, int]
"""The due instant, and the place in the order of creation among equal instants."""

LAST_SEQUENCE = 1 << 62
# The kind of a scheduled delivery attempt in the list of due timers.
ATTEMPT = "webhook_attempt"


class Edge(Enum):
    """Whether a change of status is ordinary."""

    ORDINARY = "ordinary"
    # It occurs in real mobile money systems; a caller must request it explicitly.
    RARE = "rare"
    # A checkout rule of a scenario causes it, or an explicit request.
    SETTING = "setting"
    # Only an explicit request causes it.
    UNUSUAL = "unusual"


_KNOWN = {
    (Status.PENDING, Status.PROCESSING): Edge.ORDINARY,
    (Status.PENDING, Status.EXPIRED): Edge.ORDINARY,
    (Status.PROCESSING, Status.COMPLETED): Edge.ORDINARY,
    (Status.PROCESSING, Status.FAILED): Edge.ORDINARY,
    (Status.COMPLETED, Status.REFUNDED): Edge.ORDINARY,
    (Status.FAILED, Status.COMPLETED): Edge.RARE,
    (Status.EXPIRED, Status.COMPLETED): Edge.RARE,
    (Status.COMPLETED, Status.FAILED): Edge.RARE,
    (Status.PROCESSING, Status.EXPIRED): Edge.RARE,
    (Status.PROCESSING, Status.PENDING): Edge.SETTING,
    (Status.PENDING, Status.FAILED): Edge.SETTING,
}
TRANSITIONS = _KNOWN | {
    pair: Edge.UNUSUAL for pair in permutations(Status, 2) if pair not in _KNOWN
}
"""Every ordered pair of different statuses: first those that occur without a test's request."""
TIMED_OUT = (
    "the payment ended as failed with the reason timeout: a payment expires only before the"
    " customer submits a method"
)
# What the rule contains.
_SETTINGS = {Status.PENDING: "attempts: 2", Status.FAILED: "cancel: fails"}


class Change(NamedTuple):
    """A new status. `method`, `phone` and `bank` are set where the payment has none yet.

    `unusual` permits every edge, `by_setting` those that a checkout rule causes.
    """

    to: Status
    method: str | None = None
    phone: str | None = None
    bank: str | None = None
    reason: Reason | None = None
    unusual: bool = False
    by_setting: bool = False

    @property
    def event_type(self) -> str:
        """The type of the event that it causes, or `RETURN`."""
        return RETURN if self.to is Status.PENDING else EVENT_TYPES[self.to]


def decide(payment: Payment, change: Change, *, now: Instant) -> Payment:
    """The payment after a change of status at `now`; no other function sets a status.

    A payment that returns to pending after `expires_at` gets a new one, after its first lifetime.

    Raises IllegalTransition where the edge is not permitted; InvalidField for a reason or method
    that the edge does not accept.
    """
    to = change.to
    problem = _problem(payment.status, change)
    if problem is not None:
        raise IllegalTransition(
            f"A payment that is {payment.status} {problem.format(to)}.", param="status"
        )
    after = payment._replace(
        status=to,
        method=_method_after(payment, change),
        reason=_reason_after(change),
        phone=change.phone or payment.phone,
        bank=change.bank or payment.bank,
    )
    if to is Status.COMPLETED and payment.completed_at is None:
        return after._replace(completed_at=now)
    if to is not Status.PENDING:
        return after
    # The next attempt has its own payer.
    after = after._replace(phone=None, bank=None)
    if now < after.expires_at:
        return after
    lifetime_ms = after.lifetime_ms
    return after._replace(expires_at=now + lifetime_ms, first_lifetime_ms=lifetime_ms)


def is_permitted(status: Status, change: Change) -> bool:
    """Whether a payment with a status can change so."""
    return _problem(status, change) is None


def unreached_note(payment: Payment, status: Status) -> str | None:
    """Why a payment does not take on a status; None where it still can, or has it."""
    if (payment.status, payment.reason, status) == (Status.FAILED, Reason.TIMEOUT, Status.EXPIRED):
        return TIMED_OUT
    if status in _reachable(payment.status):
        return None
    return f"a payment that is {payment.status} becomes {status} only with 'unusual': true"


def _reachable(status: Status) -> set[Status]:
    """A status, and those that follow by ordinary changes and by settings."""
    found, size = {status}, 0
    while len(found) > size:
        size = len(found)
        found |= {
            target
            for (source, target), edge in _KNOWN.items()
            if source in found and edge in (Edge.ORDINARY, Edge.SETTING)
        }
    return found


def _problem(status: Status, change: Change) -> str | None:
    """Why an edge is not permitted, as the end of a sentence; None where it is."""
    edge = TRANSITIONS.get((status, change.to))
    if edge is None:
        return "cannot become {}"
    if edge is Edge.ORDINARY or change.unusual or (edge is Edge.SETTING and change.by_setting):
        return None
    if edge is Edge.SETTING:
        setting = _SETTINGS[change.to]
        return (
            "becomes {} only by the page, where a checkout rule of a scenario has"
            f" '{setting}', or with 'unusual': true"
        )
    return "becomes {} only with 'unusual': true"


def _method_after(payment: Payment, change: Change) -> str | None:
    if change.by_setting:
        return None
    is_expiry = (payment.status, change.to) == (Status.PENDING, Status.EXPIRED)
    if change.method is None:
        return payment.method if is_expiry else payment.method or payment.methods[0]
    if is_expiry and not change.unusual:
        raise InvalidField(
            "method", f"A payment that expires has no method (got {received(change.method)})."
        )
    if payment.status is Status.PENDING or payment.method is None:
        if change.method not in payment.methods:
            raise not_offered(change.method, payment)
    elif change.method != payment.method:
        raise not_accepted(
            "method", change.method, f"{payment.method}, which the payment has already"
        )
    return change.method


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


# When a scheduled change occurs, in words.
CONDITIONS = {
    TimerKind.EXPIRY: "if the customer does not pay",
    TimerKind.HANDSET_TIMEOUT: "if the customer does not answer",
    TimerKind.OUTCOME: "according to its scenario",
}


class Timer(NamedTuple):
    """A change of a payment, due at an instant of its account's clock.

    `sequence` is its place in the order of creation, and orders equal instants.
    """

    due_at: Instant
    sequence: int
    payment: int
    kind: TimerKind
    change: Change

    @property
    def due_key(self) -> DueKey:
        return self.due_at, self.sequence


class DueTimer(NamedTuple):
    """A timer that fires, and its payment before."""

    timer: Timer
    payment: Payment


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
