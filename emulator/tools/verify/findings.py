"""Findings of checks, and the verdict on each clause that follows from them."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from emulator.domain.clauses import CLAUSES, Basis, Clause
from emulator.tools.verify.session import Session

MAX_OBSERVATIONS = 3
"""The maximum number of observations that are printed for a clause."""


class Verdict(StrEnum):
    HOLDS = "holds"
    DRIFT = "drift"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseFinding:
    """One observation about a clause. `basis` is STATED if the observation concerns what the
    contract states, ASSUMED if it concerns our assumption about it. `is_rate_limited` means that
    a 429 ended the check."""

    number: str
    verdict: Verdict
    seen: str
    basis: Basis = Basis.STATED
    is_rate_limited: bool = False


Findings = list[ClauseFinding]


class Check(NamedTuple):
    """A check of a service, and the clauses about which it reports findings.

    A clause that it does not report on, because it could not continue, is unseen.
    """

    run: Callable[[Session], Awaitable[Findings]]
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseResult:
    """The verdict on a clause. Of a drift, `basis` is the basis of the findings that drift.

    `is_rate_limited` means that a 429 ended one of the checks of the clause.
    """

    clause: Clause
    verdict: Verdict
    seen: str
    basis: Basis
    is_accepted: bool = False
    is_rate_limited: bool = False

    @property
    def counts(self) -> bool:
        """Whether it is a drift that the user has not accepted."""
        return self.verdict is Verdict.DRIFT and not self.is_accepted

    @property
    def was_left_out(self) -> bool:
        """Whether it is unseen because the service refused requests with 429."""
        return self.verdict is Verdict.UNSEEN and self.is_rate_limited


def _judged(
    basis: Basis, is_so: bool, seen: str, *numbers: str, otherwise: str | None = None
) -> Findings:
    text = seen if is_so or otherwise is None else otherwise
    verdict = Verdict.HOLDS if is_so else Verdict.DRIFT
    return [
        ClauseFinding(number=number, verdict=verdict, seen=text, basis=basis) for number in numbers
    ]


stated = partial(_judged, Basis.STATED)
"""Findings about what the contract states: whether it is so, what was seen, and the clauses.

`otherwise` is what was seen if it is not so; without it, `seen` is valid in both cases.
"""

assumed = partial(_judged, Basis.ASSUMED)
"""Findings about what we have assumed, with the same arguments."""


def unseen(reason: str, *numbers: str, is_rate_limited: bool = False) -> Findings:
    return [
        ClauseFinding(
            number=number, verdict=Verdict.UNSEEN, seen=reason, is_rate_limited=is_rate_limited
        )
        for number in numbers
    ]


def none(wrong: Iterable[str], seen: str) -> tuple[bool, str]:
    """Whether nothing is wrong, and what was seen: `seen`, or the first thing that is wrong."""
    return next(((False, text) for text in wrong), (True, seen))


def results(findings: Iterable[ClauseFinding], *, accepted: frozenset[str]) -> list[ClauseResult]:
    """Every clause of the contract with its verdict, in order."""
    of_clause: dict[str, Findings] = {clause.number: [] for clause in CLAUSES}
    for finding in findings:
        of_clause[finding.number].append(finding)
    return [_result(clause, of_clause[clause.number], accepted) for clause in CLAUSES]


_ORDER = [Verdict.DRIFT, Verdict.HOLDS, Verdict.UNSEEN]


def _rank(finding: ClauseFinding) -> tuple[int, bool]:
    """A drift decides, from the contract before one from an assumption; else what holds, if any."""
    is_drift = finding.verdict is Verdict.DRIFT
    return _ORDER.index(finding.verdict), is_drift and finding.basis is Basis.ASSUMED


def _result(clause: Clause, findings: Findings, accepted: frozenset[str]) -> ClauseResult:
    """The verdict on a clause, which has a finding."""
    rank = min(map(_rank, findings))
    decisive = [finding for finding in findings if _rank(finding) == rank]
    verdict, basis = decisive[0].verdict, decisive[0].basis
    different = list(dict.fromkeys(finding.seen for finding in decisive))
    rest = len(different) - MAX_OBSERVATIONS
    more = f"; and {rest} more" if rest > 0 else ""
    return ClauseResult(
        clause=clause,
        verdict=verdict,
        seen="; ".join(different[:MAX_OBSERVATIONS]) + more,
        basis=basis if verdict is Verdict.DRIFT else clause.basis,
        is_accepted=verdict is Verdict.DRIFT and clause.number in accepted,
        is_rate_limited=any(finding.is_rate_limited for finding in findings),
    )
