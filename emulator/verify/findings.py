"""What was seen of a clause, and which verdict that comes to."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from emulator.domain.clauses import CLAUSES, Basis, Clause
from emulator.verify.session import Visit

MAX_OBSERVATIONS = 3
"""Of the looks at one clause so many are told."""


class Verdict(StrEnum):
    HOLDS = "holds"
    DRIFT = "drift"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One look at a clause. `basis` tells whether it is what the contract states, or what we
    have assumed of it, that was looked at; `is_rate_limited`, that a 429 has ended the look."""

    number: str
    verdict: Verdict
    seen: str
    basis: Basis = Basis.STATED
    is_rate_limited: bool = False


Findings = list[Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A look at a service. It finds something of each clause that it `states` or `assumes`, and
    of no other; what it says nothing of, since it could not go on, is unseen."""

    look: Callable[[Visit], Awaitable[Findings]]
    states: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What all looks at a clause come to; of a drift, `basis` is that of what drifts.

    `is_rate_limited` tells that a 429 has ended one of the looks, whatever the others saw.
    """

    clause: Clause
    verdict: Verdict
    seen: str
    basis: Basis
    is_accepted: bool = False
    is_rate_limited: bool = False

    @property
    def counts(self) -> bool:
        """Whether it is a drift that nobody has accepted."""
        return self.verdict is Verdict.DRIFT and not self.is_accepted

    @property
    def was_left_out(self) -> bool:
        """Whether nothing was seen of it, since the service refused with 429."""
        return self.verdict is Verdict.UNSEEN and self.is_rate_limited


def judged(is_so: bool, seen: str, *numbers: str) -> Findings:
    """What the contract states holds, or does not."""
    return _judged(is_so, seen, numbers, Basis.STATED)


def judged_assumed(is_so: bool, seen: str, *numbers: str) -> Findings:
    """What we have assumed holds, or does not."""
    return _judged(is_so, seen, numbers, Basis.ASSUMED)


def unseen(reason: str, *numbers: str, is_rate_limited: bool = False) -> Findings:
    return [
        Finding(number=number, verdict=Verdict.UNSEEN, seen=reason, is_rate_limited=is_rate_limited)
        for number in numbers
    ]


def _judged(is_so: bool, seen: str, numbers: Iterable[str], basis: Basis) -> Findings:
    verdict = Verdict.HOLDS if is_so else Verdict.DRIFT
    return [Finding(number=number, verdict=verdict, seen=seen, basis=basis) for number in numbers]


def results(findings: Iterable[Finding], *, accepted: frozenset[str]) -> list[Result]:
    """Every clause of the contract with its verdict, in order."""
    of_clause: dict[str, list[Finding]] = {clause.number: [] for clause in CLAUSES}
    for finding in findings:
        of_clause[finding.number].append(finding)
    return [_result(clause, of_clause[clause.number], accepted) for clause in CLAUSES]


def _result(clause: Clause, findings: Sequence[Finding], accepted: frozenset[str]) -> Result:
    """A drift is the verdict of all, what is stated first; a look that saw nothing counts last."""
    for verdict, basis in (
        (Verdict.DRIFT, Basis.STATED),
        (Verdict.DRIFT, Basis.ASSUMED),
        (Verdict.HOLDS, None),
        (Verdict.UNSEEN, None),
    ):
        found = [
            one
            for one in findings
            if one.verdict is verdict and (basis is None or one.basis is basis)
        ]
        if found:
            return Result(
                clause=clause,
                verdict=verdict,
                seen=_together([one.seen for one in found]),
                basis=basis or clause.basis,
                is_accepted=verdict is Verdict.DRIFT and clause.number in accepted,
                is_rate_limited=any(one.is_rate_limited for one in findings),
            )
    raise AssertionError(f"no check looks at {clause.number}")


def _together(seen: Iterable[str]) -> str:
    different = list(dict.fromkeys(seen))
    more = (
        f"; and {len(different) - MAX_OBSERVATIONS} more"
        if len(different) > MAX_OBSERVATIONS
        else ""
    )
    return "; ".join(different[:MAX_OBSERVATIONS]) + more
