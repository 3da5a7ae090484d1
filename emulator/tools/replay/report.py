"""Writes a run as one HTML file and as a JUnit file for CI servers.

The HTML file loads nothing and has equal bytes for equal runs.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from emulator.domain.payment import STATUS_OF_EVENT
from emulator.reporting import PLAIN, JUnitCase, html_report, junit_file
from emulator.scenarios.runner.results import CaseResult, copy_texts
from emulator.scenarios.runner.trace import MAX_PAYMENTS
from emulator.scenarios.values import Json
from emulator.summaries import moment_text, summary_html
from emulator.tools.replay.case_diagram import case_diagram
from emulator.tools.replay.console import (
    failure_lines,
    step_lines,
    summary_line,
)
from emulator.tools.replay.coverage import coverage_of

MAX_SHOWN = 200
MAX_BODY_CHARACTERS = 16_384


def report(results: Sequence[CaseResult], *, skipped: int) -> bytes:
    """The HTML file, failed cases first; it contains no duration and no real time.

    Only the first MAX_SHOWN cases have a diagram, requests, events and webhooks.
    """
    in_order = sorted(results, key=lambda result: result.has_passed)
    return html_report(
        "replay",
        _FILTERS,
        most_shown=MAX_SHOWN,
        most_payments=MAX_PAYMENTS,
        status_of_event=STATUS_OF_EVENT,
        detailed={result.case.name for result in in_order[:MAX_SHOWN]},
        failed=[result for result in in_order if not result.has_passed],
        passed=[result for result in in_order if result.has_passed],
        summary=summary_line(results, skipped),
        coverage=coverage_of(result.trace for result in results),
    )


def pretty(body: str) -> str:
    """A body, indented if it is JSON, and cut to a maximum length."""
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False, indent=2)
    except ValueError:
        text = body
    return text if len(text) <= MAX_BODY_CHARACTERS else f"{text[:MAX_BODY_CHARACTERS]}\n… and more"


def _fault_text(fault: Json) -> str:
    """The effect of a fault: `status 500, point after_commit`."""
    then: dict[str, Any] = (fault or {}).get("then") or {}
    return ", ".join(
        name if value is True else f"{name} {value}" for name, value in then.items() if value
    )


_FILTERS: Mapping[str, Callable[..., object]] = {
    "diagram": case_diagram,
    "copies": copy_texts,
    "pretty": pretty,
    "fault_text": _fault_text,
    "moment": moment_text,
    "summary": summary_html,
}


def junit(results: Sequence[CaseResult], *, duration_ms: float) -> bytes:
    """The JUnit file: a test case for each case, a failure with its printed lines."""
    return junit_file(
        "replay", [_junit_case(result) for result in results], duration_ms=duration_ms
    )


def _junit_case(result: CaseResult) -> JUnitCase:
    lines: list[str] = []
    if result.failure is not None:
        lines = [*step_lines(result.steps, PLAIN), ""]
        lines += failure_lines(result, result.failure, PLAIN)
    return JUnitCase(
        name=result.case.name,
        class_name=result.case.source,
        duration_ms=result.duration_ms,
        failure=None if result.failure is None else result.failure.message,
        failure_type="expectation",
        failure_lines=lines,
    )
