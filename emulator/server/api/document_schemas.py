"""The types of the contract's requests, responses and events."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from emulator.domain import payment
from emulator.domain.accounts import Mode
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.server.api.bodies import MAX_BODY_BYTES, MAX_NESTING
from emulator.server.api.parameters import (
    CREATE,
    LIST,
    METADATA,
)
from emulator.server.engine.state.wire import InstantText, PaymentId, PaymentJson
from emulator.server.openapi.declarations import JsonObject, doc
from emulator.server.openapi.schemas import Enumerations, component_schemas

ENUMERATIONS: Enumerations = {payment.Status: ("PaymentStatus", "The status of a payment.")}

CreatePayment = CREATE.struct("CreatePayment")
ListPaymentsQuery = LIST.struct("ListPaymentsQuery")


class PaymentList(Struct):
    """One page of payments."""

    data: Annotated[list[PaymentJson], doc("The payments of this page, newest first.")]
    has_more: Annotated[bool, doc("Whether a further page exists.", False)]
    next_cursor: Annotated[
        str | None, doc("The value of `after` for the next page; null on the last page.")
    ]


class RetrievePaymentPath(Struct):
    id: Annotated[PaymentId, doc("The payment's identifier.")]


class PaymentEvent(Struct):
    """An event of a payment."""

    id: Annotated[
        str,
        Meta(
            description="Identifies the event.",
            pattern="^evt_[A-Za-z0-9]+$",
            examples=["evt_6tlMJw7K49zgw5rZGiGaL2vq"],
        ),
    ]
    object: Annotated[str, doc("Always `event`.", enum=["event"])]
    type: Annotated[
        str,
        Meta(
            description="The type of the event. The contract does not show the types, so a client"
            " must ignore a type that it does not know.",
            examples=[*EVENT_TYPES_IN_ORDER],
            extra_json_schema={"x-extensible-enum": [*EVENT_TYPES_IN_ORDER]},
        ),
    ]
    timestamp: Annotated[InstantText, doc("The instant of the event.")]
    mode: Annotated[str, doc("The mode of the payment.", enum=[*Mode])]
    data: PaymentJson


class ErrorDetail(Struct):
    """The error."""

    code: Annotated[
        str,
        Meta(
            description="The machine-readable code. Each response lists its codes; the"
            " contract does not show the complete list.",
            pattern="^[a-z]+(_[a-z]+)*$",
            examples=["invalid_amount"],
        ),
    ]
    message: Annotated[str, doc("The human-readable message.", "The amount is invalid.")]
    param: (
        Annotated[str, doc("The invalid field, if there is exactly one.", "amount")] | UnsetType
    ) = UNSET


class ErrorJson(Struct):
    """The body of an error response."""

    error: ErrorDetail


def contract_schemas(methods: tuple[str, ...]) -> dict[str, JsonObject]:
    """Payments, the error envelope and what they refer to, by component."""
    schemas = component_schemas([PaymentList, ErrorJson], ENUMERATIONS)
    listed = ", ".join(f"`{method}`" for method in methods)
    schemas["Payment"]["properties"]["method"] |= {
        "description": "The payment method used; null until the customer selects one. Here it is"
        f" one of {listed}; the contract does not show the complete list.",
        "examples": [*methods],
    }
    return {
        **schemas,
        "Currency": {"type": "string", "description": "Always `ETB`.", "enum": [payment.CURRENCY]},
        "Metadata": {
            "type": "object",
            "description": "The key-value pairs of the merchant, in their order.",
            "examples": [METADATA],
            "additionalProperties": {"type": "string"},
            "maxProperties": payment.MAX_METADATA_PAIRS,
        },
        "PaymentMethod": {
            "type": "string",
            "description": "A payment method that can be offered.",
            "enum": [*methods],
        },
    }


def request_schemas() -> dict[str, JsonObject]:
    """What the structs of requests cannot express, by component."""
    return {
        "CreatePayment": {
            "description": "The payment to create. Unknown members get a warning. The body"
            f" may have {MAX_BODY_BYTES // 1024} KiB and {MAX_NESTING} levels of nesting."
        }
    }
