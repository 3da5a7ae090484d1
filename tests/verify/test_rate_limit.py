"""What becomes of a run that the service refuses with 429: it waits, or says what it left out."""

import pytest

from emulator.domain.instants import parse_clock
from emulator.domain.rate_limit import RateLimit
from emulator.verify.findings import Verdict
from emulator.verify.running import compare
from emulator.verify.session import Visit
from emulator.verify.unchecked import HIDDEN
from tests.verify.comparing import comparison, verdicts
from tests.verify.runs import running
from tests.verify.wrong import Asked, Change, Reply, Serve, refusal


async def test_a_rate_limit_is_waited_out_and_looked_at() -> None:
    async with running(rate_limit=RateLimit(requests=10, period_ms=1_000)) as runs:
        it = await comparison(runs)
        waited_ms = sum(runs.wall.waits_ms)
    assert it.drifts == ()
    assert verdicts(it, Verdict.UNSEEN) == HIDDEN.keys() | {"7.12"}
    assert 1_000 <= waited_ms <= 60_000


async def test_where_waiting_does_not_help_the_rest_is_unseen() -> None:
    """On a clock that stands a bucket stays empty."""
    limit = RateLimit(requests=30, period_ms=1_000)
    async with running(rate_limit=limit, clock=parse_clock("frozen@2026-01-01T00:00:00Z")) as runs:
        it = await comparison(runs)
        assert sum(runs.wall.waits_ms) <= 60_000
    assert it.drifts == ()
    [reason] = {
        one.seen for one in it.results if one.clause.number in ("4.3.1", "9.1", "4.2.6")
    } - {"the calls are answered under `/v1`"}
    assert reason == it.refusal == "429 came again after waiting for 60 s in all"
    assert verdicts(it, Verdict.HOLDS) >= {"5.4", "4.1.1", "7.11", "8.7"}


def refusing_from(place: int, *, create_calls_only: bool = False) -> Change:
    """Too often is what is asked from a request on, or from a create call on."""
    asked_count = 0

    async def change(asked: Asked, serve: Serve) -> Reply:
        nonlocal asked_count
        asked_count += asked.is_create or not create_calls_only
        if asked_count >= place:
            return refusal(429, "rate_limit_exceeded", retry_after="61")
        return await serve(asked)

    return change


@pytest.mark.parametrize("place", [3, 5, 7, 10, 40, 60])
async def test_what_a_rate_limit_leaves_out_is_told_by_its_clauses(place: int) -> None:
    async with running() as runs:
        whole, cut = await comparison(runs), await comparison(runs, refusing_from(place))
        assert runs.wall.waits_ms == []
    left_out = {one.clause.number for one in cut.results if one.was_left_out}
    assert left_out == verdicts(cut, Verdict.UNSEEN) - verdicts(whole, Verdict.UNSEEN)
    assert cut.left_out == len(left_out) > 0
    assert (whole.left_out, whole.refusal) == (0, None)


async def test_where_no_payment_could_be_created_for_the_rate_limit_it_is_not_held_otherwise() -> (
    None
):
    async with running() as runs:
        it = await comparison(runs, refusing_from(1, create_calls_only=True))
    by_reason = {one.seen for one in it.results if one.was_left_out}
    assert by_reason == {it.refusal}
    left_out = {one.clause.number for one in it.results if one.was_left_out}
    assert left_out >= {"4.1.1", "4.1.10", "2.2.1", "4.2.1", "2.1.2", "1.10", "5.5"}


async def test_what_takes_the_key_of_another_account_is_not_laid_to_the_rate_limit() -> None:
    async with running() as runs, runs.accounts() as (key, _):
        client = runs.client(refusing_from(4))
        it = await compare(Visit(client, key=key, other_key=None), began_at=0)
    [other] = [one for one in it.results if one.clause.number == "5.5"]
    assert "--other-key" in other.seen
    assert not other.was_left_out


async def test_a_clause_that_other_looks_have_seen_is_seen() -> None:
    async with running() as runs:
        it = await comparison(runs, refusing_from(40))
    [fields] = [one for one in it.results if one.clause.number == "7.7"]
    assert fields.verdict is Verdict.HOLDS
    assert fields.is_rate_limited
    assert not fields.was_left_out
