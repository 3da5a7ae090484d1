"""The contract's three calls as operations of OpenAPI (contract, section 4)."""

from emulator.api.app import COLLECTION
from emulator.api.document.examples import Examples
from emulator.api.document.responses import OF_CREATE, OF_LIST, OF_RETRIEVE, refusals, success
from emulator.api.document.schemas import PAYMENT_ID, Json, ref
from emulator.api.queries import DEFAULT_LIMIT, KNOWN, LIMITS
from emulator.domain.faults import ApiRequest

_CREATED = ("created", "created_with_all_parameters", "tolerated")
_CREATED_OR_REPLAYED = (*_CREATED, "replayed")
_NARROWED = "narrowed_page"
_PAGES = ("first_page", "last_page", _NARROWED, "empty_page")
_PENDING = "pending"
_RETRIEVED = (_PENDING, "completed")


def paths(shown: Examples) -> Json:
    return {
        COLLECTION: {"post": _create(shown), "get": _list(shown)},
        f"{COLLECTION}/{{id}}": {"get": _retrieve(shown)},
    }


def _create(shown: Examples) -> Json:
    created = success(
        "The payment as it was created; with a used idempotency key the same bytes once more.",
        "Payment",
        shown.bodies(_CREATED_OR_REPLAYED),
        Location="Location",
        Idempotent_Replayed="IdempotentReplayed",
    )
    created["links"] = {
        "RetrievePayment": {
            "description": "The payment that was created.",
            "operationId": ApiRequest.RETRIEVE_PAYMENT.value,
            "parameters": {"id": "$response.body#/id"},
        }
    }
    return {
        "operationId": ApiRequest.CREATE_PAYMENT.value,
        "tags": ["payments"],
        "summary": "Create a payment",
        "description": "Then redirect the customer to its `checkout_url`.",
        "requestBody": {
            "description": "What to create.",
            "required": True,
            "content": {
                "application/json": {
                    "schema": ref("CreatePayment"),
                    "examples": shown.requests(_CREATED),
                }
            },
        },
        "responses": {"201": created, **refusals(OF_CREATE, shown)},
    }


def _retrieve(shown: Examples) -> Json:
    return {
        "operationId": ApiRequest.RETRIEVE_PAYMENT.value,
        "tags": ["payments"],
        "summary": "Retrieve a payment",
        "description": (
            "Polling is meant for use before going live; in production webhooks tell of changes."
        ),
        "parameters": [
            {
                "name": "id",
                "in": "path",
                "required": True,
                "description": "The payment's identifier.",
                "schema": PAYMENT_ID,
                "example": shown.payment_id(_PENDING),
            }
        ],
        "responses": {
            "200": success("The payment.", "Payment", shown.bodies(_RETRIEVED)),
            **refusals(OF_RETRIEVE, shown),
        },
    }


def _list(shown: Examples) -> Json:
    page = success("A page of payments.", "PaymentList", shown.bodies(_PAGES))
    page["links"] = {
        "NextPage": {
            "description": "The next page, where `has_more` is true.",
            "operationId": ApiRequest.LIST_PAYMENTS.value,
            "parameters": {"after": "$response.body#/next_cursor"},
        }
    }
    return {
        "operationId": ApiRequest.LIST_PAYMENTS.value,
        "tags": ["payments"],
        "summary": "List payments",
        "description": "Newest first; a page never shifts because new payments arrive.",
        "parameters": _list_parameters(shown),
        "responses": {"200": page, **refusals(OF_LIST, shown)},
    }


def _list_parameters(shown: Examples) -> list[Json]:
    timestamp = {"type": "string", "format": "date-time"}
    described = {
        "limit": (
            "How many results there are on a page.",
            {
                "type": "integer",
                "minimum": LIMITS.start,
                "maximum": LIMITS.stop - 1,
                "default": DEFAULT_LIMIT,
            },
        ),
        "after": ("The previous page's `next_cursor`; this is the page after it.", PAYMENT_ID),
        "status": ("Only payments of this status.", ref("PaymentStatus")),
        "method": ("Only payments of this method.", ref("PaymentMethod")),
        "created_gte": ("Only payments created at this instant or later.", timestamp),
        "created_lte": ("Only payments created at this instant or earlier.", timestamp),
    }
    sent = shown.query(_NARROWED)
    examples = {**sent, "limit": int(sent["limit"])}
    return [
        {
            "name": name,
            "in": "query",
            "description": described[name][0],
            "schema": described[name][1],
            "example": examples[name],
        }
        for name in KNOWN
    ]
