"""The events that endpoints receive, as webhooks of OpenAPI (contract, section 6)."""

from emulator.domain.payment import EVENT_TYPES, Status
from emulator.server.openapi.declarations import JSON, JsonObject, ref

_MEANINGS = {
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
        "The time of this attempt, in seconds since 1970.",
        {"type": "integer", "format": "int64"},
    ),
    "webhook-signature": (
        "Blank-separated signatures, each `v1,` and the base64 of an HMAC-SHA256 over id,"
        " timestamp and body, joined by full stops, under the endpoint's secret.",
        {"type": "string"},
    ),
}


def webhooks(event: JsonObject, method: str) -> JsonObject:
    """One webhook for each type of event, by its name.

    `event` and `method` are examples.
    """
    return {
        EVENT_TYPES[status]: {"post": _webhook(status, meaning, event, method)}
        for status, meaning in _MEANINGS.items()
    }


def _webhook(status: Status, meaning: str, event: JsonObject, method: str) -> JsonObject:
    event_type = EVENT_TYPES[status]
    has_method = status not in (Status.PENDING, Status.EXPIRED)
    is_paid = status in (Status.COMPLETED, Status.REFUNDED)
    payment: JsonObject = event["data"]
    changes = {
        "status": status,
        "method": method if has_method else None,
        "completed_at": event["timestamp"] if is_paid else None,
    }
    example = {**event, "type": event_type, "data": {**payment, **changes}}
    return {
        "operationId": f"on_{event_type.replace('.', '_')}",
        "tags": ["events"],
        "summary": meaning,
        "description": "Sent according to Standard Webhooks, and retried unless the endpoint"
        " responds with 2xx in time. An event can arrive more than once, and events can arrive out"
        " of order.",
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": text, "schema": schema}
            for name, (text, schema) in _HEADERS.items()
        ],
        "requestBody": {
            "description": "The event: the same bytes on every attempt.",
            "required": True,
            "content": {JSON: {"schema": ref("PaymentEvent"), "example": example}},
        },
        "responses": {
            "2XX": {"description": "The endpoint received the event."},
            "410": {"description": "The endpoint is gone; the emulator disables it."},
        },
    }
