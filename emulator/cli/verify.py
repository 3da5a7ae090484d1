"""The command that compares a service with the contract; what it needs is imported when it runs."""

import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli.event_loop import run_loop
from emulator.cli.output import (
    FILE,
    base_url,
    check_directory,
    cli_error,
    has_colours,
    is_terminal,
    own_mark,
    write,
    write_file,
)

if TYPE_CHECKING:
    from emulator.clock import SystemClock
    from emulator.verify.running import Comparison

_TEST = "test_"
_LIVE = "live_"
_STDOUT = Path("-")
_DRIFTED = 1
_NOT_COMPLETE = 2
# The contract's paths begin with it: a base URL that ends so holds it already.
_VERSION = re.compile(r"/v1(?:/payments)?/*$", re.ASCII)
_ERASE = "\r\x1b[K"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """What a run is asked for."""

    base_url: str
    key: str
    other_key: str | None
    accepted: frozenset[str]
    json: Path | None
    report: Path | None


class Progress:
    """A line that changes: which check it is, or that a 429 is waited out."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._check = ""

    def checked(self, done: int, total: int) -> None:
        self._check = f"check {done} of {total}" if done < total else ""
        self._show(_ERASE + self._check)

    def waiting(self, seconds: int) -> None:
        """0 is the end of it."""
        text = f"waiting {seconds} s: the service said 429"
        self._show(_ERASE + (text if seconds else self._check))

    def end(self) -> None:
        """Leave an empty line to whatever is said next."""
        self._show(_ERASE)


@click.command()
@click.option("--base-url", "url", metavar="URL", required=True, help="URL of the service.")
@click.option("--key", metavar="KEY", required=True, help="A test_ key of the service.")
@click.option("--other-key", metavar="KEY", help="A test_ key of another account.")
@click.option(
    "--accept",
    "accepted",
    metavar="NUMBER",
    multiple=True,
    help="Clause with a known drift, which does not change the exit code; repeatable.",
)
@click.option(
    "--json",
    "json",
    metavar="FILE",
    type=FILE,
    help="Write the result as JSON; - is standard output.",
)
@click.option("--report", metavar="FILE", type=FILE, help="Write a report as one HTML file.")
@click.option("--i-know", is_flag=True, help="Accept live_ keys; no payment is paid.")
def verify(
    url: str,
    key: str,
    other_key: str | None,
    accepted: tuple[str, ...],
    i_know: bool,
    **files: Path | None,
) -> int:
    """Compare a service with the contract, clause by clause.

    The command creates about a dozen payments of 1 ETB, which stay pending, and pays none of them.
    Exit code 1 when a clause drifts; 2 when an option is wrong, when the server is not the service,
    or when the comparison is incomplete. After a 429 the command waits, at most a minute in total.
    """
    for option, one in (("--key", key), ("--other-key", other_key)):
        _check_key(option, one, knows=i_know)
    wanted = VerifyOptions(
        base_url=base_url("--base-url", _VERSION.sub("", url)),
        key=key,
        other_key=other_key,
        accepted=_accepted(accepted),
        **files,
    )
    if key == other_key:
        cli_error("flag --other-key: this is the key of --key; expected one of another account")
    for option, file in (("--json", wanted.json), ("--report", wanted.report)):
        if file not in (None, _STDOUT):
            check_directory(option, file)
    if wanted.report is not None and wanted.report in (_STDOUT, wanted.json):
        cli_error("flag --report: expected a file of its own")
    from emulator.clock import RealClock

    comparison = compared(wanted, wall=RealClock(), progress=_progress())
    _tell(wanted, comparison)
    return _exit_code(comparison)


def compared(wanted: VerifyOptions, *, wall: "SystemClock", progress: Progress) -> "Comparison":
    """A run. Raises CliError when there is nothing to compare."""
    from emulator.verify.client import Client, Unreachable
    from emulator.verify.preflight import NotTheService
    from emulator.verify.running import compare
    from emulator.verify.session import Visit
    from emulator.verify.transport import HttpWire

    async def run() -> "Comparison":
        async with HttpWire(wanted.base_url) as wire:
            client = Client(wire, wall=wall, tell=progress.waiting)
            visit = Visit(client, key=wanted.key, other_key=wanted.other_key)
            return await compare(
                visit, began_at=wall.now_ms(), accepted=wanted.accepted, tell=progress.checked
            )

    try:
        return run_loop(run)
    except (NotTheService, Unreachable) as error:
        cli_error(str(error))
    finally:
        progress.end()


def _progress() -> Progress:
    """For whoever waits at a terminal; on stderr, where no result goes."""
    is_shown = is_terminal(sys.stderr) and not os.environ.get("CI")

    def show(text: str) -> None:
        if is_shown:
            click.echo(text, nl=False, err=True)

    return Progress(show)


def _exit_code(comparison: "Comparison") -> int:
    """Say on stderr, where it shows beside any result, that much was not looked at."""
    from emulator.cli.commands import PROGRAM
    from emulator.verify.console import incompleteness

    told = incompleteness(comparison)
    if told is not None:
        click.echo(f"{PROGRAM}: {told}", err=True)
    if comparison.has_drifted:
        return _DRIFTED
    return 0 if told is None else _NOT_COMPLETE


def _tell(wanted: VerifyOptions, comparison: "Comparison") -> None:
    from emulator.verify.report import report
    from emulator.verify.writing import comparison_json

    is_json_told = wanted.json == _STDOUT
    write(comparison_json(comparison).decode() if is_json_told else _table(comparison))
    if wanted.json is not None and not is_json_told:
        write_file("--json", wanted.json, comparison_json(comparison))
    if wanted.report is not None:
        write_file("--report", wanted.report, report(comparison))


def _table(comparison: "Comparison") -> str:
    from emulator.verify.console import USUAL_WIDTH, Paint, comparison_lines

    width = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else USUAL_WIDTH
    paint = Paint(is_on=has_colours(), mark=own_mark())
    lines = comparison_lines(comparison, paint, width)
    return "".join(f"{line}\n" for line in lines)


def _check_key(option: str, key: str | None, *, knows: bool) -> None:
    """The service's keys need not be of the form of ours, but for how they begin."""
    if key is None:
        return
    if not key.isascii() or not key.isprintable() or " " in key:
        cli_error(f"flag {option}: a key has neither blanks nor characters beyond ASCII")
    if key.startswith(_LIVE) and not knows:
        cli_error(
            f"flag {option}: a live_ key processes real payments; use a test_ key, or say --i-know"
        )
    if not key.startswith((_TEST, _LIVE)):
        cli_error(f"flag {option}: expected a key that begins with test_")


def _accepted(numbers: tuple[str, ...]) -> frozenset[str]:
    from emulator.domain.clauses import CLAUSES

    known = {clause.number for clause in CLAUSES}
    for number in numbers:
        if number not in known:
            cli_error(f"flag --accept: there is no clause {number!r}; expected one such as 4.1.3")
    return frozenset(numbers)
