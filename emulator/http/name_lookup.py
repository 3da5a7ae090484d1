"""Resolves host names on threads that do not delay the end of the program, and connects to them."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

from ..domain.hosts import is_ip_literal

MAX_ADDRESSES = 4

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


async def ip_addresses(host: bytes) -> list[str]:
    """Return the IP addresses of a host, the preferred one first. Raises `socket.gaierror`.

    A name server that does not respond takes ten seconds and more; an executor's thread would
    delay the end of the program for as long.
    """
    if is_ip_literal(host.decode("ascii")):
        return [host.decode("ascii")]
    return await run_on_daemon_thread(lambda: _resolve(host), name="host-name")


async def connect_to_first(
    addresses: Sequence[str], port: int, protocol: Callable[[], P], **tls: Any
) -> tuple[asyncio.Transport, P]:
    """Connect to the first address that accepts the connection. Raises OSError."""
    failures: list[OSError] = []
    for address in addresses:
        try:
            return await asyncio.get_running_loop().create_connection(
                protocol, address, port, **tls
            )
        except OSError as error:
            failures.append(error)
    raise failures[0]


def _resolve(host: bytes) -> list[str]:
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    # IPv4 first: where IPv6 is configured without a route, its packets are lost, and with them the
    # time of the request.
    entries.sort(key=lambda entry: entry[0] is not socket.AF_INET)
    return [str(address[0]) for *_, address in entries[:MAX_ADDRESSES]]
