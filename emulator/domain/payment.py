"""A payment at one instant, its events, statuses and failure reasons."""

import json
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from emulator.domain.instants import Instant

CURRENCY = "ETB"
MINOR_PER_BIRR = 100
MIN_AMOUNT_MINOR = 100
MAX_AMOUNT_MINOR = 2**53 - 1
MAX_METADATA_PAIRS = 20
DEFAULT_EXPIRES_IN_S = 1800
MAX_EXPIRES_IN_S = 315_360_000
DEFAULT_PAGE_LENGTH = 10
PAGE_LENGTHS = range(1, 101)


class Status(StrEnum):
    """The states of a payment (contract, section 3)."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"
    REFUNDED = "refunded"


class Reason(StrEnum):
    """Why a payment failed. The contract's object has no such field; only the emulator shows it."""

    INSUFFICIENT_BALANCE = "insufficient_balance"
    USER_CANCELLED = "user_cancelled"
    TIMEOUT = "timeout"
    WRONG_PIN = "wrong_pin"
    BANK_DECLINED = "bank_declined"
    LIMIT_EXCEEDED = "limit_exceeded"
    PROVIDER_ERROR = "provider_error"


# The reason of a failure without one.
DEFAULT_REASON = Reason.PROVIDER_ERROR


class Terms:
    """The constant fields of a payment, stored as the JSON of its responses."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _members(self) -> dict[str, Any]:
        members: dict[str, Any] = json.loads(self.text)
        return members

    @property
    def checkout_url(self) -> str:
        return str(self._members["checkout_url"])

    @property
    def success_url(self) -> str:
        return str(self._members["success_url"])

    @property
    def cancel_url(self) -> str:
        return str(self._members["cancel_url"])

    @property
    def metadata(self) -> dict[str, str]:
        return dict(self._members["metadata"])


class Payment(NamedTuple):
    """One customer checkout (contract, section 2.1). Amounts in ETB cents, instants in ms.

    `position` is its place in the order of creation: owner and ordinal in one integer. `phone`
    (normalised) and `bank` are the payer's, after a method was submitted. It is a tuple because
    an advance may create a hundred thousand: a frozen dataclass takes three times as long.
    """

    position: int
    id: str
    amount_minor: int
    methods: tuple[str, ...]
    terms_json: str
    created_at: Instant
    expires_at: Instant
    status: Status = Status.PENDING
    method: str | None = None
    reason: Reason | None = None
    completed_at: Instant | None = None
    phone: str | None = None
    bank: str | None = None

    @property
    def terms(self) -> Terms:
        return Terms(self.terms_json)


class Event(NamedTuple):
    """A new status of a payment at an instant; `position` orders the account's events.

    `request_id` is the `Request-Id` of the request that caused it, None for other causes. A failed
    attempt to pay that was not the last is in the same order, but no event of the service.
    """

    position: int
    payment: int
    at: Instant
    status: Status
    method: str | None
    reason: Reason | None
    completed_at: Instant | None
    request_id: str | None = None

    @property
    def type(self) -> str:
        return EVENT_TYPES[self.status]

    @property
    def is_failed_attempt(self) -> bool:
        return self.status is Status.PENDING and self.reason is not None


EVENT_TYPES = {
    status: f"payment.{'created' if status is Status.PENDING else status.value}"
    for status in Status
}
STATUS_OF_EVENT = {event_type: status for status, event_type in EVENT_TYPES.items()}
