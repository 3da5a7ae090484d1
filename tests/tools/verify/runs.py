"""Runs of all checks against the emulator, or against a server with one error."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from emulator.domain.clauses import Basis
from emulator.domain.instants import Instant
from emulator.settings import Settings
from emulator.tools.verify.checks import CHECKS
from emulator.tools.verify.client import ServiceClient
from emulator.tools.verify.comparison import (
    HIDDEN,
    Comparison,
    check_service,
    compare,
    run_check,
    unchecked_findings,
)
from emulator.tools.verify.findings import ClauseFinding, ClauseResult, Verdict, results
from emulator.tools.verify.session import Session
from tests.tools.verify.wrong import BASE_URL, Change, WrongServer, unchanged
from tests.world import ManualClock, World, world

# These clauses are not observed in a correct server that responds in time.
RARE = {"7.11", "7.12", "7.14", "8.7"}
# This clause needs an account with a hundred payments.
OF_A_FULL_PAGE = {"4.3.2"}
USUALLY_UNSEEN = HIDDEN.keys() | RARE | OF_A_FULL_PAGE


@dataclass(frozen=True, kw_only=True)
class Run:
    """The findings of each check, in the order of the checks."""

    findings: list[list[ClauseFinding]]

    @property
    def flat(self) -> list[ClauseFinding]:
        return [finding for of_check in self.findings for finding in of_check]

    @property
    def results(self) -> list[ClauseResult]:
        return results([*unchecked_findings(), *self.flat], accepted=frozenset())

    def drifts(self, basis: Basis) -> set[str]:
        return {
            result.clause.number
            for result in self.results
            if result.verdict is Verdict.DRIFT and result.basis is basis
        }

    def seen(self, number: str) -> str:
        [seen] = [result.seen for result in self.results if result.clause.number == number]
        return seen

    @property
    def drifting_checks(self) -> set[tuple[int, str, Basis]]:
        """The number of each check that found a drift, with the clause and the basis."""
        return {
            (number, finding.number, finding.basis)
            for number, of_check in enumerate(self.findings)
            for finding in of_check
            if finding.verdict is Verdict.DRIFT
        }


def verdicts(comparison: Comparison | Run, verdict: Verdict) -> set[str]:
    """The clauses with a verdict."""
    return {result.clause.number for result in comparison.results if result.verdict is verdict}


def result_of(comparison: Comparison, number: str) -> ClauseResult:
    [result] = [each for each in comparison.results if each.clause.number == number]
    return result


class ImpatientClock:
    """A clock that passes to the end of each wait at once; `waits_ms` are the waits."""

    def __init__(self, clock: ManualClock) -> None:
        self.waits_ms: list[int] = []
        self._clock = clock

    def now_ms(self) -> Instant:
        return self._clock.now_ms()

    def system_ms(self) -> Instant:
        return self._clock.system_ms()

    def monotonic_ms(self) -> float:
        return self._clock.monotonic_ms()

    async def wait(self, _: asyncio.Event, *, until: Instant | None) -> None:
        assert until is not None
        self.waits_ms.append(until - self.now_ms())
        self._clock.move(until - self.now_ms())


class Runs:
    """One emulator for many runs, each with two new accounts."""

    def __init__(self, emulator: World) -> None:
        self.emulator = emulator
        self.clock = ImpatientClock(emulator.wall)
        self._count = count(1)

    @asynccontextmanager
    async def accounts(self) -> AsyncIterator[tuple[str, str]]:
        """The keys of two new accounts, which are deleted at the end."""
        created = []
        for _ in range(2):
            key = f"test_run_{next(self._count)}"
            response = await self.emulator.control("POST", "/accounts", {"test_key": key})
            assert response.status_code == 201, response.text
            created.append(response.json())
        try:
            yield created[0]["test_key"], created[1]["test_key"]
        finally:
            for account in created:
                await self.emulator.control("DELETE", f"/accounts/{account['id']}")

    @asynccontextmanager
    async def session(
        self, change: Change = unchanged, *, has_other_key: bool = True
    ) -> AsyncIterator[Session]:
        """A session with new accounts against a changed server."""
        async with self.accounts() as (key, other_key):
            yield self.session_of(key, other_key if has_other_key else None, change)

    def session_of(self, key: str, other_key: str | None, change: Change = unchanged) -> Session:
        server = WrongServer(self.emulator, change)
        client = ServiceClient(BASE_URL, server.send, wall=self.clock)
        return Session(client, key=key, other_key=other_key, stream=b"1" * 32)

    async def run(self, change: Change = unchanged, *, has_other_key: bool = True) -> Run:
        """Run all checks."""
        async with self.session(change, has_other_key=has_other_key) as session:
            await check_service(session)
            findings = [await run_check(check, session) for check in CHECKS]
            return Run(findings=findings)

    async def compare(
        self, change: Change = unchanged, *, accepted: Sequence[str] = ()
    ) -> Comparison:
        async with self.session(change) as session:
            return await compare(session, began_at=0, accepted=frozenset(accepted))


@asynccontextmanager
async def new_runs(**changes: Any) -> AsyncIterator[Runs]:
    """Runs against an emulator with other settings."""
    async with world(Settings(seed=1), **changes) as emulator:
        yield Runs(emulator)
