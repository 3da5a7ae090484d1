"""Writes a rehearsal for a terminal, and as JSON and JUnit."""

from collections.abc import Iterator

from emulator.domain.durations import span_text
from emulator.domain.message_text import escape_controls
from emulator.domain.webhooks import MAX_TIMEOUT_MS
from emulator.reporting import JUnitCase, Paint, counted, junit_file
from emulator.scenarios.values import VariantKind
from emulator.tools.json_results import RehearsedVariant, RehearseResults
from emulator.tools.rehearse.rehearsal import RehearsalRun, VariantResult
from emulator.tools.rehearse.variants import Variant

MAX_TESTS = 5
UNANSWERED_AFTER = span_text(MAX_TIMEOUT_MS)
_FINDINGS = {
    VariantKind.FALSE_ANSWER: "False answers that the suite did not notice",
    VariantKind.DISTURBANCE: "Disturbances that the shop did not survive",
}
_ADVICE = {
    VariantKind.FALSE_ANSWER: "Add a test that fails with",
    VariantKind.DISTURBANCE: (
        "Change the shop, or your test if it calls the handler directly, until the tests pass with"
    ),
}


def what_to_do(variant: Variant) -> str:
    return f"{_ADVICE[variant.kind]} `rehearse --only {variant.name}`."


def details(result: VariantResult) -> Iterator[str]:
    """What is known of a finding: its failed tests or last lines, and its scenario file."""
    run = result.run
    if run.has_passed:
        yield "the suite passed"
    for name in run.failed_tests[:MAX_TESTS]:
        yield f"failed: {name}"
    if (others := len(run.failed_tests) - MAX_TESTS) > 0:
        yield f"and {others} more"
    if not run.has_passed and (run.exit_code is None or not run.failed_tests):
        yield f"{run.end}; {'the last lines of the output:' if run.last_lines else 'no output'}"
        yield from (f"  {line}" for line in run.last_lines)
    if own := result.traffic.own_scenarios:
        yield f"{counted(own, 'scenario')} that the tests set had precedence"
    yield what_to_do(result.variant)
    yield f"{'option' if result.variant.file is None else 'scenario'}: {result.variant.by_hand}"


def table_lines(run: RehearsalRun, paint: Paint) -> Iterator[str]:
    """The two tables, with an empty line after each, and a summary."""
    for kind, title in _FINDINGS.items():
        results = [result for result in run.results if result.variant.kind is kind]
        found = [result for result in results if result.is_finding]
        applicable = sum(result.is_applicable for result in results)
        yield paint("bold", f"{title}: {len(found)} of {applicable}")
        for result in found:
            description = escape_controls(result.variant.description)
            yield f"  {paint('red', result.variant.name)}: {description}"
            yield from (f"      {escape_controls(line)}" for line in details(result))
        if names := ", ".join(each.variant.name for each in results if not each.is_applicable):
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
    entries, is_complete = [_entry(each) for each in run.results], run.is_complete
    return RehearseResults(is_complete=is_complete, command=run.suite.command, results=entries)


def _entry(result: VariantResult) -> RehearsedVariant:
    kind, scenario = result.variant.kind, result.variant.by_hand
    return RehearsedVariant(
        variant=result.variant.name,
        rehearsal=kind.value,
        scenario=scenario,
        is_finding=result.is_finding,
        is_applicable=result.is_applicable,
        exit_code=result.run.exit_code,
        duration_ms=round(result.run.duration_ms),
        failed_tests=result.run.failed_tests,
        last_lines=result.run.last_lines,
        own_scenarios=result.traffic.own_scenarios,
        what_to_do=what_to_do(result.variant) if result.is_finding else None,
    )


def junit(run: RehearsalRun) -> bytes:
    """The JUnit file: a test case for each variant."""
    cases = [
        JUnitCase(
            name=result.variant.name,
            class_name=result.variant.kind,
            duration_ms=result.run.duration_ms,
            failure=result.variant.description if result.is_finding else None,
            failure_type=_FINDINGS[result.variant.kind],
            failure_lines=list(details(result)),
        )
        for result in run.results
    ]
    return junit_file("rehearse", cases, duration_ms=run.duration_ms)
