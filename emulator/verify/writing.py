"""A comparison as JSON, for machines: a shape that later versions only add to."""

import json
from typing import Any

from emulator.domain.instants import format_instant
from emulator.verify.findings import Result, Verdict
from emulator.verify.running import Comparison

FORMAT = 1


def comparison_json(comparison: Comparison) -> bytes:
    """The document; but for `began_at` it is the same for the same answers."""
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
            "accepted": sum(one.is_accepted for one in drifts),
            "unseen": comparison.count(Verdict.UNSEEN),
            "rate_limited": comparison.left_out,
            "requests": comparison.requests,
            "payments": comparison.payments,
        },
        "clauses": [_clause(result) for result in comparison.results],
    }
    return json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n"


def _clause(result: Result) -> dict[str, Any]:
    clause = result.clause
    is_drift = result.verdict is Verdict.DRIFT
    return {
        "number": clause.number,
        "section": clause.section,
        "says": clause.says,
        "here": clause.here,
        "basis": clause.basis.value,
        "assumed": clause.assumed,
        "verdict": result.verdict.value,
        "drift_of": result.basis.value if is_drift else None,
        "is_accepted": result.is_accepted,
        "is_rate_limited": result.is_rate_limited,
        "seen": result.seen,
    }
