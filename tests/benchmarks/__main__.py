"""The command: choose, measure, print one table, exit by it."""

import argparse
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks import (
    dashboard_measures,
    expiry,
    http_measures,
    page_measures,
    start,
    waiting,
    webhook_measures,
)
from tests.benchmarks.load import LoadFailed
from tests.benchmarks.pairs import Generator, Plan
from tests.benchmarks.report import Exit, Row, exit_code, summary, table, write_json
from tests.benchmarks.servers import REPOSITORY, ServerFailed

SECTIONS = (
    "create",
    "retrieve",
    "list",
    "page",
    "dashboard",
    "webhooks",
    "start",
    "expiry",
    "waiting",
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
    return parser.parse_args(argv)


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
    rows: list[Row] = []
    generator = Generator()
    try:
        if wanted & HTTP_SECTIONS:
            _say("the limit against itself")
            rows += http_measures.control(plan, generator)
        if "create" in wanted:
            _say("create")
            rows += http_measures.creates(plan, generator)
        if wanted & {"retrieve", "list"}:
            _say("retrieve, list")
            rows += http_measures.reads(plan, generator, wanted)
        if "page" in wanted:
            _say("page")
            rows += page_measures.pages(plan, generator)
        if "dashboard" in wanted:
            _say("dashboard")
            rows += dashboard_measures.pages(plan, generator)
            rows += dashboard_measures.open_dashboards(plan)
        if "webhooks" in wanted:
            _say("webhooks")
            rows += webhook_measures.creates(plan, generator)
        if "waiting" in wanted:
            _say("waiting")
            rows += waiting.measure(plan, generator)
    finally:
        generator.close()
    if "start" in wanted:
        _say("start")
        rows += start.measure(plan)
    if "expiry" in wanted:
        _say("expiry")
        rows += expiry.measure()
    return rows


def _say(section: str) -> None:
    print(f"… {section}", file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> Exit:
    """Measure what the arguments ask for and answer the exit code."""
    arguments = _arguments(argv)
    plan = _plan(arguments)
    conditions = _conditions(plan)
    for name, value in conditions.items():
        print(f"{name + ':':14}{value}")
    sys.stdout.flush()
    try:
        rows = _measure(plan, arguments.only)
    except (LoadFailed, ServerFailed) as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return Exit.MISSED
    print(f"\n{table(rows)}\n\n{summary(rows)}")
    if arguments.json is not None:
        write_json(arguments.json, rows, conditions)
    return exit_code(rows)


if __name__ == "__main__":
    sys.exit(main())
