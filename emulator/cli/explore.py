"""The command `explore`, which runs a merchant's integration through every history."""

import asyncio
import sys
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from emulator.cli.emulator_options import private_emulator_options, private_emulator_settings
from emulator.cli.event_loop import ENDING_SIGNALS, run_loop
from emulator.cli.explore_session import ExploreOptions, explore_session
from emulator.cli.output import (
    FILES_ARGUMENT,
    JSON_OPTION,
    JUNIT_OPTION,
    REPORT_OPTION,
    ProgressLine,
    cli_error,
    console_paint,
    max_time_option,
    number_option,
    webhook_format_option,
    write_coloured,
    write_file,
    write_json,
    write_lines,
)
from emulator.cli.settings_options import settings_options
from emulator.clock import RealClock
from emulator.domain.accounts import SEEDS
from emulator.domain.message_text import escape_controls
from emulator.domain.user_error import UserError
from emulator.domain.webhooks import WebhookForm
from emulator.scenarios.entries import Problem, ScenarioError, noted
from emulator.scenarios.webhook_form_file import load_webhook_form
from emulator.tools.explore import report
from emulator.tools.explore.exploration import Exploration, Limits
from emulator.tools.explore.histories import History
from emulator.tools.explore.integration import Integration
from emulator.tools.explore.integration_file import read_integration
from emulator.tools.explore.judgement import HistoryFailure
from emulator.tools.json_results import ExploredHistory

# Without --depth, larger histories follow until the time is over.
DEFAULT_DEPTH = 2
DEFAULT_MAX_TIME_MS = 120_000
# Until all histories with one anomaly ran.
DEFAULT_MAX_REQUIRED_TIME_MS = 600_000
DEFAULT_REQUIRED_DEPTH = 1
MAX_DEPTH = 5
MAX_FAILURES = 1_000
# None failed, and fewer histories ran than are required.
INSUFFICIENT = 3
MAX_OVERRUN_S = 2  # for a failed history to be reduced after --max-time
DEFAULT_SAVE_DIRECTORY = Path("explore")


@click.command()
@FILES_ARGUMENT
@number_option(
    "--depth",
    limits=(0, MAX_DEPTH),
    show_default="random larger ones follow those with 2",
    help=f"Run all histories with up to this number of anomalies, 0 to {MAX_DEPTH}, and no others.",
)
@number_option(
    "--require-depth",
    limits=(0, MAX_DEPTH),
    show_default="1, or --depth if that is smaller",
    help="Number of anomalies, 0 to --depth, up to which all histories must run.",
)
@number_option(
    "--seed",
    limits=(SEEDS.start, SEEDS.stop - 1),
    metavar="INTEGER",
    default=1,
    help="Seed of the random histories.",
)
@max_time_option(
    "Maximum time of the whole run, such as 60s.",
    default="2m without --depth, or until those with one anomaly ran, up to 10m",
)
@number_option(
    "--max-failures",
    limits=(1, MAX_FAILURES),
    default=1,
    help=f"End after this number of failed histories, 1 to {MAX_FAILURES}.",
)
@click.option(
    "--save",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_SAVE_DIRECTORY,
    show_default=True,
    help="Directory in which failed histories are saved.",
)
@JSON_OPTION
@JUNIT_OPTION
@REPORT_OPTION
@click.option(
    "--replay",
    "replays",
    is_flag=True,
    help="Run the histories of saved files; print FIXED or FAILED for each.",
)
@private_emulator_options
@settings_options("clock-file")
@click.option(
    "--webhook-secret",
    metavar="SECRET",
    help="Secret that signs webhooks; otherwise generated from the seed and printed.",
)
@webhook_format_option(
    "Form of webhooks: the name of a shipped form, or a file; with --url, the form of the"
    " endpoint with the URL of the webhook, if there is one.",
)
def explore(
    files: tuple[Path, ...],
    *,
    replays: bool,
    depth: int | None,
    require_depth: int | None,
    seed: int,
    max_time: int | None,
    max_failures: int,
    url: str | None,
    key: str | None,
    webhook_secret: str | None,
    webhook_format: str,
    **others: Any,
) -> int:
    """Run a merchant's integration through every history of events.

    FILE describes the integration. The command judges each history.
    """
    files_written = {name: others.pop(name) for name in ("save", "json", "junit", "report")}
    url, key, settings = private_emulator_settings(url, key, others)
    limits = _limits(depth, max_time, require_depth, seed=seed, max_failures=max_failures)
    if len(files) > 1 and not replays:
        cli_error("expected one file of an integration; several are accepted with --replay")
    form, read = load_webhook_form(webhook_format), _read(files)
    if webhook_secret is not None and (problem := form.signature.secret_problem(webhook_secret)):
        cli_error(f"flag --webhook-secret: expected {problem}")
    given = ExploreOptions(
        url=url,
        key=key,
        secret=webhook_secret,
        form=form,
        settings=settings,
        limits=limits,
        files=files_written,
    )

    def run() -> Coroutine[object, object, int]:
        return _replay(files, read, given) if replays else _Run(given, files[0], read[0]).run()

    # A job that is cancelled, or a terminal that is closed, must end the shop, too.
    return run_loop(run, ends_on=ENDING_SIGNALS)


def _limits(
    depth: int | None, max_time_ms: int | None, required_depth: int | None, **others: int
) -> Limits:
    """The limits of the run; without a depth, random histories follow until the time is over."""
    is_default, largest = depth is max_time_ms is None, DEFAULT_DEPTH if depth is None else depth
    required = min(DEFAULT_REQUIRED_DEPTH, largest) if required_depth is None else required_depth
    if required > largest:
        cli_error(f"flag --require-depth: found '{required}', expected 0 to {largest}, the depth")
    return Limits(
        depth=largest,
        required_depth=required,
        max_time_ms=DEFAULT_MAX_TIME_MS if is_default else max_time_ms,
        max_required_time_ms=DEFAULT_MAX_REQUIRED_TIME_MS if is_default else max_time_ms,
        draws=depth is None,
        **others,
    )


def exit_code(exploration: Exploration) -> int:
    if exploration.failures:
        return 1
    return 0 if exploration.is_sufficient else INSUFFICIENT


def _read(files: Sequence[Path]) -> list[Integration]:
    """The integrations. Raises ScenarioError with every problem."""
    integrations: list[Integration] = []
    problems: list[Problem] = []
    for file in files:
        with noted(problems):
            integrations.append(read_integration(file))
    if problems:
        raise ScenarioError(problems)
    return integrations


async def _replay(
    files: Sequence[Path], integrations: Sequence[Integration], options: ExploreOptions
) -> int:
    """Run the histories of saved files; return the exit code."""
    if options.url is None:
        for file, integration in zip(files, integrations, strict=True):
            _saved_history(file, integration, options.form)
    entries: list[ExploredHistory] = []
    try:
        for file, integration in zip(files, integrations, strict=True):
            entries.append(await _replay_file(file, integration, options))
    finally:
        if entries:  # after an interruption too
            judged = [entry for entry in entries if entry.result != "not_judged"]
            all_ran, seed = len(judged) == len(files), options.limits.seed
            written = report.results(integrations, seed, entries, is_complete=all_ran)
            write_json(options.files["json"], written.encode)
    found = {entry.result for entry in entries}
    return 1 if "failed" in found else 2 if "not_judged" in found else 0


async def _replay_file(
    file: Path, integration: Integration, options: ExploreOptions
) -> ExploredHistory:
    """Run the history of a saved file, and print whether it is fixed."""
    paint = console_paint()
    try:
        async with explore_session(options, file, integration) as session:
            form = session.shop.form
            history = _saved_history(file, integration, form)
            names = (integration.reference, *integration.before)
            reference, *before = (report.named(each, integration, form) for each in names)
            exploration = Exploration(session, options.limits, lambda _: None)
            result = await exploration.replay(history, reference, filter(None, before))
    except UserError as error:
        write_coloured([f"{paint('yellow', 'NOT JUDGED')} {escape_controls(f'{file}: {error}')}"])
        return report.not_judged(file, integration, str(error))
    if result.failure is None:
        write_coloured([f"{paint('green', 'FIXED')} {escape_controls(f'{file}: {history.title}')}"])
    else:
        write_coloured([f"{paint('red', 'FAILED')} {escape_controls(str(file))}"])
        write_coloured(report.failure_lines(result.failure, paint))
        if before_names := result.failure.before:
            write_lines([f"  only after the {len(before_names)} histories of `before`"])
    return report.explored(file, result)


def _saved_history(file: Path, integration: Integration, form: WebhookForm) -> History:
    history = report.named(integration.history, integration, form)
    if history is None:
        cli_error(
            f"{file}: the file has no history that fits its integration;"
            " expected a file that `explore --save` wrote"
        )
    return history


class _Run:
    """An exploration, from its start to the exit code."""

    def __init__(self, options: ExploreOptions, file: Path, integration: Integration) -> None:
        self._options = options
        self._file = file
        self._integration = integration
        self._progress = ProgressLine()
        self._saved: dict[str, str] = {}  # by the title of the history

    async def run(self) -> int:
        name, options, exploration = self._integration.name, self._options, None
        started_ms, max_time_ms = RealClock().monotonic_ms(), options.limits.max_required_time_ms
        timeout_s = None if max_time_ms is None else max_time_ms / 1000 + MAX_OVERRUN_S
        try:
            with suppress(TimeoutError):
                async with (
                    asyncio.timeout(timeout_s),
                    explore_session(options, self._file, self._integration) as session,
                ):
                    limits = options.limits
                    exploration = Exploration(session, limits, self._show, started_ms=started_ms)
                    await exploration.run()
        finally:
            self._progress.show()
            is_interrupted = isinstance(sys.exception(), asyncio.CancelledError)
            if exploration is not None and (exploration.results or is_interrupted):
                first, *others = report.summary_lines(exploration)
                write_lines([f"{name}: {first}", *others])
                self._write_files(exploration)
            elif is_interrupted:
                write_lines([f"{name}: interrupted before the first history"])
        if exploration is None or not exploration.results:
            cli_error("flag --max-time: no history ended in this time; does the shop answer?")
        return exit_code(exploration)

    def _write_files(self, exploration: Exploration) -> None:
        """Write what is known, also after an interruption."""
        name, options, ran = self._integration.name, self._options, exploration.results
        entries = [report.explored(self._file, each, saved=self._saved) for each in ran]
        seed, is_complete = options.limits.seed, exploration.is_complete
        results = report.results(
            [self._integration], seed, entries, exploration, is_complete=is_complete
        )
        write_json(options.files["json"], results.encode)
        write_file("--junit", options.files["junit"], lambda: report.junit(name, exploration))
        html = partial(report.report, name, exploration, self._saved)
        write_file("--report", options.files["report"], html)

    def _show(self, exploration: Exploration) -> None:
        """Print and save a new failure at once; show the progress."""
        for failure in exploration.failures[len(self._saved) :]:
            self._progress.show()
            write_coloured(report.failure_lines(failure, console_paint()))
            saved = self._saved[failure.observation.history.title] = str(self._save(failure))
            write_lines([f"  saved: {saved}", ""])
        self._progress.show(report.progress_text(exploration), elapsed_ms=exploration.duration_ms)

    def _save(self, failure: HistoryFailure) -> Path:
        directory = self._options.files["save"]
        assert directory is not None  # noqa: S101 - the option has a default
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            cli_error(f"flag --save: cannot create '{directory}': {error.strerror}")
        file = directory / report.saved_name(self._integration, failure)
        write_file("--save", file, lambda: report.saved_file(self._integration, failure).encode())
        return file
