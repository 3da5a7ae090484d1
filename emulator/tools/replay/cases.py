"""Reads the cases of a run, the scenario files with a script, and plays them."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from msgspec import Struct

from emulator.http import emulator_calls as calls
from emulator.http.client import EmulatorClient
from emulator.http.received_webhooks import WebhookReceiver
from emulator.scenarios.entries import Problem, ScenarioError, noted
from emulator.scenarios.loader import Forms, Reading, files_of_paths, name_is_taken, read_file
from emulator.scenarios.runner.case_runner import RunContext, account_word, expects_webhooks, play
from emulator.scenarios.runner.results import Case, CaseResult, PlayedStep


class Cases(Struct, frozen=True, kw_only=True):
    """The cases in the given order, the problems, and the number of files without a script."""

    cases: tuple[Case, ...]
    problems: tuple[Problem, ...]
    skipped: int


def read_cases(paths: Sequence[Path], forms: Forms = frozenset()) -> Cases:
    """Read files, and directories as `check` does.

    A named file must have a script; a file of a directory need not. The webhook faults of each must
    be possible in each of `forms`.
    """
    problems: list[Problem] = []
    cases: dict[str, Case] = {}
    skipped = 0
    named = {path.absolute() for path in paths if not path.is_dir()}
    for path in files_of_paths(paths, problems):
        with noted(problems):
            reading = read_file(path, forms)
            if reading.scenario.script:
                _add(path, reading, cases)
                continue
            skipped += 1
            if path.absolute() in named:
                raise ScenarioError.at(path, "the file has no script")
    if not (cases or problems):
        sources = ", ".join(map(str, paths))
        problems.append(Problem(source=sources, message="no file has a script"))
    return Cases(cases=tuple(cases.values()), problems=tuple(problems), skipped=skipped)


def _add(path: Path, reading: Reading, cases: dict[str, Case]) -> None:
    """Raises ScenarioError if another case has the name."""
    scenario = reading.scenario
    case = Case(source=str(path), path=path, text=reading.text, scenario=scenario)
    other = cases.setdefault(account_word(case.name), case)
    if other is not case:
        alike = "" if other.name == case.name else f", whose '{other.name}' counts as the same"
        raise name_is_taken(path, reading, f"{other.source}{alike}")


async def play_all(
    cases: Sequence[Case],
    context: RunContext,
    report_step: Callable[[Case, PlayedStep], None],
    report_case: Callable[[CaseResult], object],
) -> None:
    """Play cases one after the other. Raises PaymentsEmulatorError."""
    async with AsyncExitStack() as stack:
        url = context.client.base_url
        async with EmulatorClient(url, timeout_s=calls.MAX_IDENTIFICATION_S) as checked:
            await checked.call(calls.HEALTH)
            if context.key is not None:
                await replace(checked, key=context.key).call(calls.CLOCK)
        if any(expects_webhooks(case.scenario.script) for case in cases):
            receiver = await stack.enter_async_context(WebhookReceiver())
            await receiver.listen(checked.http.local_address[0])
            context = replace(context, receiver=receiver)
        for case in cases:
            report_case(await play(case, context, partial(report_step, case)))
