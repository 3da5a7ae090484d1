"""The events that endpoints are sent, as webhooks of OpenAPI (contract, section 6)."""

from emulator.api.document.examples import Examples
from emulator.api.document.schemas import Json, ref
from emulator.domain.accounts import Mode
from emulator.domain.payment import EVENT_TYPES, Status
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER

_HAPPENED = {
    Status.PENDING: "A payment was created.",
    Status.PROCESSING: "The customer has submitted a method.",
    Status.COMPLETED: "A payment was confirmed.",
    Status.FAILED: "A payment failed.",
    Status.EXPIRED: "The checkout of a payment expired before the customer submitted a method.",
    Status.REFUNDED: "A completed payment was refunded.",
}
_HEADERS = {
    "webhook-id": ("The event's id, the same on every attempt.", {"type": "string"}),
    "webhook-timestamp": (
        "When this attempt is made, in seconds since 1970.",
        {"type": "integer", "format": "int64"},
    ),
    "webhook-signature": (
        "Blank-separated signatures, each `v1,` and the base64 of an HMAC-SHA256 over id,"
        " timestamp and body, joined by full stops, under the endpoint's secret.",
        {"type": "string"},
    ),
}


def event_schema() -> Json:
    """The body of an event; its payment is as it was then."""
    properties = {
        "id": {
            "type": "string",
            "description": "Identifies the event.",
            "pattern": "^evt_[A-Za-z0-9]+$",
        },
        "object": {"type": "string", "description": "Always `event`.", "enum": ["event"]},
        "type": {
            "type": "string",
            "description": "What happened.",
            "enum": [*EVENT_TYPES_IN_ORDER],
        },
        "timestamp": {
            "type": "string",
            "format": "date-time",
            "description": "When it happened.",
        },
        "mode": {
            "type": "string",
            "description": "The mode of the payment.",
            "enum": [mode.value for mode in Mode],
        },
        "data": ref("Payment"),
    }
    return {
        "type": "object",
        "description": "Something that happened to a payment.",
        "properties": properties,
        "required": list(properties),
    }


def webhooks(shown: Examples) -> Json:
    """One for each type of event, by its name."""
    return {
        EVENT_TYPES[status]: {"post": _webhook(EVENT_TYPES[status], happened, shown)}
        for status, happened in _HAPPENED.items()
    }


def _webhook(event_type: str, happened: str, shown: Examples) -> Json:
    return {
        "operationId": f"on_{event_type.replace('.', '_')}",
        "tags": ["events"],
        "summary": happened,
        "description": (
            "Sent as Standard Webhooks says, and again after a while unless it is answered with"
            " 2xx in time. An event may come twice, and events out of order."
        ),
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": text, "schema": schema}
            for name, (text, schema) in _HEADERS.items()
        ],
        "requestBody": {
            "description": "The event: the same bytes on every attempt.",
            "required": True,
            "content": {
                "application/json": {
                    "schema": ref("PaymentEvent"),
                    "examples": shown.bodies([event_type]),
                }
            },
        },
        "responses": {
            "2XX": {"description": "Any success: the event has arrived."},
            "410": {"description": "The endpoint is gone: it is disabled, and sent nothing more."},
        },
    }
