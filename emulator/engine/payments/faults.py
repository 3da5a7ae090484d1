"""Chooses the fault of a request to the contract's API, and counts its uses."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from emulator import ids
from emulator.engine.state.account import Owner
from emulator.engine.state.rules import FaultCandidate
from emulator.storage import scenarios
from emulator.storage.batch import Transaction
from emulator.storage.database import Database

if TYPE_CHECKING:
    from emulator.scenarios.values import FaultWhen

# As in `scenarios.values.Section`, which starting does not need.
FAULTS = "faults"


class Faults:
    """Chooses faults; the API injects them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def choose(self, owner: Owner, request: str) -> FaultCandidate | None:
        """The fault of a request, if one applies; the request is counted.

        `request` is a value of ApiRequest. The use of a fault that applies before the commit is
        counted at once.
        """
        candidates = [
            candidate
            for candidate in owner.account.rules.faults
            if candidate.rule.when.mode in (None, owner.mode)
            and candidate.rule.when.request in (None, request)
        ]
        if not any(map(_is_counted, candidates)):
            return candidates[0] if candidates else None
        return await self._database.write(partial(self._choose, owner=owner, candidates=candidates))

    def _choose(
        self, tx: Transaction, *, owner: Owner, candidates: Sequence[FaultCandidate]
    ) -> FaultCandidate | None:
        owner.account.check_open()
        # Each rule counts all requests of its kind, even if a stronger rule applies to them:
        # the second request is the second for all rules.
        matching = [candidate for candidate in candidates if _matches(tx, owner, candidate)]
        chosen = next((match for match in matching if _is_left(tx, owner, match)), None)
        if chosen is not None and not _applies_after_commit(chosen):
            _use(tx, owner, chosen)
        return chosen

    async def spend(self, owner: Owner, chosen: FaultCandidate, *, generation: int) -> bool:
        """Count the use of a fault that applies after the commit; whether a use was left.

        None is left where the account was reset or restored since `generation`.
        """
        if chosen.rule.times is None:
            return True
        work = partial(self._spend, owner=owner, chosen=chosen, generation=generation)
        return await self._database.write(work)

    def _spend(
        self, tx: Transaction, *, owner: Owner, chosen: FaultCandidate, generation: int
    ) -> bool:
        account = owner.account
        if account.is_closed or account.generation != generation or not _is_left(tx, owner, chosen):
            return False
        _use(tx, owner, chosen)
        return True


def _is_counted(candidate: FaultCandidate) -> bool:
    return candidate.rule.times is not None or candidate.rule.when.is_counted


def _applies_after_commit(candidate: FaultCandidate) -> bool:
    from emulator.domain.faults import Point

    return candidate.rule.then.effect.point is Point.AFTER_COMMIT


def _matches(tx: Transaction, owner: Owner, candidate: FaultCandidate) -> bool:
    """Count the request for a rule; returns whether the rule applies to it."""
    when = candidate.rule.when
    if not when.is_counted:
        return True
    count = scenarios.count_request(tx, owner.number, candidate.source, candidate.index)
    return _matches_count(when, count, owner, candidate)


def _matches_count(when: "FaultWhen", count: int, owner: Owner, candidate: FaultCandidate) -> bool:
    if when.nth is not None:
        return count == when.nth
    if when.every is not None:
        return count % when.every == 0
    place = f"{candidate.source}/{candidate.index}"
    return when.chance is None or ids.chance(owner.stream, place, count) < when.chance


def _is_left(tx: Transaction, owner: Owner, candidate: FaultCandidate) -> bool:
    times = candidate.rule.times
    place = (candidate.source, FAULTS, candidate.index)
    return times is None or scenarios.use_count(tx, owner.account.number, place) < times


def _use(tx: Transaction, owner: Owner, candidate: FaultCandidate) -> None:
    if candidate.rule.times is not None:
        place = (candidate.source, FAULTS, candidate.index)
        scenarios.count_use(tx, owner.account.number, place)
