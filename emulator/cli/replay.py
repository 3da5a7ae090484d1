"""The commands `replay`, which plays scripts, and `record`, which creates them."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from emulator.cli.emulator_options import (
    KEY_OPTION,
    URL_OPTION,
    call_emulator,
    key_option,
    url_option,
)
from emulator.cli.event_loop import run_loop
from emulator.cli.output import (
    JUNIT_OPTION,
    REPORT_OPTION,
    ProgressLine,
    cli_error,
    console_paint,
    number_option,
    webhook_format_option,
    write,
    write_coloured,
    write_file,
    write_lines,
)
from emulator.cli.settings_options import private_settings
from emulator.clock import RealClock
from emulator.domain.user_error import UserError
from emulator.domain.webhooks import WebhookForm
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import RECORDING
from emulator.scenarios.entries import Problem, ScenarioError, noted
from emulator.scenarios.runner.case_runner import ACCOUNT_SETTINGS, RunContext
from emulator.scenarios.webhook_form_file import load_webhook_form
from emulator.server.app.server import private_emulator
from emulator.settings import Settings
from emulator.tools.replay import report as reports
from emulator.tools.replay.cases import Cases, play_all, read_cases
from emulator.tools.replay.console import Printer, coverage_lines, note_lines, summary_line
from emulator.tools.replay.coverage import coverage_of

# The beginning of every checkout_url of a private emulator, whatever its real port.
_CHECKOUT_URL = "http://127.0.0.1:8081"


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@url_option("URL of a running emulator; otherwise the command starts a private one.")
@key_option(
    "Key of an account at --url in which the scripts run, so that its endpoints receive the"
    " webhooks; otherwise each file has a new account."
)
@JUNIT_OPTION
@REPORT_OPTION
@click.option(
    "--coverage",
    is_flag=True,
    help="Print the coverage, as for a directory and with --fail-under.",
)
@number_option(
    "--fail-under",
    limits=(0, 100),
    kind=float,
    metavar="PERCENT",
    help="Exit with code 1 when the coverage is below this percentage, 0 to 100.",
)
@webhook_format_option("Form of the webhooks of the private emulator, as for `serve`.", None)
@click.option(
    "-v",
    "--verbose",
    "is_verbose",
    is_flag=True,
    help="Print a line for each step, also of several files.",
)
def replay(
    paths: tuple[str, ...],
    url: str | None,
    key: str | None,
    webhook_format: str | None,
    coverage: bool,
    fail_under: float | None,
    *,
    junit: Path | None,
    report: Path | None,
    is_verbose: bool,
) -> int:
    """Run the scripts of scenario files.

    PATH is a file or a directory of files. Each file runs in a new account of a private or a
    running emulator.
    """
    if key is not None and url is None:
        cli_error("flag --key: expected --url")
    settings = _settings(url, webhook_format)
    found = _read(paths, webhook_format)
    wall, shows_steps = RealClock(), is_verbose or len(found.cases) == 1
    paint, show = console_paint(), ProgressLine().show
    printer = Printer(write_coloured, paint, shows_steps=shows_steps, show=show)
    results, started_ms = printer.results, wall.monotonic_ms()

    async def play() -> None:
        async with (
            private_emulator(settings) if url is None else nullcontext(url) as address,
            EmulatorClient(BaseUrl.parse(address)) as client,
        ):
            context = RunContext(client=client, is_private=url is None, wall=wall, key=key)
            await play_all(found.cases, context, printer.step_played, printer.case_ended)

    def end() -> int:
        """Print and write the results of the cases that have ended, and return the exit code."""
        duration_ms = wall.monotonic_ms() - started_ms
        reached = coverage_of(result.trace for result in results)
        is_shown = coverage or fail_under is not None or any(Path(path).is_dir() for path in paths)
        is_too_low = fail_under is not None and reached.percent < fail_under
        try:
            printer.print_failures()
            summary = summary_line(results, found.skipped, len(found.cases) - len(results))
            write_lines(["", summary, *note_lines(results)])
            if is_shown:
                write_coloured(["", *coverage_lines(reached, paint)])
            if is_too_low:
                low = f"The coverage is under the {fail_under:g} % that --fail-under asks for."
                write_lines(["", low])
        finally:
            write_file("--junit", junit, lambda: reports.junit(results, duration_ms=duration_ms))
            write_file("--report", report, lambda: reports.report(results, skipped=found.skipped))
        return int(is_too_low or not all(result.has_passed for result in results))

    try:
        run_loop(play)
    except (KeyboardInterrupt, UserError):
        if results:
            end()
        raise
    return end()


@click.command()
@URL_OPTION
@KEY_OPTION
def record(url: str, key: str | None) -> None:
    """Print an account's history as a script for `replay`.

    The output is a scenario file.
    """
    write(call_emulator(url, key, lambda emulator: emulator.call(RECORDING)))


def _read(paths: Sequence[str], webhook_format: str | None) -> Cases:
    """The cases of the files. Raises ScenarioError with every problem."""
    problems, forms = list[Problem](), frozenset[WebhookForm]()
    with noted(problems):
        forms |= {load_webhook_form(webhook_format)} if webhook_format is not None else set()
    found = read_cases([Path(path) for path in paths], forms)
    if problems or found.problems:
        raise ScenarioError([*problems, *found.problems])
    return found


def _settings(url: str | None, webhook_format: str | None) -> Settings:
    """The settings of the private emulator; variables and configuration files do not apply."""
    if url is not None and webhook_format is not None:
        cli_error("flag --webhook-format: the emulator at --url has a format of its own")
    return private_settings(
        {
            "port": 0,
            "checkout-port": 0,
            "checkout-url": _CHECKOUT_URL,
            "webhook-format": webhook_format,
            **ACCOUNT_SETTINGS,
        }
    )
