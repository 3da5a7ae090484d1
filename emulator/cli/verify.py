"""The command `verify`, which compares a service with the contract."""

import re
import signal
from collections.abc import Callable
from pathlib import Path

import click

from emulator.cli.emulator_options import base_url
from emulator.cli.event_loop import SIGNAL_CODE, run_loop
from emulator.cli.output import (
    JSON_OPTION,
    PROGRAM,
    REPORT_OPTION,
    STDOUT,
    ProgressLine,
    cli_error,
    console_paint,
    write_coloured,
    write_file,
    write_json,
)
from emulator.clock import RealClock, SystemClock
from emulator.domain.clauses import CLAUSES
from emulator.tools.recorded_traffic import read_traffic
from emulator.tools.verify.client import HttpTransport, ServiceClient
from emulator.tools.verify.comparison import Comparison, compare, compare_recording
from emulator.tools.verify.report import (
    comparison_html,
    comparison_json,
    comparison_lines,
    incompleteness,
)
from emulator.tools.verify.session import Session

_TEST = "test_"
_LIVE = "live_"
_HAS_DRIFTED = 1
_IS_INCOMPLETE = 2
# The paths of the contract begin with it: a base URL that ends with it contains it twice.
_VERSION = re.compile(r"/v1(?:/payments)?/*$", re.ASCII)


@click.command()
@click.option(
    "--base-url", "url", metavar="URL", help="URL of the service; required without --har."
)
@click.option("--key", metavar="KEY", help="A test_ key of the service; required without --har.")
@click.option(
    "--har",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Recorded exchanges to compare, instead of a service; --base-url and --key then choose"
    " among several.",
)
@click.option("--other-key", metavar="KEY", help="A test_ key of another account.")
@click.option(
    "--accept",
    "accepted",
    metavar="NUMBER",
    multiple=True,
    help="Clause with a known drift, which does not change the exit code; repeatable.",
)
@JSON_OPTION
@REPORT_OPTION
def verify(
    url: str | None,
    key: str | None,
    har: Path | None,
    other_key: str | None,
    accepted: tuple[str, ...],
    **files: Path | None,
) -> int:
    """Compare a service with the contract, clause by clause.

    The command creates about fifteen payments of 1 ETB, which stay pending, and pays none of them.
    After a 429 the command waits, at most a minute in total.
    """
    if files["report"] is not None and files["report"] in (STDOUT, files["json"]):
        cli_error("flag --report: expected a file of its own")
    base = None if url is None else base_url("--base-url", _VERSION.sub("", url))
    if har is not None:
        if other_key is not None:
            cli_error("flag --har: a recording needs no --other-key")
        return _end(_recorded_comparison(har, base, key, _accepted(accepted)), **files)
    if base is None or key is None:
        missing = "--base-url" if base is None else "--key"
        other = ", or '--har' for a recording" if (base, key) == (None, None) else ""
        raise click.UsageError(f"Missing option '{missing}'{other}.")
    _check_service_key("--key", key)
    if other_key is not None:
        _check_service_key("--other-key", other_key)
    clauses = _accepted(accepted)
    if key == other_key:
        cli_error("flag --other-key: this is the key of --key; expected one of another account")
    comparison = run_comparison(
        base, (key, other_key), clauses, wall=RealClock(), show=ProgressLine().show
    )
    return _end(comparison, **files)


def _recorded_comparison(
    har: Path, url: str | None, key: str | None, accepted: frozenset[str]
) -> Comparison:
    """Run the checks of recordings. Raises UserError."""
    try:
        traffic = read_traffic([har])
        return run_loop(
            lambda: compare_recording(traffic, base_url=url, key=key, accepted=accepted)
        )
    except RecursionError:
        cli_error(f"{har}: a body is nested too deeply")


def run_comparison(
    url: str,
    keys: tuple[str, str | None],
    accepted: frozenset[str],
    *,
    wall: SystemClock,
    show: Callable[[str], None],
) -> Comparison:
    """Run all checks; show the current one, and waits after a 429.

    Raises UserError if the server cannot be compared.
    """

    async def run() -> Comparison:
        async with HttpTransport(url) as transport:
            client = ServiceClient(url, transport.send, wall=wall, show=show)
            session = Session(client, key=keys[0], other_key=keys[1])
            return await compare(session, began_at=wall.now_ms(), accepted=accepted, show=show)

    try:
        return run_loop(run)
    finally:
        show("")


def _end(comparison: Comparison, *, json: Path | None, report: Path | None) -> int:
    """Write the results, and return the exit code; an incomplete comparison is also reported on
    standard error."""
    if json != STDOUT:
        write_coloured(comparison_lines(comparison, console_paint()))
    write_json(json, lambda: comparison_json(comparison))
    write_file("--report", report, lambda: comparison_html(comparison))
    message = incompleteness(comparison)
    if message is not None:
        click.echo(f"{PROGRAM}: {message}", err=True)
    if comparison.is_interrupted:
        return SIGNAL_CODE + signal.SIGINT
    if comparison.has_drifted:
        return _HAS_DRIFTED
    return 0 if message is None else _IS_INCOMPLETE


def _check_service_key(option: str, key: str) -> None:
    """Raises UserError. A key of a service needs only our prefix, not our form."""
    if not key.isascii() or not key.isprintable() or " " in key:
        cli_error(f"flag {option}: a key has neither blanks nor characters beyond ASCII")
    if key.startswith(_LIVE):
        cli_error(f"flag {option}: a live_ key processes real payments; use a test_ key")
    if not key.startswith(_TEST):
        cli_error(f"flag {option}: expected a key that begins with test_")


def _accepted(numbers: tuple[str, ...]) -> frozenset[str]:
    known = {clause.number for clause in CLAUSES}
    for number in numbers:
        if number not in known:
            cli_error(f"flag --accept: there is no clause {number!r}; expected one such as 4.1.3")
    return frozenset(numbers)
