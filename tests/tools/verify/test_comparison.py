"""A complete comparison: its requests, the payments that it leaves behind, and its results."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from emulator.clock import RealClock
from emulator.domain.accounts import DEMO_TEST_KEY, OTHER_TEST_KEY, mask_key
from emulator.domain.clauses import Basis
from emulator.domain.instants import parse_instant
from emulator.domain.user_error import UserError
from emulator.server.app.server import private_emulator
from emulator.settings import Settings
from emulator.tools.verify.checks import CHECKS
from emulator.tools.verify.client import (
    HttpTransport,
    LostResponse,
    ServiceClient,
    printable,
)
from emulator.tools.verify.comparison import Comparison, compare
from emulator.tools.verify.findings import Verdict
from emulator.tools.verify.session import Session, basic_credentials
from tests.tools.verify.runs import OF_A_FULL_PAGE, USUALLY_UNSEEN, Runs, result_of, verdicts
from tests.tools.verify.servers.listing import limits
from tests.tools.verify.servers.objects import is_known_key
from tests.tools.verify.wrong import (
    BASE_URL,
    Change,
    Reply,
    Request,
    Serve,
    errors,
    payments,
    refusal,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

MAX_REQUESTS = 170
MAX_PAYMENTS = 15
HTML_502 = Reply(status=502, content=b"<html>", headers={"content-type": "text/html"})


def at_unknown_path(replies: Iterator[Reply]) -> Change:
    """A server that returns these replies to an unknown path before its own."""

    async def change(request: Request, serve: Serve) -> Reply:
        reply = next(replies, None) if request.path == "/v1/no_such_call" else None
        return reply or await serve(request)

    return change


def assert_only_unseen(comparison: Comparison, *numbers: str) -> None:
    """Nothing drifts, and beside what is usually unseen only these clauses are."""
    assert comparison.drifts == ()
    # Some tests create enough payments for a full page.
    unseen = verdicts(comparison, Verdict.UNSEEN)
    assert unseen | OF_A_FULL_PAGE == USUALLY_UNSEEN | {*numbers}


async def test_over_real_sockets_everything_that_can_be_seen_holds() -> None:
    wall = RealClock()
    settings = Settings(port=0, checkout_port=0)
    async with private_emulator(settings) as base_url, HttpTransport(base_url) as transport:
        client = ServiceClient(base_url, transport.send, wall=wall)
        session = Session(client, key=DEMO_TEST_KEY, other_key=OTHER_TEST_KEY)
        comparison = await compare(session, began_at=wall.now_ms())
    assert not comparison.has_drifted
    assert_only_unseen(comparison)
    assert comparison.requests <= MAX_REQUESTS
    assert comparison.payments <= MAX_PAYMENTS


async def test_the_created_payments_cost_nothing(runs: Runs) -> None:
    """They are few, pending, of the smallest amount, and name the program."""
    requests: list[Request] = []

    async def recording(request: Request, serve: Serve) -> Reply:
        requests.append(request)
        return await serve(request)

    async with runs.accounts() as keys:
        comparison = await compare(runs.session_of(*keys, recording), began_at=0)
        left = [payment for key in keys for payment in await payments_of(runs, key)]
    assert len(left) == comparison.payments <= MAX_PAYMENTS
    for payment in left:
        assert (payment["status"], payment["amount"], payment["method"]) == ("pending", 100, None)
        assert "made-by-payments-emulator-verify" in str(payment["success_url"])
        expires_at, created_at = (
            parse_instant(str(payment[name])) for name in ("expires_at", "created_at")
        )
        assert expires_at - created_at <= 1_800_000
    assert sum(not payment["metadata"] for payment in left) == 1
    assert len(requests) == comparison.requests <= MAX_REQUESTS
    assert {request.path.split("/")[1] for request in requests} == {"v1", "v2", "payments"}
    assert {request.method for request in requests} == {"GET", "POST", "PATCH", "DELETE"}


async def payments_of(runs: Runs, key: str) -> list[dict[str, object]]:
    response = await runs.emulator.api.get(
        "/v1/payments?limit=100", headers={"authorization": f"Bearer {key}"}
    )
    return list(response.json()["data"])


async def test_two_comparisons_are_equal(runs: Runs) -> None:
    one, other = await runs.compare(), await runs.compare()
    assert replace(one, key="", other_key="") == replace(other, key="", other_key="")


@pytest.mark.deep
async def test_payments_of_others_make_no_difference(runs: Runs) -> None:
    """In a shared sandbox another client creates a payment between any two requests."""
    count = itertools.count()

    async def crowded(request: Request, serve: Serve) -> Reply:
        reply = await serve(request)
        if reply.status == 201:
            body = {**request.body, "idempotency_key": None, "metadata": {"run": "another"}}
            await serve(request.with_body(body))
        return reply

    def changing(payment: dict[str, object]) -> dict[str, object]:
        metadata = {"count": str(next(count))}
        return {**payment, "metadata": metadata} if payment["id"] == other else payment

    assert_only_unseen(await runs.compare(crowded))
    async with runs.accounts() as keys:
        other = (await runs.emulator.create(keys[0]))["id"]
        comparison = await compare(runs.session_of(*keys, payments(changing)), began_at=0)
    assert comparison.drifts == ()


@pytest.mark.deep
@pytest.mark.parametrize("count", [1, 3, 8])
async def test_many_payments_of_others_between_requests_make_no_difference(
    runs: Runs, count: int
) -> None:
    """Three for each request are 430 in a second: more than a page of them follow each payment."""

    async def crowded(request: Request, serve: Serve) -> Reply:
        if request.is_of_owner:
            for _ in range(count):
                await runs.emulator.create(request.key)
        return await serve(request)

    comparison = await runs.compare(crowded)
    assert comparison.drifts == ()
    assert result_of(comparison, "4.3.12").verdict is Verdict.HOLDS


@pytest.mark.deep
@pytest.mark.parametrize(("age_ms", "unseen"), [(60_000, set()), (0, {"2.2.4"})])
async def test_many_payments_hide_only_the_last_page_and_only_if_they_are_new(
    runs: Runs, age_ms: int, unseen: set[str]
) -> None:
    async with runs.accounts() as keys:
        for _ in range(120):
            await runs.emulator.create(keys[0])
        runs.emulator.wall.move(age_ms)
        comparison = await compare(runs.session_of(*keys), began_at=0)
    assert_only_unseen(comparison, *unseen)
    assert result_of(comparison, "4.3.2").verdict is Verdict.HOLDS


@pytest.mark.deep
@pytest.mark.parametrize(("count", "verdict"), [(20, Verdict.UNSEEN), (60, Verdict.DRIFT)])
async def test_a_limit_that_is_capped_at_50_never_holds(
    runs: Runs, count: int, verdict: Verdict
) -> None:
    async with runs.accounts() as keys:
        for _ in range(count):
            await runs.emulator.create(keys[0])
        session = runs.session_of(*keys, limits(_100="50"))
        comparison = await compare(session, began_at=0)
    assert result_of(comparison, "4.3.2").verdict is verdict


@pytest.mark.deep
@pytest.mark.parametrize("step_s", [10, 45, 300])
async def test_payments_that_expire_during_the_run_make_no_difference(
    runs: Runs, step_s: int
) -> None:
    async with runs.accounts() as keys:

        async def slow(request: Request, serve: Serve) -> Reply:
            step = {"seconds": step_s}
            response = await runs.emulator.control("POST", "/clock/advance", step, key=keys[0])
            assert response.status_code == 200, response.text
            return await serve(request)

        session = runs.session_of(*keys, slow)
        comparison = await compare(session, began_at=0)
        response = await session.retrieve(session.first.id)
    assert response.members["status"] == "expired"
    assert_only_unseen(comparison)


@pytest.mark.deep
async def test_a_limit_on_created_payments_hides_only_the_default_page_size_and_shifts(
    runs: Runs,
) -> None:
    created: set[str] = set()

    async def limited(request: Request, serve: Serve) -> Reply:
        if not request.is_create or len(created) < 8 or not is_known_key(request):
            reply = await serve(request)
            created.update([reply.json["id"]] if reply.status == 201 else [])
            return reply
        # The response to another account, which may create as many payments as it likes.
        reply = await serve(request.with_headers(authorization=f"Bearer {DEMO_TEST_KEY}"))
        return refusal(400, "too_many_payments") if reply.status == 201 else reply

    comparison = await runs.compare(limited)
    assert_only_unseen(comparison, "4.3.3", "4.3.16")


async def test_the_progress_is_reported_after_each_check(runs: Runs) -> None:
    shown: list[str] = []
    async with runs.session(has_other_key=False) as session:
        await compare(session, began_at=0, show=shown.append)
    total = len(CHECKS)
    assert shown == [f"check {number} of {total}" for number in range(1, total + 1)]


async def test_a_key_that_the_service_repeats_is_masked(runs: Runs) -> None:
    def repeating(error: dict[str, object]) -> dict[str, object]:
        return {**error, "code": f"no_{keys[0]}"}

    async with runs.accounts() as keys:
        session = runs.session_of(*keys, errors(repeating, 404))
        comparison = await compare(session, began_at=0)
    assert comparison.has_drifted
    assert all(key not in repr(comparison) for key in keys)


async def test_the_beginning_of_a_long_key_is_masked(runs: Runs) -> None:
    key = f"test_{'Secret' * 12}"
    session = runs.session_of(key[:40], key)
    for secret in (key, key.swapcase(), basic_credentials(key)):
        masked = session.masked(printable(f"invalid key {secret}"))
        assert "SecretSecret" not in masked
        assert secret[:20] not in masked
    assert session.masked(f"{key} test_run_0") == f"{mask_key(key)} test_run_0"


@pytest.mark.deep
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
async def test_a_create_call_that_fails_once_is_no_drift_of_the_contract(
    runs: Runs, point: str, nth: int
) -> None:
    """A 500 is retried (contract, section 7); without a key this may create two payments."""
    fault = {
        "when": {"request": "create_payment", "nth": nth},
        "then": {"status": 500, "point": point},
        "times": 1,
    }
    async with runs.accounts() as keys:
        await runs.emulator.control("POST", "/faults", fault, key=keys[0])
        comparison = await compare(runs.session_of(*keys), began_at=0)
    drifts = {drift.basis for drift in comparison.drifts}
    assert Basis.STATED not in drifts
    assert not drifts or nth == 2


@pytest.mark.deep
@pytest.mark.parametrize("is_lost", [False, True], ids=["500", "lost"])
async def test_a_response_that_fails_once_makes_no_difference(runs: Runs, is_lost: bool) -> None:
    """The service has executed the request in any case."""

    def failing(place: int) -> Change:
        count = itertools.count(1)

        async def change(request: Request, serve: Serve) -> Reply:
            reply = await serve(request)
            if next(count) != place:
                return reply
            if is_lost:
                raise LostResponse("it was cut")
            return refusal(500, "internal_error")

        return change

    for place in range(3, MAX_REQUESTS, 16):
        assert (await runs.compare(failing(place))).drifts == ()


async def test_an_error_may_name_a_field_within_a_field(runs: Runs) -> None:
    def within(error: dict[str, object]) -> dict[str, object]:
        nested = {"methods": "methods[0]", "metadata": "metadata.pair"}
        param = error.get("param")
        return {**error, "param": nested[param]} if param in nested else error

    assert (await runs.compare(errors(within, 400))).drifts == ()


async def test_a_service_without_a_connection_ends_the_run(runs: Runs) -> None:
    async def going(request: Request, serve: Serve) -> Reply:
        if request.method == "POST":
            raise UserError(f"cannot reach {BASE_URL}: gone")
        return await serve(request)

    with pytest.raises(UserError, match=f"cannot reach {BASE_URL}: gone"):
        await runs.compare(going)


async def test_a_500_and_then_a_refusal_is_not_a_successful_retry(runs: Runs) -> None:
    replies = [refusal(500, "internal_error"), refusal(429, "slowly", retry_after="61")]
    failed = result_of(await runs.compare(at_unknown_path(iter(replies))), "7.12")
    assert (failed.verdict, failed.seen) == (Verdict.UNSEEN, "the retry had no other response")


@pytest.mark.parametrize(
    ("replies", "drifts"),
    [
        pytest.param(
            [
                refusal(500, "internal_error"),
                refusal(429, "slowly", retry_after="1"),
                refusal(500, "internal_error"),
            ],
            {"7.9", "7.12"},
            id="a 429 between two errors",
        ),
        pytest.param(
            [HTML_502, HTML_502], {"1.2", "2.3.1", "7.1", "7.12"}, id="a gateway fails twice"
        ),
    ],
)
@pytest.mark.deep
async def test_a_second_error_is_a_drift(
    runs: Runs, replies: list[Reply], drifts: set[str]
) -> None:
    comparison = await runs.compare(at_unknown_path(iter(replies)))
    assert {drift.clause.number for drift in comparison.drifts} >= drifts


@pytest.mark.parametrize("status", [502, 503, 504])
@pytest.mark.deep
async def test_a_single_error_of_a_gateway_is_not_an_error_of_the_service(
    runs: Runs, status: int
) -> None:
    comparison = await runs.compare(at_unknown_path(iter([HTML_502.with_status(status)])))
    assert comparison.drifts == ()
    failed = result_of(comparison, "7.12")
    assert (failed.verdict, failed.seen) == (Verdict.HOLDS, "1, served after a retry")


async def test_a_limit_that_the_lists_do_not_reach_is_no_evidence(runs: Runs) -> None:
    run = await runs.run()
    found = {
        (finding.number, finding.verdict)
        for of_check in run.findings
        for finding in of_check
        if finding.seen.startswith(("there are only ", "`limit` 100: 200"))
    }
    assert found == {("4.3.15", Verdict.UNSEEN), ("8.5", Verdict.UNSEEN)}


async def test_without_error_objects_their_members_are_unseen(runs: Runs) -> None:
    comparison = await runs.compare(errors(lambda error: error["message"]))
    assert verdicts(comparison, Verdict.UNSEEN) >= {"7.2", "7.3", "7.4"}


async def test_the_status_of_a_list_is_checked_although_the_page_size_is_unseen(runs: Runs) -> None:
    async def short(request: Request, serve: Serve) -> Reply:
        reply = await serve(request)
        if request.is_list and not request.query:
            page = {"data": reply.json["data"][:3], "has_more": False, "next_cursor": None}
            return reply.with_json(page).with_status(206)
        return reply

    comparison = await runs.compare(short)
    for number, verdict, seen in (
        ("7.5", Verdict.DRIFT, "206"),
        ("4.3.3", Verdict.UNSEEN, "there are only 3 payments"),
    ):
        result = result_of(comparison, number)
        assert (result.verdict, result.seen) == (verdict, seen)


async def test_the_status_of_create_calls_is_checked_although_the_first_was_refused(
    runs: Runs,
) -> None:
    async def strange(request: Request, serve: Serve) -> Reply:
        if request.is_create and "idempotency_key" in request.body:
            return refusal(400, "invalid_idempotency_key", "idempotency_key")
        reply = await serve(request)
        return reply.with_status(200) if reply.status == 201 else reply

    comparison = await runs.compare(strange)
    assert {drift.clause.number for drift in comparison.drifts} >= {"7.6", "4.1.16"}


LIST = "/v1/payments"
NO_API = "this is not the service's API"
ELSEWHERE = {"location": "https://pay.test/v1/payments"}
NO_LIST = f"{LIST} returns JSON that is not a list of payments: {NO_API}"
NOT_THE_SERVICE = [
    (
        Reply(status=301, content=b"", headers=ELSEWHERE),
        f"{LIST} redirects to https://pay.test/v1/payments: use the base URL to which this leads",
    ),
    (
        Reply(status=302, content=b""),
        f"{LIST} redirects to nowhere: use the base URL to which this leads",
    ),
    *(
        (
            Reply(status=status, content=b"Page", headers={"content-type": media_type}),
            f"{LIST} returns {status} with {media_type}: {NO_API}",
        )
        for status, media_type in ((200, "text/html"), (404, "text/plain"))
    ),
    (
        refusal(404, "route_not_found"),
        f"{LIST} is not found: expected the base URL, to which /v1/payments is added",
    ),
    *((Reply.of(200, value), NO_LIST) for value in (["a"], {"status": "ok"})),
    (refusal(400, "odd"), f"{LIST} returns for a plain list 400 `odd`: {NO_API}"),
    (
        refusal(500, "internal_error"),
        f"{LIST} returns 500 `internal_error`, also after a retry: try again later",
    ),
    (refusal(401, "invalid_api_key"), " refuses the key KEY (--key): 401 `invalid_api_key`"),
    (Reply(status=403, content=b"Forbidden"), " refuses the key KEY (--key): 403"),
    (
        refusal(429, "rate_limit_exceeded", retry_after="61"),
        ": 429 requires a wait of 61 s, but only 60 s of 60 s are left",
    ),
]


@pytest.mark.parametrize(("reply", "message"), NOT_THE_SERVICE)
async def test_a_server_that_is_not_the_service_is_explained(
    runs: Runs, reply: Reply, message: str
) -> None:
    async def other(_: Request, __: Serve) -> Reply:
        return reply

    async with runs.session(other) as session:
        with pytest.raises(UserError) as raised:
            await compare(session, began_at=0)
    assert str(raised.value) == BASE_URL + message.replace("KEY", mask_key(session.key))


async def test_the_refused_key_is_named(runs: Runs) -> None:
    session = runs.session_of(DEMO_TEST_KEY, "test_somebody_unknown")
    with pytest.raises(UserError) as raised:
        await compare(session, began_at=0)
    assert str(raised.value) == (
        f"{BASE_URL} refuses the key test_so…own (--other-key): 401 `invalid_api_key`"
    )
