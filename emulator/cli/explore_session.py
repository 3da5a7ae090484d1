"""Starts what `explore` needs: an emulator, and the shop of an integration."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from emulator import ids
from emulator.cli.output import write
from emulator.clock import RealClock
from emulator.domain.webhook_forms import SecretFormat, WebhookForm
from emulator.http import emulator_calls as calls
from emulator.http.addresses import BaseUrl
from emulator.http.emulator_client import EmulatorClient
from emulator.http.program_variables import program_variables
from emulator.scenarios.webhook_form_file import webhook_form_of
from emulator.server.app.server import private_emulator
from emulator.settings import Settings
from emulator.tools.explore.connections import Connections
from emulator.tools.explore.exploration import Limits
from emulator.tools.explore.integration import Integration
from emulator.tools.explore.service import MAX_CALL_S, Service
from emulator.tools.explore.session import ExploreSession
from emulator.tools.explore.shop import Shop
from emulator.tools.explore.shop_process import ShopProcess

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
    save: Path
    json: Path | None
    junit: Path | None
    report: Path | None


@asynccontextmanager
async def explore_session(
    options: ExploreOptions, integration: Integration
) -> AsyncIterator[ExploreSession]:
    """The emulator and the shop, both running. Raises ExploreError, NoListener."""
    wall = RealClock()
    async with AsyncExitStack() as stack:
        url = options.url
        if url is None:
            # On disk and with a short journal: the memory does not grow with the histories.
            directory = stack.enter_context(TemporaryDirectory())
            settings = replace(options.settings, database=f"{directory}/explore.db")
            url = await stack.enter_async_context(
                private_emulator(settings, max_journal_bytes=MAX_JOURNAL_BYTES)
            )
        address = BaseUrl.parse(url)
        client = EmulatorClient(address, key=options.key, timeout_s=MAX_CALL_S)
        service = Service(await stack.enter_async_context(client))
        shop_connections = Connections(wall)
        stack.callback(shop_connections.close)
        form, secret = options.form, options.secret or _generated_secret(options)
        if options.url is not None:
            silent = _silent_endpoint(service, integration.webhook)
            endpoint = await stack.enter_async_context(silent)
            if endpoint is not None:
                form, secret = webhook_form_of(endpoint["format"]), str(endpoint["secret"])
        knows_secret = options.secret or integration.run or not form.is_signed
        if integration.webhook and not knows_secret:
            write(f"The shop needs this webhook secret: {secret}\n")
        variables = program_variables(url, options.key, secret)
        shop = Shop(integration, shop_connections, secret, wall, variables, form)
        session = ExploreSession(shop=shop, service=service, wall=wall)
        if integration.run is not None:
            run, shop_url = integration.run, integration.url
            process = ShopProcess(run, shop_url, variables, shop_connections, wall)
            await stack.enter_async_context(process.running())
            session.restart = process.restart
        yield session


@asynccontextmanager
async def _silent_endpoint(service: Service, url: str | None) -> AsyncIterator[calls.Json | None]:
    """Disable the endpoint with a URL during the block, and yield it, if there is one.

    Explore delivers the events itself.
    """
    listed = await service.call(calls.ENDPOINTS)
    endpoint = next((each for each in listed if each["url"] == url), None)
    if endpoint is None:
        yield None
        return
    change = calls.CHANGE_ENDPOINT(endpoint["id"], body={"enabled": False})
    await service.call(change)
    try:
        yield endpoint
    finally:
        await service.call(replace(change, body={"enabled": endpoint["enabled"]}))


def _generated_secret(options: ExploreOptions) -> str:
    is_hex = options.form.signature.secret is SecretFormat.HEX
    return ids.webhook_secret(ids.stream_key(options.limits.seed, "explore"), 1, is_hex=is_hex)
