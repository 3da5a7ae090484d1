"""The contract's three calls as declared operations (contract, section 4)."""

import json

from emulator.domain import errors
from emulator.domain.faults import ApiRequest
from emulator.server.api.app import COLLECTION
from emulator.server.api.document.schemas import (
    ENUMERATIONS,
    CreatePayment,
    PaymentEvent,
    PaymentJson,
    PaymentList,
    RetrievePaymentPath,
    request_schemas,
)
from emulator.server.api.errors import ANSWERS, INTERNAL_ERROR_BODY
from emulator.server.engine.payments.payments import MAX_WAIT_FOR_KEY_MS
from emulator.server.openapi.declarations import (
    JsonObject,
    Operation,
    RequestBody,
    Resource,
    SuccessResponse,
)
from emulator.server.openapi.document import Conventions
from emulator.server.openapi.payment_list import ListPaymentsQuery

HEADERS: JsonObject = {
    "RequestId": {
        "description": "The identifier of the request, also in the journal.",
        "required": True,
        "schema": {"type": "string", "pattern": "^req_[A-Za-z0-9]+$"},
    },
    "CacheControl": {
        "description": "Responses must not be cached.",
        "required": True,
        "schema": {"type": "string", "enum": ["no-store"]},
    },
    "EmulatorWarning": {
        "description": "The deviations from the contract that the emulator accepted,"
        " comma-separated, such as `unknown-parameter:metdata`.",
        "schema": {"type": "string"},
    },
    "Location": {
        "description": "The path of the payment.",
        "required": True,
        "schema": {"type": "string"},
    },
    "IdempotentReplayed": {
        "description": "Present if an earlier request with the same key created the payment.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "RetryAfter": {
        "description": "The seconds to wait before the next attempt.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    },
    "RetryAfterKey": {
        "description": "With `idempotency_key_in_use`: the seconds to wait.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "RetryAfterFault": {
        "description": "The seconds to wait, if a fault rule sets them.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WwwAuthenticate": {
        "description": "The authentication scheme.",
        "required": True,
        "schema": {"type": "string", "enum": ["Bearer"]},
    },
}
_OTHER_HEADERS = {
    401: {"WWW-Authenticate": "WwwAuthenticate"},
    409: {"Retry-After": "RetryAfterKey"},
    429: {"Retry-After": "RetryAfter"},
    500: {"Retry-After": "RetryAfterFault"},
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


def _headers(status: int) -> dict[str, str]:
    warning = {} if status == 401 else {"Emulator-Warning": "EmulatorWarning"}
    common = {"Request-Id": "RequestId", "Cache-Control": "CacheControl"}
    return {**common, **warning, **_OTHER_HEADERS.get(status, {})}


CONVENTIONS = Conventions(
    refusals=ANSWERS,
    meanings=_MEANINGS,
    headers=_headers,
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
    body=RequestBody("The payment to create.", CreatePayment),
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
    responses={
        200: SuccessResponse("A page of payments.", PaymentList),
    },
    refusals=_REFUSALS_OF_EVERY_CALL,
)
PAYMENTS = Resource(
    tag="payments",
    description="Customer checkouts.",
    operations=(CREATE, LIST, RETRIEVE),
    types=(PaymentEvent,),
    schemas=request_schemas,
)
