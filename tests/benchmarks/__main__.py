"""The command: choose, measure, print one table, exit by it."""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks import figures, peer_measures, plugin, webhook_measures
from tests.benchmarks.load import LoadFailed
from tests.benchmarks.pairs import Generator, Plan, control
from tests.benchmarks.peers import OURS, PEERS
from tests.benchmarks.report import Exit, Row, exit_code, summary, table
from tests.benchmarks.servers import REPOSITORY, ServerFailed


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three pairs of shorter bursts")
    parser.add_argument("--peers", action="store_true", help="also measure other programs")
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIRECTORY",
        help="with --peers: where the programs are installed; by default a temporary directory",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"with --peers: write {figures.PAGE.relative_to(REPOSITORY)}",
    )
    arguments = parser.parse_args(argv)
    if (arguments.cache or arguments.write) and not arguments.peers:
        parser.error("--cache and --write need --peers")
    return arguments


def _plan(arguments: argparse.Namespace) -> Plan:
    if arguments.quick:
        return Plan(pairs=3, burst_s=0.25, starts=3)
    return Plan(pairs=9, burst_s=0.5, starts=11)


def _conditions(plan: Plan) -> dict[str, str]:
    packages = ("starlette", "uvicorn", "uvloop", "httptools")
    return {
        "limit (1.00)": "a bare Starlette route, 544-byte JSONResponse, uvloop, httptools, no log",
        "method": f"{_method(plan)}, in the order A B B A; cN: N keep-alive connections",
        "machine": f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.2f} at start",
        "versions": ", ".join(f"{package} {version(package)}" for package in packages),
    }


def _method(plan: Plan) -> str:
    bursts = f"bursts of {plan.burst_s} s in turns, {plan.pairs} pairs"
    return f"{bursts}, median of the pairs' ratios; {plan.starts} starts"


def _measure(arguments: argparse.Namespace, plan: Plan, cache: Path) -> Exit:
    """Measure and print everything; the control comes first: it decides what the rest is worth."""
    for name, value in _conditions(plan).items():
        print(f"{name + ':':14}{value}")
    with closing(Generator()) as generator:
        _say("the limit against itself")
        controls = control(plan, generator)
        measured = []
        for program in (OURS, *(PEERS if arguments.peers else ())):
            _say(program.name)
            measured.append(peer_measures.figures(plan, generator, program, cache))
    rows: list[Row] = [*controls, *measured[0].rows.values(), *figures.gates(measured)]
    _say("webhooks and the plugin")
    rows += [webhook_measures.attempts(plan), plugin.measure(plan)]
    if arguments.peers:
        print(f"\n{figures.page(measured, controls, _method(plan))}")
    print(f"\n{table(rows)}\n\n{summary(rows)}")
    if arguments.write:
        figures.write(measured, controls, _method(plan))
    return exit_code(rows)


def _say(section: str) -> None:
    print(f"… {section}", file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> Exit:
    """Measure what the arguments choose, and return the exit code."""
    arguments = _arguments(argv)
    with tempfile.TemporaryDirectory(prefix="benchmark-peers-") as directory:
        cache = arguments.cache or Path(directory)
        cache.mkdir(parents=True, exist_ok=True)
        try:
            return _measure(arguments, _plan(arguments), cache)
        except (LoadFailed, ServerFailed) as failure:
            print(f"FAILED: {failure}", file=sys.stderr)
            return Exit.MISSED


if __name__ == "__main__":
    sys.exit(main())
