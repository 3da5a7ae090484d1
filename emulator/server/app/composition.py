"""Builds the program from the settings and a clock."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from emulator import ids
from emulator.clock import SystemClock
from emulator.server.api.app import PaymentsApi
from emulator.server.api.exchange import ASGIApp
from emulator.server.api.parameters import CreateRules
from emulator.server.app.gateway import Gateway, Lazily, RequestLog
from emulator.server.engine.engine import Engine, open_engine
from emulator.server.engine.payments.payments import CheckoutAddress
from emulator.server.engine.state.account import ConfiguredEndpoint, EngineConfig
from emulator.server.engine.state.journal import MAX_JOURNAL_BYTES
from emulator.server.engine.state.rules import Origin
from emulator.settings import Settings, SettingsError, data_directory
from emulator.settings.values import STANDARD_WEBHOOKS

if TYPE_CHECKING:
    from emulator.domain.webhook_forms import WebhookForm
    from emulator.scenarios.loader import Forms
    from emulator.scenarios.values import Scenario

logger = logging.getLogger(__name__)
_OFF_AT_START = "\nenabled: false\n"


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """The running program: its settings, the ports of its listeners, its engine and gateway."""

    settings: Settings
    api_port: int
    checkout_port: int
    engine: Engine
    gateway: Gateway


@asynccontextmanager
async def compose(
    settings: Settings,
    *,
    wall: SystemClock,
    api_port: int,
    checkout_port: int,
    write_log: Callable[[str], object],
    stamps_business_time: bool = False,
    max_journal_bytes: int = MAX_JOURNAL_BYTES,
) -> AsyncIterator[Running]:
    """The program without its sockets. Raises SettingsError, ScenarioError, UnusableDatabase.

    `stamps_business_time` and `max_journal_bytes` are of EngineConfig.
    """
    form = _webhook_form(settings)
    forms = frozenset(() if form is None else (form,))
    given = given_scenarios(settings, forms)
    checkout = CheckoutAddress(base=settings.public_checkout_url(checkout_port))
    config = EngineConfig(
        first_test_key=settings.test_key,
        first_live_key=settings.live_key,
        seed=settings.seed,
        clock=settings.clock,
        rate_limit=settings.rate_limit,
        auto_provision=settings.auto_provision,
        vary=settings.vary,
        endpoint=(
            None
            if settings.webhook_url is None
            else ConfiguredEndpoint(url=settings.webhook_url, secret=settings.webhook_secret)
        ),
        webhook_form=form,
        webhook_authorities=_webhook_authorities(settings),
        verifies_webhooks=not settings.webhook_insecure,
        stamps_business_time=stamps_business_time,
        max_journal_bytes=max_journal_bytes,
    )
    async with (
        open_engine(
            database_path=settings.database,
            wall=wall,
            config=config,
            checkout=checkout,
            load_scenarios=partial(_in_force, given),
        ) as engine,
        _clock_file(settings, engine, wall),
    ):
        log = RequestLog(wall, write_log, as_json=settings.log_format == "json")
        watch = _watch(settings, engine, wall, given, forms) if settings.watch else None
        yield Running(
            settings=settings,
            api_port=api_port,
            checkout_port=checkout_port,
            engine=engine,
            gateway=_Applications(settings, engine, checkout, form).gateway(log, checkout_port),
        )
        log.flush()
        if watch is not None:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)


def _webhook_authorities(settings: Settings) -> str:
    if settings.webhook_ca is None:
        return ""
    from emulator.server.app.tls import authorities

    return authorities(settings.webhook_ca)


def _clock_file(
    settings: Settings, engine: Engine, wall: SystemClock
) -> AbstractAsyncContextManager[None]:
    if settings.clock_file is None:
        return nullcontext()
    from emulator.server.app.clock_file import clock_file

    return clock_file(settings.clock_file, engine, wall)


def _watch(
    settings: Settings,
    engine: Engine,
    wall: SystemClock,
    given: "tuple[Scenario, ...]",
    forms: "Forms",
) -> "asyncio.Task[None]":
    from emulator.server.app.scenario_watch import watch_scenarios

    loader_of = partial(partial, _in_force)
    return asyncio.create_task(watch_scenarios(settings, engine, wall, given, loader_of, forms))


def _webhook_form(settings: Settings) -> "WebhookForm | None":
    """The form of webhooks, None for `standard`. Raises ScenarioError, SettingsError."""
    if settings.webhook_format == STANDARD_WEBHOOKS:
        return None
    from emulator.scenarios.webhook_form_file import load_webhook_form

    form = load_webhook_form(settings.webhook_format)
    secret_format = form.signature.secret
    if settings.webhook_secret and not secret_format.accepts(settings.webhook_secret):
        expected = f"for --webhook-format {settings.webhook_format} {secret_format.expected}"
        raise SettingsError(f"flag --webhook-secret: expected {expected}")
    return form


def given_scenarios(settings: Settings, forms: "Forms" = frozenset()) -> "tuple[Scenario, ...]":
    """The scenarios that the settings name, the newest first. Raises ScenarioError."""
    if not settings.scenarios:
        return ()
    from emulator.scenarios.loader import load_paths, method_warnings

    scenarios = load_paths([Path(path) for path in settings.scenarios], forms)
    for warning in method_warnings(scenarios, settings.methods):
        logger.warning("%s", warning)
    return scenarios[::-1]


def _in_force(
    given: "tuple[Scenario, ...]", shipped: Literal["all", "on", "none"]
) -> "tuple[tuple[Origin, Scenario], ...]":
    if shipped == "none":
        return tuple((Origin.FILE, scenario) for scenario in given)
    from emulator.scenarios.loader import in_force

    named = {scenario.name for scenario in given}
    return tuple(
        (Origin.FILE if scenario.name in named else Origin.SHIPPED, scenario)
        for scenario in in_force(given, shipped_scenarios(only_on=shipped == "on"))
    )


@cache
def shipped_scenarios(*, only_on: bool = False) -> "tuple[Scenario, ...]":
    """The scenarios of the package, which have the lowest precedence, read on first use.

    Most are disabled at start, and read on request. A user enables one on purpose, so these come
    before those that are enabled at start.
    """
    from emulator.scenarios.loader import load_paths

    files = sorted(data_directory("scenarios").glob("*.yaml"))
    if only_on:
        files = [file for file in files if _OFF_AT_START not in file.read_text(encoding="utf-8")]
    return tuple(sorted(load_paths(files), key=lambda scenario: scenario.enabled))


class _Applications(NamedTuple):
    """Builds the applications that answer requests, each for its first request."""

    settings: Settings
    engine: Engine
    checkout: CheckoutAddress
    form: "WebhookForm | None"

    def gateway(self, log: RequestLog, checkout_port: int) -> Gateway:
        settings, engine = self.settings, self.engine
        api = PaymentsApi(
            accounts=engine.accounts,
            payments=engine.payments,
            faults=engine.faults,
            webhooks=engine.webhooks,
            rules=CreateRules(
                methods=settings.methods, allow_http_localhost=settings.allow_http_localhost
            ),
            is_strict=settings.strict,
            stream=ids.stream_key(settings.seed, "strangers"),
            wall=engine.wall,
        )
        control = Lazily(lambda: self._control(api))
        return Gateway(
            api=api,
            control=Lazily(lambda: self._guarded(control)),
            dashboard=Lazily(lambda: self._guarded(self._dashboard(control))),
            checkout=Lazily(self._checkout_pages),
            checkout_port=checkout_port,
            log=log,
            stream=ids.stream_key(settings.seed, "gateway"),
            engine=engine,
        )

    def _control(self, api: PaymentsApi) -> ASGIApp:
        from emulator.server.control.app import build, documents
        from emulator.server.control.calls import Services

        form = self.form
        listed = documents(self.settings.methods, *(() if form is None else (form,)))
        return build(
            Services(engine=self.engine, checkout=self.checkout, documents=listed, api=api)
        )

    def _guarded(self, app: ASGIApp) -> ASGIApp:
        from emulator.server.app.guard import Guard, HostGuard

        return Guard(app, HostGuard(self.settings, self.checkout))

    def _dashboard(self, control: ASGIApp) -> ASGIApp:
        from emulator.server.dashboard.app import Dashboard

        return Dashboard(
            templates=data_directory("templates"),
            control=control,
            methods=self.settings.methods,
            checkout=self.checkout,
            engine=self.engine,
            verifies_webhooks=not self.settings.webhook_insecure,
        )

    def _checkout_pages(self) -> ASGIApp:
        from emulator.server.app.guard import HostGuard
        from emulator.server.checkout.app import CheckoutApp

        return CheckoutApp(
            checkouts=self.engine.checkouts,
            templates=data_directory("templates"),
            shows_handset=not self.settings.no_handset,
            check_host=HostGuard(self.settings, self.checkout).check,
        )
