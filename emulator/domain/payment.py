"""A payment at one instant, its events, statuses and failure reasons."""

from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import NamedTuple

from emulator.domain.instants import Instant

CURRENCY = "ETB"
MINOR_PER_BIRR = 100
MIN_AMOUNT_MINOR = 100
MAX_AMOUNT_MINOR = 2**53 - 1
MAX_METADATA_PAIRS = 20
DEFAULT_EXPIRES_IN_S = 1800
MIN_EXPIRES_IN_S = 1
MAX_EXPIRES_IN_S = 315_360_000
# Beyond these, an accepted value gets a warning.
USUAL_METADATA_KEY_LENGTH = 40
USUAL_METADATA_VALUE_LENGTH = 500
USUAL_URL_LENGTH = 2048
USUAL_IDEMPOTENCY_KEY_LENGTH = 255
MIN_USUAL_EXPIRES_IN_S = 60
MAX_USUAL_EXPIRES_IN_S = 86_400
DEFAULT_PAGE_LENGTH = 10
MIN_PAGE_LENGTH = 1
MAX_PAGE_LENGTH = 100


class Status(StrEnum):
    """The states of a payment (contract, section 3)."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"
    REFUNDED = "refunded"


# Of these, only an unusual change leads to another status.
FINAL_STATUSES = frozenset({Status.FAILED, Status.EXPIRED, Status.REFUNDED})
# The warning about a create that returns the first response for such a payment.
REPLAYED_FINAL = "replayed-final-payment"


class Reason(StrEnum):
    """Why a payment failed. The contract's object has no such field; only the emulator shows it."""

    INSUFFICIENT_BALANCE = "insufficient_balance"
    USER_CANCELLED = "user_cancelled"
    TIMEOUT = "timeout"
    WRONG_PIN = "wrong_pin"
    BANK_DECLINED = "bank_declined"
    LIMIT_EXCEEDED = "limit_exceeded"
    PROVIDER_ERROR = "provider_error"


# The reason of a failure if no reason is given.
DEFAULT_REASON = Reason.PROVIDER_ERROR


PAYMENT_MEMBERS = {
    "id": "Identifies the payment.",
    "object": "Always `payment`.",
    "amount": "The amount in ETB cents: 100 are 1 ETB.",
    "currency": "The currency.",
    "status": "The status.",
    "method": "The payment method.",
    "checkout_url": "The URL of the hosted checkout page.",
    "success_url": "The redirect URL after success.",
    "cancel_url": "The redirect URL on cancellation.",
    "metadata": "The complete metadata: up to 20 pairs of texts.",
    "created_at": "The instant of the creation.",
    "expires_at": "The instant at which the checkout expires.",
    "completed_at": "The instant of the confirmation; null before it.",
}
"""The members of the payment object, in order, with what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTerms:
    """The members of a payment that a create call sets, except its amount and its methods.

    A member with a default is optional in the call.
    """

    success_url: str
    cancel_url: str
    metadata: dict[str, str] = field(default_factory=dict)


ORDER_TERMS = tuple(each.name for each in fields(OrderTerms))
OPTIONAL_TERMS = tuple(
    each.name
    for each in fields(OrderTerms)
    if each.default is not MISSING or each.default_factory is not MISSING
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms(OrderTerms):
    """The constant members of a payment, except its amount and its methods."""

    checkout_url: str


class Payment(NamedTuple):
    """One customer checkout (contract, section 2.1). Amounts in ETB cents, instants in ms.

    `position` is its place in the order of creation: owner and ordinal in one integer. `phone`
    (normalised) and `bank` are the payer's, after a method was submitted. It is a tuple because
    an advance may create a hundred thousand: a frozen dataclass takes three times as long.
    `first_lifetime_ms` is set where `expires_at` has changed since the creation.
    """

    position: int
    id: str
    amount_minor: int
    methods: tuple[str, ...]
    terms: Terms
    created_at: Instant
    expires_at: Instant
    status: Status = Status.PENDING
    method: str | None = None
    reason: Reason | None = None
    completed_at: Instant | None = None
    phone: str | None = None
    bank: str | None = None
    first_lifetime_ms: int | None = None

    @property
    def lifetime_ms(self) -> int:
        """The time from the creation to the first `expires_at`."""
        return self.first_lifetime_ms or self.expires_at - self.created_at


class EventKind(NamedTuple):
    """A type of event and what it says; `status` is the new one of its payment, if it has one."""

    type: str
    meaning: str
    status: Status | None = None


EVENTS = (
    EventKind("payment.created", "A payment was created.", Status.PENDING),
    EventKind("payment.processing", "The customer has submitted a method.", Status.PROCESSING),
    EventKind("payment.completed", "A payment was confirmed.", Status.COMPLETED),
    EventKind("payment.failed", "A payment failed.", Status.FAILED),
    EventKind(
        "payment.expired",
        "The checkout of a payment expired before the customer submitted a method.",
        Status.EXPIRED,
    ),
    EventKind("payment.refunded", "A completed payment was refunded.", Status.REFUNDED),
)
# As texts in `clauses.json` list them.
LISTED_EVENT_TYPES = ", ".join(f"`{kind.type}`" for kind in EVENTS)
EVENT_TYPES = {kind.status: kind.type for kind in EVENTS if kind.status is not None}
CREATION = EVENT_TYPES[Status.PENDING]
STATUS_OF_EVENT = {event_type: status for status, event_type in EVENT_TYPES.items()}
# In place of a type, where a payment is pending again, which is no event of the service.
RETURN = "return"


def is_change(event_type: str | None) -> bool:
    """Whether an entry of a timeline changes the status; a failed attempt to pay has no type."""
    return event_type is None or event_type in STATUS_OF_EVENT


class NewEvent(NamedTuple):
    """An event to be written, with its payment as it is then; or a return to `pending`."""

    payment: Payment
    at: Instant
    type: str


class Event(NamedTuple):
    """An event of a payment at an instant; `position` orders the account's events.

    `request_id` is the `Request-Id` of the request that caused it, None for other causes. A return
    to `pending` is in the same order, but no event of the service.
    """

    position: int
    payment: int
    at: Instant
    type: str
    status: Status
    method: str | None
    reason: Reason | None
    completed_at: Instant | None
    request_id: str | None = None

    @property
    def is_creation(self) -> bool:
        return self.type == CREATION

    @property
    def is_return(self) -> bool:
        """Whether the payment is pending again."""
        return self.type == RETURN

    @property
    def is_change(self) -> bool:
        """Whether the status of the payment changes."""
        return self.is_return or self.type in STATUS_OF_EVENT

    @property
    def is_failed_attempt(self) -> bool:
        """Whether it is pending again after an attempt to pay that was not the last."""
        return self.is_return and self.reason is not None


# The type of an event without a payment.
PING = "ping"
# Of an event of `--vary unknown-event`.
UNKNOWN_EVENT_TYPE = "payment.reviewed"


def status_advice(word: str) -> str:
    """A sentence about a word that other services have as a status, or nothing."""
    if word.lower() not in {"cancelled", "canceled"}:
        return ""
    return (
        "A cancelled checkout stays pending, and a cancel on the phone is failed with the reason"
        " user_cancelled."
    )
