"""One long run; raises at the first thing that is not as it must be.

`--write` writes what it measured into `docs/reference/long-runs.md`, with the date, the commit,
the seed and the command.
"""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Callable
from typing import Protocol, cast

from emulator.clock import RealClock
from emulator.domain.instants import format_instant
from tests.cli.processes import REPOSITORY

PAGE = REPOSITORY / "docs/reference/long-runs.md"
NAMES = (
    *("crash", "model", "hostile", "parsers", "soak"),
    *("security", "determinism", "mutants", "walks"),
)


class LongRun(Protocol):
    """A module of this package that has the name of a long run."""

    UNIT: str
    """What `--count` counts, as a plural."""
    COUNT: int
    """How many the documented run has."""
    run: Callable[[int, int], dict[str, str]]
    """Run with a seed and a count; returns what was measured, as names and values."""


def load(name: str) -> LongRun:
    return cast("LongRun", importlib.import_module(f"tests.long_runs.{name}"))


def part(name: str, options: argparse.Namespace, measured: dict[str, str]) -> str:
    """The generated part of the page."""
    command = f"python -m tests.long_runs {name} --seed {options.seed} --count {options.count}"
    head = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.check_output(head, cwd=REPOSITORY, text=True).strip()
    today = format_instant(RealClock().now_ms())[:10]
    when = f"`{command}`, on {today}, at commit {commit}"
    return "".join(f"- {what}: {value}\n" for what, value in {**measured, "Run": when}.items())


def write(name: str, text: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, begin, rest = page.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- end {name} -->")
    assert end, f"{PAGE} has no part {name}"
    PAGE.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.long_runs", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--seed", type=int, default=1, help="the default is 1")
    parser.add_argument("--count", type=int, help="the default is that of the documented run")
    parser.add_argument("--write", action="store_true", help=f"write into {PAGE.name}")
    options = parser.parse_args()
    chosen = load(options.name)
    options.count = options.count or chosen.COUNT
    text = part(options.name, options, chosen.run(options.seed, options.count))
    sys.stdout.write(text)
    if options.write:
        write(options.name, text)


if __name__ == "__main__":
    main()
