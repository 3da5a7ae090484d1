"""The commands `replay`, which plays scripts, and `record`, which creates them."""

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
    as_printed,
    cli_error,
    console_paint,
    number_option,
    webhook_format_option,
    write,
    write_file,
    write_unescaped,
)
from emulator.cli.settings_options import private_settings
from emulator.clock import RealClock, SystemClock
from emulator.domain.message_text import escape_controls
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
    problems, forms = list[Problem](), frozenset[WebhookForm]()
    with noted(problems):
        forms |= {load_webhook_form(webhook_format)} if webhook_format is not None else set()
    found = read_cases([Path(path) for path in paths], forms)
    if problems or found.problems:
        raise ScenarioError([*problems, *found.problems])
    run = _Run(found, shows_steps=is_verbose or len(found.cases) == 1)
    shows_coverage = coverage or any(Path(path).is_dir() for path in paths)

    def end() -> int:
        """Print and write the results of the cases that have ended."""
        code = run.print_results(fail_under, shows_coverage=shows_coverage)
        write_file("--junit", junit, run.junit)
        write_file("--report", report, run.report)
        if run.print_error is not None:
            raise run.print_error
        return code

    try:
        run_loop(lambda: run.play(url, key, settings))
    except KeyboardInterrupt:
        if run.printer.results:
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


class _Run:
    """The cases of a run, and what is printed and written of them."""

    def __init__(self, found: Cases, *, shows_steps: bool) -> None:
        self.print_error: UserError | None = None
        self._found = found
        self._wall: SystemClock = RealClock()
        self._started_ms = self._wall.monotonic_ms()
        self._paint = console_paint()
        show = ProgressLine().show
        self.printer = Printer(self._print, self._paint, shows_steps=shows_steps, show=show)

    async def play(self, url: str | None, key: str | None, settings: Settings) -> None:
        async with (
            private_emulator(settings) if url is None else nullcontext(url) as address,
            EmulatorClient(BaseUrl.parse(address)) as client,
        ):
            context = RunContext(client=client, is_private=url is None, wall=self._wall, key=key)
            printer = self.printer
            await play_all(self._found.cases, context, printer.step_played, printer.case_ended)

    def print_results(self, minimum: float | None, *, shows_coverage: bool) -> int:
        """Return the exit code."""
        results = self.printer.results
        self.printer.print_failures()
        coverage = coverage_of(result.trace for result in results)
        summary = summary_line(results, self._found.skipped, len(self._found.cases) - len(results))
        lines = ["", summary, *map(escape_controls, note_lines(results))]
        if shows_coverage or minimum is not None:
            lines += ["", *coverage_lines(coverage, self._paint)]
        is_too_low = minimum is not None and coverage.percent < minimum
        if is_too_low:
            lines += ["", f"The coverage is under the {minimum:g} % that --fail-under asks for."]
        self._print("".join(f"{line}\n" for line in lines))
        return int(is_too_low or not all(result.has_passed for result in results))

    def junit(self) -> bytes:
        duration_ms = self._wall.monotonic_ms() - self._started_ms
        return reports.junit(self.printer.results, duration_ms=duration_ms)

    def report(self) -> bytes:
        return reports.report(self.printer.results, skipped=self._found.skipped)

    def _print(self, text: str) -> None:
        """Print, and keep an error until the files, which may be all the user needs, exist."""
        try:
            write_unescaped(as_printed(text))
        except UserError as error:
            self.print_error = error


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
