"""How long the emulator takes from nothing to its first payment, and the memory it then holds."""

import statistics

from tests.benchmarks.pairs import Plan
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import bare, emulator
from tests.benchmarks.traffic import Creates

START_GATE = Gate(at_most=1.0)
MEMORY_GATE = Gate(at_most=50.0)


def measure(plan: Plan) -> list[Row]:
    """Start the emulator and the limit, in turns, A B B A, each until its first response.

    The first of each is not counted: it writes the compiled modules that every later start reads.
    """
    create = next(iter(Creates(serial=0).requests(80)))
    emulator_ms: list[float] = []
    limit_ms: list[float] = []
    rss_mib: list[float] = []
    for run in range(plan.starts + 1):
        limits = [] if run % 2 else [_limit_ms()]
        with emulator(plan.tree, probe=create) as server:
            started, rss = server.ready_after_ms, server.rss_mib()
        limits = limits or [_limit_ms()]
        if run:
            emulator_ms.append(started)
            limit_ms += limits
            rss_mib.append(rss)
    a, b = statistics.median(limit_ms), statistics.median(emulator_ms)
    return [
        Row(
            measure="start to first payment",
            values=tuple(s / i for s, i in zip(emulator_ms, limit_ms, strict=True)),
            gate=START_GATE,
            absolute=f"{a:.0f} → {b:.0f} ms; 1.00 is the limit's start to its first response",
            numbers={"limit_ms": a, "subject_ms": b},
        ),
        Row(measure="memory, when ready", values=tuple(rss_mib), gate=MEMORY_GATE, unit=" MiB"),
    ]


def _limit_ms() -> float:
    with bare() as server:
        return server.ready_after_ms
