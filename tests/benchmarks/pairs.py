"""How two servers are compared: short bursts in turns, and the median of the pairs' ratios."""

import statistics
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import NamedTuple

from tests.benchmarks.load import Burst, run
from tests.benchmarks.peers import OURS
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import Server, bare
from tests.benchmarks.traffic import COLLECTION, Reads, Traffic

CONTROL_BAND = Gate(at_least=0.95, at_most=1.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long to look."""

    pairs: int
    burst_s: float
    starts: int


class Side(NamedTuple):
    """A server, and what it is sent."""

    server: Server
    traffic: Traffic


class Generator:
    """The load generator's process."""

    def __init__(self) -> None:
        """Make the pool; its one process starts with the first burst."""
        self._pool = ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))

    def burst(self, side: Side, connections: int, seconds: float) -> float:
        """The answers a second of one burst in the generator's process. Raises LoadFailed."""
        port, traffic = side.server.port, side.traffic
        burst = Burst(port=port, traffic=traffic, connections=connections, seconds=seconds)
        return self._pool.submit(run, burst).result()

    def close(self) -> None:
        """End the generator's process."""
        self._pool.shutdown()


def compare(
    plan: Plan, generator: Generator, limit: Side, subject: Side, connections: int
) -> list[tuple[float, float]]:
    """The rates of bursts in the order A B B A A B B A …, after one each that is not counted.

    Neighbours in time are divided by each other, so that a drift of the machine cancels out, and
    the turn of the order cancels what the second of a pair gains or loses.
    """

    def rate(side: Side) -> float:
        return generator.burst(side, connections, plan.burst_s)

    pairs = []
    for number in range(plan.pairs + 1):
        if number % 2:
            b, a = rate(subject), rate(limit)
        else:
            a, b = rate(limit), rate(subject)
        pairs.append((a, b))
    return pairs[1:]


def row(name: str, pairs: list[tuple[float, float]], gate: Gate | None, **more: bool) -> Row:
    """The line of the second server's answers a second over the first's."""
    limit, subject = (statistics.median(rates) for rates in zip(*pairs, strict=True))
    ratios = tuple(b / a for a, b in pairs)
    absolute = f"{limit:,.0f} → {subject:,.0f}/s"
    return Row(measure=name, values=ratios, gate=gate, absolute=absolute, **more)


def control(plan: Plan, generator: Generator) -> list[Row]:
    """The limit against a second process of the limit, both verbs: is this machine quiet enough?"""
    lists = Reads(paths=(f"{COLLECTION}?limit=10",))
    rows = []
    with bare() as limit, bare() as twin:
        for name, traffic in {"POST": OURS.create(), "GET": lists}.items():
            pairs = compare(plan, generator, Side(limit, traffic), Side(twin, traffic), 16)
            rows.append(row(f"limit itself {name} c16", pairs, CONTROL_BAND, is_control=True))
    return rows
