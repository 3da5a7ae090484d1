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
from emulator.control.pages import DEFAULT_LIMIT, MAX_LIMIT
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryState, Tamper, Trigger
from emulator.domain.wire import PING

_UNKNOWN = ("delivery_not_found",)
_THE_NEWEST = {"delivery_id": "$response.body#/data/0/id"}

_SCHEMAS = {
    "Event": answer_of(
        "An event, with the payment at that instant.",
        {
            "id": said(TEXT, "Its identifier, with the prefix `evt_`; the header `webhook-id`."),
            "object": {"type": "string", "const": "event"},
            "type": ref("EventType"),
            "timestamp": said(INSTANT, "The instant of the event, on the account's clock."),
            "mode": ref("Mode"),
            "data": ref("Payment"),
        },
    ),
    "EventList": collection_of("Event", "The events, newest first."),
    "AttemptTrigger": said(words(Trigger), "The reason for an attempt."),
    "Tampered": said(words(Tamper), "The change that a scenario made after signing."),
    "DeliveryStatus": said(words(DeliveryState), "The status of a delivery."),
    "Delivery": answer_of(
        "The delivery of one event to one endpoint.",
        {
            "id": said(TEXT, "Its identifier, with the prefix `dlv_`."),
            "event": said(TEXT, "The identifier of the event."),
            "type": said(words([*EVENT_TYPES_IN_ORDER, PING]), "The type of the event."),
            "payment": said(
                nullable(TEXT), "The identifier of the payment of the event; null for a ping."
            ),
            "endpoint": said(TEXT, "The identifier of the endpoint, which may have been deleted."),
            "status": ref("DeliveryStatus"),
            "created_at": said(INSTANT, "The instant of its creation, on the account's clock."),
            "oddity": nullable(ref("WebhookOddity")),
            "next_attempt_at": said(
                nullable(INSTANT), "The instant of the next attempt, on the account's clock."
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
        "One attempt to deliver.",
        {
            "number": said(COUNT, "The number of the attempt, from 1."),
            "at": said(INSTANT, "The start of the attempt, on the account's clock."),
            "trigger": said(ref("AttemptTrigger"), "The reason for the attempt."),
            "tampered": nullable(ref("Tampered")),
            "request": ref("WebhookRequest"),
            "status": said(
                nullable({"type": "integer"}),
                "The status of the response; null without a response.",
            ),
            "response": nullable(ref("WebhookResponse")),
            "error": said(nullable(TEXT), "The error, if any."),
            "cause": said(nullable(TEXT), "The likely cause and a solution."),
            "duration_ms": {
                "type": "number",
                "minimum": 0,
                "description": "The duration, in real time.",
            },
        },
    ),
    "WebhookRequest": answer_of(
        "The request.",
        {
            "url": said(TEXT, "The URL of the request."),
            "headers": HEADERS,
            "body": said(TEXT, "The event, as signed."),
        },
    ),
    "WebhookResponse": answer_of(
        "The response of the endpoint.",
        {"headers": HEADERS, "body": said(TEXT, "The stored part of the body.")},
    ),
}

_PARAMETERS = {
    "Limit": query_parameter(
        "limit",
        "The maximum number of entries; the newest are returned.",
        {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LIMIT,
            "default": int(DEFAULT_LIMIT),
        },
    ),
    "DeliveryId": path_parameter("delivery_id", "The identifier of a delivery."),
    "DeliveryPayment": query_parameter(
        "payment", "Only deliveries of events of this payment.", {"type": "string"}
    ),
    "DeliveryEndpoint": query_parameter(
        "endpoint",
        "Only deliveries to this endpoint, which may have been deleted.",
        {"type": "string"},
    ),
    "DeliveryStatus": query_parameter(
        "status", "Only deliveries with this status.", ref("DeliveryStatus")
    ),
}

_OPERATIONS = (
    Operation(
        method="get",
        path="/_emulator/events",
        id="list_events",
        summary="List events",
        description="Lists the events of the account and mode, newest first, as they are sent."
        " The list includes events that no endpoint received.",
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
        description="Lists the deliveries of the account and mode with all attempts, newest first.",
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
        summary="Retrieve a delivery",
        description="Returns one delivery with all attempts.",
        parameters=("DeliveryId",),
        answers={200: Answer(description="The delivery.", schema="Delivery")},
        codes={404: _UNKNOWN},
    ),
    Operation(
        method="post",
        path="/_emulator/deliveries/{delivery_id}/resend",
        id="resend_delivery",
        summary="Resend a delivery",
        description="Sends the event again, correctly signed and without the changes of a"
        " scenario, waits for the result and returns the delivery. The scheduled retries"
        " continue unless this attempt succeeds.",
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
    description="The events, and their deliveries to endpoints. Each attempt is stored with"
    " its request and its response or network error.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters=_PARAMETERS,
)
