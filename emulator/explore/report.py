"""Writes an exploration as one HTML file and as a JUnit file for CI servers."""

from emulator.explore.console import count_lines, failure_lines, summary_line
from emulator.explore.exploration import Exploration, Result, matrix
from emulator.explore.judgement import VerdictId
from emulator.reporting import JUnitCase, Paint, junit_file, report_template


def report(name: str, exploration: Exploration) -> bytes:
    """The HTML file: each failure, and a matrix of anomalies and verdicts."""
    template = report_template("explore", {})
    return template.render(
        name=name,
        summary=summary_line(exploration),
        counts=list(count_lines(exploration)),
        failures=exploration.failures,
        matrix=matrix(exploration.results),
        verdicts=list(VerdictId),
    ).encode()


def junit(name: str, exploration: Exploration) -> bytes:
    """The JUnit file: a test case for each history."""
    cases = [_case(name, result) for result in exploration.results]
    return junit_file("explore", cases, duration_ms=exploration.duration_ms)


def _case(name: str, result: Result) -> JUnitCase:
    failure = result.failure
    return JUnitCase(
        name=result.history.title,
        class_name=name,
        duration_ms=result.duration_ms,
        failure=None if failure is None else failure.verdict.seen,
        failure_type="" if failure is None else failure.verdict.id,
        failure_lines=() if failure is None else failure_lines(failure, Paint(is_on=False)),
    )
