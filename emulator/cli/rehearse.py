"""The command `rehearse`, which runs a merchant's test command once for each variant."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from emulator.cli.emulator_options import generated_secret
from emulator.cli.event_loop import ENDING_SIGNALS, run_loop
from emulator.cli.output import (
    JSON_OPTION,
    JUNIT_OPTION,
    ProgressLine,
    cli_error,
    console_paint,
    max_time_option,
    number_option,
    write_coloured,
    write_file,
    write_json,
    write_lines,
)
from emulator.cli.settings_options import private_settings, settings_options
from emulator.clock import RealClock
from emulator.domain.message_text import escape_controls, nearest_word_hint
from emulator.domain.webhooks import STANDARD
from emulator.http.emulator_calls import program_variables
from emulator.scenarios.entries import Problem, ScenarioError, noted
from emulator.scenarios.webhook_form_file import load_webhook_form
from emulator.server.app.server import private_application, silence
from emulator.settings import Settings
from emulator.tools.rehearse import report as reports
from emulator.tools.rehearse.rehearsal import RehearsalError, RehearsalRun, Traffic
from emulator.tools.rehearse.suite import Suite
from emulator.tools.rehearse.variants import Variant, read_variants

MAX_JOBS = 16
# Each emulator has its own ports and its own database; Traffic reads this format of the log.
_PRIVATE = {"port": 0, "checkout-port": 0, "database": ":memory:", "log-format": "text"}


@click.command()
@click.argument("command", metavar="-- COMMAND...", nargs=-1, required=True)
@click.option(
    "--variants",
    metavar="DIR",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Scenario files of your own, in addition to the shipped variants; repeatable.",
)
@click.option(
    "--only",
    metavar="NAME",
    multiple=True,
    help="Run only the variant with this name; repeatable.",
)
@number_option(
    "-j",
    "--jobs",
    limits=(1, MAX_JOBS),
    default=1,
    help=f"Number of runs at the same time, 1 to {MAX_JOBS}; the tables are the same.",
)
@max_time_option("Maximum time of each run, such as 5m.", default="10 times the first run, and 30s")
@settings_options("webhook-url", "clock-file", "config")
@JSON_OPTION
@JUNIT_OPTION
def rehearse(
    command: tuple[str, ...],
    *,
    variants: tuple[Path, ...],
    only: tuple[str, ...],
    jobs: int,
    max_time: int | None,
    json: Path | None,
    junit: Path | None,
    **flags: str | None,
) -> int:
    """Run a merchant's test command with false answers and disturbances.

    COMMAND runs once without a variant, then once with each. Its tests should fail with a false
    answer, and pass with a disturbance.
    """
    settings = private_settings({**flags, "allow-http-localhost": True, **_PRIVATE})
    if settings.clock_file is not None and jobs > 1:
        cli_error("flag --jobs: found --clock-file, expected 1: each run has its own clock")
    problems, form = list[Problem](), STANDARD
    with noted(problems):
        form = load_webhook_form(settings.webhook_format)
    found, more = read_variants(variants, form)
    if problems or more:
        raise ScenarioError([*problems, *more])
    left_out = {each.name for each in read_variants([])[0]} - {each.name for each in found}
    if left_out:
        names = ", ".join(sorted(left_out))
        reason = f"webhooks in the form {form.name} cannot be tampered with so"
        write_lines([f"left out: {names}; {reason}"])
    known = [each.name for each in found]
    for name in only:
        if name not in known:
            hint = nearest_word_hint(name, known)
            cli_error(f"flag --only: found '{name}', expected one of {', '.join(known)}.{hint}")
    progress = ProgressLine()
    run = RehearsalRun(
        suite=Suite(command, RealClock()),
        variants=[each for each in found if not only or each.name in only],
        emulator=partial(_emulator, settings),
        wall=RealClock(),
        max_ms=max_time,
        show=progress.show,
    )
    try:
        with silence():
            run_loop(lambda: run.run(jobs), ends_on=ENDING_SIGNALS)
    except RehearsalError as error:
        for line in error.last_lines:
            click.echo(escape_controls(line), err=True)
        raise
    finally:
        progress.show()
        if run.results:  # after an interruption too
            write_coloured(reports.table_lines(run, console_paint()))
            write_json(json, lambda: reports.results(run).encode())
            write_file("--junit", junit, lambda: reports.junit(run))
    return int(any(result.is_finding for result in run.results))


@asynccontextmanager
async def _emulator(
    settings: Settings, variant: Variant | None, traffic: Traffic
) -> AsyncIterator[dict[str, str]]:
    """A private emulator, in which the scenario of the variant precedes the settings' scenarios."""
    form = load_webhook_form(settings.webhook_format)
    secret = settings.webhook_secret or generated_secret(form, None, "rehearse")
    own = replace(settings, webhook_secret=secret)
    if variant is not None and variant.file is not None:
        own = replace(own, scenarios=(*settings.scenarios, str(variant.file)))
    elif variant is not None:
        own = replace(own, vary=variant.vary)
    emulator = private_application(own, write_log=traffic.add_lines, stamps_business_time=False)
    async with emulator as app:
        traffic.variants = app.engine.accounts.applied_variants
        url = app.settings.local_url(app.settings.port)
        yield program_variables(url, settings.test_key, secret)
        traffic.unanswered = app.engine.webhooks.dispatcher.attempts.unanswered
