"""The contract as an OpenAPI 3.1 document: its calls as declared operations, and its events."""

import json
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from emulator.domain import errors, payment
from emulator.domain.accounts import Mode
from emulator.domain.effects import ApiRequest
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, STANDARD, WebhookForm
from emulator.server.api import parameters
from emulator.server.api.app import COLLECTION
from emulator.server.api.bodies import MAX_BODY_BYTES, MAX_NESTING
from emulator.server.api.document_webhooks import webhooks
from emulator.server.api.errors import ANSWERS, INTERNAL_ERROR_BODY
from emulator.server.engine.payments.payments import MAX_WAIT_FOR_KEY_MS
from emulator.server.engine.state.wire import InstantText, PaymentId, PaymentJson
from emulator.server.openapi.declarations import (
    Enumerations,
    JsonObject,
    Operation,
    RequestBody,
    Resource,
    SuccessResponse,
    component_schemas,
    doc,
    example_of,
    header,
    ref,
)
from emulator.server.openapi.document import Conventions, DocumentWriter

ENUMERATIONS: Enumerations = {payment.Status: ("PaymentStatus", "The status of a payment.")}

CreatePayment = parameters.CREATE.struct("CreatePayment")
ListPaymentsQuery = parameters.LIST.struct("ListPaymentsQuery")


class PaymentList(Struct):
    """One page of payments."""

    data: Annotated[list[PaymentJson], doc("The payments of this page, newest first.")]
    has_more: Annotated[bool, doc("Whether a further page exists.", False)]
    next_cursor: Annotated[str | None, doc("`after` for the next page; null on the last page.")]


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
            "examples": [parameters.METADATA],
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


_DESCRIPTION = """\
Create, retrieve and list customer checkout payments in ETB. The merchant creates a payment \
server-side and redirects the customer to its `checkout_url`; afterwards the customer is \
redirected to `success_url` or `cancel_url`.

The ETB payments sandbox emulator serves this API under `/v1`. It accepts what the contract \
leaves open with an `Emulator-Warning` header or, with `--strict`, refuses it with 400. Other \
paths and methods get 404 `route_not_found`, because the statuses of the contract do not include \
405."""

_BEARER = """\
The secret key of an account. A key with the prefix `test_` uses the test mode, one with the \
prefix `live_` the live mode; both are simulated. A missing or invalid key gets 401, a payment \
of another account or mode 404."""

_HEADERS: JsonObject = {
    "EmulatorWarning": header(
        "The deviations from the contract that the emulator accepted, comma-separated, such as"
        " `unknown-parameter:metdata`."
    ),
    "Location": header("The path of the payment.", is_required=True),
    "IdempotentReplayed": header(
        "Present if an earlier request with the same key created the payment.", enum=["true"]
    ),
    "RetryAfter": header(
        "The seconds to wait before the next attempt.", is_required=True, type="integer", minimum=1
    ),
    "RetryAfterKey": header(
        "With `idempotency_key_in_use`: the seconds to wait.", type="integer", minimum=1
    ),
    "RetryAfterFault": header(
        "The seconds to wait, if a fault rule sets them.", type="integer", minimum=1
    ),
}
_WARNING = {"Emulator-Warning": "EmulatorWarning"}
_OTHER_HEADERS = {
    **dict.fromkeys((200, 400, 404), _WARNING),
    409: {**_WARNING, "Retry-After": "RetryAfterKey"},
    429: {**_WARNING, "Retry-After": "RetryAfter"},
    500: {**_WARNING, "Retry-After": "RetryAfterFault"},
}
_MEANINGS = {
    400: "Bad request; `error.param` is the name of the invalid field, if any.",
    401: "Missing or invalid API key.",
    404: "Not found, or of another account or mode.",
    409: "A conflict over the idempotency key: it was used with different parameters, or a"
    " request with it is still being processed after"
    f" {MAX_WAIT_FOR_KEY_MS // 1000} seconds of waiting.",
    429: "Rate limit exceeded; wait the seconds of `Retry-After`.",
    500: "Server error; retry.",
}
_REFUSALS_OF_EVERY_CALL = (
    errors.MissingApiKey,
    errors.InvalidApiKey,
    errors.RateLimitExceeded,
    errors.UnknownParameter,
    errors.DuplicateParameter,
    errors.IdempotencyKeyHeader,
)


CONVENTIONS = Conventions(
    refusals=ANSWERS,
    meanings=_MEANINGS,
    headers=_OTHER_HEADERS,
    enumerations=ENUMERATIONS,
    other_errors={500: json.loads(INTERNAL_ERROR_BODY)["error"]},
    has_closed_codes=False,
)

CREATE = Operation(
    method="POST",
    path=COLLECTION,
    id=ApiRequest.CREATE_PAYMENT.value,
    summary="Create a payment",
    description="Then redirect the customer to its `checkout_url`.",
    body=RequestBody(CreatePayment, "The payment to create."),
    responses={
        201: SuccessResponse(
            "The new payment; a repeated idempotency key gets the same bytes again.",
            PaymentJson,
            headers={"Location": "Location", "Idempotent-Replayed": "IdempotentReplayed"},
        )
    },
    refusals=(
        *_REFUSALS_OF_EVERY_CALL,
        errors.UnsupportedContentType,
        errors.RequestTooLarge,
        errors.InvalidJson,
        errors.InvalidRequestBody,
        errors.IdempotencyKeyReused,
        errors.IdempotencyKeyInUse,
    ),
)
RETRIEVE = Operation(
    method="GET",
    path=f"{COLLECTION}/{{id}}",
    id=ApiRequest.RETRIEVE_PAYMENT.value,
    summary="Retrieve a payment",
    description="Poll only before going live; in production, webhooks report changes.",
    path_type=RetrievePaymentPath,
    responses={200: SuccessResponse("The payment.", PaymentJson)},
    refusals=(*_REFUSALS_OF_EVERY_CALL, errors.UnknownPayment, errors.UnknownRoute),
)
LIST = Operation(
    method="GET",
    path=COLLECTION,
    id=ApiRequest.LIST_PAYMENTS.value,
    summary="List payments",
    description="Newest first. New payments do not shift later pages.",
    query_type=ListPaymentsQuery,
    responses={200: SuccessResponse("A page of payments.", PaymentList)},
    refusals=_REFUSALS_OF_EVERY_CALL,
)
PAYMENTS = Resource(
    tag="payments",
    description="Customer checkouts.",
    operations=(CREATE, LIST, RETRIEVE),
    types=(PaymentEvent,),
    schemas=request_schemas,
)


def build(base_url: str, *, methods: tuple[str, ...], form: WebhookForm = STANDARD) -> JsonObject:
    """The document of an emulator at `base_url` with these payment methods and webhooks."""
    document = DocumentWriter((PAYMENTS,), CONVENTIONS, contract_schemas(methods)).document(
        base_url,
        key={"bearer": {"type": "http", "scheme": "bearer", "description": _BEARER}},
        headers=_HEADERS,
        title="ETB payments",
        summary="The payments API of the sandbox emulator.",
        description=_DESCRIPTION,
    )
    events = {"name": "events", "description": "The events of payments, sent to endpoints."}
    document["tags"].append(events)
    event = example_of(ref("PaymentEvent"), document["components"]["schemas"])
    return {**document, "webhooks": webhooks(event, methods[0], form)}
