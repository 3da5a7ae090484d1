"""The application behind `/_emulator`: the routes of all resources."""

from functools import cache, partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.control.accounts import ACCOUNTS
from emulator.control.calls import RequestReaders, Responder, Services
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
from emulator.openapi.declarations import Operation

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
_RESPONDER = "emulator.responder"


def build(services: Services, readers: RequestReaders) -> ASGIApp:
    """The application; it raises refusals."""
    responder = Responder(services, readers)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        scope[_RESPONDER] = responder
        await _router()(scope, receive, send)

    return application


@cache
def _router() -> Router:
    """The router of all applications of a process.

    A router alone, because Starlette's application would answer exceptions itself.
    """
    routes: list[Route | Mount] = []
    for operation in (each for resource in RESOURCES for each in resource.operations):
        paths = [operation.path]
        if operation.path == _WITH_SLASH:
            paths.append(f"{operation.path}/")
        endpoint = partial(_respond, operation)
        routes += [Route(path, endpoint, methods=[operation.method]) for path in paths]
    # Any other path, and any other method on the paths above.
    routes.append(Mount("", app=_unknown_route))
    return Router(routes=routes)


async def _respond(operation: Operation, request: Request) -> Response:
    responder: Responder = request.scope[_RESPONDER]
    return await responder.respond(operation, request)


async def _unknown_route(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    raise UnknownRoute(scope["method"], scope["path"])
