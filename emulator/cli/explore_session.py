"""Starts what `explore` needs: an emulator, and the shop of an integration."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from emulator.cli.emulator_options import generated_secret
from emulator.cli.output import write_lines
from emulator.clock import RealClock
from emulator.domain.webhooks import WebhookForm
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient, HttpClient, silent_endpoint
from emulator.http.emulator_calls import program_variables
from emulator.scenarios.webhook_form_file import webhook_form_of
from emulator.server.app.server import private_application
from emulator.settings import Settings
from emulator.tools.explore.exploration import Limits
from emulator.tools.explore.integration import FileMistake, Integration
from emulator.tools.explore.integration_file import located
from emulator.tools.explore.service import MAX_CALL_S, Service
from emulator.tools.explore.session import ExploreSession
from emulator.tools.explore.shop import Shop
from emulator.tools.explore.shop_client import ShopClient
from emulator.tools.explore.shop_process import ShopProcess, ShopTime, faketime_library

# The requests of one step, of all histories that run at the same time, take far less.
MAX_JOURNAL_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreOptions:
    """The options of a run; without a URL it starts a private emulator."""

    url: str | None
    key: str
    secret: str | None
    form: WebhookForm
    settings: Settings
    limits: Limits
    files: Mapping[str, Path | None]
    """The directory of `save`, and the files of `json`, `junit` and `report`."""


@asynccontextmanager
async def explore_session(
    options: ExploreOptions, file: Path, integration: Integration
) -> AsyncIterator[ExploreSession]:
    """The emulator and the shop, both running.

    Raises UserError; ScenarioError where the shop shows a mistake of the file.
    """
    wall = RealClock()
    async with AsyncExitStack() as stack:
        url, http = options.url, HttpClient()
        directory = stack.enter_context(TemporaryDirectory())
        if url is None:
            # On disk and with a short journal: the memory does not grow with the histories.
            settings = replace(options.settings, database=f"{directory}/explore.db")
            app = await stack.enter_async_context(
                private_application(settings, max_journal_bytes=MAX_JOURNAL_BYTES)
            )
            url = app.settings.local_url(app.settings.port)
            # Without a socket, a call takes a quarter of the time.
            http = HttpClient(transport=httpx.ASGITransport(app, raise_app_exceptions=False))
        address = BaseUrl.parse(url)
        client = EmulatorClient(address, key=options.key, timeout_s=MAX_CALL_S, http=http)
        service = Service(await stack.enter_async_context(client))
        shop_client = ShopClient(wall)
        form = options.form
        secret = options.secret or generated_secret(form, options.limits.seed, "explore")
        if options.url is not None:
            silent = silent_endpoint(client, integration.webhook)
            endpoint = await stack.enter_async_context(silent)
            if endpoint is not None:
                form, secret = webhook_form_of(endpoint["format"]), str(endpoint["secret"])
        knows_secret = options.secret or integration.run or not form.is_signed
        if integration.webhook and not knows_secret:
            write_lines([f"The shop needs this webhook secret: {secret}"])
        variables = program_variables(url, options.key, secret)
        shop = Shop(integration, shop_client, secret, wall, variables, form)
        session = ExploreSession(shop=shop, service=service, wall=wall)
        library, session.no_clock = _clock_of(options, integration)
        if library is not None:
            session.shop_time = ShopTime(library, Path(directory, "shop-clock"))
            session.shop_time.move(0)
            variables = {**variables, **session.shop_time.variables}
        if integration.run is not None:
            run, shop_url = integration.run, integration.url
            process = ShopProcess(run, shop_url, variables, shop_client, wall)
            await stack.enter_async_context(process.running())
            session.restart = process.restart
        try:
            yield session
        except FileMistake as error:
            raise located(file, error) from None


def _clock_of(options: ExploreOptions, integration: Integration) -> tuple[Path | None, str]:
    """The library that moves the clock of the shop, or why there is none."""
    if options.url is not None:
        return None, "a running emulator has a clock of its own"
    if integration.run is None or not integration.run.clock:
        return None, "the file has no `run` with `clock: true`"
    if options.settings.clock_file:
        return None, "`--clock-file` moves the clock of the shop"
    library = faketime_library()
    return library, "" if library else "libfaketime is not installed"
