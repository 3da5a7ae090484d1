"""How two servers are compared: short bursts in turns, and the median of the pairs' ratios."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from tests.benchmarks.load import Burst, Outcome, p99_ms, run
from tests.benchmarks.servers import Server
from tests.benchmarks.traffic import Creates, Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long to look, and which tree holds the emulator."""

    pairs: int
    burst_s: float
    starts: int
    tree: Path


class Quantity(StrEnum):
    """What of two servers is divided: answers a second, processor time per answer, latencies."""

    RATE = "rate"
    CPU = "CPU"
    P99 = "p99"


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
    """The second server's quantities over the first's, pair by pair, and what is behind them."""

    ratios: Mapping[Quantity, tuple[float, ...]]
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
    plan: Plan, burst: Callable[[Server], Outcome], limit: Server, subject: Server
) -> Comparison:
    """Bursts in the order A B B A A B B A …, after one burst each that is not counted.

    Neighbours in time are divided by each other, so that a drift of the machine cancels out, and
    the turn of the order cancels what the second of a pair gains or loses.
    """
    servers = (limit, subject)
    for server in servers:
        burst(server)
    pairs = [_pair(burst, servers, is_turned=pair % 2 == 1) for pair in range(plan.pairs)]
    return Comparison(
        ratios={
            Quantity.RATE: tuple(b.outcome.per_s / a.outcome.per_s for a, b in pairs),
            Quantity.CPU: tuple(b.cpu_us / a.cpu_us for a, b in pairs),
            Quantity.P99: tuple(b.outcome.p99_ms / a.outcome.p99_ms for a, b in pairs),
        },
        limit=_side([a for a, _ in pairs]),
        subject=_side([b for _, b in pairs]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """One server's part of a pair; `cpu_s` is of the whole pair: some work is put off a little."""

    outcome: Outcome
    cpu_s: float

    @property
    def cpu_us(self) -> float:
        return self.cpu_s * 1e6 / self.outcome.answered


def _pair(
    burst: Callable[[Server], Outcome], servers: tuple[Server, Server], *, is_turned: bool
) -> tuple[_Turn, _Turn]:
    """A burst on each server; the answer is in the servers' order, turned or not."""
    limit, subject = servers
    limit_cpu_s, subject_cpu_s = limit.cpu_s(), subject.cpu_s()
    if is_turned:
        b = burst(subject)
        a = burst(limit)
    else:
        a = burst(limit)
        b = burst(subject)
    return (
        _Turn(outcome=a, cpu_s=limit.cpu_s() - limit_cpu_s),
        _Turn(outcome=b, cpu_s=subject.cpu_s() - subject_cpu_s),
    )


def _side(turns: Sequence[_Turn]) -> Side:
    latencies_ns = sorted(ns for turn in turns for ns in turn.outcome.latencies_ns)
    answered = sum(turn.outcome.answered for turn in turns)
    return Side(
        per_s=statistics.median(turn.outcome.per_s for turn in turns),
        p50_ms=latencies_ns[len(latencies_ns) // 2] / 1e6,
        p99_ms=p99_ms(latencies_ns),
        cpu_us=sum(turn.cpu_s for turn in turns) * 1e6 / answered,
        answered=answered,
    )
