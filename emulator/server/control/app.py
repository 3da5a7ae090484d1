"""The routes of all calls of `/_emulator`."""

from functools import partial

from starlette.routing import BaseRoute

from emulator.domain.webhooks import STANDARD, WebhookForm
from emulator.server.api import document as v1_document
from emulator.server.api.layers import CallRoute
from emulator.server.control import document as control_document
from emulator.server.control.accounts import ACCOUNTS, SNAPSHOTS
from emulator.server.control.calls import BuildDocument, CallEndpoint, Services
from emulator.server.control.checklist import CHECKLIST
from emulator.server.control.clock import CLOCKS
from emulator.server.control.deliveries import DELIVERIES, DELIVERY_PAUSE
from emulator.server.control.events import STREAM
from emulator.server.control.payments import PAYMENTS
from emulator.server.control.program import PROGRAM
from emulator.server.control.requests import REQUESTS
from emulator.server.control.scenarios import POSTED_FAULTS, SCENARIOS
from emulator.server.control.webhook_endpoints import WEBHOOK_ENDPOINTS

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


def routes(services: Services) -> list[BaseRoute]:
    """The routes of all calls; a path with a fixed segment precedes one with a parameter there."""
    calls = [each for resource in RESOURCES for each in resource.operations]
    calls.sort(key=lambda call: ["{" in segment for segment in call.path.split("/")])
    return [
        CallRoute(
            call.path,
            CallEndpoint(call, call.handler, services),
            methods={"GET", "HEAD"} if call.method == "GET" else {call.method},
            name=call.id,
        )
        for call in calls
        if call.handler is not None
    ]


def documents(
    methods: tuple[str, ...], form: WebhookForm | None = None
) -> dict[str, BuildDocument]:
    """The OpenAPI documents by name, for these payment methods and this form of webhooks."""
    return {
        "v1": partial(v1_document.build, methods=methods, form=form or STANDARD),
        "control": partial(control_document.build, resources=RESOURCES, methods=methods),
    }
