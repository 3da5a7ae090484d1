"""The commands that play scripts and make them; what they need is imported when they run."""

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli.event_loop import run_loop
from emulator.cli.output import (
    FILE,
    USUAL_URL,
    base_url,
    check_directory,
    check_key,
    cli_error,
    has_colours,
    is_terminal,
    own_mark,
    write,
    write_file,
)
from emulator.domain.control_characters import escape_controls

if TYPE_CHECKING:
    from emulator.clock import SystemClock
    from emulator.replay.client import Address
    from emulator.replay.results import Case, Result
    from emulator.settings import Settings

USUAL_CLOCK = "frozen@2026-01-01T00:00:00Z"
USUAL_SEED = 0
# Cases that wait, for a scripted latency say, leave the others the time; more would only queue.
USUAL_CASES_AT_A_TIME = 4
MAX_CONCURRENT_CASES = 64
# What every checkout_url of a private emulator begins with, whatever its real port.
_CHECKOUT_URL = "http://127.0.0.1:8081"
# The exit code of every user error.
_USAGE_ERROR = 2


def _no_nan(
    context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    if value is not None and isnan(value):
        raise click.BadParameter("nan is no number.", context, parameter)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReplayOptions:
    """What a run is asked for beside its cases; without an address it makes its own emulator."""

    address: "Address | None"
    settings: "Settings"
    clock: str
    at_a_time: int
    is_verbose: bool
    junit: Path | None
    report: Path | None
    fail_under: float | None


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--url",
    metavar="URL",
    help="URL of a running emulator; otherwise `replay` starts a private one.",
)
@click.option(
    "-j",
    "--jobs",
    "at_a_time",
    metavar="N",
    type=click.IntRange(1, MAX_CONCURRENT_CASES),
    default=USUAL_CASES_AT_A_TIME,
    show_default=True,
    help="Number of files to run at the same time; the output is the same.",
)
@click.option("--junit", metavar="FILE", type=FILE, help="Write the results as JUnit XML.")
@click.option("--report", metavar="FILE", type=FILE, help="Write a report as one HTML file.")
@click.option(
    "--fail-under",
    metavar="PERCENT",
    type=click.FloatRange(0, 100),
    callback=_no_nan,
    help="Exit with code 1 when the coverage is below this percentage.",
)
@click.option("--seed", metavar="INTEGER", help=f"Seed of each account.  [default: {USUAL_SEED}]")
@click.option("--clock", metavar="CLOCK", help=f"Clock of each account.  [default: {USUAL_CLOCK}]")
@click.option(
    "--database",
    metavar="FILE",
    help="New SQLite file for the state after the run, for `serve --database`.",
)
@click.option("-v", "--verbose", "is_verbose", is_flag=True, help="Print a line for each step.")
def replay(
    paths: tuple[str, ...],
    url: str | None,
    seed: str | None,
    clock: str | None,
    database: str | None,
    **wanted: object,
) -> int:
    """Run the scripts of scenario files and directories of scenario files.

    Each file runs in a new account of a private or a running emulator. Exit code 1 when an
    expectation fails or the coverage is below --fail-under, 2 when a file or an option is wrong.
    """
    settings = _settings(url, seed, clock, database)
    run = _ReplayOptions(
        address=None if url is None else _address(url),
        settings=settings,
        clock=clock or USUAL_CLOCK,
        **wanted,  # type: ignore[arg-type]  # click has seen to their types
    )
    for option, file in (("--junit", run.junit), ("--report", run.report)):
        if file is not None:
            check_directory(option, file)
    from emulator.replay.cases import read_cases

    found = read_cases([Path(path) for path in paths])
    if found.problems:
        for problem in found.problems:
            # Without our name in front, so that an editor can jump to the place.
            click.echo(escape_controls(str(problem)), err=True)
        return _USAGE_ERROR
    return _Run(run, found.cases, skipped=found.skipped).run()


@click.command()
@click.option(
    "--url", metavar="URL", default=USUAL_URL, show_default=True, help="URL of the emulator."
)
@click.option(
    "--key",
    metavar="KEY",
    show_default="the first test key",
    help="API key of the account and mode.",
)
def record(url: str, key: str | None) -> None:
    """Print an account's history as a scenario file with a script, for `replay`."""
    from emulator.replay.client import Unreachable
    from emulator.replay.recording import NoRecording, fetch_recording

    check_key("--key", key)
    address = _address(url)
    try:
        text = run_loop(lambda: fetch_recording(address, key))
    except (NoRecording, Unreachable) as error:
        cli_error(str(error))
    write(text)


class _Run:
    """One run of `replay`, from the first case to the exit code."""

    def __init__(self, wanted: _ReplayOptions, cases: "Sequence[Case]", *, skipped: int) -> None:
        from emulator.clock import RealClock
        from emulator.replay.console import Paint
        from emulator.replay.printing import Printer

        self._wanted = wanted
        self._unprinted: click.ClickException | None = None
        self._cases = cases
        self._skipped = skipped
        self._wall: SystemClock = RealClock()
        self._paint = Paint(is_on=has_colours(), mark=own_mark())
        self._printer = Printer(
            cases,
            self._print,
            self._paint,
            shows_steps=wanted.is_verbose or len(cases) == 1,
            width=_width() if is_terminal(sys.stdout) and not os.environ.get("CI") else None,
        )

    def run(self) -> int:
        from emulator.app.server import NoListener, collect_rarely
        from emulator.replay.client import Unreachable
        from emulator.storage.migrations import UnusableDatabase

        collect_rarely()
        started_ms = self._wall.monotonic_ms()
        try:
            results = run_loop(self._play)
        except (NoListener, Unreachable, UnusableDatabase) as error:
            cli_error(str(error))
        duration_ms = self._wall.monotonic_ms() - started_ms
        code = self._conclude(results)
        self._write_files(results, duration_ms)
        if self._unprinted is not None:
            raise self._unprinted
        return code

    def _print(self, text: str) -> None:
        """What cannot be printed is told in the end: the files may be all that is looked at."""
        try:
            write(text)
        except click.ClickException as cli_error:
            self._unprinted = cli_error

    async def _play(self) -> "list[Result]":
        from emulator.replay.client import Client
        from emulator.replay.run_context import RunContext
        from emulator.replay.running import play_all

        wanted = self._wanted
        async with self._emulator() as address:
            stage = RunContext(
                client=Client(address),
                is_private=wanted.address is None,
                clock=wanted.clock,
                seed=wanted.settings.seed or 0,
                wall=self._wall,
            )
            return await play_all(self._cases, stage, self._printer, at_a_time=wanted.at_a_time)

    @asynccontextmanager
    async def _emulator(self) -> "AsyncIterator[Address]":
        """Where the emulator is that the cases are played in."""
        if self._wanted.address is not None:
            yield self._wanted.address
            return
        from emulator.app.server import private_emulator
        from emulator.replay.client import Address

        async with private_emulator(self._wanted.settings) as url:
            yield Address.of(url)

    def _conclude(self, results: "Sequence[Result]") -> int:
        from emulator.replay.console import coverage_lines, note_lines, summary_line
        from emulator.replay.coverage import coverage_of

        self._printer.print_failures()
        coverage = coverage_of(result.trace for result in results)
        lines = ["", summary_line(results, self._skipped), *note_lines(results), ""]
        lines += coverage_lines(coverage, self._paint)
        asked = self._wanted.fail_under
        is_too_little = asked is not None and coverage.percent < asked
        if is_too_little:
            lines += ["", f"The coverage is under the {asked:g} % that --fail-under asks for."]
        self._print("".join(f"{line}\n" for line in lines))
        return int(is_too_little or not all(result.has_passed for result in results))

    def _write_files(self, results: "Sequence[Result]", duration_ms: float) -> None:
        if self._wanted.junit is not None:
            from emulator.replay.junit import junit

            write_file("--junit", self._wanted.junit, junit(results, duration_ms=duration_ms))
        if self._wanted.report is not None:
            from emulator.replay.report import report

            write_file("--report", self._wanted.report, report(results, skipped=self._skipped))


def _settings(
    url: str | None, seed: str | None, clock: str | None, database: str | None
) -> "Settings":
    """Of the private emulator: no variable and no file of the user's makes it another one."""
    from emulator.settings import SettingsError, resolve

    if url is not None and database is not None:
        cli_error("flag --database: the emulator at --url has a database of its own")
    if database is not None and Path(database).exists():
        cli_error(f"flag --database: '{database}' is there already; expected a new file")
    flags = {
        "port": 0,
        "checkout-port": 0,
        "checkout-url": _CHECKOUT_URL,
        "seed": USUAL_SEED if seed is None else seed,
        "clock": USUAL_CLOCK if clock is None else clock,
        "database": database,
    }
    try:
        return resolve(flags, {})
    except SettingsError as error:
        cli_error(str(error))


def _address(url: str) -> "Address":
    from emulator.replay.client import Address

    return Address.of(base_url("--url", url))


def _width() -> int:
    import shutil

    return shutil.get_terminal_size().columns
