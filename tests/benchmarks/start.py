"""Measures the start of a program to its first response, and its memory then."""

import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.benchmarks.pairs import Plan
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import Server, bare

Start = Callable[[], AbstractContextManager[Server]]


def measure(plan: Plan, start: Start, gates: tuple[Gate | None, Gate | None]) -> list[Row]:
    """Start a server and the limit, in turns, A B B A, each until its first response.

    The first of each is not counted: it writes the compiled modules that every later start reads.
    """
    limit_ms, subject_ms, rss_mib = [], [], []
    for run in range(plan.starts + 1):
        limits = [] if run % 2 else [_limit_ms()]
        with start() as server:
            started, rss = server.ready_after_ms, server.rss_mib()
        limits = limits or [_limit_ms()]
        if run:
            subject_ms.append(started)
            limit_ms.extend(limits)
            rss_mib.append(rss)
    a, b = statistics.median(limit_ms), statistics.median(subject_ms)
    ratios = tuple(s / i for s, i in zip(subject_ms, limit_ms, strict=True))
    absolute = f"{a:.0f} → {b:.0f} ms; 1.00 is the limit's start to its first response"
    return [
        Row(measure="start", values=ratios, gate=gates[0], absolute=absolute),
        Row(measure="memory", values=tuple(rss_mib), gate=gates[1], unit=" MiB"),
    ]


def _limit_ms() -> float:
    with bare() as server:
        return server.ready_after_ms
