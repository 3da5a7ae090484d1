"""How it is to a webhook: whether the emulator reaches the merchant's handlers, tried by itself."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from emulator.cli.examination.asking import Server, told
from emulator.cli.examination.findings import (
    Finding,
    Mark,
    Section,
    View,
    good,
    note,
    problem,
)
from emulator.cli.examination.machine import Emulator, Owner
from emulator.cli.examination.own_handler import Ways, examine_own_handler
from emulator.cli.examination.pinging import ENDPOINTS, Ping, Pinger
from emulator.http.addresses import with_host

# What a handler says to a signature that it cannot verify.
_REFUSALS = {400, 401, 403}
_SLOW = (
    "Where nothing answers, a firewall may stand between, or the handler be busy: it should answer "
    "first and work afterwards. The emulator waits for 15 s."
)
_FAILED = "The handler's own log may tell why; it has to answer with 2xx."


async def examine_handlers(
    emulator: Emulator, guest: Server, webhook_url: str | None, ways: Ways
) -> Section:
    """The fourth view. Each handler is called once, as an endpoint of the guest's."""
    pinger = Pinger(guest)
    listed, findings = await _listed(emulator)
    tries = [_endpoint_finding(pinger, endpoint) for endpoint in listed]
    if webhook_url is not None and webhook_url not in [one.get("url") for one in listed]:
        tries.append(_url_finding(pinger, webhook_url))
    *tried, own = await asyncio.gather(*tries, examine_own_handler(pinger, ways))
    if own.mark is Mark.PROBLEM and any(finding.mark is Mark.OK for finding in tried):
        # It need not, where there is one elsewhere.
        own = replace(own, mark=Mark.NOTE)
    return Section(view=View.WEBHOOK, findings=(*findings, *tried, own))


async def _listed(emulator: Emulator) -> tuple[list[dict[str, Any]], Iterable[Finding]]:
    """The endpoints of the account and mode, and what is to be said where there is none."""
    if emulator.owner is Owner.NOBODY:
        return [], [note("The key has no account yet, and so no endpoints")]
    key = emulator.key if emulator.owner is Owner.KEY else None
    answer = await replace(emulator.control, key=key).ask("GET", ENDPOINTS)
    listed = answer.member("data")
    if answer.status != 200 or not isinstance(listed, list):
        return [], [note(f"The endpoints cannot be listed: {told(answer)}")]
    endpoints = [one for one in listed if isinstance(one, dict)]
    if endpoints:
        return endpoints[::-1], []
    whose = "the key" if key is not None else "the first account, in test mode"
    return [], [
        note(
            f"No endpoint is registered for {whose}",
            f'POST {ENDPOINTS} {{"url": URL}} registers one, and so does serve --webhook-url URL.',
        )
    ]


async def _endpoint_finding(pinger: Pinger, endpoint: dict[str, Any]) -> Finding:
    url = str(endpoint.get("url"))
    shown = _shown(url)
    if endpoint.get("enabled") is False:
        return problem(
            f"{shown} is disabled, and told of nothing",
            f'PATCH {ENDPOINTS}/{endpoint.get("id")} {{"enabled": true}} enables it again.',
        )
    ping = await pinger.ping(url, endpoint.get("secret"))
    if ping.is_delivered:
        return good(f"{shown} takes a ping that its secret has signed: {ping.told}")
    return _failed(shown, ping)


async def _url_finding(pinger: Pinger, url: str) -> Finding:
    """Of an address that is no endpoint; nobody knows its secret."""
    ping = await pinger.ping(url, None)
    shown = _shown(url)
    if ping.is_delivered:
        return good(f"{shown} takes a ping, but is not registered: {ping.told}")
    if ping.status in _REFUSALS:
        return good(
            f"{shown} is reached, and takes no ping that another secret has signed: {ping.told}"
        )
    return _failed(shown, ping)


def _failed(shown: str, ping: Ping) -> Finding:
    fix = ping.cause or (_FAILED if ping.status is not None else _SLOW)
    return problem(f"{shown} takes no ping: {ping.told}", fix)


def _shown(url: str) -> str:
    """A URL without its password."""
    return with_host(url, urlsplit(url).hostname or "") if "@" in urlsplit(url).netloc else url
