"""Probes whether the emulator reaches the merchant's webhook handlers, with one ping each."""

import asyncio
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from emulator.doctor.local_handler import HandlerRoutes, probe_local_handler
from emulator.doctor.machine import ExaminedEmulator
from emulator.doctor.report import DoctorFinding, Level, good, note, problem
from emulator.doctor.requests import ENDPOINTS, describe, response_items
from emulator.doctor.temporary_account import TemporaryAccount
from emulator.http.addresses import with_host

# The statuses with which handlers refuse a signature.
_REFUSALS = {400, 401, 403}
_SLOW = (
    "A firewall may block the connection, or the handler may be busy: it should respond first and "
    "work afterwards. The emulator waits 15 s for a response."
)
_FAILED = "See the handler's own log; it must return 2xx."


async def probe_handlers(
    emulator: ExaminedEmulator,
    account: TemporaryAccount,
    webhook_url: str | None,
    routes: HandlerRoutes,
) -> list[DoctorFinding]:
    """Each handler gets a ping as an endpoint of the temporary account."""
    endpoints, findings = await _endpoints(emulator)
    probes = [_probe_endpoint(account, endpoint) for endpoint in endpoints]
    urls = [endpoint.get("url") for endpoint in endpoints]
    if webhook_url is not None and webhook_url not in urls:
        probes.append(_probe_url(account, webhook_url, None))
    *merchants, local = await asyncio.gather(*probes, probe_local_handler(account, routes))
    if local.level is Level.PROBLEM and any(merchant.level is Level.OK for merchant in merchants):
        # Not needed, since there is a handler elsewhere.
        local = replace(local, level=Level.NOTE)
    return [*findings, *merchants, local]


async def _endpoints(
    emulator: ExaminedEmulator,
) -> tuple[list[dict[str, Any]], list[DoctorFinding]]:
    """The endpoints of the account and mode, or a note why there is none."""
    if not emulator.has_account:
        return [], [note("The key has no account yet, and so no endpoints")]
    response = await replace(emulator.control, key=emulator.key).request("GET", ENDPOINTS)
    endpoints = response_items(response)
    if endpoints is None:
        return [], [note(f"The endpoints cannot be listed: {describe(response)}")]
    if endpoints:
        return endpoints[::-1], []
    whose = "the first account, in test mode" if emulator.key is None else "the key"
    return [], [
        note(
            f"No endpoint is registered for {whose}",
            f'POST {ENDPOINTS} {{"url": URL}} registers one; serve --webhook-url URL also does.',
        )
    ]


async def _probe_endpoint(account: TemporaryAccount, endpoint: dict[str, Any]) -> DoctorFinding:
    url = str(endpoint.get("url"))
    if endpoint.get("enabled") is False:
        return problem(
            f"{_without_password(url)} is disabled and receives no webhooks",
            f'PATCH {ENDPOINTS}/{endpoint.get("id")} {{"enabled": true}} enables it again.',
        )
    return await _probe_url(account, url, endpoint.get("secret"))


async def _probe_url(account: TemporaryAccount, url: str, secret: str | None) -> DoctorFinding:
    """Ping a handler; without a secret it is not registered, and its secret is unknown."""
    ping = await account.ping(url, secret)
    shown = _without_password(url)
    if ping.is_delivered:
        result = "accepts a ping, but is not registered"
        if secret is not None:
            result = "accepts a ping that is signed with its secret"
    elif secret is None and ping.status in _REFUSALS:
        result = "responds, and refuses a ping that is signed with another secret"
    else:
        fix = ping.cause or (_FAILED if ping.status is not None else _SLOW)
        return problem(f"{shown} does not accept a ping: {ping.description}", fix)
    return good(f"{shown} {result}: {ping.description}")


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return with_host(url, parts.hostname or "") if "@" in parts.netloc else url
