"""The command `explore`, which runs a merchant's integration through every history."""

from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli.event_loop import ENDING_SIGNALS, run_loop
from emulator.cli.output import (
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
from emulator.settings.option_types import parse_webhook_secret

if TYPE_CHECKING:
    from emulator.settings import Settings
    from emulator.tools.explore.exploration import Exploration, HistoryFailure, Limits
    from emulator.tools.explore.integration import Integration
    from emulator.tools.explore.session import ExploreSession

# Without --depth, larger histories follow until the time is over.
DEFAULT_DEPTH = 2
DEFAULT_MAX_TIME_MS = 120_000
DEFAULT_SEED = 1
MAX_DEPTH = 5
MAX_FAILURES = 1_000
# The requests of one step, of all histories that run at the same time, take far less.
MAX_JOURNAL_BYTES = 512 * 1024
MAX_OVERRUN_S = 2  # for a failed history to be reduced after --max-time
DEFAULT_SAVE_DIRECTORY = Path("explore")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreOptions:
    """The options of a run; without a URL it starts a private emulator."""

    url: str | None
    key: str
    secret: str | None
    settings: "Settings"
    limits: "Limits"
    save: Path
    json: Path | None
    junit: Path | None
    report: Path | None


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
    default=DEMO_TEST_KEY,
    show_default=True,
    help="API key of the account, with --url.",
)
@click.option("--port", metavar="PORT", help="Port of the private emulator.  [default: 8080]")
@click.option(
    "--checkout-port", metavar="PORT", help="Port of its checkout pages.  [default: 8081]"
)
@click.option(
    "--test-key", metavar="KEY", help=f"Test key of its account.  [default: {DEMO_TEST_KEY}]"
)
@click.option(
    "--webhook-secret",
    metavar="SECRET",
    callback=parsed_by(parse_webhook_secret),
    help="Secret that signs webhooks; otherwise generated from the seed and printed.",
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
    key: str,
    webhook_secret: str | None,
    json: Path | None,
    junit: Path | None,
    report: Path | None,
    **private: str | None,
) -> int:
    """Run a merchant's integration through every history of events.

    FILE describes the integration. The command judges each history.
    """
    settings = _settings(url, private)
    check_key("--key", key)
    limits = _limits(depth, max_time, seed, max_failures)
    given = ExploreOptions(
        url=None if url is None else base_url("--url", url),
        key=settings.test_key if url is None else key,
        secret=webhook_secret,
        settings=settings,
        limits=limits,
        save=save,
        json=json,
        junit=junit,
        report=report,
    )
    if len(files) > 1 and not replays:
        cli_error("expected one file of an integration; several are accepted with --replay")
    read = _read(files)
    if read is None:
        return 2
    from emulator.http.emulator_calls import PaymentsEmulatorError
    from emulator.server.app.server import NoListener, collect_rarely
    from emulator.tools.explore.service import ExploreError

    def run() -> Coroutine[object, object, int]:
        return _replay(files, read, given) if replays else _Run(given, files[0], read[0]).run()

    collect_rarely()
    try:
        # A job that is cancelled, or a terminal that is closed, must end the shop, too.
        return run_loop(run, ends_on=ENDING_SIGNALS)
    except PaymentsEmulatorError as error:
        cli_error(error.line)
    except (ExploreError, NoListener) as error:
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


def _read(files: Sequence[Path]) -> "list[Integration] | None":
    """The integrations, or None after printing every problem."""
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
        print_problems(problems)
        return None
    return integrations


def _settings(url: str | None, private: Mapping[str, str | None]) -> "Settings":
    """The settings of the private emulator."""
    given = {name.replace("_", "-"): value for name, value in private.items() if value is not None}
    if url is not None and given:
        flag = next(iter(given))
        cli_error(f"flag --{flag}: the emulator at --url has its own; leave this flag out")
    # Without a seed: a shop that keeps its orders must not meet the ids of an earlier run.
    return private_settings({**given, "clock": "frozen", "allow-http-localhost": True})


@asynccontextmanager
async def _session(
    options: ExploreOptions, integration: "Integration"
) -> "AsyncIterator[ExploreSession]":
    """The emulator and the shop, both running. Raises ExploreError, NoListener."""
    from tempfile import TemporaryDirectory

    from emulator import ids
    from emulator.clock import RealClock
    from emulator.http.addresses import BaseUrl
    from emulator.http.emulator_client import EmulatorClient
    from emulator.http.program_variables import program_variables
    from emulator.tools.explore.connections import Connections
    from emulator.tools.explore.service import MAX_CALL_S, Service
    from emulator.tools.explore.session import ExploreSession
    from emulator.tools.explore.shop import Shop
    from emulator.tools.explore.shop_process import ShopProcess

    wall = RealClock()
    async with AsyncExitStack() as stack:
        url = options.url
        if url is None:
            from emulator.server.app.server import private_emulator

            # On disk and with a short journal: the memory does not grow with the histories.
            directory = stack.enter_context(TemporaryDirectory())
            settings = replace(options.settings, database=f"{directory}/explore.db")
            url = await stack.enter_async_context(
                private_emulator(settings, max_journal_bytes=MAX_JOURNAL_BYTES)
            )
        address = BaseUrl.parse(url)
        client = EmulatorClient(address, key=options.key, timeout_s=MAX_CALL_S)
        service = Service(await stack.enter_async_context(client))
        shop_connections = Connections()
        stack.callback(shop_connections.close)
        stream = ids.stream_key(options.limits.seed, "explore")
        secret = options.secret or ids.webhook_secret(stream, 1)
        if options.url is not None:
            endpoint = service.silent_endpoint(integration.webhook, secret)
            secret = await stack.enter_async_context(endpoint)
        if not options.secret and integration.webhook and integration.run is None:
            write(f"The shop needs this webhook secret: {secret}\n")
        variables = program_variables(url, options.key, secret)
        shop = Shop(integration, shop_connections, secret=secret, wall=wall, variables=variables)
        session = ExploreSession(shop=shop, service=service, wall=wall)
        if integration.run is not None:
            process = ShopProcess(integration, variables, shop_connections, wall)
            await stack.enter_async_context(process.running())
            session.restart = process.restart
        yield session


async def _replay(
    files: Sequence[Path], integrations: "Sequence[Integration]", options: ExploreOptions
) -> int:
    """Run the histories of saved files; return the exit code."""
    from emulator.tools.explore import report
    from emulator.tools.explore.exploration import Exploration

    saved = []
    for file, integration in zip(files, integrations, strict=True):
        history = report.saved_history(integration)
        if history is None:
            cli_error(
                f"{file}: the file has no history that fits its integration;"
                " expected a file that `explore --save` wrote"
            )
        saved.append((file, integration, history))
    paint, entries = console_paint(), []
    for file, integration, history in saved:
        async with _session(options, integration) as session:
            exploration = Exploration(session, options.limits, lambda _: None)
            result = await exploration.replay(history)
        entries.append(report.explored(file, result))
        if result.failure is None:
            write(f"{paint('green', 'FIXED')} {file}: {history.title}\n")
            continue
        write(f"{paint('red', 'FAILED')} {file}\n")
        write_lines(report.failure_lines(result.failure, paint))
    seed = options.limits.seed
    write_json(options.json, report.results(integrations, seed, entries).encode)
    return int(any(entry.result == "failed" for entry in entries))


class _Run:
    """An exploration, from its start to the exit code."""

    def __init__(self, options: ExploreOptions, file: Path, integration: "Integration") -> None:
        self._options = options
        self._file = file
        self._integration = integration
        self._progress = ProgressLine()
        self._saved: dict[str, str] = {}  # by the title of the history

    async def run(self) -> int:
        import asyncio

        from emulator.tools.explore import report
        from emulator.tools.explore.exploration import Exploration

        name, options, exploration = self._integration.name, self._options, None
        max_time_ms = options.limits.max_time_ms
        timeout_s = None if max_time_ms is None else max_time_ms / 1000 + MAX_OVERRUN_S
        try:
            async with _session(options, self._integration) as session:
                exploration = Exploration(session, options.limits, self._show)
                with suppress(TimeoutError):
                    async with asyncio.timeout(timeout_s):
                        await exploration.run()
        finally:
            self._progress.show()
            if exploration is not None and exploration.counts.ran:
                write(f"{name}: {report.summary_line(exploration)}\n")
                write_lines(report.count_lines(exploration))
        if not exploration.counts.ran:
            cli_error("flag --max-time: no history ended in this time; does the shop answer?")
        entries = [
            report.explored(self._file, each, saved=self._saved) for each in exploration.results
        ]
        seed, size = options.limits.seed, exploration.complete_size
        write_json(options.json, report.results([self._integration], seed, entries, size).encode)
        write_file("--junit", options.junit, lambda: report.junit(name, exploration))
        write_file("--report", options.report, lambda: report.report(name, exploration))
        return int(bool(exploration.failures))

    def _show(self, exploration: "Exploration") -> None:
        """Print and save a new failure at once; show the progress."""
        from emulator.tools.explore.report import failure_lines, progress_text

        for failure in exploration.failures[len(self._saved) :]:
            self._progress.show()
            write_lines(failure_lines(failure, console_paint()))
            saved = self._saved[failure.history.title] = str(self._save(failure))
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
