"""The load generator: one epoll loop, cheap enough not to be what is measured.

It runs in a separate process, so that it does not share the interpreter lock.
"""

import gc
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter_ns

from tests.benchmarks.traffic import Traffic

# Enough for ten payments; a buffer of more than a few pages costs the generator more than the rest.
RECEIVE_BYTES = 16_384
STALL_S = 10.0
_SUCCESS = ord("2")
_STATUS_AT = len("HTTP/1.1 ")


class LoadFailed(Exception):
    """A server refused, closed a connection or fell silent: the run is worth nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """How much of what is sent to one server, over how many connections."""

    port: int
    traffic: Traffic
    connections: int
    seconds: float


def run(burst: Burst) -> float:
    """The answers a second: connect, send for the burst's seconds, wait for the answers still due.

    Raises LoadFailed at the first answer that is not 2xx.
    """
    requests = burst.traffic.requests(burst.port)
    with ExitStack() as stack:
        connections = []
        for _ in range(burst.connections):
            connection = socket.create_connection(("127.0.0.1", burst.port), timeout=STALL_S)
            stack.enter_context(connection)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connections.append(connection)
        gc.disable()
        try:
            answered = _drive(connections, requests, burst.seconds)
        except OSError as error:
            raise LoadFailed(f"the connection broke: {error!r}") from error
        finally:
            gc.enable()
    if not answered:
        raise LoadFailed(f"no response within a burst of {burst.seconds} s")
    return answered / burst.seconds


def _drive(connections: list[socket.socket], requests: Iterator[bytes], seconds: float) -> int:
    """The answers that come within the time."""
    poller = select.epoll()
    for connection in connections:
        poller.register(connection, select.EPOLLIN)
    receive = {connection.fileno(): connection.recv for connection in connections}
    send = {connection.fileno(): connection.sendall for connection in connections}
    deadline = perf_counter_ns() + int(seconds * 1e9)
    partial: dict[int, bytes] = {}
    answered, due = 0, len(connections)
    for send_first in send.values():
        send_first(next(requests))
    while due:
        for fd, _ in _ready(poller):
            data = receive[fd](RECEIVE_BYTES)
            if not data:
                raise LoadFailed("the server closed a connection")
            if partial:
                data = partial.pop(fd, b"") + data
            if not _is_whole(data):
                partial[fd] = data
                continue
            if data[_STATUS_AT] != _SUCCESS:
                raise LoadFailed(f"not a success: {data[:600].decode(errors='replace')}")
            if perf_counter_ns() >= deadline:
                due -= 1
                continue
            answered += 1
            send[fd](next(requests))
    return answered


def _ready(poller: select.epoll) -> list[tuple[int, int]]:
    events = poller.poll(STALL_S)
    if not events:
        raise LoadFailed(f"no response within {STALL_S:.0f} s")
    return events


def _is_whole(data: bytes) -> bool:
    """Whether the answer is complete; it must say its length, in uvicorn's lower case or not."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return False
    at = data.find(b"content-length: ", 0, end)
    if at < 0:
        at = data.lower().find(b"content-length: ", 0, end)
        if at < 0:
            raise LoadFailed(f"no content-length: {data[:end].decode(errors='replace')}")
    length = int(data[at + 16 : data.find(b"\r", at)])
    return len(data) >= end + 4 + length
