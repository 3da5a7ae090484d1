"""The routes of all calls of `/_emulator`."""

from collections.abc import Callable
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from emulator.domain.errors import UnknownRoute
from emulator.domain.webhooks import STANDARD, WebhookForm
from emulator.server.api import document as v1_document
from emulator.server.api.layers import CallRoute
from emulator.server.control import document as control_document
from emulator.server.control.accounts import ACCOUNTS, SNAPSHOTS
from emulator.server.control.calls import CallEndpoint
from emulator.server.control.checklist import CHECKLIST
from emulator.server.control.clock import CLOCKS
from emulator.server.control.deliveries import DELIVERIES, DELIVERY_PAUSE
from emulator.server.control.events import STREAM
from emulator.server.control.payments import PAYMENTS
from emulator.server.control.program import PROGRAM, get_document
from emulator.server.control.requests import REQUESTS
from emulator.server.control.scenarios import POSTED_FAULTS, SCENARIOS
from emulator.server.control.webhook_endpoints import WEBHOOK_ENDPOINTS
from emulator.server.engine.engine import Engine
from emulator.server.openapi.declarations import JSON, JsonObject

# In the order of the document.
RESOURCES = (
    ACCOUNTS,
    CLOCKS,
    PAYMENTS,
    WEBHOOK_ENDPOINTS,
    DELIVERIES,
    DELIVERY_PAUSE,
    SCENARIOS,
    POSTED_FAULTS,
    REQUESTS,
    CHECKLIST,
    SNAPSHOTS,
    STREAM,
    PROGRAM,
)


def routes(engine: Engine) -> list[BaseRoute]:
    """The routes of all calls; a path with a fixed segment precedes one with a parameter there."""
    calls = [each for resource in RESOURCES for each in resource.operations]
    calls.sort(key=lambda call: ["{" in segment for segment in call.path.split("/")])
    built = documents(engine.settings.methods, engine.config.webhook_form)

    async def document(request: Request) -> Response:
        """Raises UnknownRoute."""
        name = request.path_params["name"].removesuffix(".json")
        if name not in built:
            raise UnknownRoute(request.method, request.scope["path"])
        base_url = f"{request.scope['scheme']}://{request.headers['host']}"
        return Response(msgspec.json.encode(built[name](base_url)), media_type=JSON)

    return [
        CallRoute(get_document.path, document, methods={"GET", "HEAD"}, name=get_document.id),
        *(
            CallRoute(
                call.path,
                CallEndpoint(call, call.handler, engine),
                methods={"GET", "HEAD"} if call.method == "GET" else {call.method},
                name=call.id,
            )
            for call in calls
            if call.handler is not None
        ),
    ]


def documents(
    methods: tuple[str, ...], form: WebhookForm | None = None
) -> dict[str, Callable[[str], JsonObject]]:
    """What builds each OpenAPI document for a base URL, by its name."""
    return {
        "v1": partial(v1_document.build, methods=methods, form=form or STANDARD),
        "control": partial(control_document.build, resources=RESOURCES, methods=methods),
    }
