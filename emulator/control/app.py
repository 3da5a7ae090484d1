"""The application behind `/_emulator`: the routes of all resources."""

from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.control.accounts import ACCOUNTS
from emulator.control.calls import OperationRouter, RequestReaders, Services
from emulator.control.clock import CLOCKS
from emulator.control.deliveries import DELIVERIES
from emulator.control.faults import FAULTS
from emulator.control.payments import PAYMENTS
from emulator.control.program import PROGRAM
from emulator.control.requests import REQUESTS
from emulator.control.scenarios import SCENARIOS
from emulator.control.snapshots import SNAPSHOTS
from emulator.control.webhook_endpoints import WEBHOOK_ENDPOINTS
from emulator.domain.errors import UnknownRoute

# In the order of the document.
RESOURCES = (
    ACCOUNTS,
    CLOCKS,
    PAYMENTS,
    WEBHOOK_ENDPOINTS,
    DELIVERIES,
    SCENARIOS,
    FAULTS,
    REQUESTS,
    SNAPSHOTS,
    PROGRAM,
)
_WITH_SLASH = "/_emulator/openapi"


def build(services: Services, readers: RequestReaders) -> ASGIApp:
    """The application; it raises refusals.

    A router alone, because Starlette's application would answer exceptions itself.
    """
    router = OperationRouter(services, readers)
    routes: list[Route | Mount] = []
    for resource in RESOURCES:
        for operation in resource.operations:
            routes.append(router.route(operation, operation.path))
            if operation.path == _WITH_SLASH:
                routes.append(router.route(operation, f"{operation.path}/"))
    # Any other path, and any other method on the paths above.
    routes.append(Mount("", app=unknown_route))
    return Router(routes=routes)


async def unknown_route(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    raise UnknownRoute(scope["method"], scope["path"])
