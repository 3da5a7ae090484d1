"""Probes whether the emulator reaches webhook handlers: the merchant's, and one of its own.

Compares the clocks of the merchant's servers with the clock of the account.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from emulator import ids
from emulator.domain.hosts import ADD_DOCKER_HOST, DOCKER_HOST, PODMAN_HOST
from emulator.domain.instants import Instant, format_instant, parse_instant
from emulator.http import emulator_calls as calls
from emulator.http.addresses import host_with_port, without_password
from emulator.http.client import EmulatorClient, TemporaryAccount
from emulator.http.received_webhooks import ReceivedRequest, WebhookReceiver
from emulator.http.response import HttpResponse, parse_date
from emulator.tools.doctor.machine import response_items
from emulator.tools.doctor.report import DoctorFinding, Level, good, note, problem
from emulator.tools.doctor.search import LocalNetwork

# A `Date` header has no fraction, and servers update it about once a second.
MAX_DIFFERENCE_MS = 5_000
_CLOCK_ADVICE = (
    "A shop that compares times of the API with its own needs the account's clock: "
    "serve --clock-file FILE, and libfaketime in the shop."
)


async def account_instant(emulator: EmulatorClient) -> Instant | None:
    """The time of the account's clock; None where it is not known."""
    response = await emulator.try_to_send(calls.CLOCK)
    now = response.member("now")
    return parse_instant(now) if isinstance(now, str) else None


def clock_findings(
    dates: Mapping[str, str], earliest: Instant | None, latest: Instant | None
) -> list[DoctorFinding]:
    """A note for each server whose `Date` is not in a period of the account's clock.

    `dates` are the headers by the URL.
    """
    if earliest is None or latest is None:
        return []
    findings = []
    for url, date in dates.items():
        instant = parse_date(date)
        period = range(earliest - MAX_DIFFERENCE_MS, latest + MAX_DIFFERENCE_MS + 1)
        if instant is not None and instant not in period:
            text = (
                f"The clock of {url} differs from the account's clock: {format_instant(instant)}"
                f" in its Date header, {format_instant(latest)} in the account"
            )
            findings.append(note(text, _CLOCK_ADVICE))
    return findings


LOOPBACK = "127.0.0.1"
# An account may have only a limited number of endpoints.
MAX_CONCURRENT_PINGS = 8

_NAME_DIGITS = 12

_ADVICE = (
    f"An emulator in a container reaches this machine as {DOCKER_HOST} (Docker on Linux: start "
    f"it with {ADD_DOCKER_HOST}; Podman: {PODMAN_HOST}), and a handler "
    "there must listen on 0.0.0.0; for a handler in a container use its service name."
)
# The statuses with which handlers refuse a signature.
_REFUSALS = {400, 401, 403}
_SLOW = (
    "A firewall may block the connection, or the handler may be busy: it should respond first and "
    "work afterwards. The emulator waits 15 s for a response."
)
_FAILED = "See the handler's own log; it must return 2xx."


@dataclass(frozen=True, slots=True, kw_only=True)
class PingResult:
    """The response to a ping; `status` is None without a response, `cause` a failure's cause.

    `endpoint` is the endpoint to which the ping was sent, `date` the `Date` header of the response.
    """

    is_delivered: bool
    description: str
    status: int | None = None
    cause: str | None = None
    date: str | None = None
    endpoint: Mapping[str, Any] = field(default_factory=dict)


class PingAccount(TemporaryAccount):
    """The account of an examination; `server` is the emulator with its key."""

    def __init__(self, control: EmulatorClient) -> None:
        name = f"doctor {ids.stream_key(None).hex()[:_NAME_DIGITS]}"
        super().__init__(control.try_to_send, {"name": name, "clock": "real"})
        self._control = control
        self._ping_slots = asyncio.Semaphore(MAX_CONCURRENT_PINGS)
        # The `Date` headers of the merchant's servers, by their URL.
        self.dates: dict[str, str] = {}

    @property
    def server(self) -> EmulatorClient:
        return replace(self._control, key=self.key)

    async def ping(self, url: str, secret: str | None = None, form: object = None) -> PingResult:
        """Make the emulator send a ping, by default in its usual form and with any secret.

        The request is sent from the emulator's network, not from this program's network.
        """
        server = self.server
        async with self._ping_slots:
            endpoint = {"url": url, "secret": secret, "format": form}
            created = await server.try_to_send(calls.CREATE_ENDPOINT(body=endpoint))
            if created.status != 201:
                text = f"it could not be tried: {created.description}"
                return PingResult(is_delivered=False, description=text)
            endpoint_id = str(created.member("id"))
            response = await server.try_to_send(calls.PING_ENDPOINT(endpoint_id))
            await server.try_to_send(calls.DELETE_ENDPOINT(endpoint_id))
        return replace(_parse_ping(response), endpoint=created.json)


def _parse_ping(response: HttpResponse) -> PingResult:
    attempts = response.member("attempts")
    if response.status != 200 or not isinstance(attempts, list) or not attempts:
        return PingResult(is_delivered=False, description=response.description)
    attempt: dict[str, Any] = attempts[-1]
    status, error = attempt.get("status"), attempt.get("error")
    received = attempt.get("response") or {}
    words = ", ".join(str(word) for word in (status, error) if word is not None)
    return PingResult(
        is_delivered=response.member("status") == "succeeded",
        description=f"{words} in {attempt.get('duration_ms', 0):.0f} ms",
        status=status,
        cause=attempt.get("cause"),
        date=received.get("headers", {}).get("date"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerRoutes:
    """The addresses on which a handler may listen, and the hosts that may lead to it.

    The first address of `listening` is a loopback one; the first of `hosts` is tried first, alone.
    """

    listening: tuple[str, ...]
    hosts: tuple[str, ...]
    place: str = "on this machine"


def handler_routes(network: LocalNetwork) -> HandlerRoutes:
    """Outside a container only bridges to containers, so that no other machine sees the port."""
    interfaces = network.interfaces if network.is_in_container else network.bridges
    listening = (LOOPBACK, *(interface.address for interface in interfaces))
    if network.is_in_container:
        return HandlerRoutes(listening=listening, hosts=listening, place="in this container")
    hosts = (LOOPBACK, DOCKER_HOST, PODMAN_HOST, *listening[1:])
    return HandlerRoutes(listening=listening, hosts=hosts)


async def probe_handlers(
    emulator: EmulatorClient,
    account: PingAccount,
    webhook_url: str | None,
    routes: HandlerRoutes,
) -> list[DoctorFinding]:
    """Each handler gets a ping as an endpoint of the temporary account."""
    endpoints, findings = await _endpoints(emulator)
    probes = [_probe_endpoint(account, endpoint) for endpoint in endpoints]
    urls = [endpoint.get("url") for endpoint in endpoints]
    if webhook_url is not None and webhook_url not in urls:
        probes.append(_probe_url(account, webhook_url, None))
    earliest = await account_instant(emulator)
    *merchants, local = await asyncio.gather(*probes, probe_local_handler(account, routes))
    clocks = clock_findings(account.dates, earliest, await account_instant(emulator))
    if local.level is Level.PROBLEM and any(merchant.level is Level.OK for merchant in merchants):
        # Not needed, since there is a handler elsewhere.
        local = note(local.text, local.fix)
    return [*findings, *merchants, *clocks, local]


async def _endpoints(emulator: EmulatorClient) -> tuple[list[dict[str, Any]], list[DoctorFinding]]:
    """The endpoints of the account and mode, or a note why there is none."""
    response = await emulator.try_to_send(calls.ENDPOINTS)
    endpoints = response_items(response)
    if endpoints is None:
        return [], [note(f"The endpoints cannot be listed: {response.description}")]
    if endpoints:
        return endpoints[::-1], []
    whose = "the first account, in test mode" if emulator.key is None else "the key"
    return [], [
        note(
            f"No endpoint is registered for {whose}",
            f'POST {calls.ENDPOINTS.path} {{"url": URL}} registers one;'
            " serve --webhook-url URL also does.",
        )
    ]


async def _probe_endpoint(account: PingAccount, endpoint: dict[str, Any]) -> DoctorFinding:
    url = str(endpoint.get("url"))
    if endpoint.get("enabled") is False:
        path = calls.CHANGE_ENDPOINT(str(endpoint.get("id"))).path
        return problem(
            f"{without_password(url)} is disabled and receives no webhooks",
            f'PATCH {path} {{"enabled": true}} enables it again.',
        )
    return await _probe_url(account, url, endpoint.get("secret"), endpoint.get("format"))


async def _probe_url(
    account: PingAccount, url: str, secret: str | None, form: object = None
) -> DoctorFinding:
    """Ping a handler; without a secret it is not registered, and its secret is unknown."""
    ping = await account.ping(url, secret, form)
    shown = without_password(url)
    if ping.date is not None:
        account.dates[shown] = ping.date
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """A ping to a host, and the address at which it arrived, if it did."""

    host: str
    ping: PingResult
    arrived_at: str | None


async def probe_local_handler(account: PingAccount, routes: HandlerRoutes) -> DoctorFinding:
    """Receive webhooks for the length of the probe; the finding names the host to register."""
    try:
        async with WebhookReceiver() as receiver:
            port = await receiver.listen(routes.listening[0])
            for host in routes.listening[1:]:
                with suppress(OSError):  # Another program has the port there.
                    await receiver.listen(host, port)
            attempts = [await _attempt(account, receiver, routes.hosts[0], port)]
            if attempts[0].arrived_at is None:
                rest = (_attempt(account, receiver, host, port) for host in routes.hosts[1:])
                attempts += await asyncio.gather(*rest)
    except OSError as error:
        return problem(f"No handler could be tested {routes.place}: {error.strerror}", _ADVICE)
    return _finding(attempts, routes)


async def _attempt(
    account: PingAccount, receiver: WebhookReceiver, host: str, port: int
) -> _Attempt:
    received: list[ReceivedRequest] = []
    path = receiver.register(received.append)
    ping = await account.ping(f"http://{host_with_port(host, port)}{path}")
    endpoint = ping.endpoint
    webhooks = (request.read(endpoint["format"]) for request in received)
    arrivals = (
        webhook.local_host
        for webhook in webhooks
        if not webhook.is_signed or webhook.is_signed_with(endpoint["secret"])
    )
    return _Attempt(host=host, ping=ping, arrived_at=next(arrivals, None))


def _finding(attempts: Iterable[_Attempt], routes: HandlerRoutes) -> DoctorFinding:
    for attempt in attempts:
        if attempt.arrived_at is not None:
            text = f"A handler {routes.place} is reachable at http://{attempt.host} and its port"
            if attempt.arrived_at != routes.listening[0]:
                text += f", if it listens on {attempt.arrived_at} or 0.0.0.0"
            return good(f"{text}: {attempt.ping.description}")
    failed = "; ".join(f"{attempt.host}: {attempt.ping.description}" for attempt in attempts)
    return problem(
        f"A handler {routes.place} is not reachable for the emulator ({failed})", _ADVICE
    )
