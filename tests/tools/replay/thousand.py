"""Replays files a thousand times, each time in a new emulator, and compares the results.

python -m tests.tools.replay.thousand FILE... [--times N]
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import structs

from emulator.scenarios.scenario_file import step_json
from emulator.tools.replay.case_runner import play_all
from emulator.tools.replay.cases import read_cases
from emulator.tools.replay.results import Case, CaseResult, PlayedStep
from tests.tools.replay.player import new_player

MAX_CONCURRENT = 4


class SilentListener:
    """Ignores the progress of a run."""

    def step_played(self, case: Case, step: PlayedStep) -> None: ...

    def case_ended(self, result: CaseResult) -> None: ...


async def replay(cases: Sequence[Case], *, max_concurrent: int) -> list[CaseResult]:
    """Play cases in a new emulator."""
    async with new_player() as player:
        return await play_all(
            cases, player.context, SilentListener(), max_concurrent=max_concurrent
        )


def result_bytes(result: CaseResult) -> bytes:
    """Everything that must be equal in every run: steps, journal, events and webhooks."""
    return json.dumps(
        {
            "steps": [
                {
                    "step": step_json(step.step),
                    "outcome": step.outcome,
                    "at": step.at,
                    "payment": step.payment,
                    "failure": step.failure,
                }
                for step in result.steps
            ],
            "names": dict(result.names),
            "trace": result.trace,
        },
        ensure_ascii=False,
        default=structs.asdict,
        indent=1,
    ).encode()


async def hashes(cases: Sequence[Case]) -> list[str]:
    results = await replay(cases, max_concurrent=MAX_CONCURRENT)
    return [sha256(result_bytes(result)).hexdigest() for result in results]


def event_loops() -> list[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """The `run` function of each event loop that the program may use."""
    found: list[Callable[[Coroutine[Any, Any, Any]], Any]] = [asyncio.run]
    try:
        import uvloop
    except ImportError:
        return found
    return [*found, uvloop.run]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.replay.thousand")
    parser.add_argument("paths", metavar="FILE", nargs="+", type=Path)
    parser.add_argument("--times", type=int, default=1_000)
    options = parser.parse_args(arguments)
    found = read_cases(options.paths)
    if found.problems:
        print(*found.problems, sep="\n", file=sys.stderr)  # noqa: T201 - it is a command
        return 2
    counters = [Counter[str]() for _ in found.cases]
    loops = event_loops()
    for time in range(options.times):
        run = loops[time % len(loops)]
        for counter, digest in zip(counters, run(hashes(found.cases)), strict=True):
            counter[digest] += 1
    for case, counter in zip(found.cases, counters, strict=True):
        counts = ", ".join(f"{hash_[:16]} {count} times" for hash_, count in counter.most_common())
        print(f"{case.name}: {counts}")  # noqa: T201 - it is a command
    return int(any(len(counter) > 1 for counter in counters))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
