"""A run as a whole: what it asks, what it leaves behind, and what it comes to."""

import itertools
from dataclasses import replace

import pytest

from emulator.app.server import private_emulator
from emulator.clock import RealClock
from emulator.domain.accounts import DEMO_TEST_KEY, OTHER_TEST_KEY, mask_key
from emulator.domain.clauses import Basis
from emulator.domain.instants import parse_instant
from emulator.settings import Settings
from emulator.verify.answers import cleaned
from emulator.verify.checks import CHECKS
from emulator.verify.client import Client, Unreachable
from emulator.verify.findings import Verdict
from emulator.verify.preflight import NotTheService
from emulator.verify.running import compare
from emulator.verify.session import Visit, as_basic
from emulator.verify.transport import HttpWire, NoAnswer, NoConnection
from emulator.verify.unchecked import HIDDEN
from tests.verify.comparing import comparison, verdicts
from tests.verify.runs import Runs, running, unchanged
from tests.verify.servers.creating import that_refuses_what_it_does_not_know
from tests.verify.wrong import BASE_URL, Asked, Change, Reply, Serve, errors, payments, refusal

MAX_REQUESTS = 100
MAX_PAYMENTS = 15


async def test_over_real_sockets_everything_holds_that_can_be_seen() -> None:
    wall = RealClock()
    settings = Settings(port=0, checkout_port=0)
    async with private_emulator(settings) as base_url, HttpWire(base_url) as wire:
        visit = Visit(Client(wire, wall=wall), key=DEMO_TEST_KEY, other_key=OTHER_TEST_KEY)
        it = await compare(visit, began_at=wall.now_ms())
    assert not it.has_drifted
    assert it.drifts == ()
    assert verdicts(it, Verdict.UNSEEN) == HIDDEN.keys() | {"7.11", "7.12", "8.7"}
    assert it.requests <= MAX_REQUESTS
    assert it.payments <= MAX_PAYMENTS


async def test_nothing_that_it_leaves_behind_costs_money() -> None:
    """Few payments of the smallest amount, all pending, that say what has made them."""
    async with running() as runs:
        asked: list[Asked] = []

        async def overheard(one: Asked, serve: Serve) -> Reply:
            asked.append(one)
            return await serve(one)

        async with runs.accounts() as (key, other_key):
            visit = Visit(runs.client(overheard), key=key, other_key=other_key)
            it = await compare(visit, began_at=0)
            left = [payment for owner in (key, other_key) for payment in await created(runs, owner)]
    assert len(left) == it.payments <= MAX_PAYMENTS
    for payment in left:
        assert (payment["status"], payment["amount"], payment["method"]) == ("pending", 100, None)
        assert "made-by-payments-emulator-verify" in payment["success_url"]
        lifetime_ms = parse_instant(payment["expires_at"]) - parse_instant(payment["created_at"])
        assert lifetime_ms <= 1_800_000
    assert sum(not payment["metadata"] for payment in left) == 1
    assert len(asked) == it.requests <= MAX_REQUESTS
    assert {one.path.split("/")[1] for one in asked} == {"v1", "payments"}
    assert {one.method for one in asked} == {"GET", "POST", "PATCH"}


async def created(runs: Runs, key: str) -> list[dict[str, object]]:
    response = await runs.emulator.api.get(
        "/v1/payments?limit=100", headers={"authorization": f"Bearer {key}"}
    )
    return list(response.json()["data"])


async def test_two_runs_say_the_same() -> None:
    async with running() as runs:
        one, other = await comparison(runs), await comparison(runs)
    assert replace(one, key="", other_key="") == replace(other, key="", other_key="")


async def test_others_who_create_payments_all_the_time_make_no_difference() -> None:
    """A shared sandbox: between any two requests somebody else creates a payment."""

    async def crowded(asked: Asked, serve: Serve) -> Reply:
        answer = await serve(asked)
        if answer.status == 201:
            body = {**asked.body, "idempotency_key": None, "metadata": {"run": "another"}}
            await serve(asked.with_body(body))
        return answer

    async with running() as runs:
        it = await comparison(runs, crowded)
    assert it.drifts == ()
    assert verdicts(it, Verdict.UNSEEN) == HIDDEN.keys() | {"7.11", "7.12", "8.7"}


async def test_an_account_with_a_long_history_makes_no_difference() -> None:
    async with running() as runs, runs.accounts() as (key, other_key):
        for _ in range(120):
            await runs.emulator.create(key)
        runs.emulator.wall.move(60_000)
        it = await compare(Visit(runs.client(), key=key, other_key=other_key), began_at=0)
    assert it.drifts == ()
    assert verdicts(it, Verdict.UNSEEN) == HIDDEN.keys() | {"7.11", "7.12", "8.7"}


@pytest.mark.parametrize("step_s", [10, 45, 300])
async def test_payments_that_expire_during_the_run_make_no_difference(step_s: int) -> None:
    async with running() as runs, runs.accounts() as keys:

        async def slow(asked: Asked, serve: Serve) -> Reply:
            step = {"seconds": step_s}
            response = await runs.emulator.control("POST", "/clock/advance", step, key=keys[0])
            assert response.status_code == 200, response.text
            return await serve(asked)

        visit = Visit(runs.client(slow), key=keys[0], other_key=keys[1])
        it = await compare(visit, began_at=0)
        answer = await visit.retrieve(visit.first.id)
    assert answer.members["status"] == "expired"
    assert it.drifts == ()
    assert verdicts(it, Verdict.UNSEEN) == HIDDEN.keys() | {"7.11", "7.12", "8.7"}


async def test_where_very_much_is_created_at_once_the_end_is_not_looked_for() -> None:
    async with running() as runs, runs.accounts() as (key, other_key):
        for _ in range(120):
            await runs.emulator.create(key)
        it = await compare(Visit(runs.client(), key=key, other_key=other_key), began_at=0)
    assert it.drifts == ()
    assert verdicts(it, Verdict.UNSEEN) - HIDDEN.keys() == {"2.2.4", "7.11", "7.12", "8.7"}


async def test_where_few_payments_can_be_made_there_is_less_to_see() -> None:
    made: set[str] = set()

    async def sparing(asked: Asked, serve: Serve) -> Reply:
        if not asked.is_create or len(made) < 7:
            answer = await serve(asked)
            made.update([answer.json["id"]] if answer.status == 201 else [])
            return answer
        # What another account is told that may create as many as it likes.
        answer = await serve(asked.with_headers(authorization=f"Bearer {DEMO_TEST_KEY}"))
        return refusal(400, "too_many_payments") if answer.status == 201 else answer

    async with running() as runs:
        it = await comparison(runs, sparing)
    assert it.drifts == ()
    assert verdicts(it, Verdict.UNSEEN) - HIDDEN.keys() == {"4.3.3", "7.11", "7.12", "8.7"}


async def test_a_drift_that_is_accepted_is_told_and_does_not_count() -> None:
    async with running() as runs:
        strict = await comparison(runs, that_refuses_what_it_does_not_know)
        accepted = await comparison(
            runs, that_refuses_what_it_does_not_know, accepted=["4.1.14", "4.1.3"]
        )
    assert (strict.has_drifted, accepted.has_drifted) == (True, False)
    [drift] = accepted.drifts
    assert (drift.clause.number, drift.is_accepted) == ("4.1.14", True)
    assert not any(one.is_accepted for one in accepted.results if one is not drift)


async def test_it_tells_how_far_it_has_come() -> None:
    told: list[tuple[int, int]] = []
    async with running() as runs, runs.accounts() as (key, _):
        visit = Visit(runs.client(), key=key, other_key=None)
        await compare(visit, began_at=0, tell=lambda done, total: told.append((done, total)))
    assert told == [(number, len(CHECKS)) for number in range(1, len(CHECKS) + 1)]


async def test_a_key_is_masked_even_where_the_service_repeats_it() -> None:
    def telling(error: dict[str, object]) -> dict[str, object]:
        return {**error, "code": f"no_{keys[0]}"}

    async with running() as runs, runs.accounts() as keys:
        client = runs.client(errors(telling, 404)())
        it = await compare(Visit(client, key=keys[0], other_key=keys[1]), began_at=0)
    assert it.has_drifted
    assert all(key not in repr(it) for key in keys)


async def test_of_a_key_that_is_too_long_to_be_shown_the_beginning_is_masked_too() -> None:
    key = f"test_{'Secret' * 12}"
    async with running() as runs, runs.accounts() as keys:
        visit = Visit(runs.client(unchanged), key=key[:40], other_key=key)
        for secret in (key, as_basic(key)):
            masked = visit.masked(cleaned(f"invalid key {secret}"))
            assert "SecretSecret" not in masked
            assert secret[:20] not in masked
        assert visit.masked(f"{key} {keys[0]}") == f"{mask_key(key)} {keys[0]}"


async def test_a_payment_that_an_error_left_behind_is_not_held_against_a_retry() -> None:
    """500 means to try again (contract, section 7), which without a key may create twice."""
    fault = {
        "when": {"request": "create_payment", "nth": 2},
        "then": {"status": 500, "point": "after_commit"},
        "times": 1,
    }
    async with running() as runs, runs.accounts() as keys:
        await runs.emulator.control("POST", "/faults", fault, key=keys[0])
        client = runs.client(unchanged)
        it = await compare(Visit(client, key=keys[0], other_key=keys[1]), began_at=0)
    assert [one.clause.number for one in it.drifts if one.basis is Basis.STATED] == []


@pytest.mark.parametrize("is_lost", [False, True], ids=["500", "lost"])
async def test_a_response_that_fails_once_makes_no_difference(is_lost: bool) -> None:
    """Whatever the request was has been done."""

    def failing(place: int) -> Change:
        count = itertools.count(1)

        async def change(asked: Asked, serve: Serve) -> Reply:
            answer = await serve(asked)
            if next(count) != place:
                return answer
            if is_lost:
                raise NoAnswer("it was cut")
            return refusal(500, "internal_error")

        return change

    async with running() as runs:
        for place in range(3, MAX_REQUESTS, 8):
            assert (await comparison(runs, failing(place))).drifts == ()


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
async def test_a_first_payment_that_is_created_by_a_retry_is_not_taken_as_a_replay(
    point: str,
) -> None:
    fault = {
        "when": {"request": "create_payment", "nth": 1},
        "then": {"status": 500, "point": point},
        "times": 1,
    }
    async with running() as runs, runs.accounts() as keys:
        await runs.emulator.control("POST", "/faults", fault, key=keys[0])
        it = await compare(
            Visit(runs.client(unchanged), key=keys[0], other_key=keys[1]), began_at=0
        )
    assert it.drifts == ()


async def test_a_payment_of_others_that_changes_all_the_time_makes_no_difference() -> None:
    """Its metadata is another whenever it is read."""
    count = itertools.count()

    def changed(payment: dict[str, object], other: str) -> dict[str, object]:
        metadata = {"count": str(next(count))}
        return {**payment, "metadata": metadata} if payment["id"] == other else payment

    async with running() as runs, runs.accounts() as keys:
        other = (await runs.emulator.create(keys[0]))["id"]
        client = runs.client(payments(lambda one: changed(one, other))())
        it = await compare(Visit(client, key=keys[0], other_key=keys[1]), began_at=0)
    assert it.drifts == ()


async def test_a_field_within_a_field_may_be_told() -> None:
    def within(error: dict[str, object]) -> dict[str, object]:
        nested = {"methods": "methods[0]", "metadata": "metadata.pair"}
        param = error.get("param")
        return {**error, "param": nested[param]} if param in nested else error

    async with running() as runs, runs.accounts() as keys:
        client = runs.client(errors(within, 400)())
        it = await compare(Visit(client, key=keys[0], other_key=keys[1]), began_at=0)
    assert it.drifts == ()


async def test_a_service_that_goes_away_ends_the_run() -> None:
    async def going(asked: Asked, serve: Serve) -> Reply:
        if asked.method == "POST":
            raise NoConnection("gone")
        return await serve(asked)

    async with running() as runs:
        with pytest.raises(Unreachable, match=f"cannot reach {BASE_URL}: gone"):
            await comparison(runs, going)


class TestBeforeTheFirstCheck:
    """What answers, and is not the service, is told in a sentence."""

    @pytest.mark.parametrize(
        ("reply", "told"),
        [
            (
                Reply(
                    status=301, content=b"", headers={"location": "https://pay.test/v1/payments"}
                ),
                "/v1/payments redirects to https://pay.test/v1/payments: give the base URL",
            ),
            (
                Reply(status=302, content=b""),
                "/v1/payments redirects to nowhere",
            ),
            (
                Reply(status=200, content=b"<html>", headers={"content-type": "text/html"}),
                "/v1/payments answers 200 with text/html: this is not the service's API",
            ),
            (
                Reply(status=404, content=b"Not Found", headers={"content-type": "text/plain"}),
                "/v1/payments answers 404 with text/plain: this is not the service's API",
            ),
            (
                refusal(404, "route_not_found"),
                "/v1/payments is not found: expected the base URL, to which /v1/payments is added",
            ),
            (Reply.of(200, ["a"]), "/v1/payments answers JSON that is no list of payments"),
            (Reply.of(200, {"status": "ok"}), "answers JSON that is no list of payments"),
            (refusal(400, "odd"), "/v1/payments answers a plain list with 400 `odd`: this is not"),
            (refusal(500, "internal_error"), "answers 500 `internal_error`, and again when asked"),
            (refusal(401, "invalid_api_key"), " refuses the key test_"),
            (Reply(status=403, content=b"Forbidden"), " refuses the key test_"),
            (
                refusal(429, "rate_limit_exceeded", retry_after="61"),
                ": 429 came and asked to wait 61 s, and of 60 s in all only 60 s were left",
            ),
        ],
        ids=lambda value: str(value.status) if isinstance(value, Reply) else None,
    )
    async def test_what_is_not_the_service_is_told(self, reply: Reply, told: str) -> None:
        async def other(_: Asked, __: Serve) -> Reply:
            return reply

        async with running() as runs:
            with pytest.raises(NotTheService) as raised:
                await comparison(runs, other)
        assert str(raised.value).startswith(BASE_URL)
        assert told in str(raised.value)
        assert "\n" not in str(raised.value)

    async def test_it_is_told_which_key_is_refused(self) -> None:
        async with running() as runs:
            visit = Visit(runs.client(), key=DEMO_TEST_KEY, other_key="test_somebody_unknown")
            with pytest.raises(NotTheService) as raised:
                await compare(visit, began_at=0)
        assert str(raised.value) == (
            f"{BASE_URL} refuses the key test_so…own (--other-key): 401 `invalid_api_key`"
        )
