"""How two servers are compared: short bursts in turns, and the median of the pairs' ratios."""

import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from tests.benchmarks.load import Burst, Outcome, run
from tests.benchmarks.servers import Server
from tests.benchmarks.traffic import Creates, Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long to look, and which tree holds the emulator."""

    pairs: int
    burst_s: float
    starts: int
    tree: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One server over all its bursts; `cpu_us` is processor time per answer, all threads."""

    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    answered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The second server's rate over the first's, pair by pair."""

    ratios: tuple[float, ...]
    limit: Side
    subject: Side


class Generator:
    """The load generator's process, and the serial numbers that keep idempotency keys unique."""

    def __init__(self) -> None:
        """Make the pool; its one process starts with the first burst."""
        self._pool = ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))
        self._serials = count(1)

    def creates(self) -> Traffic:
        """Creates whose keys no earlier burst has used."""
        return Creates(serial=next(self._serials))

    def burst(self, server: Server, traffic: Traffic, connections: int, seconds: float) -> Outcome:
        """Run one burst in the generator's process. Raises LoadFailed."""
        burst = Burst(port=server.port, traffic=traffic, connections=connections, seconds=seconds)
        return self._pool.submit(run, burst).result()

    def close(self) -> None:
        """End the generator's process."""
        self._pool.shutdown()


def compare(
    plan: Plan,
    burst: Callable[[Server], Outcome],
    limit: Server,
    subject: Server,
) -> Comparison:
    """Bursts in the order A B B A A B B A …, after one burst each that is not counted.

    Neighbours in time are divided by each other, so that a drift of the machine cancels out, and
    the turn of the order cancels what the second of a pair gains or loses.
    """
    servers = (limit, subject)
    for server in servers:
        burst(server)
    cpu_before = [server.cpu_s() for server in servers]
    outcomes: tuple[list[Outcome], list[Outcome]] = ([], [])
    for pair in range(plan.pairs):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            outcomes[side].append(burst(servers[side]))
    cpu_s = [server.cpu_s() - before for server, before in zip(servers, cpu_before, strict=True)]
    return Comparison(
        ratios=tuple(b.per_s / a.per_s for a, b in zip(*outcomes, strict=True)),
        limit=_side(outcomes[0], cpu_s[0]),
        subject=_side(outcomes[1], cpu_s[1]),
    )


def _side(outcomes: list[Outcome], cpu_s: float) -> Side:
    latencies_ns = sorted(ns for outcome in outcomes for ns in outcome.latencies_ns)
    answered = sum(outcome.answered for outcome in outcomes)
    return Side(
        per_s=statistics.median(outcome.per_s for outcome in outcomes),
        p50_ms=latencies_ns[len(latencies_ns) // 2] / 1e6,
        p99_ms=latencies_ns[len(latencies_ns) * 99 // 100] / 1e6,
        cpu_us=cpu_s * 1e6 / answered,
        answered=answered,
    )
