"""Probes by which host the emulator reaches a webhook handler on this machine."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from emulator import ids
from emulator.doctor.network import LocalNetwork
from emulator.doctor.report import DoctorFinding, good, problem
from emulator.doctor.temporary_account import PingResult, TemporaryAccount
from emulator.domain.hosts import ADD_DOCKER_HOST, DOCKER_HOST, PODMAN_HOST
from emulator.http.addresses import host_with_port
from emulator.http.receiver import ReceivedWebhook, WebhookReceiver

LOOPBACK = "127.0.0.1"

_ADVICE = (
    f"An emulator in a container reaches this machine as {DOCKER_HOST} (Docker on Linux: start "
    f"it with {ADD_DOCKER_HOST}; Podman: {PODMAN_HOST}), and a handler "
    "there must listen on 0.0.0.0; for a handler in a container use its service name."
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """A ping to a host, and the address at which it arrived, if it did."""

    host: str
    ping: PingResult
    arrived_at: str | None


async def probe_local_handler(account: TemporaryAccount, routes: HandlerRoutes) -> DoctorFinding:
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
    account: TemporaryAccount, receiver: WebhookReceiver, host: str, port: int
) -> _Attempt:
    received: list[ReceivedWebhook] = []
    secret = ids.webhook_secret(ids.stream_key(None), 0)
    path = receiver.register(received.append)
    ping = await account.ping(f"http://{host_with_port(host, port)}{path}", secret)
    arrivals = (webhook.local_host for webhook in received if webhook.is_signed_with(secret))
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
