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
server-side and redirects the customer to its `checkout_url`; afterwards the customer is \
redirected to `success_url` or `cancel_url`.

The ETB payments sandbox emulator serves this API under `/v1`. It accepts what the contract \
leaves open with an `Emulator-Warning` header or, with `--strict`, refuses it with 400. Other \
paths and methods get 404 `route_not_found`, because the statuses of the contract do not include \
405.

Each example is a recorded response of the emulator; that of an error is the response to one of \
the operations that can get it."""

_BEARER = """\
The secret key of an account. A key with the prefix `test_` uses the test mode, one with the \
prefix `live_` the live mode; both are simulated. A missing or invalid key gets 401, a payment \
of another account or mode 404."""


def build(*, base_url: str, methods: tuple[str, ...]) -> JsonObject:
    """The document of an emulator at `base_url` with these payment methods."""
    records = {name: _offering(record, methods) for name, record in load_records(EXAMPLES).items()}
    examples = RecordedExamples(records)
    writer = DocumentWriter((payments(methods),), CONVENTIONS, examples, contract_schemas(methods))
    events = {"name": "events", "description": "The events of payments, sent to endpoints."}
    components = {name: part for name, part in writer.components().items() if part}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ETB payments",
            "version": __version__,
            "summary": "The payments API of the sandbox emulator.",
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
