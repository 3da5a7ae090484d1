"""Formats an exploration for a terminal: the progress, the failures and the counts."""

from collections.abc import Iterator

from emulator.explore.exploration import Exploration, HistoryFailure
from emulator.reporting import ERASE_LINE, Paint

BAR_LENGTH = 24


def failure_lines(failure: HistoryFailure, paint: Paint) -> list[str]:
    """The history as steps, with what was expected and seen after one of them."""
    verdict, trace = failure.verdict, failure.observation.trace
    lines = [f"{paint('red', verdict.id)}: {failure.history.title}"]
    width = len(str(len(trace)))
    for number, step in enumerate(trace, 1):
        result = f" → {step.result}" if step.result else ""
        lines.append(f"  {number:>{width}}  {step.text}{result}")
        if number == verdict.step:
            lines += _outcome_lines(failure, width)
    if verdict.step > len(trace):
        lines += _outcome_lines(failure, width)
    return lines


def _outcome_lines(failure: HistoryFailure, width: int) -> list[str]:
    indent = " " * (width + 4)
    verdict = failure.verdict
    return [f"{indent}expected: {verdict.expected}", f"{indent}seen: {verdict.seen}"]


def count_lines(exploration: Exploration) -> Iterator[str]:
    """How many histories exist, ran and were skipped, and why."""
    counts = exploration.counts
    yield (
        f"{_histories(counts.existing)} exist: {counts.ran} ran,"
        f" {counts.equivalent + counts.containing_failure + counts.not_run} skipped"
    )
    reasons = (
        (counts.equivalent, "differ from one that ran only in the order of independent steps"),
        (counts.containing_failure, "contain one that failed"),
        (counts.not_run, "are left, because a limit was reached"),
    )
    for count, reason in reasons:
        if count:
            yield f"  {count} {reason}"


def summary_line(exploration: Exploration) -> str:
    """The result in one line."""
    failed = len(exploration.failures)
    ran = _histories(exploration.counts.ran)
    result = f"{failed} failed" if failed else "none failed"
    return f"{ran} in {exploration.duration_ms / 1000:.1f} s: {result}"


def progress_text(exploration: Exploration) -> str:
    """A bar of the histories that are done, which replaces the one before."""
    counts = exploration.counts
    done = counts.existing - counts.not_run
    filled = BAR_LENGTH * done // max(1, counts.existing)
    bar = "█" * filled + "░" * (BAR_LENGTH - filled)
    failed = len(exploration.failures)
    return f"{ERASE_LINE}{bar} {done} of {counts.existing} histories, {failed} failed"


def _histories(count: int) -> str:
    return "1 history" if count == 1 else f"{count} histories"
