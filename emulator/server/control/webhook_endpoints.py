"""The calls on webhook endpoints."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from emulator.domain import errors, webhooks
from emulator.domain.errors import InvalidField
from emulator.domain.message_text import check_words, copied_ends, not_accepted
from emulator.domain.webhooks import (
    MAX_SECRET_CHARACTERS,
    SECRET_PREFIX,
    RegisteredEndpoint,
    SecretFormat,
    WebhookForm,
)
from emulator.scenarios.entries import ScenarioError, in_one_line
from emulator.scenarios.webhook_form_file import (
    SHIPPED_FORMS,
    webhook_form_json,
    webhook_form_of,
    webhook_form_schema,
)
from emulator.server.control.calls import Call
from emulator.server.control.deliveries import DeliveryJson, delivery_json
from emulator.server.control.resources import Kind, shown
from emulator.server.control.types import EXAMPLE_URL, Body, EndpointId, EventType, Url, identifies
from emulator.server.engine.delivery.webhooks import EndpointTerms
from emulator.server.openapi.declarations import JsonObject, Resource, doc, parsed, refers_to

_ROTATION_OVERLAP_H = webhooks.ROTATION_OVERLAP_MS // 3_600_000
_EXAMPLE = f"{SECRET_PREFIX}ZXRiLXBheW1lbnRzLWVtdWxhdG9yLXNlY3JldA=="
_SECRET_MEANING = "The signing secret, as the format needs it: " + "; ".join(
    f"`{secret_format}`: {secret_format.expected}" for secret_format in SecretFormat
)
_SECRET_MEANING += ". `standard` has `base64`."


def _secret(name: str, value: str) -> str:
    # Whether it fits the format is checked later. No message repeats a secret.
    if not SecretFormat.TEXT.accepts(value):
        expected = SecretFormat.TEXT.expected + copied_ends(value)
        raise InvalidField(name, f'"{name}" must be {expected}.')
    return value


def _format(name: str, value: object) -> WebhookForm:
    if value not in SHIPPED_FORMS and not isinstance(value, dict):
        accepted = f"{', '.join(SHIPPED_FORMS)}, or a webhook format as an object"
        raise not_accepted(name, value, accepted)
    try:
        return webhook_form_of(value)
    except ScenarioError as error:
        problems = in_one_line([problem.message for problem in error.problems])
        raise InvalidField(name, f'"{name}" is not a webhook format: {problems}.') from None


def _event_types(name: str, value: Any) -> tuple[str, ...]:
    """The types in the order of the set. Raises InvalidField."""
    check_words(name, value, webhooks.EVENT_TYPES_IN_ORDER)
    return tuple(each for each in webhooks.EVENT_TYPES_IN_ORDER if each in value)


TargetUrl = Annotated[Url, doc("The URL that receives the events.")]
EventTypes = Annotated[tuple[EventType, ...], Meta(min_length=1), parsed(_event_types)]
Secret = Annotated[
    str,
    Meta(min_length=1, max_length=MAX_SECRET_CHARACTERS, examples=[_EXAMPLE]),
    parsed(_secret),
]
Format = Annotated[Any, refers_to("WebhookFormat"), parsed(_format)]
_EVENTS = doc("The types of the events that the endpoint receives.")
_PROFILE = doc(
    "The schedule of the retries: five attempts within 81 s, or, `standard`, ten within"
    " about 75 hours."
)


class CreateWebhookEndpoint(Body, frozen=True):
    """An endpoint; by default it receives all events and gets a generated secret."""

    url: TargetUrl
    events: Annotated[EventTypes | None, _EVENTS] = None
    secret: Annotated[Secret | None, Meta(description=_SECRET_MEANING)] = None
    profile: Annotated[webhooks.Profile | None, _PROFILE] = None

    format: Annotated[
        Format | None,
        doc("The form of the webhooks, which does not change. By default as at start."),
    ] = None


class UpdateWebhookEndpoint(Body, frozen=True):
    """The members to change; an omitted member does not change."""

    url: TargetUrl | None = None
    events: Annotated[EventTypes | None, _EVENTS] = None
    secret: Annotated[
        Secret | None, doc(f"{_SECRET_MEANING} It replaces the old secret at once.")
    ] = None
    profile: Annotated[webhooks.Profile | None, _PROFILE] = None
    enabled: Annotated[
        bool | None, doc("Whether it receives events. False cancels its pending deliveries.", False)
    ] = None


class RotateWebhookSecret(Body, frozen=True):
    """The new secret."""

    secret: Annotated[Secret | None, doc(f"{_SECRET_MEANING} By default a generated one.")] = None


class WebhookEndpoint(Struct, frozen=True):
    """An endpoint for the events of one account and mode."""

    id: Annotated[EndpointId, doc("Its identifier, with the prefix `we_`.")]
    url: Annotated[str, doc("The URL that receives the events.", EXAMPLE_URL)]
    events: Annotated[tuple[EventType, ...], _EVENTS]
    secret: Annotated[str, doc(_SECRET_MEANING, _EXAMPLE)]
    profile: webhooks.Profile
    enabled: Annotated[bool, doc("Whether it receives events. A response of 410 disables it.")]
    format: Annotated[Any, refers_to("WebhookFormat"), doc("The form of the webhooks.")]


def _json(_: Call, endpoint: RegisteredEndpoint) -> WebhookEndpoint:
    form = webhook_form_json(endpoint.form)
    return shown(WebhookEndpoint, endpoint, enabled=endpoint.is_enabled, format=form)


_ENDPOINT = Kind(
    noun="webhook endpoint",
    path="/webhook_endpoints/{endpoint_id}",
    id=Annotated[EndpointId, identifies("an endpoint")],
    item=WebhookEndpoint,
    show=_json,
    unknown=errors.UnknownEndpoint,
)


@_ENDPOINT.operation(
    "POST /webhook_endpoints",
    errors.TooManyEndpoints,
    description="Creates an endpoint and its secret. The endpoint receives events that"
    f" occur after this call. An account and mode has at most {webhooks.MAX_ENDPOINTS} endpoints.",
    status=201,
)
async def create_webhook_endpoint(call: Call, body: CreateWebhookEndpoint) -> RegisteredEndpoint:
    """Create a webhook endpoint."""
    terms = msgspec.convert(body, EndpointTerms, from_attributes=True)
    return await call.engine.webhooks.endpoints.create(call.owner, body.url, terms)


@_ENDPOINT.operation("PATCH /webhook_endpoints/{endpoint_id}")
async def update_webhook_endpoint(
    call: Call, endpoint_id: str, body: UpdateWebhookEndpoint
) -> RegisteredEndpoint:
    """Update a webhook endpoint.

    Changes the given members. A new `secret` replaces the old one at once. `"enabled": false`
    cancels the pending deliveries. An endpoint that is enabled again receives events that occur
    after this call.
    """
    terms = msgspec.convert(body, EndpointTerms, from_attributes=True)
    return await call.engine.webhooks.endpoints.change(call.owner, endpoint_id, terms)


@_ENDPOINT.operation(
    "POST /webhook_endpoints/{endpoint_id}/rotate",
    description="Sets a new secret: the given one or a generated one. The emulator signs"
    f" with both secrets for {_ROTATION_OVERLAP_H} hours of the account's clock.",
)
async def rotate_webhook_secret(
    call: Call, endpoint_id: str, body: RotateWebhookSecret
) -> RegisteredEndpoint:
    """Rotate the secret of a webhook endpoint."""
    return await call.engine.webhooks.endpoints.rotate(call.owner, endpoint_id, body.secret)


@_ENDPOINT.operation("POST /webhook_endpoints/{endpoint_id}/ping", response="The delivery.")
async def ping_webhook_endpoint(call: Call, endpoint_id: str) -> DeliveryJson:
    """Ping a webhook endpoint.

    Sends a signed event of type `ping` once, waits for the result and returns the delivery.
    """
    delivery = await call.engine.webhooks.deliveries.ping(call.owner, endpoint_id)
    return delivery_json(call, delivery)


def _schemas() -> dict[str, JsonObject]:
    form = webhook_form_schema()
    shipped = {"type": "string", "enum": [*SHIPPED_FORMS]}
    own = {key: value for key, value in form.items() if key not in ("$schema", "title")}
    description = "A shipped form by name, or a form as in a file."
    return {"WebhookFormat": {"description": description, "anyOf": [shipped, own]}}


WEBHOOK_ENDPOINTS = Resource(
    tag="Webhook endpoints",
    description="The URLs that receive the events of an account and mode, by default signed"
    " according to Standard Webhooks.",
    schemas=_schemas,
    operations=(
        create_webhook_endpoint,
        _ENDPOINT.list(
            lambda call: call.engine.webhooks.endpoints.all(call.owner),
            "Lists the endpoints of the account and mode, newest first.",
        ),
        _ENDPOINT.get(
            lambda call, name: call.owner.endpoint(name),
            "Returns one endpoint, including its secret.",
        ),
        update_webhook_endpoint,
        _ENDPOINT.delete(
            lambda call, name: call.engine.webhooks.endpoints.delete(call.owner, name),
            "Deletes an endpoint. Its deliveries remain visible.",
        ),
        rotate_webhook_secret,
        ping_webhook_endpoint,
    ),
)
