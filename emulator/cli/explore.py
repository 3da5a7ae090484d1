"""The command `explore`, which runs a merchant's integration through every history."""

from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli.event_loop import ENDING_SIGNALS, run_loop
from emulator.cli.output import (
    CLOCK_FILE_OPTION,
    FILES_ARGUMENT,
    JSON_OPTION,
    JUNIT_OPTION,
    REPORT_OPTION,
    ProgressLine,
    base_url,
    check_key,
    cli_error,
    console_paint,
    number_within,
    parsed_by,
    print_problems,
    write,
    write_file,
    write_json,
    write_lines,
)
from emulator.cli.private_settings import private_settings
from emulator.domain.accounts import DEMO_TEST_KEY, SEEDS
from emulator.domain.durations import parse_duration_ms
from emulator.domain.webhook_forms import STANDARD, WebhookForm

if TYPE_CHECKING:
    from emulator.cli.explore_session import ExploreOptions
    from emulator.settings import Settings
    from emulator.tools.explore.exploration import Exploration, Limits
    from emulator.tools.explore.histories import History
    from emulator.tools.explore.integration import Integration
    from emulator.tools.explore.judgement import HistoryFailure
    from emulator.tools.json_results import ExploredHistory

# Without --depth, larger histories follow until the time is over.
DEFAULT_DEPTH = 2
DEFAULT_MAX_TIME_MS = 120_000
DEFAULT_SEED = 1
MAX_DEPTH = 5
MAX_FAILURES = 1_000
MAX_OVERRUN_S = 2  # for a failed history to be reduced after --max-time
DEFAULT_SAVE_DIRECTORY = Path("explore")


@click.command()
@FILES_ARGUMENT
@click.option(
    "--depth",
    metavar="N",
    type=str,
    callback=number_within(int, 0, MAX_DEPTH),
    show_default="random larger ones follow those with 2",
    help=f"Run all histories with up to this number of anomalies, 0 to {MAX_DEPTH}, and no others.",
)
@click.option(
    "--seed",
    metavar="INTEGER",
    type=str,
    callback=number_within(int, SEEDS.start, SEEDS.stop - 1),
    default=DEFAULT_SEED,
    show_default=True,
    help="Seed of the random histories.",
)
@click.option(
    "--max-time",
    metavar="DURATION",
    callback=parsed_by(parse_duration_ms),
    show_default="2m without --depth",
    help="Maximum time of the run, such as 60s.",
)
@click.option(
    "--max-failures",
    metavar="N",
    type=str,
    callback=number_within(int, 1, MAX_FAILURES),
    default=1,
    show_default=True,
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
@click.option(
    "--url",
    metavar="URL",
    help="URL of a running emulator; otherwise `explore` starts a private one.",
)
@click.option(
    "--key",
    metavar="KEY",
    help=f"API key of the account, with --url.  [default: {DEMO_TEST_KEY}]",
)
@click.option("--port", metavar="PORT", help="Port of the private emulator.  [default: 8080]")
@click.option(
    "--checkout-port", metavar="PORT", help="Port of its checkout pages.  [default: 8081]"
)
@click.option(
    "--test-key", metavar="KEY", help=f"Test key of its account.  [default: {DEMO_TEST_KEY}]"
)
@CLOCK_FILE_OPTION
@click.option(
    "--webhook-secret",
    metavar="SECRET",
    help="Secret that signs webhooks; otherwise generated from the seed and printed.",
)
@click.option(
    "--webhook-format",
    metavar="FORMAT",
    default=STANDARD.name,
    show_default=True,
    help="Form of webhooks: the name of a shipped one, or a file; with --url, that of the endpoint"
    " with the URL of the webhook, if there is one.",
)
def explore(
    files: tuple[Path, ...],
    *,
    replays: bool,
    depth: int | None,
    seed: int,
    max_time: int | None,
    max_failures: int,
    save: Path,
    url: str | None,
    key: str | None,
    webhook_secret: str | None,
    webhook_format: str,
    json: Path | None,
    junit: Path | None,
    report: Path | None,
    **private: str | None,
) -> int:
    """Run a merchant's integration through every history of events.

    FILE describes the integration. The command judges each history.
    """
    from emulator.cli.explore_session import ExploreOptions
    from emulator.http.emulator_calls import PaymentsEmulatorError
    from emulator.scenarios.problems import ScenarioError
    from emulator.scenarios.webhook_form_file import load_webhook_form
    from emulator.server.app.server import NoListener, collect_rarely
    from emulator.settings import SettingsError
    from emulator.tools.explore.service import ExploreError

    settings = _settings(url, private)
    check_key("--key", key)
    if key is not None and url is None:
        cli_error("flag --key: expected --url")
    key = key or DEMO_TEST_KEY
    limits = _limits(depth, max_time, seed, max_failures)
    if len(files) > 1 and not replays:
        cli_error("expected one file of an integration; several are accepted with --replay")
    try:
        form, read = load_webhook_form(webhook_format), _read(files)
    except ScenarioError as error:
        return print_problems(error.problems)
    if webhook_secret is not None and not form.signature.secret.accepts(webhook_secret):
        cli_error(f"flag --webhook-secret: expected {form.signature.secret.expected}")
    given = ExploreOptions(
        url=None if url is None else base_url("--url", url),
        key=settings.test_key if url is None else key,
        secret=webhook_secret,
        form=form,
        settings=settings,
        limits=limits,
        save=save,
        json=json,
        junit=junit,
        report=report,
    )

    def run() -> Coroutine[object, object, int]:
        return _replay(files, read, given) if replays else _Run(given, files[0], read[0]).run()

    collect_rarely()
    try:
        # A job that is cancelled, or a terminal that is closed, must end the shop, too.
        return run_loop(run, ends_on=ENDING_SIGNALS)
    except PaymentsEmulatorError as error:
        cli_error(error.line)
    except (ExploreError, NoListener, SettingsError) as error:
        cli_error(str(error))


def _limits(depth: int | None, max_time_ms: int | None, seed: int, max_failures: int) -> "Limits":
    """The limits of the run; without a depth, random histories follow until the time is over."""
    from emulator.tools.explore.exploration import Limits

    return Limits(
        depth=DEFAULT_DEPTH if depth is None else depth,
        seed=seed,
        max_failures=max_failures,
        max_time_ms=DEFAULT_MAX_TIME_MS if depth is max_time_ms is None else max_time_ms,
        draws=depth is None,
    )


def _read(files: Sequence[Path]) -> "list[Integration]":
    """The integrations. Raises ScenarioError with every problem."""
    from emulator.scenarios.problems import Problem, ScenarioError
    from emulator.tools.explore.integration_file import read_integration

    integrations: list[Integration] = []
    problems: list[Problem] = []
    for file in files:
        try:
            integrations.append(read_integration(file))
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    return integrations


def _settings(url: str | None, private: Mapping[str, str | None]) -> "Settings":
    """The settings of the private emulator."""
    given = {name.replace("_", "-"): value for name, value in private.items() if value is not None}
    if url is not None and given:
        flag = next(iter(given))
        cli_error(f"flag --{flag}: the emulator at --url has its own; leave this flag out")
    # Without a seed: a shop that keeps its orders must not meet the ids of an earlier run.
    return private_settings({**given, "clock": "frozen", "allow-http-localhost": True})


async def _replay(
    files: Sequence[Path], integrations: "Sequence[Integration]", options: "ExploreOptions"
) -> int:
    """Run the histories of saved files; return the exit code."""
    from emulator.tools.explore import report

    if options.url is None:
        for file, integration in zip(files, integrations, strict=True):
            _saved_history(file, integration, options.form)
    entries: list[ExploredHistory] = []
    try:
        for file, integration in zip(files, integrations, strict=True):
            entries.append(await _replay_file(file, integration, options))
    finally:
        if entries:  # after an interruption too
            all_ran, seed = len(entries) == len(files), options.limits.seed
            written = report.results(integrations, seed, entries, is_complete=all_ran)
            write_json(options.json, written.encode)
    return int(any(entry.result == "failed" for entry in entries))


async def _replay_file(
    file: Path, integration: "Integration", options: "ExploreOptions"
) -> "ExploredHistory":
    """Run the history of a saved file, and print whether it is fixed."""
    from emulator.cli.explore_session import explore_session
    from emulator.tools.explore import report
    from emulator.tools.explore.exploration import Exploration

    paint = console_paint()
    async with explore_session(options, integration) as session:
        history = _saved_history(file, integration, session.shop.form)
        exploration = Exploration(session, options.limits, lambda _: None)
        result = await exploration.replay(history)
    if result.failure is None:
        write(f"{paint('green', 'FIXED')} {file}: {history.title}\n")
    else:
        write(f"{paint('red', 'FAILED')} {file}\n")
        write_lines(report.failure_lines(result.failure, paint))
    return report.explored(file, result)


def _saved_history(file: Path, integration: "Integration", form: WebhookForm) -> "History":
    from emulator.tools.explore.report import saved_history

    history = saved_history(integration, form)
    if history is None:
        cli_error(
            f"{file}: the file has no history that fits its integration;"
            " expected a file that `explore --save` wrote"
        )
    return history


class _Run:
    """An exploration, from its start to the exit code."""

    def __init__(self, options: "ExploreOptions", file: Path, integration: "Integration") -> None:
        self._options = options
        self._file = file
        self._integration = integration
        self._progress = ProgressLine()
        self._saved: dict[str, str] = {}  # by the title of the history

    async def run(self) -> int:
        import asyncio

        from emulator.cli.explore_session import explore_session
        from emulator.tools.explore import report
        from emulator.tools.explore.exploration import Exploration

        name, options, exploration = self._integration.name, self._options, None
        max_time_ms = options.limits.max_time_ms
        timeout_s = None if max_time_ms is None else max_time_ms / 1000 + MAX_OVERRUN_S
        try:
            async with explore_session(options, self._integration) as session:
                exploration = Exploration(session, options.limits, self._show)
                with suppress(TimeoutError):
                    async with asyncio.timeout(timeout_s):
                        await exploration.run()
        finally:
            self._progress.show()
            if exploration is not None and exploration.ran:
                write(f"{name}: {report.summary_line(exploration)}\n")
                write_lines(report.count_lines(exploration))
                self._write_files(exploration)
        if not exploration.ran:
            cli_error("flag --max-time: no history ended in this time; does the shop answer?")
        return int(bool(exploration.failures))

    def _write_files(self, exploration: "Exploration") -> None:
        """Write what is known, also after an interruption."""
        from emulator.tools.explore import report

        name, options, ran = self._integration.name, self._options, exploration.results
        results = report.results(
            [self._integration],
            options.limits.seed,
            [report.explored(self._file, each, saved=self._saved) for each in ran],
            is_complete=exploration.is_complete,
            complete_size=exploration.complete_size,
        )
        write_json(options.json, results.encode)
        write_file("--junit", options.junit, lambda: report.junit(name, exploration))
        html = partial(report.report, name, exploration, self._saved)
        write_file("--report", options.report, html)

    def _show(self, exploration: "Exploration") -> None:
        """Print and save a new failure at once; show the progress."""
        from emulator.tools.explore.report import failure_lines, progress_text

        for failure in exploration.failures[len(self._saved) :]:
            self._progress.show()
            write_lines(failure_lines(failure, console_paint()))
            saved = self._saved[failure.observation.history.title] = str(self._save(failure))
            write(f"  saved: {saved}\n\n")
        self._progress.show(progress_text(exploration), elapsed_ms=exploration.duration_ms)

    def _save(self, failure: "HistoryFailure") -> Path:
        from emulator.tools.explore.report import saved_file, saved_name

        directory = self._options.save
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            cli_error(f"flag --save: cannot create '{directory}': {error.strerror}")
        file = directory / saved_name(self._integration, failure)
        write_file("--save", file, lambda: saved_file(self._integration, failure).encode())
        return file
