"""Which fault strikes a request of the contract, counted so that none strikes once too often."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from emulator import ids
from emulator.engine.state.account import Owner
from emulator.engine.state.rules import FaultCandidate
from emulator.storage import rule_uses, scenarios
from emulator.storage.batch import Transaction
from emulator.storage.database import Database

if TYPE_CHECKING:
    from emulator.scenarios.values import FaultWhen

# As in `scenarios.values.Section`, which starting does not need.
FAULTS = "faults"


class Faults:
    """Chooses faults; striking with them is the business of whoever answers the request."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def choose(self, owner: Owner, request: str) -> FaultCandidate | None:
        """The fault that strikes a request, if one does; the request is counted.

        `request` is a word of ApiRequest.

        A use of one that strikes before the commit is written down with that.
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
        # Each rule counts all requests of its kind, those that a stronger one strikes included:
        # the second request is the second for all of them.
        hits = [one for one in candidates if _hits(tx, owner, one)]
        chosen = next((one for one in hits if _is_left(tx, owner, one)), None)
        if chosen is not None and not _strikes_late(chosen):
            _use(tx, owner, chosen)
        return chosen

    async def spend(self, owner: Owner, chosen: FaultCandidate, *, generation: int) -> bool:
        """Write down the use of a fault that strikes after the commit; whether one was left.

        None is left where the account has begun anew since `generation`.
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


def _strikes_late(candidate: FaultCandidate) -> bool:
    from emulator.domain.faults import Point

    return candidate.rule.then.effect.point is Point.AFTER_COMMIT


def _hits(tx: Transaction, owner: Owner, candidate: FaultCandidate) -> bool:
    """Count the request for a rule, and say whether it is one that the rule asks for."""
    when = candidate.rule.when
    if not when.is_counted:
        return True
    count = scenarios.count_request(tx, owner.number, candidate.source, candidate.index)
    return _asks_for(when, count, owner, candidate)


def _asks_for(when: "FaultWhen", count: int, owner: Owner, candidate: FaultCandidate) -> bool:
    if when.nth is not None:
        return count == when.nth
    if when.every is not None:
        return count % when.every == 0
    place = f"{candidate.source}/{candidate.index}"
    return when.chance is None or ids.chance(owner.stream, place, count) < when.chance


def _is_left(tx: Transaction, owner: Owner, candidate: FaultCandidate) -> bool:
    times = candidate.rule.times
    place = (candidate.source, FAULTS, candidate.index)
    return times is None or rule_uses.count(tx, owner.account.number, place) < times


def _use(tx: Transaction, owner: Owner, candidate: FaultCandidate) -> None:
    if candidate.rule.times is not None:
        place = (candidate.source, FAULTS, candidate.index)
        rule_uses.use(tx, owner.account.number, place)
