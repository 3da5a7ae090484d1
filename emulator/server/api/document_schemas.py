"""The types of the contract's requests, responses and events, with the limits of the validation."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from emulator.domain import payment
from emulator.domain.accounts import Mode
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.server.api import parameters
from emulator.server.api.bodies import MAX_BODY_BYTES, MAX_NESTING
from emulator.server.engine.payments.payments import KEY_RETENTION_MS
from emulator.server.openapi.declarations import JsonObject, doc, ref, refers_to
from emulator.server.openapi.schemas import Enumerations, component_schemas

ENUMERATIONS: Enumerations = {payment.Status: ("PaymentStatus", "The status of a payment.")}

_HOUR_MS = 3_600_000
_SUCCESS_URL = "https://shop.example/orders/1042"
_CANCEL_URL = "https://shop.example/cart"
_METADATA = {"order": "1042"}
_CHECKOUT_URL = "http://127.0.0.1:8081/c/000001FXnjOasxbc3T6lG61rwPZf0Pqm"

# Of any length: the contract names the prefix only.
PaymentId = Annotated[
    str, Meta(pattern="^pay_[A-Za-z0-9]+$", examples=["pay_000001Dz8o8aapLUyz3InHE9"])
]
PaymentMethod = Annotated[Any, refers_to("PaymentMethod")]
Timestamp = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
AmountMinor = Annotated[
    int,
    Meta(
        ge=payment.MIN_AMOUNT_MINOR,
        le=payment.MAX_AMOUNT_MINOR,
        examples=[15_000],
        extra_json_schema={"format": "int64"},
    ),
]
Currency = Annotated[Any, refers_to("Currency")]
Metadata = Annotated[Any, refers_to("Metadata")]


def _redirect_url(when: str, example: str) -> Meta:
    return Meta(
        pattern=f"^{parameters.HTTPS_URL}$",
        examples=[example],
        description=f"An absolute HTTPS URL to which the customer is redirected {when}, exactly as"
        " it is given. The control characters U+0080 to U+009F are refused as well, and brackets"
        " without an IPv6 address in them. A URL with user information, a backslash, more than"
        f" {parameters.USUAL_URL_LENGTH} characters, or a host or port that no browser opens is"
        " served with a warning. With `--allow-http-localhost` the emulator also accepts"
        " `http://` where a browser opens a local name.",
    )


class CreatePayment(Struct):
    amount: Annotated[
        AmountMinor,
        doc("The amount in ETB cents, written as an integer: `100.0` and `1e3` are refused."),
    ]
    currency: Currency
    methods: Annotated[
        list[PaymentMethod],
        Meta(
            min_length=1,
            description="The payment methods to offer, in order; duplicates count once.",
        ),
    ]
    success_url: Annotated[str, _redirect_url("after success", _SUCCESS_URL)]
    cancel_url: Annotated[str, _redirect_url("on cancellation", _CANCEL_URL)]
    # Not `type: [object, null]`: generated clients would have a separate class for it.
    metadata: Annotated[
        Any,
        doc(
            f"Keys over {parameters.USUAL_METADATA_KEY_LENGTH} and values over"
            f" {parameters.USUAL_METADATA_VALUE_LENGTH} characters get a warning.",
            _METADATA,
            oneOf=[ref("Metadata"), {"type": "null"}],
        ),
    ] = None
    # No example: all requests with the same key and other parameters get 409.
    idempotency_key: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        doc(
            "Makes retries safe: requests with the same key and the same parameters create one"
            " payment; the same key with other parameters gets 409. A key is stored for"
            f" {KEY_RETENTION_MS // _HOUR_MS} hours of the account's clock."
        ),
    ] = None
    # No `default`: types generated for TypeScript would make it a required member.
    expires_in: Annotated[
        Annotated[
            int, Meta(ge=1, le=payment.MAX_EXPIRES_IN_S, extra_json_schema={"format": "int64"})
        ]
        | None,
        doc(
            f"The seconds until the checkout expires, {payment.DEFAULT_EXPIRES_IN_S} by default. An"
            f" integer; a value that is not {parameters.USUAL_EXPIRES_IN_S.start:,} to"
            f" {parameters.USUAL_EXPIRES_IN_S.stop - 1:,} gets a warning."
        ),
    ] = None


class ListPaymentsQuery(Struct):
    limit: Annotated[
        int,
        Meta(
            ge=payment.PAGE_LENGTHS.start,
            le=payment.PAGE_LENGTHS.stop - 1,
            description="The maximum number of results on a page.",
        ),
    ] = payment.DEFAULT_PAGE_LENGTH
    # The codes of `after` name the cursor that it takes.
    after: Annotated[
        PaymentId | None, doc("The `next_cursor` of the previous page.", kind="cursor")
    ] = None
    status: Annotated[payment.Status | None, doc("Only payments of this status.")] = None
    method: Annotated[PaymentMethod, doc("Only payments of this method.")] = None
    created_gte: Annotated[
        Timestamp | None, doc("Only payments created at this instant or later.", kind="created_gte")
    ] = None
    created_lte: Annotated[
        Timestamp | None,
        doc("Only payments created at this instant or earlier.", kind="created_lte"),
    ] = None


class PaymentJson(Struct):
    """A single customer checkout."""

    id: Annotated[PaymentId, doc("Identifies the payment.")]
    object: Annotated[str, doc("Always `payment`.", enum=["payment"])]
    amount: Annotated[AmountMinor, doc("The amount in ETB cents: 100 are 1 ETB.")]
    currency: Currency
    status: payment.Status
    method: str | None
    checkout_url: Annotated[str, doc("The URL of the hosted checkout page.", _CHECKOUT_URL)]
    success_url: Annotated[str, doc("The redirect URL after success.", _SUCCESS_URL)]
    cancel_url: Annotated[str, doc("The redirect URL on cancellation.", _CANCEL_URL)]
    metadata: Metadata
    created_at: Annotated[Timestamp, doc("The instant of the creation.")]
    expires_at: Annotated[
        Timestamp, doc("The instant at which the checkout expires.", "2026-01-01T00:30:00.000Z")
    ]
    completed_at: Annotated[
        Timestamp | None, doc("The instant of the confirmation; null before it.")
    ]


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
    timestamp: Annotated[Timestamp, doc("The instant of the event.")]
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
            "examples": [_METADATA],
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
