"""Replays files a thousand times, each time in a new emulator, and compares what they leave.

python -m tests.replay.thousand FILE... [--times N]
"""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from emulator.replay.cases import read_cases
from emulator.replay.results import Case, PlayedStep, Result
from emulator.replay.running import play_all
from tests.replay.stages import playing
from tests.replay.tracing import hash_of

AT_A_TIME = 4


class Nobody:
    """Listens to nothing."""

    def step_played(self, case: Case, step: PlayedStep) -> None: ...

    def case_ended(self, result: Result) -> None: ...


async def replayed(cases: Sequence[Case], *, at_a_time: int) -> list[Result]:
    """One replay, in an emulator of its own."""
    async with playing() as plays:
        return await play_all(cases, plays.stage, Nobody(), at_a_time=at_a_time)


async def hashes(cases: Sequence[Case]) -> list[str]:
    return [hash_of(result) for result in await replayed(cases, at_a_time=AT_A_TIME)]


def loops() -> list[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Each event loop that the program may run on: where they differ, its results must not."""
    found: list[Callable[[Coroutine[Any, Any, Any]], Any]] = [asyncio.run]
    try:
        import uvloop
    except ImportError:
        return found
    return [*found, uvloop.run]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.replay.thousand")
    parser.add_argument("paths", metavar="FILE", nargs="+", type=Path)
    parser.add_argument("--times", type=int, default=1_000)
    asked = parser.parse_args(arguments)
    found = read_cases(asked.paths)
    if found.problems:
        print(*found.problems, sep="\n", file=sys.stderr)  # noqa: T201 - it is a command
        return 2
    seen = [Counter[str]() for _ in found.cases]
    run_on = loops()
    for time in range(asked.times):
        run = run_on[time % len(run_on)]
        for counter, one in zip(seen, run(hashes(found.cases)), strict=True):
            counter[one] += 1
    for case, counter in zip(found.cases, seen, strict=True):
        told = ", ".join(f"{one[:16]} {count} times" for one, count in counter.most_common())
        print(f"{case.name}: {told}")  # noqa: T201 - it is a command
    return int(any(len(counter) > 1 for counter in seen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
