"""The load generator: one epoll loop, cheap enough not to be what is measured.

It runs in a separate process, so that it does not share the interpreter lock.
"""

import gc
import select
import socket
from array import array
from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came back: the latency of every answer inside the window, and how many came in all."""

    seconds: float
    latencies_ns: "array[int]"
    answered: int

    @property
    def per_s(self) -> float:
        """Answers a second, those that came after the window left out."""
        return len(self.latencies_ns) / self.seconds

    @property
    def p99_ms(self) -> float:
        return p99_ms(sorted(self.latencies_ns))


def p99_ms(sorted_ns: Sequence[int]) -> float:
    """What 99 of 100 answers do not exceed."""
    return sorted_ns[len(sorted_ns) * 99 // 100] / 1e6


def run(burst: Burst) -> Outcome:
    """Connect, then send for the burst's seconds, then wait for the answers still due.

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
            outcome = _drive(connections, requests, burst.seconds)
        except OSError as error:
            raise LoadFailed(f"the connection broke: {error!r}") from error
        finally:
            gc.enable()
    if not outcome.latencies_ns:
        raise LoadFailed(f"no response within a burst of {burst.seconds} s")
    return outcome


def _drive(connections: list[socket.socket], requests: Iterator[bytes], seconds: float) -> Outcome:
    poller = select.epoll()
    for connection in connections:
        poller.register(connection, select.EPOLLIN)
    receive = {connection.fileno(): connection.recv for connection in connections}
    send = {connection.fileno(): connection.sendall for connection in connections}
    latencies_ns: array[int] = array("q")
    begun = perf_counter_ns()
    deadline = begun + int(seconds * 1e9)
    sent_at = dict.fromkeys(receive, begun)
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
            answered += 1
            if data[_STATUS_AT] != _SUCCESS:
                raise LoadFailed(f"not a success: {data[:600].decode(errors='replace')}")
            now = perf_counter_ns()
            if now >= deadline:
                due -= 1
                continue
            latencies_ns.append(now - sent_at[fd])
            sent_at[fd] = now
            send[fd](next(requests))
    return Outcome(seconds=seconds, latencies_ns=latencies_ns, answered=answered)


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
