"""How long the emulator takes from nothing to its first payment, and the memory it then holds."""

import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.pairs import Plan
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import Server, bare, emulator
from tests.benchmarks.traffic import Creates

START_GATE = Gate(at_most=1.0)
MEMORY_GATE = Gate(at_most=50.0)
# As much as the import of one more library such as Jinja costs.
DELAY_S = 0.025
DELAYED_GATE = Gate(at_least=START_GATE.at_most)

Start = Callable[[], AbstractContextManager[Server]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """The starts of a server and of the limit, in the same order, without the first."""

    limit_ms: list[float]
    subject_ms: list[float]
    rss_mib: list[float]

    @property
    def ratios(self) -> tuple[float, ...]:
        """The times of the server over those of the limit."""
        return tuple(s / i for s, i in zip(self.subject_ms, self.limit_ms, strict=True))

    def row(self, measure: str, gate: Gate | None = None, *, is_control: bool = False) -> Row:
        """The line of the ratios."""
        a, b = statistics.median(self.limit_ms), statistics.median(self.subject_ms)
        return Row(
            measure=measure,
            values=self.ratios,
            gate=gate,
            absolute=f"{a:.0f} → {b:.0f} ms; 1.00 is the limit's start to its first response",
            is_control=is_control,
            numbers={"limit_ms": a, "subject_ms": b},
        )


def measure(plan: Plan) -> list[Row]:
    """The emulator's start, and the same with a delay, which must miss the gate."""
    create = next(iter(Creates(serial=0).requests(80)))
    starts = compare(plan, lambda: emulator(plan.tree, probe=create))
    with TemporaryDirectory(prefix="benchmark-") as directory:
        # Python imports this module before the program.
        Path(directory, "sitecustomize.py").write_text(f"import time\ntime.sleep({DELAY_S})\n")
        variables = {"PYTHONPATH": directory}
        delayed = compare(plan, lambda: emulator(plan.tree, probe=create, variables=variables))
    return [
        starts.row("start to first payment", START_GATE),
        delayed.row(f"start, {DELAY_S * 1000:.0f} ms later", DELAYED_GATE, is_control=True),
        Row(
            measure="memory, when ready",
            values=tuple(starts.rss_mib),
            gate=MEMORY_GATE,
            unit=" MiB",
        ),
    ]


def compare(plan: Plan, start: Start) -> Starts:
    """Start a server and the limit, in turns, A B B A, each until its first response.

    The first of each is not counted: it writes the compiled modules that every later start reads.
    """
    starts = Starts(limit_ms=[], subject_ms=[], rss_mib=[])
    for run in range(plan.starts + 1):
        limits = [] if run % 2 else [_limit_ms()]
        with start() as server:
            started, rss = server.ready_after_ms, server.rss_mib()
        limits = limits or [_limit_ms()]
        if run:
            starts.subject_ms.append(started)
            starts.limit_ms.extend(limits)
            starts.rss_mib.append(rss)
    return starts


def _limit_ms() -> float:
    with bare() as server:
        return server.ready_after_ms
