"""Each check finds the errors that it looks for, and prints what it received."""

from typing import Any

import pytest

from emulator.domain.clauses import CLAUSES, Basis
from emulator.domain.instants import parse_clock
from emulator.domain.payment import PAYMENT_MEMBERS
from emulator.domain.variants import VARIANTS, ContractVariant
from emulator.tools.verify.checks import CHECKS
from emulator.tools.verify.checks.refusals import WRONG_PARAMETERS
from emulator.tools.verify.comparison import GRANTED, HIDDEN
from emulator.tools.verify.findings import Verdict
from tests.depth import usually
from tests.tools.verify.runs import (
    USUALLY_UNSEEN,
    Run,
    Runs,
    new_runs,
    verdicts,
)
from tests.tools.verify.servers import SERVERS, Server
from tests.tools.verify.wrong import Change, Request, errors, fields, members, pages

pytestmark = pytest.mark.asyncio(loop_scope="session")

# These clauses need the key of another account.
OF_OTHER_ACCOUNT = {"4.2.7", "5.5"}
# Of these clauses, only our assumption is checked.
OF_ASSUMPTIONS = {"2.1.16", "9.1"}

_runs_by_server: dict[str, Run] = {}


async def run_against(runs: Runs, server: Server) -> Run:
    """Each server is compared once in a test process."""
    if server.name not in _runs_by_server:
        _runs_by_server[server.name] = await runs.run(server.change)
    return _runs_by_server[server.name]


def checked() -> set[str]:
    return {clause for check in CHECKS for clause in check.numbers}


async def test_every_clause_is_checked_or_has_a_reason() -> None:
    assert checked() & HIDDEN.keys() == set()
    assert checked() | HIDDEN.keys() | GRANTED.keys() == {clause.number for clause in CLAUSES}


async def test_an_assumption_is_never_checked_as_stated(runs: Runs) -> None:
    judged = [each for each in (await runs.run()).flat if each.verdict is not Verdict.UNSEEN]
    stated = {finding.number for finding in judged if finding.basis is Basis.STATED}
    assumed = {finding.number for finding in judged if finding.basis is Basis.ASSUMED}
    for clause in CLAUSES:
        if clause.basis is Basis.ASSUMED:
            assert clause.number not in stated
        elif clause.assumed is None:
            assert clause.number not in assumed


async def test_only_the_absence_of_methods_contradicts_the_contract_itself() -> None:
    absent = [wrong for wrong in WRONG_PARAMETERS if wrong.code == "missing_parameter"]
    assert [wrong.param for wrong in absent if wrong.states] == ["methods"]


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


# No check depends on the text of a message, on a connection, on a webhook or on the order of
# payments of one instant; no payment of a run is completed, and no response has `Retry-After`.
UNCHECKED = {"1.3", "2.1.14", "4.1.23", "4.3.11", "6.2", "6.3", "7.3", "7.12"}
# Of these two, no check sees an escaped letter, and none the order of members in an error.
UNSEEN = {"escaped-json": {"1.2"}, "member-order": {"7.1"}}


@pytest.mark.deep
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
async def test_a_variant_differs_from_its_assumptions_only(variant: ContractVariant) -> None:
    async with new_runs(vary=variant.name) as runs:
        run = await runs.run()
    assert run.drifts(Basis.STATED) == set()
    unseen = UNCHECKED | UNSEEN.get(variant.name, set())
    assert run.drifts(Basis.ASSUMED) == {*variant.clauses} - unseen


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1, 11))
async def test_a_seeded_choice_of_variants_differs_from_no_stated_clause(seed: int) -> None:
    async with new_runs(vary=str(seed)) as runs:
        run = await runs.run()
    assert run.drifts(Basis.STATED) == set()
    # Two refusals of one request may have different variants.
    allowed = {"4.2.7"} | {number for variant in VARIANTS for number in variant.clauses}
    assert run.drifts(Basis.ASSUMED) <= allowed


async def test_without_another_account_its_clauses_are_unseen(runs: Runs) -> None:
    run = await runs.run(has_other_key=False)
    assert verdicts(run, Verdict.DRIFT) == set()
    assert verdicts(run, Verdict.UNSEEN) == USUALLY_UNSEEN | OF_OTHER_ACCOUNT
    assert "--other-key" in run.seen("5.5")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "server", usually(SERVERS[::50], deep=SERVERS), ids=lambda server: server.name
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
    expected = {(number, clause) for number, check in enumerate(CHECKS) for clause in check.numbers}
    assert {(number, clause) for number, clause, _ in found} == expected
    # As a statement of the contract, as our assumption, or as both.
    observable = [each for each in CLAUSES if each.number in checked()]
    stated = {each.number for each in observable if each.basis is Basis.STATED}
    assumed = {each.number for each in observable if each.assumed or each.basis is Basis.ASSUMED}
    assert {
        clause for _, clause, basis in found if basis is Basis.STATED
    } == stated - OF_ASSUMPTIONS
    assert {clause for _, clause, basis in found if basis is Basis.ASSUMED} <= assumed


def without(name: str) -> Any:
    """Edits an object so that one member is absent."""
    return lambda edited: {key: value for key, value in edited.items() if key != name}


def first_of_each_page_twice(_: Request, page: dict[str, Any]) -> dict[str, Any]:
    return {**page, "data": [*page["data"][:1], *page["data"]]}


def server_named(name: str) -> Change:
    [server] = [one for one in SERVERS if one.name == name]
    return server.change


def drifts(run: Run) -> dict[str, str]:
    """The printed text of each drifting clause."""
    numbers = run.drifts(Basis.STATED) | run.drifts(Basis.ASSUMED)
    return {number: run.seen(number) for number in numbers}


@pytest.mark.sampled
@pytest.mark.parametrize("field", usually([*PAYMENT_MEMBERS][::6], deep=[*PAYMENT_MEMBERS]))
async def test_an_absent_field_of_a_payment_is_printed_as_absent(runs: Runs, field: str) -> None:
    printed = drifts(await runs.run(fields(**{field: ...})))
    assert printed["2.1.15"] == f"without `{field}`"
    assert not [text for text in printed.values() if "null" in text]
    assert any("absent" in text for text in printed.values())


PRINTED: list[tuple[Change, str, str]] = [
    (fields(method=...), "2.1.6", "absent in a new payment; `method`: absent"),
    (fields(method="telebirr"), "2.1.6", '`"telebirr"` in a new payment'),
    (fields(completed_at=...), "2.1.14", "absent in a new payment; `completed_at`: absent"),
    (fields(status=...), "2.1.5", "`status`: absent"),
    (fields(metadata=...), "2.1.11", "`metadata`: absent"),
    (members(data=...), "2.2.1", "`data`: absent"),
    (members(has_more=...), "2.2.2", "absent before a further page"),
    (members(has_more=True), "2.2.2", "true on the last page"),
    (members(next_cursor=...), "2.2.3", "`next_cursor`: absent"),
    (errors(without("code")), "7.2", "code absent in a 401"),
    (errors(without("message")), "7.3", "message absent in a 401"),
    (errors(without("param"), 400), "7.7", "`amount` 99: param absent"),
    (errors(without("param"), 409), "7.10", "param absent"),
    (errors(lambda one: one, of="fault"), "7.1", "401 of GET: `error` is absent"),
    *(
        (errors(lambda _, error=error: error), number, f"401 of GET: `error` is `{printed}`, ")
        for error, printed in (("no", '"no"'), (None, "null"), ([], "[]"))
        for number in ("2.3.1", "7.1")
    ),
    *(
        (server_named(name), "1.2", printed)
        for name, printed in (
            ("answers everything in text", '200 of GET: `Content-Type` `"text/plain"`'),
            ("has no media types", "200 of GET: `Content-Type` absent"),
            ("cuts an error", "404 of GET: the body is not JSON in UTF-8"),
        )
    ),
    (pages(first_of_each_page_twice), "4.3.10", "of 10 payments on pages of 5, 2 twice"),
    (server_named("loses one a page"), "4.3.10", "of 11 payments on pages of 5, 1 missing"),
]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("change", "number", "printed"),
    usually(PRINTED[::5], deep=PRINTED),
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_drift_is_printed(runs: Runs, change: Change, number: str, printed: str) -> None:
    assert drifts(await runs.run(change))[number].startswith(printed)
