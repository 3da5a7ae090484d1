"""Formats a comparison: as lines of a terminal, as JSON and as one HTML file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any

from emulator.domain.clauses import SECTIONS, Basis
from emulator.domain.instants import format_instant
from emulator.domain.message_text import escape_controls
from emulator.reporting import Paint, html_report, verdict_lines
from emulator.tools.verify.comparison import Comparison
from emulator.tools.verify.findings import ClauseResult, Verdict

FORMAT = 1
"""The version of the JSON document; later versions only add members."""

_INDENT = 2
_VERDICT_WIDTH = 10
_NUMBER_WIDTH = 8
_TITLE_WIDTH = max(map(len, SECTIONS.values())) + 7
_COUNT_WIDTH = 8


def comparison_lines(comparison: Comparison, paint: Paint) -> list[str]:
    """A table of the sections of the contract, the drifts, the clauses by section, a summary."""
    keys = f"key {comparison.key}"
    if comparison.other_key is not None:
        keys = f"keys {comparison.key} and {comparison.other_key}"
    title = f"Comparison of {comparison.base_url} with the contract ({keys})"
    lines = [escape_controls(title), "", paint("bold", _row("Sections", *Verdict))]
    for section in _sections(comparison):
        lines += _section_lines(section)
    if comparison.drifts:
        lines += ["", paint("bold", "Drifts")]
        for result in comparison.drifts:
            lines += _lines(result, [_seen(result)], paint)
    for section in _sections(comparison):
        seen = [result for result in section.results if result.verdict is not Verdict.UNSEEN]
        lines += ["", paint("bold", f"{section.number}  {section.title}")] if seen else []
        for result in seen:
            lines += _lines(result, [result.clause.says, f"→ {_seen(result)}"], paint)
    return [*lines, "", summary_line(comparison)]


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


def _section_lines(section: Section) -> list[str]:
    row = _row(f"  {section.number:<5}{section.title}", *map(section.count, Verdict))
    reasons = [f"  {reason}: {numbers}" for reason, numbers in section.unseen.items()]
    pairs = zip_longest([row], reasons, fillvalue="")
    return [escape_controls(f"{first:<{len(row)}}{reason}") for first, reason in pairs]


def _lines(result: ClauseResult, rows: list[str], paint: Paint) -> list[str]:
    colour = "green" if result.verdict is Verdict.HOLDS else "dim"
    if result.counts:
        colour = "red" if result.basis is Basis.STATED else "yellow"
    numbered = zip_longest([result.clause.number], rows, fillvalue="")
    rows = [f"{number:<{_NUMBER_WIDTH}}{row}" for number, row in numbered]
    verdict = colour, verdict_word(result)
    return verdict_lines(paint, verdict, rows, indent=_INDENT, width=_VERDICT_WIDTH)


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
    return (
        f"{counts['clauses']} clauses: {counts['holds']} hold, {counts['drift']} drift{note},"
        f" {counts['unseen']} unseen{left_out};"
        f" {counts['requests']} requests, {counts['payments']} payments created"
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
