"""The contract as an OpenAPI 3.1 document."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from emulator import __version__
from emulator.api.document.operations import CONVENTIONS, HEADERS, payments
from emulator.api.document.schemas import contract_schemas
from emulator.api.document.webhooks import webhooks
from emulator.openapi.declarations import JsonObject
from emulator.openapi.document import DocumentWriter
from emulator.openapi.examples import Record, RecordedExamples, load_records

__all__ = ["build", "contract_schemas"]

EXAMPLES = Path(__file__).parent.with_name("examples.json")

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


def build(*, base_url: str, methods: tuple[str, ...]) -> JsonObject:
    """The document of an emulator at `base_url` with these payment methods."""
    records = {name: _offering(record, methods) for name, record in load_records(EXAMPLES).items()}
    examples = RecordedExamples(records)
    writer = DocumentWriter((payments(methods),), CONVENTIONS, examples, contract_schemas(methods))
    events = {"name": "events", "description": "What happened to payments, sent to endpoints."}
    components = {name: part for name, part in writer.components().items() if part}
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
        "tags": [*writer.tags(), events],
        "paths": writer.paths(),
        "webhooks": webhooks(examples),
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": _BEARER}
            },
            "headers": HEADERS,
            **components,
        },
    }


def _offering(record: Record, methods: tuple[str, ...]) -> Record:
    """A recorded request that is valid for other payment methods as well."""
    request = dict(record.get("request", {}))
    body: Any = request.get("body")
    if isinstance(body, dict) and isinstance(body.get("methods"), list):
        known = [method for method in body["methods"] if method in methods]
        request["body"] = {**body, "methods": known or [*methods]}
    path, _, query = request.get("path", "").partition("?")
    sent = dict(parse_qsl(query))
    if sent.get("method", methods[0]) not in methods:
        request["path"] = f"{path}?{urlencode({**sent, 'method': methods[0]})}"
    return {**record, "request": request}
