"""Declares the query parameters of a list of payments, in `/v1` and in the control API."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from emulator.domain.payment import DEFAULT_PAGE_LENGTH, PAGE_LENGTHS, Status
from emulator.server.openapi.declarations import doc, refers_to

# Of any length: the contract names the prefix only.
PaymentId = Annotated[
    str, Meta(pattern="^pay_[A-Za-z0-9]+$", examples=["pay_000001Dz8o8aapLUyz3InHE9"])
]
PaymentMethod = Annotated[Any, refers_to("PaymentMethod")]
Timestamp = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class ListPaymentsQuery(Struct):
    limit: Annotated[
        int,
        Meta(
            ge=PAGE_LENGTHS.start,
            le=PAGE_LENGTHS.stop - 1,
            description="The maximum number of results on a page.",
        ),
    ] = DEFAULT_PAGE_LENGTH
    # The codes of `after` name the cursor that it takes.
    after: Annotated[
        PaymentId | None,
        Meta(description="The `next_cursor` of the previous page.", extra={"kind": "cursor"}),
    ] = None
    status: Annotated[Status | None, doc("Only payments of this status.")] = None
    method: Annotated[PaymentMethod, doc("Only payments of this method.")] = None
    created_gte: Annotated[
        Timestamp | None,
        Meta(
            description="Only payments created at this instant or later.",
            extra={"kind": "created_gte"},
        ),
    ] = None
    created_lte: Annotated[
        Timestamp | None,
        Meta(
            description="Only payments created at this instant or earlier.",
            extra={"kind": "created_lte"},
        ),
    ] = None
