"""What the document says of webhook endpoints."""

from emulator.control.document.operations import Answer, Body, Link, Operation, Subject
from emulator.control.document.shapes import (
    BOOLEAN,
    TEXT,
    URL,
    Schema,
    answer_of,
    body_of,
    collection_of,
    path_parameter,
    ref,
    said,
    words,
)
from emulator.domain.webhooks import (
    EVENT_TYPES_IN_ORDER,
    MAX_ENDPOINTS,
    MAX_SECRET_BYTES,
    MIN_SECRET_BYTES,
    ROTATION_OVERLAP_MS,
    SECRET_PREFIX,
    Profile,
)

_ENDPOINT = "/_emulator/webhook_endpoints/{endpoint_id}"
_UNKNOWN = ("webhook_endpoint_not_found",)
_WRONG_TERMS = ("invalid_url", "invalid_events", "invalid_secret", "invalid_profile")
_THE_NEW_ONE = {"endpoint_id": "$response.body#/id"}
_THE_SAME = {"endpoint_id": "$request.path.endpoint_id"}
_ROTATION_OVERLAP_H = ROTATION_OVERLAP_MS // 3_600_000

_FEWEST_GROUPS = MIN_SECRET_BYTES // 3
_SIGN = "[A-Za-z0-9+/]"
# Three bytes are four signs; one byte is left over, or two, or none.
_BASE64 = "|".join(
    f"(?:{_SIGN}{{4}}){{{_FEWEST_GROUPS},{(MAX_SECRET_BYTES - left) // 3}}}{signs}"
    for left, signs in ((0, ""), (1, f"{_SIGN}{{2}}=="), (2, f"{_SIGN}{{3}}="))
)
_SECRET: Schema = {
    "type": "string",
    "pattern": f"^{SECRET_PREFIX}(?:{_BASE64})$",
}
_SECRET_MEANING = (
    f"The signing secret: `{SECRET_PREFIX}` and the base64 of {MIN_SECRET_BYTES} to"
    f" {MAX_SECRET_BYTES} bytes (Standard Webhooks)."
)
_TERMS: dict[str, Schema] = {
    "url": said(URL, "The URL that receives the events."),
    "events": {
        "type": "array",
        "items": ref("EventType"),
        "minItems": 1,
        "description": "The types of the events that the endpoint receives.",
    },
    "secret": said(_SECRET, _SECRET_MEANING),
    "profile": said(
        ref("WebhookProfile"),
        "The schedule of the retries: five attempts within 81 s, or, `standard`, ten within"
        " about 75 hours.",
    ),
}

_SCHEMAS = {
    "EventType": said(words(EVENT_TYPES_IN_ORDER), "The type of an event."),
    "WebhookProfile": said(words(Profile), "The schedule of the retries."),
    "CreateWebhookEndpoint": body_of(
        "An endpoint; by default it receives all events and gets a generated secret.",
        _TERMS,
        required=["url"],
    ),
    "UpdateWebhookEndpoint": body_of(
        "The members to change; an omitted member does not change.",
        {
            **_TERMS,
            "secret": said(_SECRET, f"{_SECRET_MEANING} It replaces the old secret at once."),
            "enabled": said(
                BOOLEAN,
                "Whether the endpoint receives events. False cancels its pending deliveries.",
            ),
        },
    ),
    "RotateWebhookSecret": body_of(
        "The new secret.",
        {"secret": said(_SECRET, f"{_SECRET_MEANING} By default a generated one.")},
    ),
    "WebhookEndpoint": answer_of(
        "An endpoint for the events of one account and mode.",
        {
            "id": said(TEXT, "Its identifier, with the prefix `we_`."),
            "url": said(TEXT, "The URL that receives the events."),
            "events": {
                "type": "array",
                "items": ref("EventType"),
                "description": "The types of the events that the endpoint receives.",
            },
            "secret": said(TEXT, _SECRET_MEANING),
            "profile": ref("WebhookProfile"),
            "enabled": said(
                BOOLEAN, "Whether the endpoint receives events. A response of 410 disables it."
            ),
        },
    ),
    "WebhookEndpointList": collection_of("WebhookEndpoint", "The endpoints, newest first."),
}

_OPERATIONS = (
    Operation(
        method="post",
        path="/_emulator/webhook_endpoints",
        id="create_webhook_endpoint",
        summary="Create a webhook endpoint",
        description="Creates an endpoint and its secret. The endpoint receives events that"
        f" occur after this call. An account and mode has at most {MAX_ENDPOINTS} endpoints.",
        body=Body(description="The endpoint.", schema="CreateWebhookEndpoint"),
        answers={
            201: Answer(
                description="The endpoint.",
                schema="WebhookEndpoint",
                links=(
                    Link(to="get_webhook_endpoint", parameters=_THE_NEW_ONE),
                    Link(to="update_webhook_endpoint", parameters=_THE_NEW_ONE),
                    Link(to="rotate_webhook_secret", parameters=_THE_NEW_ONE),
                    Link(to="ping_webhook_endpoint", parameters=_THE_NEW_ONE),
                    Link(to="delete_webhook_endpoint", parameters=_THE_NEW_ONE),
                    Link(to="list_deliveries", parameters={"query.endpoint": "$response.body#/id"}),
                ),
            )
        },
        codes={400: ("missing_parameter", *_WRONG_TERMS), 409: ("too_many_webhook_endpoints",)},
    ),
    Operation(
        method="get",
        path="/_emulator/webhook_endpoints",
        id="list_webhook_endpoints",
        summary="List webhook endpoints",
        description="Lists the endpoints of the account and mode, newest first.",
        answers={200: Answer(description="The endpoints.", schema="WebhookEndpointList")},
    ),
    Operation(
        method="get",
        path=_ENDPOINT,
        id="get_webhook_endpoint",
        summary="Retrieve a webhook endpoint",
        description="Returns one endpoint, including its secret.",
        parameters=("EndpointId",),
        answers={200: Answer(description="The endpoint.", schema="WebhookEndpoint")},
        codes={404: _UNKNOWN},
    ),
    Operation(
        method="patch",
        path=_ENDPOINT,
        id="update_webhook_endpoint",
        summary="Update a webhook endpoint",
        description="Changes the given members. A new `secret` replaces the old one at once."
        ' `"enabled": false` cancels the pending deliveries. An endpoint that is enabled again'
        " receives events that occur after this call.",
        parameters=("EndpointId",),
        body=Body(
            description="The members to change.", schema="UpdateWebhookEndpoint", required=False
        ),
        answers={200: Answer(description="The endpoint.", schema="WebhookEndpoint")},
        codes={400: (*_WRONG_TERMS, "invalid_enabled"), 404: _UNKNOWN},
    ),
    Operation(
        method="delete",
        path=_ENDPOINT,
        id="delete_webhook_endpoint",
        summary="Delete a webhook endpoint",
        description="Deletes an endpoint. Its deliveries remain visible.",
        parameters=("EndpointId",),
        answers={
            204: Answer(
                description="Deleted.",
                links=(Link(to="get_webhook_endpoint", parameters=_THE_SAME),),
            )
        },
        codes={404: _UNKNOWN},
    ),
    Operation(
        method="post",
        path=f"{_ENDPOINT}/rotate",
        id="rotate_webhook_secret",
        summary="Rotate the secret of a webhook endpoint",
        description="Sets a new secret: the given one or a generated one. The emulator signs"
        f" with both secrets for {_ROTATION_OVERLAP_H} hours of the account's clock.",
        parameters=("EndpointId",),
        body=Body(description="The new secret.", schema="RotateWebhookSecret", required=False),
        answers={200: Answer(description="The endpoint.", schema="WebhookEndpoint")},
        codes={400: ("invalid_secret",), 404: _UNKNOWN},
    ),
    Operation(
        method="post",
        path=f"{_ENDPOINT}/ping",
        id="ping_webhook_endpoint",
        summary="Ping a webhook endpoint",
        description="Sends a signed event of type `ping` once, waits for the result and returns"
        " the delivery.",
        parameters=("EndpointId",),
        answers={
            200: Answer(
                description="The delivery.",
                schema="Delivery",
                links=(
                    Link(to="get_delivery", parameters={"delivery_id": "$response.body#/id"}),
                    Link(to="resend_delivery", parameters={"delivery_id": "$response.body#/id"}),
                ),
            )
        },
        codes={404: _UNKNOWN},
    ),
)

SUBJECT = Subject(
    tag="Webhook endpoints",
    description="The URLs that receive the events of an account and mode, signed according"
    " to Standard Webhooks.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters={"EndpointId": path_parameter("endpoint_id", "The identifier of an endpoint.")},
)
