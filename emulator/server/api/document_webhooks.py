"""The events as webhooks of an OpenAPI 3.1 document, in the form in which they are sent."""

import json
from typing import Any
from urllib.parse import parse_qsl

from emulator.domain.payment import EVENTS, EventKind, Status
from emulator.domain.webhooks import STANDARD, Algorithm, ContentType, WebhookForm
from emulator.http.webhook_messages import render_body
from emulator.server.openapi.declarations import JsonObject, ref

_TEXT: JsonObject = {"type": "string"}
_HEADERS = {
    "{id}": ("The event's id, the same on every attempt.", _TEXT),
    "{timestamp}": (
        "The time of this attempt, in seconds since 1970.",
        {"type": "integer", "format": "int64"},
    ),
}


def webhooks(event: JsonObject, method: str, form: WebhookForm) -> JsonObject:
    """One webhook for each type of event that is sent, by our name of the type.

    `event`, in our own form, and `method` are examples.
    """
    return {
        kind.type: {"post": _webhook(kind, event, method, form)}
        for kind in EVENTS
        if form.sends(kind.type)
    }


def _webhook(kind: EventKind, event: JsonObject, method: str, form: WebhookForm) -> JsonObject:
    status = kind.status or Status.PENDING
    has_method = status not in (Status.PENDING, Status.EXPIRED)
    is_paid = status in (Status.COMPLETED, Status.REFUNDED)
    payment: JsonObject = event["data"]
    changes = {
        "status": status,
        "method": method if has_method else None,
        "completed_at": event["timestamp"] if is_paid else None,
    }
    example = {**event, "type": kind.type, "data": {**payment, **changes}}
    return {
        "operationId": f"on_{kind.type.replace('.', '_')}",
        "tags": ["events"],
        "summary": kind.meaning,
        "description": f"Sent in the form `{form.name}`, and retried unless the endpoint responds"
        " with 2xx in time. An event can arrive more than once, and events can arrive out of"
        " order.",
        "security": [],
        "parameters": [_header(name, template, form) for name, template in form.headers],
        "requestBody": {
            "description": "The event: the same bytes on every attempt.",
            "required": True,
            "content": {
                form.content_type.value: {
                    "schema": _body_schema(form),
                    "example": _sent(form, example),
                }
            },
        },
        "responses": {
            "2XX": {"description": "The endpoint received the event."},
            "410": {"description": "The endpoint is gone; the emulator disables it."},
        },
    }


def _header(name: str, template: str, form: WebhookForm) -> JsonObject:
    text, schema = _HEADERS.get(template, (f"`{template}`", _TEXT))
    if "{signature}" in template:
        signature = form.signature
        text = f"`{template}`: " if template != "{signature}" else ""
        prefix = f"`{signature.prefix}` and " if signature.prefix else ""
        is_token = signature.algorithm is Algorithm.TOKEN
        hmac = (
            f"the {signature.encoding} of {signature.algorithm} over `{signature.content}`, under "
        )
        text += f"each signature is {prefix}{'' if is_token else hmac}the endpoint's secret"
        text += f"; several are joined by `{signature.separator}`." if signature.separator else "."
        text = text[0].upper() + text[1:]
    return {"name": name, "in": "header", "required": True, "description": text, "schema": schema}


def _sent(form: WebhookForm, event: JsonObject) -> Any:
    body = render_body(form, json.dumps(event).encode()).decode()
    if form.content_type is ContentType.FORM:
        return dict(parse_qsl(body, keep_blank_values=True))
    return json.loads(body)


def _body_schema(form: WebhookForm) -> JsonObject:
    """The schema of our own body, or the names of the members of another one."""
    if form.body_json == STANDARD.body_json and form.content_type is ContentType.JSON:
        return ref("PaymentEvent")
    template = json.loads(form.body_json)
    if not isinstance(template, dict):
        return {}
    properties: JsonObject = {name: {} for name in template}
    return {"type": "object", "properties": properties, "required": [*template]}
