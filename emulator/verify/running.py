"""A run from its first request to its verdicts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from emulator.domain.accounts import mask_key
from emulator.domain.instants import Instant
from emulator.verify.checks import CHECKS
from emulator.verify.client import CannotSee, RateLimited
from emulator.verify.findings import Check, Finding, Result, Verdict, judged, results, unseen
from emulator.verify.preflight import look_before
from emulator.verify.session import Visit
from emulator.verify.unchecked import GRANTED, HIDDEN

_NOT_SO_FAR = "the check did not get so far"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A service beside the contract. Keys are masked; `began_at` is real time.

    It is whole unless there is a `refusal`: why the service was not asked to the end.
    """

    base_url: str
    key: str
    other_key: str | None
    began_at: Instant
    results: tuple[Result, ...]
    requests: int
    payments: int
    refusal: str | None = None

    @property
    def has_drifted(self) -> bool:
        """Whether there is a drift that nobody has accepted."""
        return any(result.counts for result in self.results)

    @property
    def left_out(self) -> int:
        """Of how many clauses nothing was seen, since the service refused with 429."""
        return sum(result.was_left_out for result in self.results)

    def count(self, verdict: Verdict) -> int:
        return sum(result.verdict is verdict for result in self.results)

    @property
    def drifts(self) -> tuple[Result, ...]:
        return tuple(one for one in self.results if one.verdict is Verdict.DRIFT)


async def compare(
    visit: Visit,
    *,
    began_at: Instant,
    accepted: frozenset[str] = frozenset(),
    tell: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Make every check, one after the other, and tell how many of how many were made.

    Raises Unreachable, NotTheService.
    """
    await look_before(visit)
    findings = without_looking()
    for number, check in enumerate(CHECKS, start=1):
        findings += await found_by(check, visit)
        if tell is not None:
            tell(number, len(CHECKS))
    other_key = visit.other_key
    return Comparison(
        base_url=visit.client.base_url,
        key=mask_key(visit.key),
        other_key=None if other_key is None else mask_key(other_key),
        began_at=began_at,
        results=tuple(results(findings, accepted=accepted)),
        requests=len(visit.client.answers),
        payments=len(visit.created) + len(visit.others),
        refusal=visit.client.refusal,
    )


def without_looking() -> list[Finding]:
    """What is known of the clauses that no check looks at."""
    hidden = [unseen(reason, number) for number, reason in HIDDEN.items()]
    granted = [judged(True, seen, number) for number, seen in GRANTED.items()]
    return [finding for found in (*hidden, *granted) for finding in found]


async def found_by(check: Check, visit: Visit) -> list[Finding]:
    """What a check finds; of the clauses that it says nothing of, that they are unseen."""
    reason, is_rate_limited = _NOT_SO_FAR, False
    try:
        findings = await check.look(visit)
    except CannotSee as error:
        findings, reason = [], str(error)
        is_rate_limited = isinstance(error, RateLimited)
    told = {finding.number for finding in findings}
    numbers = _rest((*check.states, *check.assumes), told)
    rest = unseen(reason, *numbers, is_rate_limited=is_rate_limited)
    return [_masked(one, visit) for one in (*findings, *rest)]


def _masked(finding: Finding, visit: Visit) -> Finding:
    seen = visit.masked(finding.seen)
    return finding if seen == finding.seen else replace(finding, seen=seen)


def _rest(numbers: Iterable[str], told: set[str]) -> list[str]:
    return [number for number in dict.fromkeys(numbers) if number not in told]
