"""The application behind `/_emulator`: the routes of all resources."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache

from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.domain.errors import UnknownRoute
from emulator.domain.webhook_forms import STANDARD, WebhookForm
from emulator.server.control.accounts import ACCOUNTS, SNAPSHOTS
from emulator.server.control.calls import BuildDocument, Services, respond
from emulator.server.control.checklist import CHECKLIST
from emulator.server.control.clock import CLOCKS
from emulator.server.control.deliveries import DELIVERIES, DELIVERY_PAUSE
from emulator.server.control.events import STREAM
from emulator.server.control.payments import PAYMENTS
from emulator.server.control.program import PROGRAM
from emulator.server.control.requests import REQUESTS
from emulator.server.control.scenarios import POSTED_FAULTS, SCENARIOS
from emulator.server.control.webhook_endpoints import WEBHOOK_ENDPOINTS
from emulator.server.openapi.declarations import JsonObject, Operation

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
_WITH_SLASH = "/_emulator/openapi"
_SERVICES = "emulator.services"


def build(services: Services) -> ASGIApp:
    """The application; it raises refusals."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        scope[_SERVICES] = services
        await _router()(scope, receive, send)

    return application


def documents(methods: tuple[str, ...], form: WebhookForm = STANDARD) -> dict[str, BuildDocument]:
    """The OpenAPI documents by name, for these payment methods and this form of webhooks.

    Each is imported when it is built.
    """

    def v1(base_url: str) -> JsonObject:
        from emulator.server.api.document import build

        return build(base_url=base_url, methods=methods, form=form)

    def control(base_url: str) -> JsonObject:
        from emulator.server.control.document import build

        return build(RESOURCES, base_url=base_url, methods=methods)

    return {"v1": v1, "control": control}


@cache
def _router() -> Router:
    """The router of all applications of a process."""
    return router_of(each for resource in RESOURCES for each in resource.operations)


def router_of(operations: Iterable[Operation]) -> Router:
    """Routes to `operations`; a path with a fixed segment precedes one with a parameter there.

    This holds for all methods: `GET /a/b` does not reach `GET /a/{id}` when `PUT /a/b` exists.
    A router alone, because Starlette's application would answer exceptions itself.
    """
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    if _WITH_SLASH in by_path:
        by_path[f"{_WITH_SLASH}/"] = by_path[_WITH_SLASH]
    paths = sorted(by_path, key=lambda path: ["{" in segment for segment in path.split("/")])
    routes = [Route(path, _PathEndpoint(by_path[path])) for path in paths]
    return Router(routes=routes, redirect_slashes=False, default=_unknown_route)


class _PathEndpoint:
    """The operations of one path by method."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = self._operations.get("GET" if scope["method"] == "HEAD" else scope["method"])
        if operation is None:
            raise UnknownRoute(scope["method"], scope["path"])
        with suppress(ClientDisconnect):
            response = await respond(scope[_SERVICES], operation, Request(scope, receive))
            await response(scope, receive, send)


async def _unknown_route(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    raise UnknownRoute(scope["method"], scope["path"])
