"""Writes an exploration for a terminal, as HTML and JUnit, and failed histories for `--replay`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from emulator.domain.webhook_forms import WebhookForm
from emulator.reporting import PLAIN, JUnitCase, Paint, counted, html_report, junit_file
from emulator.scenarios.scenario_file import VERSION
from emulator.settings import data_directory
from emulator.tools.explore.anomalies import ANOMALY_BY_NAME, left_out
from emulator.tools.explore.exploration import Exploration, HistoryFailure, Result, capabilities
from emulator.tools.explore.failure_diagram import failure_diagram
from emulator.tools.explore.histories import History, build_history
from emulator.tools.explore.integration import Integration
from emulator.tools.explore.integration_file import INTEGRATION
from emulator.tools.explore.judgement import VERDICTS, TracedStep, VerdictId
from emulator.tools.json_results import ExploredHistory, ExploreResults, digest

GUIDE = "docs/guides/explore.md"
BAR_LENGTH = 24
_HISTORIES = ("history", "histories")


def failure_lines(failure: HistoryFailure, paint: Paint) -> list[str]:
    """The history as steps, with what was expected and seen after one of them."""
    verdict, trace = failure.verdict, failure.observation.trace
    lines = [f"{paint('red', verdict.id)}: {failure.history.title}"]
    width = len(str(len(trace)))
    outcome = (f"expected: {verdict.expected}", f"seen: {verdict.seen}")
    for number, step in enumerate(trace, 1):
        lines.append(f"  {number:>{width}}  {_step_text(step)}")
        if number == min(verdict.step, len(trace)):
            lines += (f"{'':{width + 4}}{line}" for line in outcome)
    return [*lines, f"  what to do: {GUIDE}#{verdict.id}"]


def _step_text(step: TracedStep) -> str:
    return f"{step.text} → {step.result}" if step.result else step.text


def count_lines(exploration: Exploration) -> Iterator[str]:
    """How many histories exist, ran and were skipped, and why."""
    counts = exploration.counts
    yield (
        f"{counted(counts.existing, *_HISTORIES)} exist: {counts.ran} ran,"
        f" {counts.equivalent + counts.containing_failure + counts.not_run} skipped"
    )
    reasons = (
        (counts.equivalent, "differ from one that ran only in the order of independent steps"),
        (counts.containing_failure, "contain one that failed"),
        (counts.not_run, "were not run, because a limit was reached or the run was interrupted"),
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
    failed = len(exploration.failures)
    ran = counted(exploration.counts.ran, *_HISTORIES)
    result = f"{failed} failed" if failed else "none failed"
    return f"{ran} in {exploration.duration_ms / 1000:.1f} s: {result}"


def progress_text(exploration: Exploration) -> str:
    """A bar of the histories that are done."""
    counts = exploration.counts
    done = counts.existing - counts.not_run
    filled = BAR_LENGTH * done // max(1, counts.existing)
    bar = "█" * filled + "░" * (BAR_LENGTH - filled)
    failed = len(exploration.failures)
    return f"{bar} {done} of {counts.existing} histories, {failed} failed"


def report(name: str, exploration: Exploration, saved: Mapping[str, str]) -> bytes:
    """The HTML file: each failure, and how often histories with each anomaly failed, by verdict.

    `saved` has the files of the failures by the titles of their histories.
    """
    rows = [
        (anomaly, result.failure)
        for result in exploration.results
        for anomaly in result.history.name.anomalies or ("no anomaly",)
    ]
    failed = Counter((anomaly, each.verdict.id) for anomaly, each in rows if each is not None)
    return html_report(
        "explore",
        {"quote": quote},
        name=name,
        summary=summary_line(exploration),
        counts=list(count_lines(exploration)),
        failures=[
            (failure, failure_diagram(failure), what_to_do(failure.verdict.id))
            for failure in exploration.failures
        ],
        saved=saved,
        meanings=VERDICTS,
        ran=Counter(anomaly for anomaly, _ in rows),
        failed=failed,
        verdicts=[each for each in VerdictId if any(each == verdict for _, verdict in failed)],
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


def explored(
    file: Path, result: Result, *, saved: Mapping[str, str] | None = None
) -> ExploredHistory:
    """A result for `--json`; `saved` has files by titles, without it the history was saved."""
    failure, title = result.failure, result.history.title
    details: dict[str, Any] = (
        {}
        if failure is None
        else {
            "verdict": failure.verdict.id.value,
            "expected": failure.verdict.expected,
            "seen": failure.verdict.seen,
            "steps": [_step_text(step) for step in failure.observation.trace],
            "saved": (saved or {}).get(title),
        }
    )
    return ExploredHistory(
        file=str(file),
        history=title,
        result="failed" if failure is not None else "fixed" if saved is None else "passed",
        duration_ms=round(result.duration_ms),
        what_to_do=None if failure is None else what_to_do(failure.verdict.id),
        **details,
    )


def what_to_do(verdict: VerdictId) -> str:
    """The section of the guide about a verdict, in one line."""
    guide = (data_directory("docs/guides") / "explore.md").read_text(encoding="utf-8")
    section = guide.partition(f"\n### {verdict}\n")[2].partition("\n#")[0]
    return " ".join(section.split())


def junit(name: str, exploration: Exploration) -> bytes:
    """The JUnit file: a test case for each history."""
    cases = [
        JUnitCase(
            name=result.history.title,
            class_name=name,
            duration_ms=result.duration_ms,
            failure=None if (failure := result.failure) is None else failure.verdict.seen,
            failure_type="" if failure is None else failure.verdict.id,
            failure_lines=() if failure is None else failure_lines(failure, PLAIN),
        )
        for result in exploration.results
    ]
    return junit_file("explore", cases, duration_ms=exploration.duration_ms)


def saved_file(integration: Integration, failure: HistoryFailure) -> str:
    """The text of the file."""
    import yaml

    document = INTEGRATION.write(replace(integration, history=failure.history.name))
    comment = "".join(f"# {line}\n" for line in failure_lines(failure, PLAIN))
    document = {"version": VERSION, **document}
    return f"{comment}\n{yaml.safe_dump(document, sort_keys=False, allow_unicode=True)}"


def saved_name(integration: Integration, failure: HistoryFailure) -> str:
    """The name of the file: equal for equal failures."""
    words = (integration.name, failure.verdict.id, failure.history.outcome)
    name = "-".join((*words, *failure.history.name.anomalies))
    return f"{name.replace(' ', '-').replace('.', '-')}.yaml"


def saved_history(integration: Integration, form: WebhookForm) -> History | None:
    """The history of a saved file; None where it fits neither the integration nor the form."""
    name = integration.history
    if name is None:
        return None
    known = [ANOMALY_BY_NAME[each] for each in name.anomalies]
    return build_history(name.outcome, known, capabilities(integration, form))
