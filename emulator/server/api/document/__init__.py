"""The contract as an OpenAPI 3.1 document."""

from emulator import __version__
from emulator.server.api.document.operations import CONVENTIONS, HEADERS, PAYMENTS
from emulator.server.api.document.schemas import contract_schemas
from emulator.server.api.document.webhooks import webhooks
from emulator.server.openapi.declarations import JsonObject, ref
from emulator.server.openapi.document import DocumentWriter
from emulator.server.openapi.schemas import example_of

__all__ = ["build", "contract_schemas"]

_DESCRIPTION = """\
Create, retrieve and list customer checkout payments in ETB. The merchant creates a payment \
server-side and redirects the customer to its `checkout_url`; afterwards the customer is \
redirected to `success_url` or `cancel_url`.

The ETB payments sandbox emulator serves this API under `/v1`. It accepts what the contract \
leaves open with an `Emulator-Warning` header or, with `--strict`, refuses it with 400. Other \
paths and methods get 404 `route_not_found`, because the statuses of the contract do not include \
405."""

_BEARER = """\
The secret key of an account. A key with the prefix `test_` uses the test mode, one with the \
prefix `live_` the live mode; both are simulated. A missing or invalid key gets 401, a payment \
of another account or mode 404."""


def build(*, base_url: str, methods: tuple[str, ...]) -> JsonObject:
    """The document of an emulator at `base_url` with these payment methods."""
    writer = DocumentWriter((PAYMENTS,), CONVENTIONS, contract_schemas(methods))
    events = {"name": "events", "description": "The events of payments, sent to endpoints."}
    components = {name: part for name, part in writer.components().items() if part}
    event = example_of(ref("PaymentEvent"), components["schemas"])
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
        "webhooks": webhooks(event, methods[0]),
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": _BEARER}
            },
            "headers": HEADERS,
            **components,
        },
    }
