"""Formats a comparison for a terminal: a line for each clause and a summary."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby, zip_longest
from textwrap import wrap

from emulator.domain.clauses import SECTIONS, Basis
from emulator.reporting import Paint, verdict_lines
from emulator.tools.verify.comparison import Comparison
from emulator.tools.verify.findings import ClauseResult, Verdict

DEFAULT_WIDTH = 100
# A narrower terminal shows the two columns of text below each other.
MIN_TWO_COLUMN_WIDTH = 76

_INDENT = "  "
_VERDICT_WIDTH = 10
_NUMBER_WIDTH = 8
_GAP = "  "
_MARGIN = len(_INDENT) + _VERDICT_WIDTH + _NUMBER_WIDTH
# The minimum width of the text, also on a narrower terminal.
_MIN_TEXT_WIDTH = 16


def verdict_word(result: ClauseResult) -> str:
    if result.is_accepted:
        return "accepted"
    return "DRIFT" if result.verdict is Verdict.DRIFT else result.verdict.value


def assumption(result: ClauseResult) -> str | None:
    """Our assumption, if the service differs from it; otherwise None."""
    if result.verdict is not Verdict.DRIFT or result.basis is Basis.STATED:
        return None
    return result.clause.assumed or result.clause.here


def comparison_lines(comparison: Comparison, paint: Paint, width: int) -> list[str]:
    """The drifts, the clauses by the sections of the contract, then a summary.

    The unseen clauses are in one block, by reason.
    """
    keys = f"key {comparison.key}"
    if comparison.other_key is not None:
        keys = f"keys {comparison.key} and {comparison.other_key}"
    lines = [f"Comparison of {comparison.base_url} with the contract ({keys})"]
    if comparison.drifts:
        lines += ["", paint("bold", "Drifts")]
        for result in comparison.drifts:
            lines += _lines(result, wrap(_seen(result), _text_width(width)), paint)
    seen = [result for result in comparison.results if result.verdict is not Verdict.UNSEEN]
    for section, results in groupby(seen, lambda result: result.clause.section):
        lines += ["", paint("bold", f"{section}  {SECTIONS[section]}")]
        for result in results:
            lines += _result_lines(result, paint, width)
    return [*lines, *_unseen_lines(comparison, paint, width), "", summary_line(comparison)]


def _unseen_lines(comparison: Comparison, paint: Paint, width: int) -> Iterator[str]:
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    for result in comparison.results:
        if result.verdict is Verdict.UNSEEN:
            numbers[result.seen].append(result.clause.number)
    if numbers:
        yield from ("", paint("bold", "Unseen clauses"))
    for reason, clauses in numbers.items():
        text = f"{reason}: {', '.join(clauses)}"
        yield from wrap(
            text, max(width, _MARGIN), initial_indent=_INDENT, subsequent_indent=_INDENT * 2
        )


def _result_lines(result: ClauseResult, paint: Paint, width: int) -> list[str]:
    """What the contract says, and what was seen beside it, or below it on a narrow terminal."""
    text_width = _text_width(width)
    says, seen = result.clause.says, _seen(result)
    if width < MIN_TWO_COLUMN_WIDTH:
        rows = [*wrap(says, text_width), *wrap(f"→ {seen}", text_width, subsequent_indent="  ")]
    else:
        left = (text_width - len(_GAP)) * 9 // 20
        right = text_width - left - len(_GAP)
        pairs = zip_longest(wrap(says, left), wrap(seen, right), fillvalue="")
        rows = [f"{one:<{left}}{_GAP}{other}".rstrip() for one, other in pairs]
    return _lines(result, rows, paint)


def _lines(result: ClauseResult, rows: list[str], paint: Paint) -> list[str]:
    verdict = _colour(result), verdict_word(result)
    numbered = zip_longest([result.clause.number], rows, fillvalue="")
    rows = [f"{number:<{_NUMBER_WIDTH}}{row}" for number, row in numbered]
    return verdict_lines(paint, verdict, rows, indent=len(_INDENT), width=_VERDICT_WIDTH)


def _text_width(width: int) -> int:
    return max(width - _MARGIN, _MIN_TEXT_WIDTH)


def _seen(result: ClauseResult) -> str:
    assumed = assumption(result)
    return result.seen if assumed is None else f"{result.seen} (our assumption: {assumed})"


def _colour(result: ClauseResult) -> str:
    if not result.counts:
        return "green" if result.verdict is Verdict.HOLDS else "dim"
    return "red" if result.basis is Basis.STATED else "yellow"


def summary_line(comparison: Comparison) -> str:
    """The number of clauses by verdict, of requests and of created payments."""
    drifts = comparison.drifts
    assumed = sum(result.basis is Basis.ASSUMED for result in drifts)
    accepted = sum(result.is_accepted for result in drifts)
    notes = [f"{assumed} from our assumptions"] if assumed else []
    notes += [f"{accepted} accepted"] if accepted else []
    note = f" ({', '.join(notes)})" if notes else ""
    left_out = ""
    if comparison.refusal is not None:
        left_out = (
            f" ({comparison.left_out} not checked, because the service refused requests with 429)"
        )
    return (
        f"{len(comparison.results)} clauses: {comparison.count(Verdict.HOLDS)} hold,"
        f" {len(drifts)} drift{note},"
        f" {comparison.count(Verdict.UNSEEN)} unseen{left_out};"
        f" {comparison.requests} requests, {comparison.payments} payments created"
    )


def incompleteness(comparison: Comparison) -> str | None:
    """A line that says why a comparison is incomplete; None if it is complete."""
    if comparison.refusal is None:
        return None
    left_out = f"{comparison.left_out} of {len(comparison.results)} clauses"
    return (
        f"the comparison is not complete: because of the rate limit {left_out} were not checked;"
        f" {comparison.refusal}"
    )
