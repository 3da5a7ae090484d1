"""Builds the engine from the settings and a clock."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from emulator.clock import SystemClock
from emulator.domain.user_error import UserError
from emulator.http.tls import read_authorities
from emulator.server.app.published_files import clock_file
from emulator.server.engine.engine import Engine
from emulator.server.engine.payments.payments import CheckoutAddress
from emulator.server.engine.state.account import EngineConfig
from emulator.server.engine.state.rules import Origin
from emulator.settings import Settings, data_directory
from emulator.settings.options import STANDARD_WEBHOOKS

if TYPE_CHECKING:
    from emulator.domain.webhooks import WebhookForm
    from emulator.scenarios.loader import Forms
    from emulator.scenarios.values import Scenario

logger = logging.getLogger(__name__)
_OFF_AT_START = "\nenabled: false\n"


class Composition(Struct, frozen=True, kw_only=True):
    """The engine, and what the settings name beside it: scenarios and forms of webhooks."""

    settings: Settings
    wall: SystemClock
    engine: Engine
    checkout: CheckoutAddress
    scenarios: "tuple[Scenario, ...]"
    forms: "Forms"

    @asynccontextmanager
    async def background_work(self) -> AsyncIterator[None]:
        """Write the clock file and watch the scenario files, while the engine is open."""
        async with self._clock_file():
            watch = asyncio.create_task(self._watch()) if self.settings.watch else None
            try:
                yield
            finally:
                if watch is not None:
                    watch.cancel()
                    await asyncio.gather(watch, return_exceptions=True)

    def _clock_file(self) -> AbstractAsyncContextManager[None]:
        path = self.settings.clock_file
        if path is None:
            return nullcontext()
        return clock_file(path, self.engine, self.wall)

    async def _watch(self) -> None:
        from emulator.server.app.scenario_watch import watch_scenarios

        loader_of = partial(partial, _in_force)
        await watch_scenarios(
            self.settings, self.engine, self.wall, self.scenarios, loader_of, self.forms
        )


def compose(
    settings: Settings, *, wall: SystemClock, stamps_business_time: bool, max_journal_bytes: int
) -> Composition:
    """Build what the settings name; the last two arguments are members of EngineConfig.

    Raises UserError.
    """
    form, scenarios = _read_files(settings)
    checkout = CheckoutAddress(base=settings.public_checkout_url)
    config = EngineConfig(
        settings=settings,
        webhook_form=form,
        webhook_authorities=read_authorities(settings.webhook_ca),
        stamps_business_time=stamps_business_time,
        max_journal_bytes=max_journal_bytes,
    )
    engine = Engine(
        wall=wall,
        config=config,
        checkout=checkout,
        load_scenarios=partial(_in_force, scenarios),
    )
    return Composition(
        settings=settings,
        wall=wall,
        engine=engine,
        checkout=checkout,
        scenarios=scenarios,
        forms=frozenset(() if form is None else (form,)),
    )


def _read_files(settings: Settings) -> "tuple[WebhookForm | None, tuple[Scenario, ...]]":
    """The form of webhooks, None for `standard`, and the scenarios, the newest first.

    Raises ScenarioError with every problem of every file, and UserError for the secret.
    """
    if settings.webhook_format == STANDARD_WEBHOOKS and not settings.scenarios:
        return None, ()
    from emulator.scenarios.entries import ScenarioError
    from emulator.scenarios.loader import method_warnings
    from emulator.scenarios.webhook_form_file import read_files_of_settings

    form, scenarios, problems = read_files_of_settings(settings.webhook_format, settings.scenarios)
    if problems:
        raise ScenarioError(problems)
    secret = settings.webhook_secret
    if form and secret and (problem := form.signature.secret_problem(secret)):
        expected = f"for --webhook-format {settings.webhook_format} {problem}"
        raise UserError(f"flag --webhook-secret: expected {expected}")
    for warning in method_warnings(scenarios, settings.methods):
        logger.warning("%s", warning)
    return form, tuple(scenarios[::-1])


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
