"""Resolves host names on threads that do not delay the end of the program, and connects to them."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from ssl import SSLError
from threading import Thread
from typing import Any, TypeVar

from ..domain.hosts import is_ip_literal

MAX_ADDRESSES = 4
# Concurrent look-ups of one sender.
MAX_LOOKUPS = 8

T = TypeVar("T")
P = TypeVar("P", bound=asyncio.Protocol)


def run_on_daemon_thread(work: Callable[[], T], *, name: str) -> "asyncio.Future[T]":
    """Return the result of a function; cancelling the future does not stop the function."""
    result: Future[T] = Future()
    # From here on the future cannot be cancelled.
    result.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result.set_result(work())
        except Exception as error:  # noqa: BLE001 - the caller receives it
            result.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return asyncio.wrap_future(result)


def _resolve(host: bytes) -> list[str]:
    # Not every resolver knows that these names are of this machine (RFC 6761).
    if host.lower().rstrip(b".").endswith(b".localhost"):
        host = b"localhost"
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    # IPv4 first: where IPv6 is configured without a route, its packets are lost, and with them the
    # time of the request.
    entries.sort(key=lambda entry: entry[0] is not socket.AF_INET)
    return [str(address[0]) for *_, address in entries[:MAX_ADDRESSES]]


class NameLookups:
    """Looks up the names of many hosts at the same time, on a few threads, each name on one.

    A caller that gives up leaves its place to the next one, but a thread that waits for a name
    server cannot be stopped: ten seconds and more, which would delay the end of the program if the
    thread were an executor's.
    """

    def __init__(self, resolve: Callable[[bytes], list[str]] = _resolve) -> None:
        self._resolve = resolve
        self._free = asyncio.Semaphore(MAX_LOOKUPS)
        self._in_progress: dict[bytes, asyncio.Future[list[str]]] = {}

    async def ip_addresses(self, host: bytes) -> list[str]:
        """The IP addresses of a host, the preferred one first. Raises `socket.gaierror`."""
        if is_ip_literal(host.decode("ascii")):
            return [host.decode("ascii")]
        if host not in self._in_progress:
            await self._free.acquire()
            self._look_up(host)
        # Cancelling one caller must not cancel it for the others.
        return await asyncio.shield(self._in_progress[host])

    def _look_up(self, host: bytes) -> None:
        if host in self._in_progress:  # Begun by another caller meanwhile.
            self._free.release()
            return
        lookup = run_on_daemon_thread(lambda: self._resolve(host), name="host-name")
        self._in_progress[host] = lookup

        def end(_: object) -> None:
            del self._in_progress[host]
            self._free.release()
            lookup.exception()  # All callers may have given up.

        lookup.add_done_callback(end)


async def connect_to_first(
    addresses: Sequence[str], port: int, protocol: Callable[[], P], **tls: Any
) -> tuple[asyncio.Transport, P]:
    """Connect to the first address that accepts the connection.

    Raises OSError, if possible the error of a TLS handshake, because some address has accepted a
    connection.
    """
    failures: list[OSError] = []
    for address in addresses:
        try:
            return await asyncio.get_running_loop().create_connection(
                protocol, address, port, **tls
            )
        except OSError as error:
            failures.append(error)
    raise max(failures, key=lambda failure: isinstance(failure, SSLError))
