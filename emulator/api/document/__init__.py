"""The contract as an OpenAPI 3.1 document, made of what the code validates with."""

from typing import Any

from emulator import __version__
from emulator.api.document import examples, operations, schemas, webhooks
from emulator.api.document.responses import HEADERS
from emulator.api.document.schemas import Json, error_schema, payment_schema

__all__ = ["build", "error_schema", "payment_schema"]

_DESCRIPTION = """\
Create, retrieve and list customer checkout payments in ETB. The merchant creates a payment \
server-side and redirects the customer to its `checkout_url`; when all is done the customer is \
sent on to `success_url` or `cancel_url`.

This is what the ETB payments sandbox emulator serves under `/v1`. What the contract leaves open \
is tolerated with an `Emulator-Warning` header, or refused with 400 when the emulator runs with \
`--strict`. Whatever is not in this document, another verb on a path of it included, is 404 \
`route_not_found`: the contract's statuses have no 405.

Each example here is a real answer of the emulator; that of an error is the answer to one of the \
calls that get it."""

_BEARER = """\
The secret key of an account. A key that begins with `test_` acts in the sandbox, one that begins \
with `live_` in live mode (all is simulated in both). A missing or invalid key is 401; a payment \
of another account or of the other mode is 404."""


def build(*, base_url: str, methods: tuple[str, ...]) -> Json:
    """The document, for an emulator at `base_url` that knows these payment methods."""
    shown = examples.load(methods)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ETB payments",
            "version": __version__,
            "summary": "The payments service, as the sandbox emulator serves it.",
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": base_url, "description": "The emulator."}],
        "security": [{"bearer": []}],
        "tags": [
            {"name": "payments", "description": "Customer checkouts."},
            {"name": "events", "description": "What happened to payments, sent to endpoints."},
        ],
        "paths": operations.paths(shown),
        "webhooks": webhooks.webhooks(shown),
        "components": _components(methods),
    }


def _components(methods: tuple[str, ...]) -> dict[str, Any]:
    return {
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "description": _BEARER}},
        "headers": HEADERS,
        "schemas": {**schemas.components(methods), "PaymentEvent": webhooks.event_schema()},
    }
