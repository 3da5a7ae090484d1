"""A comparison of a service that refuses requests with 429 waits, or reports what it left out."""

import pytest

from emulator.domain.accounts import RateLimit
from emulator.domain.instants import parse_clock
from emulator.tools.verify.comparison import compare
from emulator.tools.verify.findings import Verdict
from tests.tools.verify.runs import USUALLY_UNSEEN, Runs, new_runs, result_of, verdicts
from tests.tools.verify.wrong import Change, Reply, Request, Serve, refusal

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_client_waits_and_checks_the_rate_limit() -> None:
    async with new_runs(rate_limit=RateLimit(requests=10, period_ms=1_000)) as runs:
        comparison = await runs.compare()
        waited_ms = sum(runs.clock.waits_ms)
    assert comparison.drifts == ()
    assert verdicts(comparison, Verdict.UNSEEN) == USUALLY_UNSEEN - {"7.11", "7.14", "8.7"}
    assert 1_000 <= waited_ms <= 60_000


async def test_the_rest_is_unseen_if_waiting_does_not_help() -> None:
    """With a frozen clock the rate limit is never reset."""
    limit = RateLimit(requests=30, period_ms=1_000)
    clock = parse_clock("frozen@2026-01-01T00:00:00Z")
    async with new_runs(rate_limit=limit, clock=clock) as runs:
        comparison = await runs.compare()
        assert sum(runs.clock.waits_ms) <= 60_000
    assert comparison.drifts == ()
    assert comparison.refusal == "429 was returned again after a wait of 60 s in total"
    assert {result_of(comparison, number).seen for number in ("4.3.1", "4.2.6")} == {
        comparison.refusal
    }
    assert verdicts(comparison, Verdict.HOLDS) >= {"5.4", "4.1.1", "7.11", "8.7"}


def refusing_from(place: int, *, only_create_calls: bool = False) -> Change:
    """A server that refuses all requests, or all create calls, from a place on."""
    request_count = 0

    async def change(request: Request, serve: Serve) -> Reply:
        nonlocal request_count
        request_count += request.is_create or not only_create_calls
        if request_count >= place:
            return refusal(429, "rate_limit_exceeded", retry_after="61")
        return await serve(request)

    return change


@pytest.mark.parametrize("place", [3, 5, 7, 10, 40, 60])
@pytest.mark.deep
async def test_the_clauses_that_are_left_out_are_reported(runs: Runs, place: int) -> None:
    complete = await runs.compare()
    waits = len(runs.clock.waits_ms)
    partial = await runs.compare(refusing_from(place))
    assert len(runs.clock.waits_ms) == waits
    left_out = {result.clause.number for result in partial.results if result.was_left_out}
    unseen = verdicts(partial, Verdict.UNSEEN) - verdicts(complete, Verdict.UNSEEN)
    assert left_out == unseen
    assert partial.left_out == len(left_out) > 0
    assert (complete.left_out, complete.refusal) == (0, None)


async def test_clauses_that_need_a_payment_are_left_out_for_the_rate_limit(runs: Runs) -> None:
    comparison = await runs.compare(refusing_from(1, only_create_calls=True))
    left_out = [result for result in comparison.results if result.was_left_out]
    assert {result.seen for result in left_out} == {comparison.refusal}
    assert {result.clause.number for result in left_out} >= {
        *("4.1.1", "4.1.10", "2.2.1", "4.2.1", "2.1.2", "1.10", "5.5")
    }


async def test_a_missing_key_of_another_account_is_not_the_rate_limit(runs: Runs) -> None:
    async with runs.session(refusing_from(4), has_other_key=False) as session:
        result = result_of(await compare(session, began_at=0), "5.5")
    assert "--other-key" in result.seen
    assert not result.was_left_out


async def test_a_clause_that_another_check_has_seen_is_not_left_out(runs: Runs) -> None:
    fields = result_of(await runs.compare(refusing_from(40)), "7.7")
    assert fields.verdict is Verdict.HOLDS
    assert fields.is_rate_limited
    assert not fields.was_left_out
