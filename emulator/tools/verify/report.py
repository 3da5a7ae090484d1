"""Formats a comparison: as lines of a terminal, as JSON and as one HTML file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from textwrap import wrap
from typing import Any

from emulator.domain.clauses import SECTIONS, Basis
from emulator.domain.instants import format_instant
from emulator.domain.message_text import escape_controls
from emulator.reporting import Paint, counted, html_report, verdict_lines
from emulator.tools.verify.comparison import Comparison
from emulator.tools.verify.findings import ClauseResult, Verdict

DEFAULT_WIDTH = 100
# A narrower terminal shows the two columns of text below each other.
MIN_TWO_COLUMN_WIDTH = 76
FORMAT = 1
"""The version of the JSON document; later versions only add members."""

_INDENT = "  "
_VERDICT_WIDTH = 10
_NUMBER_WIDTH = 8
_GAP = "  "
_MARGIN = len(_INDENT) + _VERDICT_WIDTH + _NUMBER_WIDTH
_TITLE_WIDTH = max(map(len, SECTIONS.values())) + 7
_COUNT_WIDTH = 8
# The minimum width of the text, also on a narrower terminal.
_MIN_TEXT_WIDTH = 16


def comparison_lines(comparison: Comparison, paint: Paint, width: int) -> list[str]:
    """A table of the sections of the contract, the drifts, the clauses by section, a summary."""
    keys = f"key {comparison.key}"
    if comparison.other_key is not None:
        keys = f"keys {comparison.key} and {comparison.other_key}"
    lines = wrap(f"Comparison of {comparison.base_url} with the contract ({keys})", width)
    lines = [*map(escape_controls, lines), "", paint("bold", _row("Sections", *Verdict))]
    for section in _sections(comparison):
        lines += _section_lines(section, width)
    if comparison.drifts:
        lines += ["", paint("bold", "Drifts")]
        for result in comparison.drifts:
            lines += _lines(result, wrap(_seen(result), _text_width(width)), paint)
    for section in _sections(comparison):
        seen = [result for result in section.results if result.verdict is not Verdict.UNSEEN]
        lines += ["", paint("bold", f"{section.number}  {section.title}")] if seen else []
        for result in seen:
            lines += _lines(result, _columns(result, width), paint)
    return [*lines, "", *wrap(summary_line(comparison), width)]


@dataclass(frozen=True, slots=True)
class Section:
    """The results of a section of the contract."""

    number: str
    title: str
    results: Sequence[ClauseResult]

    def count(self, verdict: Verdict) -> int:
        return sum(result.verdict is verdict for result in self.results)

    @property
    def unseen(self) -> Mapping[str, str]:
        """The numbers of the unseen clauses by reason."""
        numbers: dict[str, list[str]] = {}
        for result in self.results:
            if result.verdict is Verdict.UNSEEN:
                numbers.setdefault(result.seen, []).append(result.clause.number)
        return {reason: ", ".join(clauses) for reason, clauses in numbers.items()}


def _sections(comparison: Comparison) -> list[Section]:
    return [
        Section(number, SECTIONS[number], list(results))
        for number, results in groupby(comparison.results, lambda result: result.clause.section)
    ]


def _row(title: str, *counts: object) -> str:
    """A row of the table of sections; the reasons of unseen clauses follow it."""
    return f"{title:<{_TITLE_WIDTH}}{''.join(f'{count!s:>{_COUNT_WIDTH}}' for count in counts)}"


def _section_lines(section: Section, width: int) -> list[str]:
    row = _row(f"  {section.number:<5}{section.title}", *map(section.count, Verdict))
    margin = len(row) + len(_GAP)
    if width - margin < _MIN_TEXT_WIDTH:
        margin = len(_INDENT) * 2
    reasons = [
        line
        for reason, numbers in section.unseen.items()
        for line in wrap(f"{reason}: {numbers}", width - margin, subsequent_indent=_INDENT)
    ]
    first = [row] if margin < len(row) or not reasons else [f"{row}{_GAP}{reasons.pop(0)}"]
    return list(map(escape_controls, [*first, *(f"{'':{margin}}{line}" for line in reasons)]))


def _columns(result: ClauseResult, width: int) -> list[str]:
    """What the contract says, and what was seen beside it, or below it on a narrow terminal."""
    text_width = _text_width(width)
    says, seen = result.clause.says, _seen(result)
    if width < MIN_TWO_COLUMN_WIDTH:
        return [*wrap(says, text_width), *wrap(f"→ {seen}", text_width, subsequent_indent="  ")]
    left = (text_width - len(_GAP)) * 9 // 20
    pairs = zip_longest(wrap(says, left), wrap(seen, text_width - left - len(_GAP)), fillvalue="")
    return [f"{one:<{left}}{_GAP}{other}".rstrip() for one, other in pairs]


def _lines(result: ClauseResult, rows: list[str], paint: Paint) -> list[str]:
    colour = "green" if result.verdict is Verdict.HOLDS else "dim"
    if result.counts:
        colour = "red" if result.basis is Basis.STATED else "yellow"
    numbered = zip_longest([result.clause.number], rows, fillvalue="")
    rows = [f"{number:<{_NUMBER_WIDTH}}{row}" for number, row in numbered]
    verdict = colour, verdict_word(result)
    return verdict_lines(paint, verdict, rows, indent=len(_INDENT), width=_VERDICT_WIDTH)


def _text_width(width: int) -> int:
    return max(width - _MARGIN, _MIN_TEXT_WIDTH)


def _seen(result: ClauseResult) -> str:
    assumed = assumption(result)
    return result.seen if assumed is None else f"{result.seen} (our assumption: {assumed})"


def verdict_word(result: ClauseResult) -> str:
    if result.is_accepted:
        return "accepted"
    return "DRIFT" if result.verdict is Verdict.DRIFT else result.verdict.value


def assumption(result: ClauseResult) -> str | None:
    """Our assumption, if the service differs from it; otherwise None."""
    if result.verdict is not Verdict.DRIFT or result.basis is Basis.STATED:
        return None
    return result.clause.assumed or result.clause.here


def summary_line(comparison: Comparison) -> str:
    """The number of clauses by verdict, of requests and of created payments."""
    counts = _counts(comparison)
    assumed = sum(result.basis is Basis.ASSUMED for result in comparison.drifts)
    notes = [f"{assumed} from our assumptions"] if assumed else []
    notes += [f"{counts['accepted']} accepted"] if counts["accepted"] else []
    note = f" ({', '.join(notes)})" if notes else ""
    left_out = (
        f" ({comparison.left_out} not checked, because the service refused requests with 429)"
        if comparison.refusal is not None
        else ""
    )
    hidden = comparison.hidden_errors
    retried = f"; a retry hid {counted(hidden, 'error')} of the service" if hidden else ""
    return (
        f"{counts['clauses']} clauses: {counts['holds']} hold, {counts['drift']} drift{note},"
        f" {counts['unseen']} unseen{left_out};"
        f" {counts['requests']} requests, {counts['payments']} payments created{retried}"
    )


def incompleteness(comparison: Comparison) -> str | None:
    """A line that says why a comparison is incomplete; None if it is complete."""
    if comparison.is_interrupted:
        return "the comparison is not complete: Ctrl-C ended it"
    if comparison.refusal is None:
        return None
    left_out = f"{comparison.left_out} of {len(comparison.results)} clauses"
    return (
        f"the comparison is not complete: because of the rate limit {left_out} were not checked;"
        f" {comparison.refusal}"
    )


def _counts(comparison: Comparison) -> dict[str, int]:
    verdicts = [result.verdict for result in comparison.results]
    return {
        "clauses": len(verdicts),
        "holds": verdicts.count(Verdict.HOLDS),
        "drift": len(comparison.drifts),
        "accepted": sum(result.is_accepted for result in comparison.drifts),
        "unseen": verdicts.count(Verdict.UNSEEN),
        "rate_limited": comparison.left_out,
        "requests": comparison.requests,
        "payments": comparison.payments,
        "hidden_errors": comparison.hidden_errors,
    }


def comparison_json(comparison: Comparison) -> bytes:
    """The JSON document. Except for `began_at`, equal responses give equal documents."""
    document = {
        "format": FORMAT,
        "began_at": format_instant(comparison.began_at),
        "base_url": comparison.base_url,
        "key": comparison.key,
        "other_key": comparison.other_key,
        "has_drifted": comparison.has_drifted,
        "is_complete": incompleteness(comparison) is None,
        "refusal": comparison.refusal,
        "counts": _counts(comparison),
        "clauses": [_clause_json(result) for result in comparison.results],
    }
    return json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n"


def _clause_json(result: ClauseResult) -> dict[str, Any]:
    clause = result.clause
    return {
        "number": clause.number,
        "section": clause.section,
        "says": clause.says,
        "here": clause.here,
        "basis": clause.basis.value,
        "assumed": clause.assumed,
        "verdict": result.verdict.value,
        "drift_of": result.basis.value if result.verdict is Verdict.DRIFT else None,
        "is_accepted": result.is_accepted,
        "is_rate_limited": result.is_rate_limited,
        "seen": result.seen,
    }


def comparison_html(comparison: Comparison) -> bytes:
    """The HTML file. Except for the time, equal responses give equal files."""
    return html_report(
        "verify",
        {"verdict_word": verdict_word, "assumption": assumption},
        comparison=comparison,
        summary=summary_line(comparison),
        incompleteness=incompleteness(comparison),
        began_at=format_instant(comparison.began_at)[:16].replace("T", " "),
        drifts=[result for result in comparison.drifts if result.counts],
        sections=_sections(comparison),
        verdicts=list(Verdict),
    )
