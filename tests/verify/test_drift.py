"""Each check finds what it looks for: servers that are wrong in one thing are found out."""

import pytest

from emulator.domain.clauses import CLAUSES, Basis
from emulator.verify.checks import CHECKS
from emulator.verify.findings import Verdict
from emulator.verify.unchecked import HIDDEN
from tests.verify.runs import Run, Runs, running
from tests.verify.servers import SERVERS, Server

pytestmark = pytest.mark.asyncio(loop_scope="module")

# What does not happen to a server that is right and has time.
RARE = {"7.11", "7.12", "8.7"}
# What takes the key of another account.
OTHERS = {"4.2.7", "5.5"}

_seen: dict[str, Run] = {}


async def outcome(runs: Runs, server: Server) -> Run:
    """Each server is compared once, whichever test comes first."""
    if server.name not in _seen:
        _seen[server.name] = await runs.run(server.make())
    return _seen[server.name]


def verdicts(run: Run, verdict: Verdict) -> set[str]:
    return {one.clause.number for one in run.results if one.verdict is verdict}


async def test_of_the_emulator_everything_holds_that_can_be_seen(runs: Runs) -> None:
    run = await runs.run()
    assert verdicts(run, Verdict.DRIFT) == set()
    assert verdicts(run, Verdict.UNSEEN) == HIDDEN.keys() | RARE
    assert verdicts(run, Verdict.HOLDS) == (
        {clause.number for clause in CLAUSES} - HIDDEN.keys() - RARE
    )


async def test_a_clock_that_stands_makes_no_difference() -> None:
    from emulator.domain.instants import parse_clock

    async with running(clock=parse_clock("frozen@2026-01-01T00:00:00Z")) as runs:
        run = await runs.run()
    assert verdicts(run, Verdict.DRIFT) == set()
    assert verdicts(run, Verdict.UNSEEN) == HIDDEN.keys() | RARE


async def test_a_strict_emulator_refuses_what_is_unknown_and_nothing_else_drifts() -> None:
    async with running(strict=True) as runs:
        run = await runs.run()
    assert run.drifts(Basis.STATED) == set()
    assert run.drifts(Basis.ASSUMED) == {"4.1.14"}
    assert "as with `--strict`" in run.seen("4.1.14")


async def test_an_emulator_that_makes_accounts_takes_any_key() -> None:
    async with running(auto_provision=True) as runs:
        run = await runs.run()
    assert run.drifts(Basis.STATED) == {"5.4", "7.8"}
    assert run.drifts(Basis.ASSUMED) == set()


async def test_without_another_account_its_clauses_are_unseen(runs: Runs) -> None:
    run = await runs.run(has_other_key=False)
    assert verdicts(run, Verdict.DRIFT) == set()
    assert verdicts(run, Verdict.UNSEEN) == HIDDEN.keys() | RARE | OTHERS
    assert "--other-key" in run.seen("5.5")


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
async def test_a_wrong_server_drifts_in_just_the_clauses_that_it_breaks(
    runs: Runs, server: Server
) -> None:
    run = await outcome(runs, server)
    assert run.drifts(Basis.STATED) == server.states
    assert run.drifts(Basis.ASSUMED) == server.assumes


async def test_every_check_has_a_server_that_it_finds_out(runs: Runs) -> None:
    """For each clause that it looks at, for what is stated and for what is assumed."""
    found = set()
    for server in SERVERS:
        found |= (await outcome(runs, server)).drifting_checks
    expected = {
        (number, clause, basis)
        for number, check in enumerate(CHECKS)
        for basis, clauses in ((Basis.STATED, check.states), (Basis.ASSUMED, check.assumes))
        for clause in clauses
    }
    assert found == expected
