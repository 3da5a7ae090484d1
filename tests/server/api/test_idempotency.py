"""Idempotency keys (contract, section 4.1)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.domain.accounts import RateLimit
from tests.server.api.calls import REPLAYED, WARNING, event_types, ids, post, refusal
from tests.world import LIVE_KEY, OTHER_TEST_KEY, World, order, world

DAY_S = 24 * 3600
REUSED = (409, "idempotency_key_reused", "idempotency_key")
KEY = {"idempotency_key": "order-1"}


async def first(emulator: World, **changes: Any) -> httpx.Response:
    response = await post(emulator, order(**KEY, **changes))
    assert response.status_code == 201
    assert REPLAYED not in response.headers
    return response


def assert_replays(replay: httpx.Response, original: httpx.Response) -> None:
    assert replay.status_code == 201
    assert replay.content == original.content
    assert replay.headers[REPLAYED] == "true"
    assert replay.headers["location"] == original.headers["location"]
    assert replay.headers["request-id"] != original.headers["request-id"]


@pytest.mark.clause("4.1.10", "4.1.20")
async def test_a_retry_is_answered_byte_for_byte_as_the_first_request(emulator: World) -> None:
    original = await first(emulator, metadata={"ቁልፍ": 'quote " and \\', "a": "1"})
    await emulator.advance(1)
    for _ in range(3):
        replay = await post(emulator, order(**KEY, metadata=original.json()["metadata"]))
        assert_replays(replay, original)
    assert await ids(emulator) == [original.json()["id"]]
    assert await event_types(emulator) == ["payment.created"]


@pytest.mark.clause("4.1.20")
@pytest.mark.parametrize("is_strict", [False, True])
async def test_a_replay_of_a_final_payment_has_a_warning(is_strict: bool) -> None:
    slug = "replayed-final-payment"
    async with world(strict=is_strict) as emulator:
        for statuses in (["failed"], ["expired"], ["completed", "refunded"]):
            body = order(idempotency_key=statuses[-1])
            original = await post(emulator, body)
            for status in statuses:
                assert WARNING not in (await post(emulator, body)).headers
                await emulator.transition(original.json(), status, unusual=True)
            replay = await post(emulator, body)
            assert_replays(replay, original)
            assert replay.headers[WARNING] == slug
        # An expiry by the clock.
        original = await first(emulator)
        await emulator.advance(1800)
        assert (await post(emulator, order(**KEY))).headers[WARNING] == slug
        journal = (await emulator.shown("/requests"))["data"]
        assert [each["warnings"] for each in journal[:2]] == [[slug], []]
        # After the retention of the key it is a new payment.
        await emulator.advance(DAY_S)
        await first(emulator)


@pytest.mark.clause("4.1.10")
async def test_a_retry_after_a_restart_is_still_a_retry(tmp_path: Path) -> None:
    database = str(tmp_path / "state.db")
    async with world(database=database) as emulator:
        original = await first(emulator)
    async with world(database=database) as emulator:
        replay = await post(emulator, order(**KEY))
        assert (replay.status_code, replay.content) == (201, original.content)
        assert replay.headers[REPLAYED] == "true"


class TestSameParameters:
    """4.1 rule 2: what counts as different parameters."""

    @pytest.mark.clause("4.1.19")
    @pytest.mark.parametrize(
        ("earlier", "later"),
        [
            ({}, {"expires_in": 1800}),
            ({}, {"expires_in": None}),
            ({"expires_in": None}, {"expires_in": 1800}),
            ({}, {"metadata": {}}),
            ({}, {"metadata": None}),
            ({"metadata": None}, {"metadata": {}}),
            ({"metadata": {"a": "1", "b": "2"}}, {"metadata": {"b": "2", "a": "1"}}),
            ({}, {"unknown": None}),
            ({"unknown": 1.50}, {"unknown": 1.50}),
            ({"b": {"x": 1, "y": [2]}, "a": 1}, {"a": 1, "b": {"y": [2], "x": 1}}),
        ],
    )
    async def test_the_same_parameters_are_a_retry(
        self, emulator: World, earlier: dict[str, Any], later: dict[str, Any]
    ) -> None:
        original = await first(emulator, **earlier)
        assert_replays(await post(emulator, order(**KEY, **later)), original)

    @pytest.mark.clause("4.1.19", "4.1.14")
    @pytest.mark.parametrize(
        ("earlier", "later"),
        [
            ({}, {"unknown": 1}),
            ({"unknown": 1}, {}),
            ({"unknown": 1}, {"unknown": 2}),
            ({"unknown": 1}, {"unknown": 1, "another": 1}),
            ({"unknown": 1}, {"Unknown": 1}),
            ({"unknown": 1}, {"unknown": "1"}),
            ({"unknown": 1.5}, {"unknown": 1.25}),
            ({"unknown": True}, {"unknown": 1}),
            ({"unknown": [1, 2]}, {"unknown": [2, 1]}),
            ({"unknown": {"a": None}}, {"unknown": {}}),
        ],
    )
    async def test_different_unknown_members_are_a_conflict(
        self, emulator: World, earlier: dict[str, Any], later: dict[str, Any]
    ) -> None:
        original = await first(emulator, **earlier)
        assert refusal(await post(emulator, order(**KEY, **later))) == REUSED
        assert_replays(await post(emulator, order(**KEY, **earlier)), original)

    async def test_the_order_of_members_white_space_and_escapes_do_not_count(
        self, emulator: World
    ) -> None:
        original = await first(emulator)
        body = dict(reversed(order(**KEY).items()))
        text = json.dumps(body, indent=2).replace("telebirr", "\\u0074elebirr")
        assert_replays(await post(emulator, text.encode()), original)

    @pytest.mark.clause("4.1.19")
    @pytest.mark.parametrize(
        "later",
        [
            {"amount": 15_001},
            {"methods": ["telebirr", "mpesa"]},
            {"methods": ["mpesa", "telebirr", "bank_transfer"]},
            {"success_url": "https://shop.example/ok?order=2"},
            {"success_url": "https://SHOP.example/ok?order=1"},
            {"cancel_url": "https://shop.example/No"},
            {"metadata": {}},
            {"metadata": None},
            {"metadata": {"a": "2"}},
            {"metadata": {"A": "1"}},
            {"metadata": {"a": "1", "b": ""}},
            {"metadata": {"a1": ""}},
            {"expires_in": 1801},
        ],
    )
    async def test_different_parameters_are_a_conflict(
        self, emulator: World, later: dict[str, Any]
    ) -> None:
        original = await first(emulator, metadata={"a": "1"})
        body = {**order(**KEY, metadata={"a": "1"}), **later}
        assert refusal(await post(emulator, body)) == REUSED
        retry = await post(emulator, order(**KEY, metadata={"a": "1"}))
        assert_replays(retry, original)
        assert await ids(emulator) == [original.json()["id"]]
        assert await event_types(emulator) == ["payment.created"]

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            *(("order-1", other) for other in ("order-2", "Order-1", "order-1 ", "o", "ብር")),
            *(("order-1", "order-1\0"), ("order-1", "order-1\0x"), ("a\0b", "a\0c")),
        ],
    )
    async def test_another_key_is_another_payment(
        self, emulator: World, one: str, other: str
    ) -> None:
        original, second = [
            await post(emulator, order(idempotency_key=key)) for key in (one, other)
        ]
        assert second.status_code == 201
        assert REPLAYED not in second.headers
        assert second.json()["id"] != original.json()["id"]

    @pytest.mark.clause("4.1.1")
    async def test_without_a_key_every_request_is_a_payment(self, emulator: World) -> None:
        assert len({(await emulator.create())["id"] for _ in range(3)}) == 3
        assert len({(await emulator.create(idempotency_key=None))["id"] for _ in range(3)}) == 3


class TestWhatUsesNoKey:
    """4.1: a failed request can be retried: a refusal leaves the key free."""

    async def test_a_rate_limit_uses_no_key(self) -> None:
        async with world(rate_limit=RateLimit(requests=1, period_ms=1000)) as emulator:
            await emulator.create()
            assert (await post(emulator, order(**KEY))).status_code == 429
            await emulator.advance(1)
            await first(emulator)

    @pytest.mark.clause("4.1.21")
    async def test_a_refusal_uses_no_key(self) -> None:
        async with world(strict=True) as emulator:
            for member, value in (("amount", 1), ("expires_in", 5)):
                refused = await post(emulator, order(**{**KEY, member: value}))
                assert refusal(refused) == (400, f"invalid_{member}", member)
            await first(emulator)

    async def test_an_invalid_body_is_invalid_even_when_the_key_was_used_before(
        self, emulator: World
    ) -> None:
        await first(emulator)
        response = await post(emulator, order(**KEY, amount=1))
        assert refusal(response) == (400, "invalid_amount", "amount")


class TestRetention:
    """4.1 does not state how long a key is stored: 24 hours on the account's clock."""

    @pytest.mark.clause("4.1.22")
    async def test_a_key_is_used_until_the_last_millisecond_and_free_after_it(
        self, emulator: World
    ) -> None:
        original = await first(emulator)
        await emulator.advance(DAY_S - 0.001)
        assert_replays(await post(emulator, order(**KEY)), original)
        assert refusal(await post(emulator, order(**KEY, amount=200))) == REUSED
        # The replay does not extend the retention.
        await emulator.advance(0.001)
        second = await first(emulator, amount=200)
        assert second.json()["id"] != original.json()["id"]
        await emulator.advance(DAY_S - 0.001)
        assert_replays(await post(emulator, order(**KEY, amount=200)), second)
        assert refusal(await post(emulator, order(**KEY))) == REUSED
        await emulator.advance(0.001)
        await first(emulator)

    async def test_the_clock_of_another_account_has_no_effect(self, emulator: World) -> None:
        original = await first(emulator)
        await emulator.advance(DAY_S, OTHER_TEST_KEY)
        assert_replays(await post(emulator, order(**KEY)), original)


@pytest.mark.clause("4.1.21")
@pytest.mark.parametrize("other", [LIVE_KEY, OTHER_TEST_KEY])
async def test_a_key_belongs_to_one_account_and_mode(emulator: World, other: str) -> None:
    ours = await first(emulator)
    theirs = await post(emulator, order(**KEY, amount=200), other)
    assert theirs.status_code == 201
    assert REPLAYED not in theirs.headers
    assert await ids(emulator, other) == [theirs.json()["id"]]
    assert_replays(await post(emulator, order(**KEY)), ours)


class TestConcurrentDuplicates:
    """4.1: of concurrent duplicates exactly one creates a payment."""

    @pytest.mark.clause("4.1.23")
    async def test_64_duplicates_create_one_payment(self, emulator: World) -> None:
        answers = await asyncio.gather(*(post(emulator, order(**KEY)) for _ in range(64)))
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.content for answer in answers}) == 1
        assert sum(REPLAYED not in answer.headers for answer in answers) == 1
        assert len({answer.headers["request-id"] for answer in answers}) == 64
        assert await ids(emulator) == [answers[0].json()["id"]]
        assert await event_types(emulator) == ["payment.created"]

    async def test_the_first_of_conflicting_requests_creates_the_payment(
        self, emulator: World
    ) -> None:
        bodies = [order(**KEY, amount=1000 + number % 4) for number in range(64)]
        answers = await asyncio.gather(*(post(emulator, body) for body in bodies))
        (payment_id,) = await ids(emulator)
        for answer in answers:
            if answer.status_code == 201:
                assert answer.json()["id"] == payment_id
            else:
                assert refusal(answer) == REUSED
        assert sum(answer.status_code == 201 for answer in answers) == 16

    async def test_many_keys_at_once_create_one_payment_each(self, emulator: World) -> None:
        bodies = [order(idempotency_key=f"order-{number % 16}") for number in range(64)]
        answers = await asyncio.gather(*(post(emulator, body) for body in bodies))
        assert len({answer.json()["id"] for answer in answers}) == 16
        assert len(await ids(emulator, limit=100)) == 16

    async def test_a_cancelled_retry_does_not_affect_the_others(self, emulator: World) -> None:
        waiting = [asyncio.create_task(post(emulator, order(**KEY))) for _ in range(8)]
        await emulator.api.get("/_emulator/health")
        waiting[0].cancel()
        waiting[3].cancel()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        served = [answer for answer in answers if isinstance(answer, httpx.Response)]
        assert len(served) >= 6
        assert {answer.status_code for answer in served} == {201}
        assert len(await ids(emulator)) == 1
        replay = await post(emulator, order(**KEY))
        assert replay.headers[REPLAYED] == "true"


async def test_the_key_in_a_header_does_nothing(emulator: World) -> None:
    sent = {"Idempotency-Key": "order-1"}
    responses = [await post(emulator, order(), **sent) for _ in range(2)]
    assert len({response.json()["id"] for response in responses}) == 2
    for response in responses:
        assert response.headers[WARNING] == "idempotency-key-header"
        assert REPLAYED not in response.headers
