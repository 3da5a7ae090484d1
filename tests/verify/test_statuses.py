"""What is seen of a status or an error, though a check could not go on, or had to ask again."""

import pytest

from emulator.verify.findings import Verdict
from tests.verify.comparing import comparison, verdicts
from tests.verify.runs import running
from tests.verify.wrong import Asked, Reply, Serve, errors, refusal


async def test_what_failed_and_was_then_refused_is_not_taken_as_served() -> None:
    answers = iter([refusal(500, "internal_error"), refusal(429, "slowly", retry_after="61")])

    async def failing(asked: Asked, serve: Serve) -> Reply:
        return next(answers) if asked.path == "/v1/no_such_call" else await serve(asked)

    async with running() as runs:
        it = await comparison(runs, failing)
    [failed] = [one for one in it.results if one.clause.number == "7.12"]
    assert (failed.verdict, failed.seen) == (Verdict.UNSEEN, "there was no other answer to it")


async def test_a_refusal_in_between_does_not_hide_that_it_failed_twice() -> None:
    answers = iter(
        [
            refusal(500, "internal_error"),
            refusal(429, "slowly", retry_after="1"),
            refusal(500, "internal_error"),
        ]
    )

    async def failing(asked: Asked, serve: Serve) -> Reply:
        return next(answers) if asked.path == "/v1/no_such_call" else await serve(asked)

    async with running() as runs:
        it = await comparison(runs, failing)
    assert {"7.9", "7.12"} <= {one.clause.number for one in it.drifts}


async def test_without_an_error_object_nothing_is_said_of_what_is_in_it() -> None:
    async with running() as runs:
        it = await comparison(runs, errors(lambda one: one["message"])())
    assert verdicts(it, Verdict.UNSEEN) >= {"7.2", "7.3", "7.4"}


async def test_a_list_of_few_payments_still_shows_its_status() -> None:
    """Where the default of `limit` cannot be seen."""

    async def sparing(asked: Asked, serve: Serve) -> Reply:
        answer = await serve(asked)
        if asked.is_list and not asked.query:
            page = {"data": answer.json["data"][:3], "has_more": False, "next_cursor": None}
            return answer.saying(page).with_status(206)
        return answer

    async with running() as runs:
        it = await comparison(runs, sparing)
    seen = {one.clause.number: one for one in it.results}
    assert (seen["7.5"].verdict, seen["7.5"].seen) == (Verdict.DRIFT, "206")
    assert (seen["4.3.3"].verdict, seen["4.3.3"].seen) == (
        Verdict.UNSEEN,
        "there are only 3 payments",
    )


async def test_a_status_of_a_create_call_is_seen_though_the_first_was_refused() -> None:
    async def strange(asked: Asked, serve: Serve) -> Reply:
        if asked.is_create and "idempotency_key" in asked.body:
            return refusal(400, "invalid_idempotency_key", "idempotency_key")
        answer = await serve(asked)
        return answer.with_status(200) if answer.status == 201 else answer

    async with running() as runs:
        it = await comparison(runs, strange)
    assert {"7.6", "4.1.16"} <= {one.clause.number for one in it.drifts}


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_an_error_of_a_gateway_that_does_not_come_again_is_not_of_the_service(
    status: int,
) -> None:
    page = Reply(status=status, content=b"<html>", headers={"content-type": "text/html"})
    answers = iter([page])

    async def failing(asked: Asked, serve: Serve) -> Reply:
        is_it = asked.path == "/v1/no_such_call"
        return next(answers, None) or await serve(asked) if is_it else await serve(asked)

    async with running() as runs:
        it = await comparison(runs, failing)
    assert it.drifts == ()
    [failed] = [one for one in it.results if one.clause.number == "7.12"]
    assert (failed.verdict, failed.seen) == (Verdict.HOLDS, "1, served when asked again")


async def test_an_error_of_a_gateway_that_comes_again_is_what_is_answered_there() -> None:
    page = Reply(status=502, content=b"<html>", headers={"content-type": "text/html"})

    async def failing(asked: Asked, serve: Serve) -> Reply:
        return page if asked.path == "/v1/no_such_call" else await serve(asked)

    async with running() as runs:
        it = await comparison(runs, failing)
    assert {"1.2", "2.3.1", "7.1", "7.12"} <= {one.clause.number for one in it.drifts}
