"""The command: choose, measure, print one table, exit by it."""

import argparse
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks import (
    dashboard_measures,
    expiry,
    figures,
    http_measures,
    page_measures,
    peer_measures,
    start,
    waiting,
    webhook_measures,
)
from tests.benchmarks.load import LoadFailed
from tests.benchmarks.pairs import Generator, Plan
from tests.benchmarks.peers import OURS, PEERS
from tests.benchmarks.report import Exit, Row, exit_code, summary, table, write_json
from tests.benchmarks.servers import REPOSITORY, ServerFailed

SECTIONS = (
    *("create", "retrieve", "list", "page", "dashboard", "webhooks", "start", "expiry", "waiting"),
)
HTTP_SECTIONS = frozenset({"create", "retrieve", "list", "page", "dashboard", "webhooks"})


def _sections(text: str) -> frozenset[str]:
    wanted = frozenset(part.strip() for part in text.split(","))
    if unknown := wanted - set(SECTIONS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}; one of {SECTIONS}")
    return wanted


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three pairs of shorter bursts")
    parser.add_argument(
        "--only",
        type=_sections,
        default=frozenset(SECTIONS),
        metavar="NAME,…",
        help=f"of {', '.join(SECTIONS)}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument(
        "--tree",
        type=Path,
        default=REPOSITORY,
        metavar="DIRECTORY",
        help="where the emulator package lies, to measure another checkout",
    )
    parser.add_argument("--peers", action="store_true", help="compare with other programs instead")
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIRECTORY",
        help="with --peers: where the programs are installed; by default a temporary directory",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"with --peers or --only dashboard: write {figures.PAGE.relative_to(REPOSITORY)}",
    )
    arguments = parser.parse_args(argv)
    if arguments.cache and not arguments.peers:
        parser.error("--cache needs --peers")
    if arguments.write and not arguments.peers and arguments.only != {"dashboard"}:
        parser.error("--write needs --peers or --only dashboard")
    if arguments.peers and arguments.only != frozenset(SECTIONS):
        parser.error("--peers measures other programs, no sections; omit --only")
    if not (arguments.tree / "emulator").is_dir():
        parser.error(f"--tree: found no directory `emulator` in {arguments.tree}")
    return arguments


def _plan(arguments: argparse.Namespace) -> Plan:
    tree = arguments.tree.resolve()
    if arguments.quick:
        return Plan(pairs=3, burst_s=0.25, starts=3, tree=tree)
    return Plan(pairs=9, burst_s=0.5, starts=11, tree=tree)


def _conditions(plan: Plan) -> dict[str, str]:
    packages = ("starlette", "uvicorn", "uvloop", "httptools")
    cores = len(os.sched_getaffinity(0))
    return {
        "subject": f"python -m emulator serve, file database, in {plan.tree}",
        "limit (1.00)": "a bare Starlette route, 544-byte JSONResponse, uvloop, httptools, no log",
        "method": f"bursts of {plan.burst_s} s in the order A B B A, {plan.pairs} pairs, "
        f"median of the pairs' ratios; {plan.starts} starts; cN: N keep-alive connections",
        "retrieve": f"drawn at random from {http_measures.RETRIEVED_PAYMENTS:,} payments",
        "page": f"GETs drawn at random from {page_measures.PAYMENTS:,} payments' checkouts, "
        "clock frozen; the ratios are of CPU, not of rates",
        "webhooks": "the limit is the emulator without an endpoint; p99: of each burst",
        "weight": "the page in Amharic and each file that it or its stylesheets name, once, not "
        "compressed, without headers; a font if it is for a character that is on the page",
        "absolute": "limit → subject; CPU is processor time per answer, all threads",
        "machine": f"{cores} cores, load {os.getloadavg()[0]:.2f} at start, "
        f"{platform.system()} {platform.release()}, databases in {tempfile.gettempdir()}",
        "versions": f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        + ", ".join(f"{package} {version(package)}" for package in packages),
    }


def _measure(plan: Plan, wanted: frozenset[str]) -> list[Row]:
    """All wanted rows; the control comes first, because it decides what the others are worth."""
    generator = Generator()
    measures: Sequence[tuple[str, AbstractSet[str], Callable[[], list[Row]]]] = (
        ("the limit against itself", HTTP_SECTIONS, lambda: http_measures.control(plan, generator)),
        ("create", {"create"}, lambda: http_measures.creates(plan, generator)),
        ("reads", {"retrieve", "list"}, lambda: http_measures.reads(plan, generator, wanted)),
        ("page", {"page"}, lambda: page_measures.pages(plan, generator)),
        ("dashboard", {"dashboard"}, lambda: dashboard_measures.pages(plan, generator)),
        ("open dashboards", {"dashboard"}, lambda: dashboard_measures.open_dashboards(plan)),
        ("webhooks", {"webhooks"}, lambda: webhook_measures.creates(plan, generator)),
        ("attempts", {"webhooks"}, lambda: webhook_measures.attempts(plan)),
        ("waiting", {"waiting"}, lambda: waiting.measure(plan, generator)),
        ("start", {"start"}, lambda: start.measure(plan)),
        ("expiry", {"expiry"}, expiry.measure),
    )
    rows: list[Row] = []
    with closing(generator):
        for title, sections, measure in measures:
            if wanted & sections:
                _say(title)
                rows += measure()
    return rows


def _measure_peers(plan: Plan, cache: Path) -> tuple[list[Row], list[peer_measures.Figures]]:
    """The control and what decides, and the figures of each program."""
    with closing(Generator()) as generator:
        _say("the limit against itself")
        controls = http_measures.control(plan, generator)
        measured = []
        for program in (OURS, *PEERS):
            _say(program.name)
            measured.append(peer_measures.figures(plan, generator, program, cache))
    return [*controls, *figures.gates(measured)], measured


def _compare_peers(arguments: argparse.Namespace, plan: Plan) -> Exit:
    """Measure the other programs and print their figures; with --write, write the page."""
    with tempfile.TemporaryDirectory(prefix="benchmark-peers-") as directory:
        cache = arguments.cache or Path(directory)
        cache.mkdir(parents=True, exist_ok=True)
        rows, measured = _measure_peers(plan, cache)
    controls = [row for row in rows if row.is_control]
    method = f"{_method(plan)}; {plan.starts} starts"
    print(f"\n{figures.page(measured, controls, method)}\n{table(rows)}\n\n{summary(rows)}")
    if arguments.write:
        figures.write(measured, controls, method)
    if arguments.json is not None:
        write_json(arguments.json, [*rows, *figures.named_rows(measured)], _conditions(plan))
    return exit_code(rows)


def _method(plan: Plan) -> str:
    return f"bursts of {plan.burst_s} s in turns, {plan.pairs} pairs, median of the pairs' ratios"


def _say(section: str) -> None:
    print(f"… {section}", file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> Exit:
    """Measure what the arguments ask for and answer the exit code."""
    arguments = _arguments(argv)
    plan = _plan(arguments)
    try:
        return (_compare_peers if arguments.peers else _measure_sections)(arguments, plan)
    except (LoadFailed, ServerFailed) as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return Exit.MISSED


def _measure_sections(arguments: argparse.Namespace, plan: Plan) -> Exit:
    """Measure the sections and print their table."""
    conditions = _conditions(plan)
    for name, value in conditions.items():
        print(f"{name + ':':14}{value}")
    sys.stdout.flush()
    rows = _measure(plan, arguments.only)
    print(f"\n{table(rows)}\n\n{summary(rows)}")
    if arguments.write:
        figures.write_part(figures.DASHBOARD, figures.dashboard(rows, _method(plan)))
    if arguments.json is not None:
        write_json(arguments.json, rows, conditions)
    return exit_code(rows)


if __name__ == "__main__":
    sys.exit(main())
