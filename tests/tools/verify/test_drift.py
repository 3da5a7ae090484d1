"""Each check finds the errors that it looks for, in servers with one error each."""

import pytest

from emulator.domain.clauses import CLAUSES, Basis
from emulator.domain.instants import parse_clock
from emulator.tools.verify.checks import CHECKS
from emulator.tools.verify.comparison import GRANTED, HIDDEN
from emulator.tools.verify.findings import Verdict
from tests.depth import usually
from tests.tools.verify.runs import USUALLY_UNSEEN, Run, Runs, new_runs, verdicts
from tests.tools.verify.servers import SERVERS, Server

pytestmark = pytest.mark.asyncio(loop_scope="session")

# These clauses need the key of another account.
OF_OTHER_ACCOUNT = {"4.2.7", "5.5"}

_runs_by_server: dict[str, Run] = {}


async def run_against(runs: Runs, server: Server) -> Run:
    """Each server is compared once in a test process."""
    if server.name not in _runs_by_server:
        _runs_by_server[server.name] = await runs.run(server.change)
    return _runs_by_server[server.name]


async def test_every_clause_is_checked_or_has_a_reason() -> None:
    checked = {clause for check in CHECKS for clause in (*check.states, *check.assumes)}
    assert checked & HIDDEN.keys() == set()
    assert checked | HIDDEN.keys() | GRANTED.keys() == {clause.number for clause in CLAUSES}


async def test_an_assumption_is_never_checked_as_stated() -> None:
    stated = {clause for check in CHECKS for clause in check.states}
    assumed = {clause for check in CHECKS for clause in check.assumes}
    for clause in CLAUSES:
        if clause.basis is Basis.ASSUMED:
            assert clause.number not in stated
        elif clause.assumed is None:
            assert clause.number not in assumed


async def test_every_server_has_its_own_name() -> None:
    assert len({server.name for server in SERVERS}) == len(SERVERS)


async def test_everything_that_can_be_seen_holds_for_the_emulator(runs: Runs) -> None:
    run = await runs.run()
    assert verdicts(run, Verdict.DRIFT) == set()
    assert verdicts(run, Verdict.UNSEEN) == USUALLY_UNSEEN


async def test_a_frozen_clock_makes_no_difference() -> None:
    async with new_runs(clock=parse_clock("frozen@2026-01-01T00:00:00Z")) as runs:
        run = await runs.run()
    assert verdicts(run, Verdict.DRIFT) == set()
    assert verdicts(run, Verdict.UNSEEN) == USUALLY_UNSEEN


@pytest.mark.parametrize(
    ("settings", "stated", "assumed"),
    [({"strict": True}, set(), {"4.1.14"}), ({"auto_provision": True}, {"5.4", "7.8"}, set())],
    ids=["strict", "auto_provision"],
)
async def test_a_setting_causes_only_its_drifts(
    settings: dict[str, bool], stated: set[str], assumed: set[str]
) -> None:
    async with new_runs(**settings) as runs:
        run = await runs.run()
    assert run.drifts(Basis.STATED) == stated
    assert run.drifts(Basis.ASSUMED) == assumed
    assert ("as with `--strict`" in run.seen("4.1.14")) is ("strict" in settings)


async def test_without_another_account_its_clauses_are_unseen(runs: Runs) -> None:
    run = await runs.run(has_other_key=False)
    assert verdicts(run, Verdict.DRIFT) == set()
    assert verdicts(run, Verdict.UNSEEN) == USUALLY_UNSEEN | OF_OTHER_ACCOUNT
    assert "--other-key" in run.seen("5.5")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "server", usually(SERVERS[::15], deep=SERVERS), ids=lambda server: server.name
)
async def test_a_server_drifts_only_in_the_clauses_of_its_error(runs: Runs, server: Server) -> None:
    run = await run_against(runs, server)
    assert run.drifts(Basis.STATED) == server.states
    assert run.drifts(Basis.ASSUMED) == server.assumes


@pytest.mark.deep
async def test_every_check_finds_a_drift_of_each_of_its_clauses(runs: Runs) -> None:
    found = set()
    for server in SERVERS:
        found |= (await run_against(runs, server)).drifting_checks
    expected = {
        (number, clause, basis)
        for number, check in enumerate(CHECKS)
        for basis, clauses in ((Basis.STATED, check.states), (Basis.ASSUMED, check.assumes))
        for clause in clauses
    }
    assert found == expected
