"""Sample comparisons, without a service."""

from dataclasses import replace
from typing import Any

from emulator.domain.clauses import CLAUSES, Basis
from emulator.domain.instants import parse_instant
from emulator.tools.verify.comparison import Comparison
from emulator.tools.verify.findings import ClauseResult, Verdict

HOLDS = tuple(
    ClauseResult(clause=clause, verdict=Verdict.HOLDS, seen="as it should be", basis=clause.basis)
    for clause in CLAUSES
)
# The first contradicts the contract, the others an assumption.
DRIFTS: dict[str, dict[str, Any]] = {
    "4.1.4": {"verdict": Verdict.DRIFT, "seen": '`currency` "USD": 201', "basis": Basis.STATED},
    "4.3.11": {"verdict": Verdict.DRIFT, "seen": "oldest first", "basis": Basis.ASSUMED},
    "2.1.12": {"verdict": Verdict.DRIFT, "seen": "`created_at`: `1`", "basis": Basis.ASSUMED},
}
UNSEEN: dict[str, dict[str, Any]] = {
    "6.2": {"verdict": Verdict.UNSEEN, "seen": "a check needs an address"}
}
REFUSAL = "429 was returned again after a wait of 60 s in total"
LEFT_OUT: dict[str, dict[str, Any]] = {
    "4.2.1": {"verdict": Verdict.UNSEEN, "seen": REFUSAL, "is_rate_limited": True},
    "4.3.1": {"verdict": Verdict.UNSEEN, "seen": REFUSAL, "is_rate_limited": True},
    # Another check has seen it.
    "7.7": {"is_rate_limited": True},
}
ACCEPTED: dict[str, dict[str, Any]] = {"4.3.11": {**DRIFTS["4.3.11"], "is_accepted": True}}


def comparison(
    changes: dict[str, dict[str, Any]] | None = None, *, refusal: str | None = None
) -> Comparison:
    """A comparison in which all clauses hold, except for the changes."""
    of_clause = changes or {}
    return Comparison(
        base_url="https://sandbox.example",
        key="test_de…key",
        other_key=None,
        began_at=parse_instant("2026-01-02T03:04:05Z"),
        results=tuple(replace(one, **of_clause.get(one.clause.number, {})) for one in HOLDS),
        requests=80,
        payments=12,
        refusal=refusal,
    )
