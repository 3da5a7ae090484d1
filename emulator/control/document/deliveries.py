"""What the document says of events, of their deliveries, and of each attempt."""

from emulator.control.document.operations import Answer, Link, Operation, Subject
from emulator.control.document.shapes import (
    COUNT,
    HEADERS,
    INSTANT,
    TEXT,
    answer_of,
    collection_of,
    nullable,
    path_parameter,
    query_parameter,
    ref,
    said,
    words,
)
from emulator.control.pages import DEFAULT_LIMIT, LARGEST_LIMIT
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryState, Tamper, Trigger
from emulator.domain.wire import PING

_UNKNOWN = ("delivery_not_found",)
_THE_NEWEST = {"delivery_id": "$response.body#/data/0/id"}

_SCHEMAS = {
    "Event": answer_of(
        "What an endpoint is sent, and the payment as it was then.",
        {
            "id": said(TEXT, "Its identifier, with the prefix `evt_`; the header `webhook-id`."),
            "object": {"type": "string", "const": "event"},
            "type": ref("EventType"),
            "timestamp": said(INSTANT, "When it happened, on the account's clock."),
            "mode": ref("Mode"),
            "data": ref("Payment"),
        },
    ),
    "EventList": collection_of("Event", "The events, newest first."),
    "AttemptTrigger": said(words(Trigger), "Why an attempt is made."),
    "Tampered": said(words(Tamper), "What a scenario changed of it after it was signed."),
    "DeliveryStatus": said(words(DeliveryState), "How it stands with a delivery."),
    "Delivery": answer_of(
        "The sending of one event to one endpoint.",
        {
            "id": said(TEXT, "Its identifier, with the prefix `dlv_`."),
            "event": said(TEXT, "The identifier of the event."),
            "type": said(words([*EVENT_TYPES_IN_ORDER, PING]), "The type of the event."),
            "payment": said(
                nullable(TEXT), "The identifier of the payment that it tells of; null for a ping."
            ),
            "endpoint": said(TEXT, "The identifier of the endpoint, which may be gone."),
            "status": ref("DeliveryStatus"),
            "created_at": said(INSTANT, "When it came to be, on the account's clock."),
            "oddity": nullable(ref("WebhookOddity")),
            "next_attempt_at": said(
                nullable(INSTANT), "When it is attempted next, on the account's clock."
            ),
            "attempts": {
                "type": "array",
                "items": ref("DeliveryAttempt"),
                "description": "Oldest first.",
            },
        },
    ),
    "DeliveryList": collection_of("Delivery", "The deliveries, newest first."),
    "DeliveryAttempt": answer_of(
        "One try to deliver.",
        {
            "number": said(COUNT, "Which attempt it was, from 1 on."),
            "at": said(INSTANT, "When it began, on the account's clock."),
            "trigger": said(ref("AttemptTrigger"), "Why it was made."),
            "tampered": nullable(ref("Tampered")),
            "request": ref("WebhookRequest"),
            "status": said(
                nullable({"type": "integer"}), "The status of the response; null without one."
            ),
            "response": nullable(ref("WebhookResponse")),
            "error": said(nullable(TEXT), "What went wrong, if anything did."),
            "cause": said(nullable(TEXT), "What is likely to be the cause, and what would help."),
            "duration_ms": {
                "type": "number",
                "minimum": 0,
                "description": "How long it took, in real time.",
            },
        },
    ),
    "WebhookRequest": answer_of(
        "What was sent.",
        {
            "url": said(TEXT, "Where it was sent."),
            "headers": HEADERS,
            "body": said(TEXT, "The event, in the bytes that are signed."),
        },
    ),
    "WebhookResponse": answer_of(
        "What the endpoint answered.",
        {"headers": HEADERS, "body": said(TEXT, "As much of it as is kept.")},
    ),
}

_PARAMETERS = {
    "Limit": query_parameter(
        "limit",
        "How many of the newest entries are answered, at most.",
        {
            "type": "integer",
            "minimum": 1,
            "maximum": LARGEST_LIMIT,
            "default": int(DEFAULT_LIMIT),
        },
    ),
    "DeliveryId": path_parameter("delivery_id", "The identifier of a delivery."),
    "DeliveryPayment": query_parameter(
        "payment", "Only deliveries of events of this payment.", {"type": "string"}
    ),
    "DeliveryEndpoint": query_parameter(
        "endpoint", "Only deliveries to this endpoint, which may be gone.", {"type": "string"}
    ),
    "DeliveryStatus": query_parameter(
        "status", "Only deliveries that stand so.", ref("DeliveryStatus")
    ),
}

_OPERATIONS = (
    Operation(
        method="get",
        path="/_emulator/events",
        id="list_events",
        summary="List events",
        description="The events of the account and mode as they are sent, newest first, whether or"
        " not there was an endpoint to send them to.",
        parameters=("Limit",),
        answers={
            200: Answer(
                description="The events.",
                schema="EventList",
                links=(
                    Link(
                        to="get_payment",
                        parameters={"payment_id": "$response.body#/data/0/data/id"},
                    ),
                ),
            )
        },
        codes={400: ("invalid_limit",)},
    ),
    Operation(
        method="get",
        path="/_emulator/deliveries",
        id="list_deliveries",
        summary="List deliveries",
        description="The deliveries of the account and mode with all attempts, newest first.",
        parameters=("Limit", "DeliveryPayment", "DeliveryEndpoint", "DeliveryStatus"),
        answers={
            200: Answer(
                description="The deliveries.",
                schema="DeliveryList",
                links=(
                    Link(to="get_delivery", parameters=_THE_NEWEST),
                    Link(to="resend_delivery", parameters=_THE_NEWEST),
                ),
            )
        },
        codes={
            400: ("invalid_limit", "invalid_status"),
            404: ("payment_not_found", "webhook_endpoint_not_found"),
        },
    ),
    Operation(
        method="get",
        path="/_emulator/deliveries/{delivery_id}",
        id="get_delivery",
        summary="Look at a delivery",
        description="One delivery with all attempts.",
        parameters=("DeliveryId",),
        answers={200: Answer(description="The delivery.", schema="Delivery")},
        codes={404: _UNKNOWN},
    ),
    Operation(
        method="post",
        path="/_emulator/deliveries/{delivery_id}/resend",
        id="resend_delivery",
        summary="Send a delivery once more",
        description="Sends it genuine, whatever a scenario has changed of it before, and waits for"
        " how it ends. Its schedule goes on unless it succeeds.",
        parameters=("DeliveryId",),
        answers={
            200: Answer(
                description="The delivery.",
                schema="Delivery",
                links=(
                    Link(
                        to="get_delivery", parameters={"delivery_id": "$request.path.delivery_id"}
                    ),
                ),
            )
        },
        codes={404: (*_UNKNOWN, "webhook_endpoint_not_found")},
    ),
)

SUBJECT = Subject(
    tag="Events and deliveries",
    description="What was told of, to whom, and what became of it: every attempt is kept with its"
    " request and its response or the error of the network.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters=_PARAMETERS,
)
