"""By which host the emulator reaches a program on this machine, tried with a handler of our own."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from emulator import ids
from emulator.cli.examination.findings import Finding, good, problem
from emulator.cli.examination.pinging import Ping, Pinger
from emulator.cli.examination.surroundings import Surroundings
from emulator.domain.hosts import DOCKER_HOST, PODMAN_HOST
from emulator.replay.client import authority
from emulator.replay.receiver import MAX_HEAD_BYTES, Receiver

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Where a handler may listen, and by which hosts it may be reached.

    Of `listening` the first is a loopback address; of `hosts` the first is tried first, alone.
    `place` is where it runs.
    """

    listening: tuple[str, ...]
    hosts: tuple[str, ...]
    place: str = "on this machine"


def ways(surroundings: Surroundings) -> Ways:
    """Those of this machine; of its own addresses only those that containers are behind.

    Nobody else shall find a port open here, be it for seconds.
    """
    if surroundings.is_in_container:
        own = tuple(interface.address for interface in surroundings.interfaces)
        return Ways(listening=(LOOPBACK, *own), hosts=(LOOPBACK, *own), place="in this container")
    own = tuple(interface.address for interface in surroundings.bridges)
    return Ways(listening=(LOOPBACK, *own), hosts=(LOOPBACK, DOCKER_HOST, PODMAN_HOST, *own))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Try:
    """A host, how the ping to it went, and at which address it came in, if it did."""

    host: str
    ping: Ping
    heard_at: str | None


async def examine_own_handler(pinger: Pinger, ways: Ways) -> Finding:
    """Listen for the length of the examination, and say what a handler is to be registered as."""
    try:
        async with _listening(ways.listening) as handlers:
            tries = [await handlers.try_host(ways.hosts[0], pinger)]
            if tries[0].heard_at is None:
                rest = (handlers.try_host(host, pinger) for host in ways.hosts[1:])
                tries += await asyncio.gather(*rest)
    except OSError as error:
        return problem(f"No handler could be tried {ways.place}: {error.strerror}", _ADVICE)
    return _finding(tries, ways)


_ADVICE = (
    f"An emulator in a container reaches this machine as {DOCKER_HOST} (Docker on Linux: start "
    f"it with --add-host={DOCKER_HOST}:host-gateway; Podman: {PODMAN_HOST}), and a handler "
    "there has to listen on 0.0.0.0; a handler in a container goes by its service name."
)


def _finding(tries: Iterable[_Try], ways: Ways) -> Finding:
    for one in tries:
        if one.heard_at is not None:
            text = f"A handler {ways.place} is reached at http://{one.host} and its port"
            if one.heard_at != ways.listening[0]:
                text += f", if it listens on {one.heard_at} or 0.0.0.0"
            return good(f"{text}: {one.ping.told}")
    failed = "; ".join(f"{one.host}: {one.ping.told}" for one in tries)
    return problem(f"A handler {ways.place} is not reached by the emulator ({failed})", _ADVICE)


class _Handlers:
    """Handlers at the same port of several addresses."""

    def __init__(self, port: int, receivers: dict[str, Receiver]) -> None:
        self._port = port
        self._receivers = receivers
        self._secret = ids.webhook_secret(ids.stream_key(None), 0)

    async def try_host(self, host: str, pinger: Pinger) -> _Try:
        # Opened in the same order, they have the same path everywhere.
        inboxes = {at: receiver.open_inbox() for at, receiver in self._receivers.items()}
        path = ""
        for inbox in inboxes.values():
            inbox.secret = self._secret
            path = inbox.url
        url = f"http://{authority(host, self._port)}{path}"
        ping = await pinger.ping(url, self._secret)
        genuine = (
            at
            for at, inbox in inboxes.items()
            if any(arrival.is_genuine for arrival in inbox.arrivals)
        )
        return _Try(host=host, ping=ping, heard_at=next(genuine, None))


@asynccontextmanager
async def _listening(hosts: Iterable[str]) -> AsyncIterator[_Handlers]:
    """Raises OSError where not even the first address can be listened on."""
    receivers: dict[str, Receiver] = {}
    port = 0
    async with AsyncExitStack() as stack:
        for host in hosts:
            receiver = Receiver()
            try:
                server = await asyncio.start_server(
                    receiver.connected, host, port, limit=MAX_HEAD_BYTES
                )
            except OSError:
                if not receivers:
                    raise
                continue  # Somebody else has the port there.
            stack.push_async_callback(receiver.close)
            stack.callback(server.close)
            port = server.sockets[0].getsockname()[1]
            receivers[host] = receiver
        yield _Handlers(port, receivers)
