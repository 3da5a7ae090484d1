"""What can go wrong with a request of the contract, as a scenario scripts it."""

from dataclasses import dataclass
from enum import StrEnum

MIN_FAULT_STATUS = 400
MAX_FAULT_STATUS = 599


class ApiRequest(StrEnum):
    """The contract's three requests (section 4)."""

    CREATE_PAYMENT = "create_payment"
    RETRIEVE_PAYMENT = "retrieve_payment"
    LIST_PAYMENTS = "list_payments"


class Point(StrEnum):
    """Where a fault strikes: before anything is done, or when all is done and only told not."""

    BEFORE_COMMIT = "before_commit"
    AFTER_COMMIT = "after_commit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong with one request.

    `status` is answered in place of the true answer, with a `Retry-After` of `retry_after_s`.
    `latency_ms` is wire time that the client waits first. `drop` cuts the connection; `truncate`
    cuts it in the middle of the body. A latency alone spoils nothing: the true answer follows.
    """

    status: int | None = None
    retry_after_s: int | None = None
    latency_ms: int = 0
    drop: bool = False
    truncate: bool = False
    point: Point = Point.BEFORE_COMMIT
