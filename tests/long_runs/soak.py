"""A mixed load at a fixed rate on one server with a file database, among many open connections.

Memory and file descriptors are measured each second; those of the last quarter are compared with
those of the second one. At the end, all descriptors must be released.
"""

import asyncio
import random  # noqa: TID251 - a visit follows from the seed
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from emulator.cli.event_loop import LOOP_FACTORY
from emulator.clock import RealClock, pause
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient
from emulator.http.received_webhooks import WebhookReceiver
from tests.cli.processes import COMMAND, Server, serving, wait_for
from tests.long_runs.visits import Visit
from tests.world import LIVE_KEY, TEST_KEY

COUNT = 60
MS_PER_MINUTE = 60_000
# Of the median in the second quarter, or MAX_NOISE if that is more.
MAX_GROWTH = 1.1
MAX_NOISE = 8
HANGS_AFTER_S = 24 * 3_600


@dataclass(frozen=True, kw_only=True)
class Load:
    """The open connections; a load ends after a time, or when each visitor has made some visits."""

    idle: int = 1_000
    streams: int = 300
    visitors: int = 5
    call_every_ms: int = 200
    until_ms: float | None = None
    visits: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The state of the server's process."""

    memory_mib: float
    descriptors: int


@dataclass(kw_only=True)
class Soak:
    """The server, and what was counted and measured so far."""

    server: Server
    load: Load
    seed: int
    wall: RealClock = field(default_factory=RealClock)
    samples: list[Sample] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    webhooks: int = 0
    opened: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def client(self, key: str | None = TEST_KEY) -> EmulatorClient:
        address = BaseUrl.parse(f"http://127.0.0.1:{self.server.api_port}")
        return EmulatorClient(address, key=key)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.server.api_port)

    async def run(self) -> None:
        """Open all connections, and then load the server until the end of the visits."""
        jobs = {self.stay_idle: self.load.idle, self.read_stream: self.load.streams}
        async with WebhookReceiver() as receiver, asyncio.TaskGroup() as group:
            await receiver.listen("127.0.0.1")
            tasks = [
                group.create_task(self.again(job, number))
                for job, times in jobs.items()
                for number in range(times)
            ]
            for _ in range(len(tasks)):
                await self.opened.acquire()
            tasks.append(group.create_task(self.measure()))
            visitors = [self.visit(n, receiver) for n in range(self.load.visitors)]
            await asyncio.gather(*visitors)
            for task in tasks:
                task.cancel()

    async def again(self, job: Callable[[int], Awaitable[None]], number: int) -> None:
        while True:
            await job(number)
            self.count(job.__name__)

    async def stay_idle(self, _number: int) -> None:
        """One request, and then silence until the server closes the connection."""
        reader, writer = await self.connect()
        try:
            writer.write(request("GET", "/_emulator/health"))
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            self.opened.release()
            await reader.read()
        finally:
            writer.close()

    async def read_stream(self, number: int) -> None:
        """A stream of the test or the live mode of the first account."""
        reader, writer = await self.connect()
        try:
            key = (TEST_KEY, LIVE_KEY)[number % 2]
            writer.write(request("GET", "/_emulator/stream", key))
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            self.opened.release()
            async for line in reader:
                self.counts["messages"] = self.counts.get("messages", 0) + (line[:4] == b"id: ")
        finally:
            writer.close()

    async def visit(self, number: int, receiver: WebhookReceiver) -> None:
        """Visits at the fixed rate; the first visitor uses the first account, and resets it."""
        done = 0
        while not self.is_over(done):
            chance = random.Random(f"{self.seed}-{number}-{done}")  # noqa: S311 - not for a secret
            visit = Visit(self, chance, receiver, is_first=number == 0)
            try:
                await visit.run()
            except Exception as error:
                error.add_note(f"seed {self.seed}, visitor {number}, visit {done}")
                raise
            done += 1

    def is_over(self, visits: int) -> bool:
        until_ms = self.load.until_ms
        is_late = until_ms is not None and self.wall.monotonic_ms() >= until_ms
        return is_late or visits == self.load.visits

    async def measure(self) -> None:
        while True:
            self.samples.append(sample(self.server.process.pid))
            await pause(self.wall, 1_000)


def request(method: str, path: str, key: str = TEST_KEY) -> bytes:
    lines = (f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}", "")
    return "".join(f"{line}\r\n" for line in lines).encode()


def sample(pid: int | str) -> Sample:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    return Sample(memory_mib=int(status["VmRSS"][0]) / 1_024, descriptors=descriptors(pid))


def descriptors(pid: int | str) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def soak(load: Load, seed: int, directory: Path) -> Soak:
    """Run a load on a new server. Raises at the first response that is not as it must be."""
    database = ("--database", str(directory / "payments.db"), "--allow-http-localhost")
    with serving(*database, logs=directory, command=COMMAND, hangs_after_s=HANGS_AFTER_S) as server:
        pid = server.process.pid
        server.create()
        before = descriptors(pid)
        state = Soak(server=server, load=load, seed=seed)
        with asyncio.Runner(loop_factory=LOOP_FACTORY) as runner:
            runner.run(state.run())
        # SQLite keeps the descriptor of one checkpoint for the next.
        wait_for(server.process, lambda: descriptors(pid) <= before + 1)
        assert server.stop() == 0
        assert "Traceback" not in server.stderr, server.stderr
    return state


def run(seed: int, count: int) -> dict[str, str]:
    until_ms = RealClock().monotonic_ms() + count * MS_PER_MINUTE
    with TemporaryDirectory() as name:
        return figures(soak(Load(until_ms=until_ms), seed, Path(name)))


def figures(state: Soak) -> dict[str, str]:
    load, counts = state.load, state.counts
    return {
        "Open connections": f"{load.idle:,} idle, {load.streams} streams",
        "Calls": f"{counts['calls']:,}, with {state.webhooks:,} webhooks",
        "Messages of streams": f"{counts['messages']:,}",
        **quarters(state),
    }


def quarters(state: Soak) -> dict[str, str]:
    """The second and the last quarter. Raises AssertionError for what grows."""
    second, last = (part(state.samples, number) for number in (1, 3))
    measured = {}
    for name in ("memory_mib", "descriptors"):
        before, after = (median(getattr(each, name) for each in part_) for part_ in (second, last))
        measured[f"{name.capitalize().replace('_mib', ' in MiB')}, second and last quarter"] = (
            f"{before:.0f}, {after:.0f}"
        )
        assert after <= max(before * MAX_GROWTH, before + MAX_NOISE), f"{name} grows: {measured}"
    return measured


def part(values: Sequence[object], number: int) -> Sequence[object]:
    """One of the four quarters."""
    size = len(values) // 4
    return values[number * size : (number + 1) * size]
