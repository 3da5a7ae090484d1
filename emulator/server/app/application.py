"""The one Starlette application of both listeners.

A request is for the checkout pages if it arrived at the checkout port, and else for the API. Around
all routes are the layers of `request_layer` and `api.layers`, in the order of their checks.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator import __version__, ids
from emulator.clock import RealClock, SystemClock
from emulator.domain.user_error import UserError
from emulator.http.tls import read_authorities
from emulator.server.api.app import PaymentsApi
from emulator.server.api.layers import (
    AuthenticationLayer,
    CallRoute,
    ErrorLayer,
    JournalLayer,
    unknown_route,
)
from emulator.server.app.layers import HEALTH, Guard, RequestLayer, RequestLog, check_host, is_page
from emulator.server.app.published_files import clock_file
from emulator.server.app.settings_files import read_settings_files, scenarios_in_force
from emulator.server.engine.engine import Engine
from emulator.server.engine.state.account import EngineConfig
from emulator.server.engine.state.journal import MAX_JOURNAL_BYTES
from emulator.settings import Settings

if TYPE_CHECKING:
    from emulator.scenarios.values import Scenario

CONTRACT = "/v1"
CONTROL = "/_emulator/"

logger = logging.getLogger(__name__)


def create_app(
    settings: Settings,
    *,
    wall: SystemClock | None = None,
    write_log: Callable[[str], object] | None = None,
    stamps_business_time: bool = False,
    max_journal_bytes: int = MAX_JOURNAL_BYTES,
) -> "Application":
    """The emulator as an ASGI application, which its lifespan opens and closes.

    The ports of the settings are the real ones, not 0. `write_log` receives the lines of the
    request log, by default the logger of this module. `stamps_business_time` and
    `max_journal_bytes` are members of EngineConfig. Raises UserError.
    """
    if not (settings.port and settings.checkout_port):
        raise UserError("create_app needs the real ports of both listeners (got port 0)")
    form, scenarios = read_settings_files(settings)
    config = EngineConfig(
        settings=settings,
        webhook_form=form,
        webhook_authorities=read_authorities(settings.webhook_ca),
        stamps_business_time=stamps_business_time,
        max_journal_bytes=max_journal_bytes,
    )
    load = partial(scenarios_in_force, scenarios)
    engine = Engine(wall=wall or RealClock(), config=config, load_scenarios=load)
    return Application(engine, scenarios, write_log or _log)


def _log(line: str) -> None:
    logger.info("%s", line.rstrip("\n"))


class LazyRoutes(BaseRoute):
    """Routes that are imported and built for their first request.

    The control API, the dashboard and the checkout pages take as long to import as everything else,
    and a program that only serves `/v1` never needs them.
    """

    def __init__(self, is_for: Callable[[Scope], bool], build: Callable[[], Router]) -> None:
        self._is_for = is_for
        self._build = build

    @cached_property
    def router(self) -> Router:
        return self._build()

    @property
    def routes(self) -> list[BaseRoute]:
        return self.router.routes

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return (Match.FULL if self._is_for(scope) else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.router(scope, receive, send)


class Application(Starlette):
    """The emulator; `engine` is open within the lifespan."""

    def __init__(
        self,
        engine: Engine,
        scenarios: "tuple[Scenario, ...]",
        write_log: Callable[[str], object],
    ) -> None:
        """`scenarios` are the ones of the settings."""
        self.settings = settings = engine.settings
        self.engine = engine
        self._scenarios = scenarios
        self._control = LazyRoutes(
            lambda scope: scope["path"].startswith(CONTROL), self._build_control
        )
        self._log = log = RequestLog(write_log, as_json=settings.log_format == "json")
        stream = partial(ids.stream_key, settings.seed)
        self._check_host = partial(check_host, engine)
        super().__init__(
            routes=[
                LazyRoutes(self._is_for_pages, self._build_checkout),
                *PaymentsApi(engine).routes,
                CallRoute(HEALTH, self._health, methods={"GET", "HEAD"}, name="get_health"),
                LazyRoutes(lambda scope: is_page(scope["path"]), self._build_dashboard),
                self._control,
            ],
            middleware=[
                Middleware(RequestLayer, engine=engine, log=log, stream=stream("gateway")),
                Middleware(
                    JournalLayer,
                    engine=engine,
                    is_contract=self._is_contract,
                    stream=stream("strangers"),
                ),
                Middleware(ErrorLayer, is_contract=self._is_contract),
                Middleware(AuthenticationLayer, engine=engine, check_host=self._check_host),
            ],
            lifespan=lambda _: self._run(),
        )
        self.router.redirect_slashes = False
        self.router.default = unknown_route

    @property
    def routes(self) -> list[BaseRoute]:
        """All calls and pages; the routes that are built for their first request are built."""
        return [
            route
            for outer in self.router.routes
            for route in (outer.routes if isinstance(outer, LazyRoutes) else [outer])
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                try:
                    await super().__call__(scope, receive, send)
                except asyncio.CancelledError:
                    # At the end of the program; uvicorn would log it as an error.
                    if not self.engine.is_ending:
                        raise
            case "lifespan":
                await self.router(scope, receive, send)
            case "websocket":
                await send({"type": "websocket.close"})

    def build_middleware_stack(self) -> ASGIApp:
        """The layers of this package: ErrorLayer responds to errors in place of Starlette's own."""
        app: ASGIApp = self.router.app
        for cls, args, kwargs in reversed(self.user_middleware):
            app = cls(app, *args, **kwargs)
        return app

    @asynccontextmanager
    async def _run(self) -> AsyncIterator[None]:
        async with self.engine.open(), clock_file(self.engine), self._watched_scenarios():
            try:
                yield
            finally:
                self._log.flush()

    @asynccontextmanager
    async def _watched_scenarios(self) -> AsyncIterator[None]:
        if not self.settings.watch:
            yield
            return
        from emulator.server.app.scenario_watch import watch_scenarios

        watch = asyncio.create_task(watch_scenarios(self.engine, self._scenarios))
        try:
            yield
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def _health(self, _: Request) -> Response:
        """The health of the emulator, which needs no other part of the control API."""
        is_ok = self.engine.has_database()
        status = {"status": "ok" if is_ok else "unavailable", "version": __version__}
        return JSONResponse(status, 200 if is_ok else 503)

    def _is_for_pages(self, scope: Scope) -> bool:
        server = scope.get("server")
        return server is not None and server[1] == self.settings.checkout_port

    def _is_contract(self, scope: Scope) -> bool:
        path: str = scope["path"]
        return (path == CONTRACT or path.startswith(f"{CONTRACT}/")) and not self._is_for_pages(
            scope
        )

    def _build_control(self) -> Router:
        from emulator.server.control.app import routes

        return self._guarded(routes(self.engine))

    def _build_dashboard(self) -> Router:
        from emulator.server.dashboard.app import Dashboard

        control = Router(self._control.routes, redirect_slashes=False, default=unknown_route)
        return self._guarded(Dashboard(self.engine, control=control).routes)

    def _build_checkout(self) -> Router:
        from emulator.server.checkout.app import CheckoutApp

        pages = CheckoutApp(self.engine, check_host=self._check_host)
        return Router(redirect_slashes=False, default=pages)

    def _guarded(self, routes: list[BaseRoute]) -> Router:
        guard = Middleware(Guard, engine=self.engine)
        return Router(routes, redirect_slashes=False, default=unknown_route, middleware=[guard])
