"""Fault rules: which requests they apply to, how often, and their effects."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.domain.accounts import RateLimit
from tests.server.api.calls import get, ids, post, refusal
from tests.server.engine.observed_world import stuck
from tests.server.engine.scenario_world import scenario_world
from tests.server.engine.webhook_world import register
from tests.server.webhooks.receiver import NEVER, receiving, replies
from tests.turns import turn
from tests.world import LIVE_KEY, TEST_KEY, World, headers, order, world

AFTER = {"status": 500, "point": "after_commit"}


async def fail(emulator: World, when: Any, then: Any, **more: Any) -> dict[str, Any]:
    rule = {"when": when, "then": then, **more}
    return dict(await emulator.done("POST", "/faults", rule))


async def statuses(emulator: World, count: int, key: str = TEST_KEY) -> list[int]:
    return [(await get(emulator, "/v1/payments", key)).status_code for _ in range(count)]


@pytest.mark.parametrize(
    ("status", "code", "param", "header"),
    [
        (400, "invalid_request_body", None, None),
        (401, "invalid_api_key", None, "www-authenticate"),
        (404, "payment_not_found", None, None),
        (409, "idempotency_key_in_use", "idempotency_key", "retry-after"),
        (429, "rate_limit_exceeded", None, "retry-after"),
        (500, "internal_error", None, None),
    ],
)
async def test_a_status_of_the_contract_has_its_error(
    emulator: World, status: int, code: str, param: str | None, header: str | None
) -> None:
    await fail(emulator, {}, {"status": status})
    response = await get(emulator, "/v1/payments")
    assert refusal(response) == (status, code, param)
    extra = {"www-authenticate", "retry-after"} & set(response.headers)
    assert extra == ({header} if header else set())


async def test_a_status_of_a_gateway_has_the_internal_error(emulator: World) -> None:
    await fail(emulator, {}, {"status": 502})
    response = await get(emulator, "/v1/payments")
    assert (response.status_code, response.json()["error"]["code"]) == (502, "internal_error")


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (
            "html",
            "text/html",
            "<!doctype html>\n<title>502 Bad Gateway</title>\n<h1>502 Bad Gateway</h1>\n",
        ),
        ("empty", None, ""),
        ("ጌትዌይ: no upstream", "text/plain; charset=utf-8", "ጌትዌይ: no upstream"),
        ("{" * 10_000, "text/plain; charset=utf-8", "{" * 10_000),
    ],
)
async def test_an_error_of_a_gateway_has_no_error_object(
    emulator: World, point: str, body: str, content_type: str | None, expected: str
) -> None:
    await fail(emulator, {}, {"status": 502, "body": body, "point": point})
    response = await get(emulator, "/v1/payments")
    assert (response.status_code, response.text) == (502, expected)
    assert response.headers.get("content-type") == content_type
    [entry] = (await emulator.shown("/requests"))["data"]
    assert (entry["status"], entry["error"], entry["response_body"]) == (502, None, expected)
    assert (await emulator.shown("/requests?code=internal_error"))["data"] == []


async def test_any_error_status_can_be_that_of_a_gateway(emulator: World) -> None:
    for status in (404, 429, 503, 504):
        await fail(emulator, {}, {"status": status, "body": "html", "retry_after": 3}, times=1)
        response = await get(emulator, "/v1/payments")
        assert (response.status_code, response.headers["retry-after"]) == (status, "3")
        assert response.text.startswith("<!doctype html>")


async def test_a_429_states_when_to_retry(emulator: World) -> None:
    await fail(emulator, {}, {"status": 429, "retry_after": 7}, times=1)
    response = await get(emulator, "/v1/payments")
    assert response.headers["retry-after"] == "7"
    assert "7 s" in response.json()["error"]["message"]


async def test_before_the_commit_no_payment_is_created_and_no_key_is_used(emulator: World) -> None:
    await fail(emulator, {"request": "create_payment"}, {"status": 500}, times=1)
    body = order(idempotency_key="once")
    assert (await post(emulator, body)).status_code == 500
    assert await ids(emulator) == []
    response = await post(emulator, body)
    assert response.status_code == 201
    assert "idempotent-replayed" not in response.headers


@pytest.mark.clause("7.12")
async def test_after_the_commit_the_payment_exists_and_the_retry_is_the_replay(
    emulator: World,
) -> None:
    await fail(emulator, {"request": "create_payment"}, AFTER, times=1)
    body = order(idempotency_key="once")
    assert (await post(emulator, body)).status_code == 500
    (made,) = await ids(emulator)
    response = await post(emulator, body)
    assert response.status_code == 201
    assert response.headers["idempotent-replayed"] == "true"
    assert response.json()["id"] == made
    assert await ids(emulator) == [made]
    events = (await emulator.shown("/events"))["data"]
    assert [event["type"] for event in events] == ["payment.created"]


async def test_after_the_commit_a_fault_applies_only_to_a_success() -> None:
    async with world(strict=True) as emulator:
        await fail(emulator, {"request": "create_payment"}, AFTER, times=1)
        for member, code in (("amount", "invalid_amount"), ("color", "unknown_parameter")):
            assert refusal(await post(emulator, order(**{member: 1}))) == (400, code, member)
        assert (await post(emulator, order())).status_code == 500
        assert (await post(emulator, order())).status_code == 201


async def test_a_fault_applies_after_key_and_route_and_before_other_checks(emulator: World) -> None:
    await fail(emulator, {}, {"status": 429})
    assert refusal(await get(emulator, "/v1/payments", "test_unknown"))[1] == "invalid_api_key"
    assert refusal(await get(emulator, "/v1/nothing"))[1] == "route_not_found"
    malformed = await post(emulator, b"{", **{"Content-Type": "text/plain"})
    assert refusal(malformed)[1] == "rate_limit_exceeded"


async def test_the_rate_limit_is_checked_before_a_fault() -> None:
    async with world(rate_limit=RateLimit(requests=1, period_ms=1_000)) as emulator:
        await fail(emulator, {"nth": 2}, {"status": 500})
        assert await statuses(emulator, 3) == [200, 429, 429]
        await emulator.advance(1)
        assert await statuses(emulator, 1) == [500]


async def test_a_fault_applies_to_a_mode_and_a_request(emulator: World) -> None:
    await fail(emulator, {"mode": "live", "request": "list_payments"}, {"status": 500})
    payment = await emulator.create(LIVE_KEY)
    assert await statuses(emulator, 1) == [200]
    assert await statuses(emulator, 1, LIVE_KEY) == [500]
    path = f"/v1/payments/{payment['id']}"
    assert (await get(emulator, path, LIVE_KEY)).status_code == 200


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([({"nth": 3}, None)], [200, 200, 501, 200, 200, 200]),
        ([({"every": 2}, None)], [200, 501, 200, 501, 200, 501]),
        ([({"every": 2}, 2)], [200, 501, 200, 501, 200, 200]),
        ([({}, 2)], [501, 501, 200, 200, 200, 200]),
        ([({"chance": 1}, None)], [501] * 6),
        # A rule counts the requests to which a newer one applies.
        ([({"nth": 3}, None), ({"nth": 2}, None), ({"nth": 1}, None)], [503, 502, 501, 200]),
    ],
)
async def test_requests_are_counted_from_one_and_separately_in_each_mode(
    emulator: World, rules: list[tuple[dict[str, Any], int | None]], expected: list[int]
) -> None:
    for status, (when, times) in enumerate(rules, 501):
        more = {} if times is None else {"times": times}
        await fail(emulator, {"request": "list_payments", **when}, {"status": status}, **more)
    await emulator.create()
    is_limited = any(times for _, times in rules)
    for status in expected:
        assert await statuses(emulator, 1) == [status]
        # The modes have their own counts, but the limit in common.
        assert is_limited or await statuses(emulator, 1, LIVE_KEY) == [status]


async def test_of_a_file_the_first_rule_that_matches_applies(tmp_path: Path) -> None:
    rules = (
        "faults:\n"
        "  - {when: {request: create_payment}, then: {status: 501}}\n"
        "  - {when: {}, then: {status: 502}, times: 1}\n"
        "  - {when: {}, then: {status: 503}, times: 1}\n"
    )
    async with scenario_world(tmp_path, bad=rules) as emulator:
        assert (await post(emulator, order())).status_code == 501
        assert await statuses(emulator, 3) == [502, 503, 200]


async def test_chance_depends_on_the_seed_of_the_account(emulator: World) -> None:
    async def drawn(seed: int) -> list[int]:
        body = {"seed": seed, "test_key": f"test_chance_{seed}"}
        account = await emulator.done("POST", "/accounts", body)
        key = account["test_key"]
        rule = {"when": {"chance": 0.3}, "then": {"status": 500}}
        await emulator.control("POST", "/faults", rule, key)
        found = await statuses(emulator, 200, key)
        await emulator.control("DELETE", f"/accounts/{account['id']}")
        return found

    first = await drawn(1)
    assert first == await drawn(1)
    assert first != await drawn(2)
    assert 30 <= first.count(500) <= 90


@pytest.mark.parametrize(
    ("when", "then", "more", "failed", "created"),
    [
        ({}, {"point": "before_commit"}, {"times": 5}, 5, 35),
        ({}, {"point": "after_commit"}, {"times": 5}, 5, 40),
        ({"nth": 20}, {}, {}, 1, 39),
    ],
)
async def test_a_fault_applies_that_often_to_concurrent_requests(
    emulator: World, when: Any, then: Any, more: Any, failed: int, created: int
) -> None:
    await fail(emulator, when, {"status": 500, **then}, **more)
    responses = await asyncio.gather(*(post(emulator, order()) for _ in range(40)))
    statuses = sorted(response.status_code for response in responses)
    assert statuses == [201] * (40 - failed) + [500] * failed
    assert len(await ids(emulator, limit=100)) == created


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
async def test_a_latency_is_real_time_and_changes_no_response(emulator: World, point: str) -> None:
    then = {"latency": "2s", "point": point}
    await fail(emulator, {"request": "create_payment"}, then, times=1)
    waiting = asyncio.create_task(post(emulator, order()))
    await emulator.wall.waited_for()
    emulator.wall.move(1_999)
    assert len(await ids(emulator)) == (point == "after_commit")
    assert not waiting.done()
    emulator.wall.move(1)
    response = await waiting
    assert response.status_code == 201
    assert response.json()["created_at"] == "2026-01-01T00:00:00.000Z"


async def test_without_sockets_a_cut_is_an_error_of_the_connection(emulator: World) -> None:
    await fail(emulator, {"request": "create_payment"}, {"drop": True}, times=1)
    with pytest.raises(ConnectionResetError):
        await post(emulator, order())
    with pytest.raises(httpx.HTTPStatusError):
        (await get(emulator, "/v1/payments/pay_1")).raise_for_status()


async def test_a_request_from_before_a_reset_uses_no_fault_after_it() -> None:
    async with world() as emulator, receiving(replies(NEVER)) as receiver:
        early = "webhooks: [{when: {event: payment.created}, then: {before_response: true}}]"
        await emulator.api.put(
            "/_emulator/scenarios/early",
            content=early,
            headers={**headers(), "Content-Type": "application/yaml"},
        )
        await register(emulator, receiver.url)
        await fail(emulator, {"request": "create_payment"}, AFTER, times=1)
        waiting = asyncio.create_task(post(emulator, order()))
        await receiver.wait_for(1)
        await emulator.control("POST", "/reset")
        await fail(emulator, {"request": "create_payment"}, AFTER, times=1)
        emulator.wall.move(2_000)
        await waiting
        assert (await post(emulator, order())).status_code == 500


async def test_a_request_of_an_account_that_was_deleted_meanwhile_gets_no_fault() -> None:
    async with world() as emulator:
        account = await emulator.done("POST", "/accounts")
        key, path = account["test_key"], f"/accounts/{account['id']}"
        rule = {"when": {}, "then": {"status": 502}, "times": 1}
        await emulator.done("POST", "/faults", rule, key=key)
        async with stuck(emulator):
            deleting = asyncio.create_task(emulator.control("DELETE", path))
            await turn()
            request = asyncio.create_task(get(emulator, "/v1/payments", key))
            await turn()
        assert (await deleting).status_code == 204
        response = await request
        assert refusal(response) == (401, "invalid_api_key", None)
        # The key was still known when the request arrived.
        assert "just been deleted" in response.json()["error"]["message"]
