"""Defines the effects of faults on requests to `/v1`."""

from enum import StrEnum
from typing import NamedTuple

MIN_FAULT_STATUS = 400
MAX_FAULT_STATUS = 599
# The real time for which a response waits for a delivery.
MAX_RESPONSE_HOLD_MS = 5_000


class ApiRequest(StrEnum):
    """The contract's three requests (section 4)."""

    CREATE_PAYMENT = "create_payment"
    RETRIEVE_PAYMENT = "retrieve_payment"
    LIST_PAYMENTS = "list_payments"


class Point(StrEnum):
    """When a fault applies: before anything is done, or after everything is done."""

    BEFORE_COMMIT = "before_commit"
    AFTER_COMMIT = "after_commit"


class Cut(StrEnum):
    """Where the connection is closed."""

    BEFORE_RESPONSE = "before_response"
    IN_BODY = "in_body"


class GatewayBody(StrEnum):
    """The bodies of errors of gateways that need no text."""

    HTML = "html"
    EMPTY = "empty"


class RequestEffect(NamedTuple):
    """What happens to one request; the default is nothing.

    `until_delivery` holds the computed response until a delivery has been answered. `delay_ms` is
    wire time. `status` replaces the normal response by an error, with a `Retry-After` of
    `retry_after_s`. With `body`, a gateway in front of the service sends the error: a GatewayBody
    or a text. `cut` ends the response early.
    """

    until_delivery: bool = False
    delay_ms: int = 0
    status: int | None = None
    retry_after_s: int | None = None
    body: str | None = None
    cut: Cut | None = None
    point: Point = Point.BEFORE_COMMIT
