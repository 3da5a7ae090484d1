"""Writes a rehearsal for a terminal, and as JSON and JUnit."""

from collections.abc import Iterator

from emulator.domain.durations import span_text
from emulator.domain.message_text import escape_controls
from emulator.domain.webhooks import MAX_TIMEOUT_MS
from emulator.reporting import JUnitCase, Paint, counted, junit_file
from emulator.scenarios.values import VariantKind
from emulator.tools.json_results import RehearsedVariant, RehearseResults
from emulator.tools.rehearse.rehearsal import RehearsalRun

MAX_TESTS = 5
UNANSWERED_AFTER = span_text(MAX_TIMEOUT_MS)
_FINDINGS = {
    VariantKind.FALSE_ANSWER: "False answers that the suite did not notice",
    VariantKind.DISTURBANCE: "Disturbances that the shop did not survive",
}


def details(result: RehearsedVariant) -> Iterator[str]:
    """What is known of a finding: its failed tests or last lines, and its scenario file."""
    code, failed = result.exit_code, result.failed_tests
    if code == 0:
        yield "the suite passed"
    for name in failed[:MAX_TESTS]:
        yield f"failed: {name}"
    if (others := len(failed) - MAX_TESTS) > 0:
        yield f"and {others} more"
    if code is None or (code and not failed):
        end = "it did not end in time" if code is None else f"exit code {code}"
        yield f"{end}; {'the last lines of the output:' if result.last_lines else 'no output'}"
        yield from (f"  {line}" for line in result.last_lines)
    if own := result.own_scenarios:
        yield f"{counted(own, 'scenario')} that the tests set had precedence"
    if result.what_to_do is not None:
        yield result.what_to_do
    yield f"{'option' if result.scenario.startswith('--') else 'scenario'}: {result.scenario}"


def table_lines(run: RehearsalRun, paint: Paint) -> Iterator[str]:
    """The two tables, with an empty line after each, and a summary."""
    for kind, title in _FINDINGS.items():
        results = [result for result in run.results if result.rehearsal == kind]
        found = [result for result in results if result.is_finding]
        applicable = sum(result.is_applicable for result in results)
        yield paint("bold", f"{title}: {len(found)} of {applicable}")
        for result in found:
            description = escape_controls(result.description)
            yield f"  {paint('red', result.variant)}: {description}"
            yield from (f"      {escape_controls(line)}" for line in details(result))
        if names := ", ".join(each.variant for each in results if not each.is_applicable):
            yield f"  not applicable: {names}; no response and no webhook could show them"
        yield ""
    if run.unanswered:
        counts = ", ".join(f"{number} with {name}" for name, number in run.unanswered.items())
        line = f"Webhooks that the shop did not answer within {UNANSWERED_AFTER}: {counts}"
        yield escape_controls(line)
    yield escape_controls(summary_line(run))


def summary_line(run: RehearsalRun) -> str:
    ran = f"{len(run.results)} of {counted(len(run.variants), 'variant')}"
    return f"{ran} ran in {run.duration_ms / 1_000:.1f} s: {run.suite.command}"


def results(run: RehearsalRun) -> RehearseResults:
    """All results, for `--json`."""
    command, is_complete = run.suite.command, run.is_complete
    return RehearseResults(is_complete=is_complete, command=command, results=run.results)


def junit(run: RehearsalRun) -> bytes:
    """The JUnit file: a test case for each variant."""
    cases = [
        JUnitCase(
            name=result.variant,
            class_name=result.rehearsal,
            duration_ms=result.duration_ms,
            failure=result.description if result.is_finding else None,
            failure_type=_FINDINGS[VariantKind(result.rehearsal)],
            failure_lines=list(details(result)),
        )
        for result in run.results
    ]
    return junit_file("rehearse", cases, duration_ms=run.duration_ms)
