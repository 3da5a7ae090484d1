"""Writes a comparison as JSON and as one HTML file."""

import json
from itertools import groupby
from typing import Any

from emulator.domain.clauses import SECTIONS
from emulator.domain.instants import format_instant
from emulator.reporting import html_report
from emulator.tools.verify.comparison import Comparison
from emulator.tools.verify.console import assumption, incompleteness, summary_line, verdict_word
from emulator.tools.verify.findings import ClauseResult, Verdict

FORMAT = 1
"""The version of the JSON document; later versions only add members."""


def comparison_json(comparison: Comparison) -> bytes:
    """The JSON document. Except for `began_at`, equal responses give equal documents."""
    drifts = comparison.drifts
    document = {
        "format": FORMAT,
        "began_at": format_instant(comparison.began_at),
        "base_url": comparison.base_url,
        "key": comparison.key,
        "other_key": comparison.other_key,
        "has_drifted": comparison.has_drifted,
        "is_complete": comparison.refusal is None,
        "refusal": comparison.refusal,
        "counts": {
            "clauses": len(comparison.results),
            "holds": comparison.count(Verdict.HOLDS),
            "drift": len(drifts),
            "accepted": sum(result.is_accepted for result in drifts),
            "unseen": comparison.count(Verdict.UNSEEN),
            "rate_limited": comparison.left_out,
            "requests": comparison.requests,
            "payments": comparison.payments,
        },
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
    sections = [
        (section, SECTIONS[section], list(results))
        for section, results in groupby(comparison.results, lambda result: result.clause.section)
    ]
    return html_report(
        "verify",
        {"verdict_word": verdict_word, "assumption": assumption},
        comparison=comparison,
        summary=summary_line(comparison),
        incompleteness=incompleteness(comparison),
        began_at=format_instant(comparison.began_at)[:16].replace("T", " "),
        drifts=[result for result in comparison.drifts if result.counts],
        sections=sections,
        count_drifts=_count_drifts,
    )


def _count_drifts(results: list[ClauseResult]) -> int:
    return sum(result.verdict is Verdict.DRIFT for result in results)
