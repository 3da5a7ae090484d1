"""Runs of all checks against the emulator, or against a server that is wrong in one thing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from emulator.domain.clauses import Basis
from emulator.domain.instants import Instant
from emulator.settings import Settings
from emulator.verify.checks import CHECKS
from emulator.verify.client import ServiceClient
from emulator.verify.comparison import check_service, run_check, unchecked_findings
from emulator.verify.findings import ClauseFinding, ClauseResult, Verdict, results
from emulator.verify.session import Session
from tests.verify.wrong import Asked, Change, Reply, Serve, WrongServer
from tests.world import ManualClock, World, world


@dataclass(frozen=True, kw_only=True)
class Run:
    """What each check has found, in the order of the checks."""

    found: list[list[ClauseFinding]]

    @property
    def results(self) -> list[ClauseResult]:
        findings = [one for found in self.found for one in found]
        return results([*unchecked_findings(), *findings], accepted=frozenset())

    def drifts(self, basis: Basis) -> set[str]:
        return {
            one.clause.number
            for one in self.results
            if one.verdict is Verdict.DRIFT and one.basis is basis
        }

    def seen(self, number: str) -> str:
        [seen] = [one.seen for one in self.results if one.clause.number == number]
        return seen

    @property
    def drifting_checks(self) -> set[tuple[int, str, Basis]]:
        """Which check has found which clause to drift, and whether it was stated."""
        return {
            (number, finding.number, finding.basis)
            for number, found in enumerate(self.found)
            for finding in found
            if finding.verdict is Verdict.DRIFT
        }


async def unchanged(asked: Asked, serve: Serve) -> Reply:
    return await serve(asked)


class ImpatientClock:
    """Real time that passes as soon as somebody waits for it; `waits_ms` is how long they did."""

    def __init__(self, wall: ManualClock) -> None:
        self.waits_ms: list[int] = []
        self._wall = wall

    def now_ms(self) -> Instant:
        return self._wall.now_ms()

    def system_ms(self) -> Instant:
        return self._wall.system_ms()

    def monotonic_ms(self) -> float:
        return self._wall.monotonic_ms()

    async def wait(self, _: asyncio.Event, *, until: Instant | None) -> None:
        assert until is not None
        self.waits_ms.append(until - self.now_ms())
        self._wall.move(until - self.now_ms())


class Runs:
    """One emulator for many runs, each with two accounts of its own."""

    def __init__(self, emulator: World) -> None:
        self.emulator = emulator
        self.wall = ImpatientClock(emulator.wall)
        self._count = count(1)

    @asynccontextmanager
    async def accounts(self) -> AsyncIterator[tuple[str, str]]:
        """The keys of two fresh accounts, whose clocks flow; they are gone at the end."""
        made = []
        for _ in range(2):
            key = f"test_run_{next(self._count)}"
            response = await self.emulator.control("POST", "/accounts", {"test_key": key})
            assert response.status_code == 201, response.text
            made.append(response.json())
        try:
            yield made[0]["test_key"], made[1]["test_key"]
        finally:
            for account in made:
                await self.emulator.control("DELETE", f"/accounts/{account['id']}")

    def client(self, change: Change = unchanged) -> ServiceClient:
        return ServiceClient(WrongServer(self.emulator, change), wall=self.wall)

    async def run(self, change: Change = unchanged, *, has_other_key: bool = True) -> Run:
        async with self.accounts() as (key, other_key):
            client = self.client(change)
            session = Session(client, key=key, other_key=other_key if has_other_key else None)
            await check_service(session)
            return Run(found=[await run_check(check, session) for check in CHECKS])


@asynccontextmanager
async def running(**changes: Any) -> AsyncIterator[Runs]:
    async with world(Settings(seed=1), **changes) as emulator:
        yield Runs(emulator)
