"""One connection that sends requests without end: other clients wait little longer, memory stays.

Server, flood and the measured client share one event loop, so that the flood meets each request,
whatever else the machine does. A latency is processor time of this process from a request to its
response: other programs do not matter, and a server that works for the flood only is noticed.
"""

import asyncio
import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from statistics import median, quantiles
from time import process_time  # noqa: TID251 - processor time, whatever else runs
from typing import Any

import pytest

from emulator.cli.event_loop import LOOP_FACTORY
from emulator.server.app.http_protocol import MAX_WAITING_REQUESTS
from emulator.server.app.server import private_application
from emulator.settings import Settings
from tests.long_runs.soak import sample
from tests.world import TEST_KEY, order

pytestmark = pytest.mark.deep

PAIRS = 3
PROGRAM_THRESHOLD = (700, 10, 10)
REQUESTS = 200
MAX_RATIO = 20
MAX_GROWTH_MIB = 32
# A flood with the right key fills the journal, which has a limit; this one is soon full.
JOURNAL_BYTES = 100_000

KEYS = {"no key": None, "a wrong key": "test_wrong_key", "the right key": TEST_KEY}


class Way(StrEnum):
    """READS: as many requests as may wait, on one connection. NEVER_READS: without a limit."""

    READS = "reads"
    NEVER_READS = "never reads"


def request(key: str | None) -> bytes:
    authorization = "" if key is None else f"Authorization: Bearer {key}\r\n"
    return f"GET /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization}\r\n".encode()


BODY = json.dumps(order()).encode()
CREATE = (
    f"POST /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TEST_KEY}\r\n"
    f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
).encode() + BODY


class Flood(asyncio.Protocol):
    """Pipelines a request, and connects again whenever the server closes the connection."""

    _START = b"HTTP/1.1 "

    def __init__(self, port: int, sent: bytes, way: Way) -> None:
        self.connections = self.responses = 0
        self._port, self._sent, self._way = port, sent, way
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()

    async def run(self) -> None:
        while True:
            self._ended.clear()
            self._transport, _ = await self._loop.create_connection(
                lambda: self, "127.0.0.1", self._port
            )
            try:
                await self._ended.wait()
            finally:
                self._transport.abort()

    def connection_made(self, transport: Any) -> None:
        self.connections += 1
        self._transport, self._tail, self._may_write = transport, b"", True
        if self._way is Way.READS:
            transport.write(self._sent * MAX_WAITING_REQUESTS)
        else:
            transport.pause_reading()
            self._write()

    def _write(self) -> None:
        if self._may_write and not self._transport.is_closing():
            self._transport.write(self._sent * MAX_WAITING_REQUESTS)
            self._loop.call_soon(self._write)

    def pause_writing(self) -> None:
        self._may_write = False

    def resume_writing(self) -> None:
        self._may_write = True
        if self._way is Way.NEVER_READS:
            self._write()

    def data_received(self, data: bytes) -> None:
        received = self._tail + data
        responses = received.count(self._START)
        self.responses += responses
        self._tail = received[1 - len(self._START) :]
        self._transport.write(self._sent * responses)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        self._ended.set()


async def p99_s(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
    """The 99th percentile of the processor time until a response.

    The client creates one payment after the other on one connection.
    """
    latencies_s = []
    for _ in range(REQUESTS):
        sent_at = process_time()
        writer.write(CREATE)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 201 ")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        latencies_s.append(process_time() - sent_at)
    return quantiles(latencies_s, n=100)[-1]


@contextmanager
def frozen_garbage() -> Iterator[None]:
    """As in `serve`: no collection visits what the program, here also pytest, has imported."""
    gc.collect()
    gc.freeze()
    threshold = gc.get_threshold()
    gc.set_threshold(*PROGRAM_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()


async def measure(sent: bytes, way: Way) -> tuple[float, float]:
    """The median ratio of the pairs, and the growth of the memory in MiB after the first pair."""
    settings = Settings(port=0, checkout_port=0)
    async with private_application(settings, max_journal_bytes=JOURNAL_BYTES) as app:
        port = app.settings.port
        client = await asyncio.open_connection("127.0.0.1", port)
        ratios, memory_mib = [], []
        with frozen_garbage():
            await p99_s(*client)
            for _ in range(PAIRS):
                quiet_s, flood = await p99_s(*client), Flood(port, sent, way)
                running = asyncio.create_task(flood.run())
                ratios.append(await p99_s(*client) / quiet_s)
                memory_mib.append(sample("self").memory_mib)
                running.cancel()
                await asyncio.wait([running])
                if way is Way.READS:
                    assert flood.connections == 1
                    assert flood.responses > REQUESTS
                else:
                    assert flood.connections > 1
        client[1].close()
    return median(ratios), max(memory_mib) - memory_mib[0]


@pytest.mark.parametrize("way", Way)
@pytest.mark.parametrize("key", KEYS)
def test_a_flood_delays_others_little_and_takes_no_memory(key: str, way: Way) -> None:
    with asyncio.Runner(loop_factory=LOOP_FACTORY) as runner:
        ratio, growth_mib = runner.run(measure(request(KEYS[key]), way))
    assert ratio < MAX_RATIO
    assert growth_mib < MAX_GROWTH_MIB
