"""Writes an exploration for a terminal, as HTML and JUnit, and failed histories for `--replay`.

A failed history is drawn as a sequence diagram, with the handlers of the shop as bars.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit

from msgspec.structs import replace

from emulator.diagrams import MIDDLE, Diagram, Line, Mark, TimedLine, sequence, with_bars
from emulator.domain.payment import Status
from emulator.domain.webhook_forms import WebhookForm
from emulator.reporting import (
    PLAIN,
    JUnitCase,
    Paint,
    counted,
    html_report,
    junit_file,
    progress_bar,
)
from emulator.scenarios.scenario_file import VERSION
from emulator.settings import data_directory
from emulator.tools.explore.anomalies import ANOMALY_BY_NAME, left_out
from emulator.tools.explore.exploration import Exploration, Result, capabilities
from emulator.tools.explore.histories import History, build_history
from emulator.tools.explore.integration import Integration
from emulator.tools.explore.integration_file import INTEGRATION
from emulator.tools.explore.judgement import HistoryFailure, Observation, TracedStep, Verdict
from emulator.tools.explore.steps import CHANGES, Manner, StepAction
from emulator.tools.json_results import ExploredHistory, ExploreResults, digest

GUIDE = "docs/guides/explore.md"
_HISTORIES = ("history", "histories")
CUSTOMER, SHOP = 1, 3
PARTIES = ("Customer", "Payments service", "Your shop")
# Who acts, and on whom; other steps are texts.
_SENDERS = {
    StepAction.START: (CUSTOMER, SHOP),
    StepAction.RETURN: (CUSTOMER, SHOP),
    StepAction.SETTLE: (MIDDLE, SHOP),
    StepAction.SUBMIT: (CUSTOMER, MIDDLE),
    StepAction.APPROVE: (CUSTOMER, MIDDLE),
    StepAction.DECLINE: (CUSTOMER, MIDDLE),
    StepAction.LOSE: (MIDDLE, SHOP),
}


def failure_lines(failure: HistoryFailure, paint: Paint) -> list[str]:
    """The history as steps, with what was expected and seen after one of them."""
    trace, verdict = failure.observation.trace, failure.verdict.id
    lines = [f"{paint('red', verdict)}: {failure.observation.history.title}"]
    width = len(str(len(trace)))
    outcome = (f"expected: {failure.expected}", f"seen: {failure.seen}")
    for number, step in enumerate(trace, 1):
        lines.append(f"  {number:>{width}}  {_step_text(step)}")
        if number == min(failure.step, len(trace)):
            lines += (f"{'':{width + 4}}{line}" for line in outcome)
    return [*lines, f"  what to do: {GUIDE}#{verdict}"]


def _step_text(step: TracedStep) -> str:
    return f"{step.text} → {step.result}" if step.result else step.text


def count_lines(exploration: Exploration) -> Iterator[str]:
    """How many histories exist, ran and were skipped, and why."""
    ran, equivalent, not_run = exploration.ran, exploration.equivalent, exploration.not_run
    exist = counted(exploration.existing, *_HISTORIES)
    yield f"{exist} exist: {ran} ran, {exploration.existing - ran} skipped"
    reasons = (
        (equivalent, "differ from one that ran only in the order of independent steps"),
        (exploration.containing_failure, "contain one that failed"),
        (not_run, "were not run, because a limit was reached or the run was interrupted"),
    )
    for count, reason in reasons:
        if count:
            yield f"  {count} {reason}"
    size = exploration.complete_size
    up_to = "none" if size is None else f"up to {counted(size, 'anomaly', 'anomalies')}"
    yield f"complete sizes: {up_to}"
    yield from left_out(exploration.can)


def summary_line(exploration: Exploration) -> str:
    """The result in one line."""
    ran = counted(exploration.ran, *_HISTORIES)
    result = f"{len(exploration.failures) or 'none'} failed"
    return f"{ran} in {exploration.duration_ms / 1000:.1f} s: {result}"


def progress_text(exploration: Exploration) -> str:
    """A bar of the histories that are done."""
    done = exploration.existing - exploration.not_run
    failed = len(exploration.failures)
    return f"{progress_bar(done, exploration.existing)} histories, {failed} failed"


def report(name: str, exploration: Exploration, saved: Mapping[str, str]) -> bytes:
    """The HTML file: each failure, and how often histories with each anomaly failed, by verdict.

    `saved` has the files of the failures by the titles of their histories.
    """
    rows = [
        (anomaly, result.failure)
        for result in exploration.results
        for anomaly in result.history.name.anomalies or ("no anomaly",)
    ]
    failed = Counter((anomaly, each.verdict) for anomaly, each in rows if each is not None)
    return html_report(
        "explore",
        {"quote": quote},
        name=name,
        summary=summary_line(exploration),
        counts=list(count_lines(exploration)),
        failures=[
            (each, failure_diagram(each), what_to_do(each.verdict)) for each in exploration.failures
        ],
        saved=saved,
        ran=Counter(anomaly for anomaly, _ in rows),
        failed=failed,
        verdicts=[each for each in Verdict if any(each is verdict for _, verdict in failed)],
    )


def results(
    integrations: Sequence[Integration],
    seed: int,
    entries: Sequence[ExploredHistory],
    *,
    is_complete: bool,
    complete_size: int | None = None,
) -> ExploreResults:
    """The results for `--json`."""
    inputs = [INTEGRATION.write(replace(each, history=None)) for each in integrations]
    return ExploreResults(
        is_complete=is_complete,
        seed=seed,
        digest=digest(inputs, seed, [entry.history for entry in entries]),
        complete_size=complete_size,
        results=entries,
    )


def explored(file: Path, result: Result, saved: Mapping[str, str] | None = None) -> ExploredHistory:
    """A result for `--json`; `saved` has files by titles, without it the history was saved."""
    failure, title = result.failure, result.history.title
    trace = () if failure is None else failure.observation.trace
    return ExploredHistory(
        file=str(file),
        history=title,
        result="failed" if failure is not None else "fixed" if saved is None else "passed",
        duration_ms=round(result.duration_ms),
        verdict=None if failure is None else failure.verdict.id,
        expected=None if failure is None else failure.expected,
        seen=None if failure is None else failure.seen,
        steps=[_step_text(step) for step in trace],
        saved=None if failure is None or saved is None else saved.get(title),
        what_to_do=None if failure is None else what_to_do(failure.verdict),
    )


def what_to_do(verdict: Verdict) -> str:
    """The section of the guide about a verdict, in one line."""
    guide = (data_directory("docs/guides") / "explore.md").read_text(encoding="utf-8")
    return " ".join(guide.partition(f"\n### {verdict.id}\n")[2].partition("\n#")[0].split())


def junit(name: str, exploration: Exploration) -> bytes:
    """The JUnit file: a test case for each history."""
    cases = [
        JUnitCase(
            name=result.history.title,
            class_name=name,
            duration_ms=result.duration_ms,
            failure=None if (failure := result.failure) is None else failure.seen,
            failure_type="" if failure is None else failure.verdict.id,
            failure_lines=() if failure is None else failure_lines(failure, PLAIN),
        )
        for result in exploration.results
    ]
    return junit_file("explore", cases, duration_ms=exploration.duration_ms)


def saved_file(integration: Integration, failure: HistoryFailure) -> str:
    """The text of the file."""
    import yaml

    history = failure.observation.history.name
    document = INTEGRATION.write(replace(integration, history=history))
    comment = "".join(f"# {line}\n" for line in failure_lines(failure, PLAIN))
    document = {"version": VERSION, **document}
    return f"{comment}\n{yaml.safe_dump(document, sort_keys=False, allow_unicode=True)}"


def saved_name(integration: Integration, failure: HistoryFailure) -> str:
    """The name of the file: equal for equal failures."""
    history = failure.observation.history.name
    words = (integration.name, failure.verdict.id, history.outcome, *history.anomalies)
    return f"{'-'.join(words).replace(' ', '-').replace('.', '-')}.yaml"


def saved_history(integration: Integration, form: WebhookForm) -> History | None:
    """The history of a saved file; None where it fits neither the integration nor the form."""
    if (name := integration.history) is None:
        return None
    known = [ANOMALY_BY_NAME[each] for each in name.anomalies]
    return build_history(name.outcome, known, capabilities(integration, form))


def failure_diagram(failure: HistoryFailure) -> Diagram:
    """The diagram; times are those since the begin of the history."""
    observation = failure.observation
    begin = observation.trace[0].span[0]
    parts = [part for step in observation.trace for part in _step_parts(step, begin)]
    for sent in observation.sent:
        result = Mark(sent.response.text, not sent.response.is_success)
        title = sent.title or f"{sent.method} {urlsplit(sent.url).path}"
        line = Line(text=f"`{title}`", at=sent.began_ms - begin, target=SHOP)
        parts.append(TimedLine(line, sent.ended_ms - begin, result))
    lines = with_bars(parts)
    # A webhook that is never acknowledged is not a failure of the order.
    step = None if failure.verdict is Verdict.NEVER_ACKNOWLEDGED else failure.step
    for sample in observation.samples:
        number = _last_line(lines, observation, sample.step)
        lines[number] = replace(lines[number], state=Mark(sample.text, sample.step == step))
    number = _last_line(lines, observation, failure.step)
    lines[number + 1 : number + 1] = [
        Line(text=f"expected: {failure.expected}"),
        Line(text=f"seen: {failure.seen}", is_failed=True),
    ]
    return sequence(PARTIES, lines, state_title=f"Order {observation.order}", has_instants=False)


def _step_parts(traced: TracedStep, begin: float) -> list[Line | TimedLine]:
    step, (began_ms, ended_ms) = traced.step, traced.span
    # Its webhook says the same.
    if step.action is StepAction.DELIVER and step.manner is Manner.USUAL:
        return []
    source, target = _SENDERS.get(step.action, (MIDDLE, MIDDLE))
    at = began_ms - begin
    is_lost = step.action is StepAction.LOSE
    line = Line(text=traced.text, at=at, source=source, target=target, is_failed=is_lost)
    if target == SHOP and not is_lost:
        # The rest names the order and its payment.
        result = re.split("[,;]", traced.result)[0]
        return [TimedLine(line, ended_ms - begin, Mark(result, not result.startswith(("2", "3"))))]
    status = CHANGES.get(step.action)
    if status is None:
        return [line]
    changed = Line(text="", at=ended_ms - begin, status=Status(status))
    return [replace(changed, text=traced.text)] if source == target else [line, changed]


def _last_line(lines: list[Line], observation: Observation, step: int) -> int:
    """The index of the last line of a step, from 1; those without a time belong to the one before.

    The retries of webhooks at the end belong to the last step.
    """
    if step >= len(observation.trace):
        return len(lines) - 1
    until = observation.trace[max(step, 1) - 1].span[1] - observation.trace[0].span[0]
    return max(number for number, line in enumerate(lines) if (line.at or 0) <= until)
