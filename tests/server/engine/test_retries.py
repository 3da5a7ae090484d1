"""The schedule of attempts, to the millisecond, and advances that wait for them."""

import asyncio
from typing import Any

import pytest

from emulator.domain.instants import format_instant
from tests.server.engine.observed_world import observed, run_pending
from tests.server.engine.snapshot_calls import connection
from tests.server.engine.webhook_world import (
    TIMES_OUT,
    attempts_in,
    register,
    reply_after,
    webhook_world,
)
from tests.server.webhooks.receiver import NEVER, Received, Reply, receiving, replies
from tests.world import START_MS, World, world

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
# Design, section 9: each so long after the one before.
DEFAULT_MS = [0, SECOND, 5 * SECOND, 15 * SECOND, MINUTE]
STANDARD_MS = [
    0,
    5 * SECOND,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
]


def instants(delays_ms: list[int], start_ms: int = START_MS) -> list[str]:
    return [
        format_instant(start_ms + sum(delays_ms[: count + 1])) for count in range(len(delays_ms))
    ]


def refusing(_: Received) -> Reply:
    return Reply(status=500)


@pytest.mark.clause("6.4")
@pytest.mark.parametrize(
    ("profile", "delays_ms"), [("default", DEFAULT_MS), ("standard", STANDARD_MS)]
)
async def test_a_delivery_fails_after_the_last_attempt_of_its_profile(
    profile: str, delays_ms: list[int]
) -> None:
    async with webhook_world(refusing, profile=profile) as hooks:
        await hooks.create(expires_in=10_000_000)
        effects = await hooks.advance(77 * 3_600)
        [delivery] = await hooks.deliveries()
        attempts = delivery["attempts"]
        assert [attempt["at"] for attempt in attempts] == instants(delays_ms)
        assert [attempt["number"] for attempt in attempts] == list(range(1, len(delays_ms) + 1))
        assert delivery["status"] == "failed"
        assert delivery["next_attempt_at"] is None
        assert [effect["at"] for effect in effects] == instants(delays_ms)[1:]
        assert len(hooks.receiver.received) == len(delays_ms)
        assert len({received.body for received in hooks.receiver.received}) == 1
        assert len(set(hooks.ids)) == 1


async def test_an_attempt_that_cannot_be_stored_is_stored_later_and_not_repeated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with webhook_world() as hooks:
        database = connection(hooks.emulator)
        database.execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON attempts"
            " BEGIN SELECT raise(ABORT, 'full'); END"
        )
        await hooks.emulator.create()
        await hooks.receiver.wait_for(1)
        while "an attempt could not be stored" not in caplog.text:
            await run_pending(hooks.emulator)
        database.execute("DROP TRIGGER full")
        hooks.emulator.wall.move(SECOND)
        await hooks.settle()
        [delivery] = await hooks.deliveries()
        assert delivery["status"] == "succeeded"
        assert len(delivery["attempts"]) == len(hooks.receiver.received) == 1


async def test_a_response_with_410_disables_the_endpoint() -> None:
    async with webhook_world(replies(Reply(status=500), Reply(status=410))) as hooks:
        first = await hooks.create()
        await hooks.create()
        await hooks.pay(first)
        assert attempts_in(await hooks.advance(1_000)) == []
        states = [delivery["status"] for delivery in await hooks.deliveries()]
        assert states == ["cancelled", "failed"]
        body = {"enabled": True}
        path = f"/webhook_endpoints/{hooks.endpoint['id']}"
        assert (await hooks.emulator.shown(path))["enabled"] is False
        assert (await hooks.emulator.done("PATCH", path, body))["enabled"] is True
        await hooks.create()
        assert len(hooks.receiver.received) == 3


async def test_effects_come_in_order_of_due_time_and_then_of_creation() -> None:
    async with webhook_world(refusing, events=["payment.created", "payment.failed"]) as hooks:
        payment = await hooks.emulator.create(expires_in=1)
        other = await hooks.create()
        await hooks.pay(other, TIMES_OUT)
        effects = await hooks.advance(31)
    types = [(effect["at"][17:23], effect.get("event_type", effect["type"])) for effect in effects]
    assert types == [
        ("01.000", "payment.expired"),  # its timer was created before both deliveries
        ("01.000", "payment.created"),
        ("01.000", "payment.created"),
        ("06.000", "payment.created"),
        ("06.000", "payment.created"),
        ("21.000", "payment.created"),
        ("21.000", "payment.created"),
        ("30.000", "payment.failed"),
        ("30.000", "payment.failed"),
        ("31.000", "payment.failed"),
    ]
    assert effects[0]["payment"] == payment["id"]


async def test_the_order_does_not_depend_on_the_order_of_responses() -> None:
    """Five are under way at a time; what is answered last is listed in its place all the same."""
    turns: list[asyncio.Event] = []

    async def answer(_: Received) -> Reply:
        mine = asyncio.Event()
        turns.append(mine)
        if len(turns) == 5:
            for turn in reversed(turns):
                turn.set()
        await mine.wait()
        return Reply(status=500)

    async with webhook_world(replies(Reply(status=500))) as hooks:
        created = [(await hooks.emulator.create())["id"] for _ in range(5)]
        await hooks.settle()
        hooks.receiver.answer = answer
        effects = await hooks.advance(1)
        assert [effect["payment"] for effect in effects] == created


async def test_the_clock_shows_the_next_attempt() -> None:
    async with webhook_world(refusing) as hooks:
        payment = await hooks.create()
        clock = await hooks.emulator.shown("/clock")
        assert clock["next"] == {
            "at": format_instant(START_MS + SECOND),
            "kind": "webhook_attempt",
            "payment": payment["id"],
        }
        response = await hooks.emulator.control("POST", "/clock/advance", {"to": "next"})
        assert response.json()["now"] == format_instant(START_MS + SECOND)
        [effect] = response.json()["effects"]
        assert effect == {
            "at": format_instant(START_MS + SECOND),
            "type": "webhook.attempt",
            "payment": payment["id"],
            "kind": "webhook_attempt",
            "event": hooks.ids[0],
            "event_type": "payment.created",
            "delivery": (await hooks.deliveries())[0]["id"],
            "endpoint": hooks.endpoint["id"],
            "number": 2,
            "response_status": 500,
            "error": None,
            "delivery_status": "pending",
        }


async def test_a_payment_shows_its_scheduled_attempts() -> None:
    async with webhook_world(refusing, events=["payment.created"]) as hooks:
        payment = await hooks.create(expires_in=60)
        detail = await hooks.emulator.shown(f"/payments/{payment['id']}")
        assert [one["kind"] for one in detail["scheduled"]] == ["webhook_attempt", "expiry"]
        assert detail["next"] == {
            "at": format_instant(START_MS + SECOND),
            "kind": "webhook_attempt",
            "payment": payment["id"],
            "delivery": (await hooks.deliveries())[0]["id"],
            "event_type": "payment.created",
        }


async def test_expiries_without_a_delivery_are_effects_too() -> None:
    async with webhook_world(events=["payment.completed"]) as hooks:
        for seconds in range(50):
            await hooks.emulator.create(expires_in=60 + seconds)
        effects = await hooks.advance(200)
        assert [effect["type"] for effect in effects] == ["payment.expired"] * 50
        assert hooks.types == []


async def test_in_the_background_an_advance_does_not_wait() -> None:
    answered = asyncio.Event()
    async with webhook_world(reply_after(answered)) as hooks:
        await hooks.emulator.create(expires_in=60)
        body = {"seconds": 60, "webhooks": "background"}
        response = await hooks.emulator.control("POST", "/clock/advance", body)
        assert [effect["type"] for effect in response.json()["effects"]] == ["payment.expired"]
        assert response.json()["settled"] is True
        answered.set()
        await hooks.receiver.wait_for(2)
        await hooks.settle()
        assert hooks.types == ["payment.created", "payment.expired"]


@pytest.mark.parametrize("webhooks", [{}, {"webhooks": "background"}], ids=str)
async def test_an_attempt_in_progress_is_not_what_an_advance_to_the_next_item_reaches(
    webhooks: dict[str, str],
) -> None:
    answered = asyncio.Event()
    async with webhook_world(reply_after(answered)) as hooks:
        payment = await hooks.emulator.create(expires_in=60)
        await hooks.receiver.wait_for(1)
        body = {"to": "next", **webhooks}
        call = hooks.emulator.control("POST", "/clock/advance", body)
        advancing = asyncio.create_task(call)
        await run_pending(hooks.emulator)
        answered.set()
        advanced = (await advancing).json()
        assert advanced["now"] == payment["expires_at"]
        assert advanced["effects"][0]["type"] == "payment.expired"


async def test_an_advance_stops_after_a_minute_of_real_time_and_the_next_one_continues() -> None:
    async with webhook_world(lambda _: NEVER) as hooks:
        emulator = hooks.emulator
        await emulator.create(expires_in=100_000)
        advancing = asyncio.create_task(emulator.advance(3_600))
        for count in range(1, 5):  # each of them is given up after 15 s
            await hooks.receiver.wait_for(count)
            emulator.wall.move(15_001)
        stopped = await advancing
        assert stopped["settled"] is False
        assert stopped["now"] == instants(DEFAULT_MS)[3]
        hooks.receiver.answer = lambda _: Reply()
        went_on = await emulator.advance(3_600)
        assert went_on["settled"] is True
        effects = [*stopped["effects"], *went_on["effects"]]
        assert [effect["at"] for effect in effects] == instants(DEFAULT_MS)[1:]
        assert [effect["error"] is None for effect in effects] == [False, False, False, True]


async def test_an_advance_that_waits_a_minute_for_an_earlier_attempt_is_not_settled() -> None:
    async with webhook_world(lambda _: NEVER) as hooks:
        await hooks.emulator.create()
        await hooks.receiver.wait_for(1)
        advancing = asyncio.create_task(hooks.emulator.advance(0))
        await run_pending(hooks.emulator)
        hooks.emulator.wall.move(60_000)
        assert (await advancing)["settled"] is False


async def test_timers_that_a_stopped_advance_left_are_effects_of_the_next_one() -> None:
    async with webhook_world(replies(Reply(status=500), Reply(), NEVER)) as hooks:
        emulator = hooks.emulator
        await emulator.create()
        await hooks.settle()
        expiring = await emulator.create(expires_in=1)
        await hooks.settle()
        advancing = asyncio.create_task(emulator.advance(2))
        await hooks.receiver.wait_for(3)
        emulator.wall.move(60_001)
        stopped = await advancing
        assert stopped["settled"] is False
        hooks.receiver.answer = lambda _: Reply()
        until = {"until": format_instant(START_MS + 2 * SECOND)}
        went_on = await emulator.done("POST", "/clock/advance", until)
        assert went_on["settled"] is True
        assert went_on["now"] == until["until"]
        expired = [
            effect["payment"]
            for effect in [*stopped["effects"], *went_on["effects"]]
            if effect["type"] == "payment.expired"
        ]
        assert expired == [expiring["id"]]


async def test_the_next_advance_returns_each_effect_of_a_failed_one_once() -> None:
    async with webhook_world() as hooks:
        early = await hooks.emulator.create(expires_in=1)
        late = await hooks.create(expires_in=2)
        database = connection(hooks.emulator)
        database.execute(
            "CREATE TEMP TRIGGER full BEFORE UPDATE ON accounts"
            " WHEN (SELECT count(*) FROM payments WHERE status = 'expired') = 2"
            " BEGIN SELECT raise(ABORT, 'full'); END"
        )
        body = {"seconds": 10}
        assert (await hooks.emulator.control("POST", "/clock/advance", body)).status_code == 500
        database.execute("DROP TRIGGER full")
        effects = await hooks.advance(10)
    assert [(effect["payment"], effect["type"]) for effect in effects] == [
        (early["id"], "payment.expired"),
        (early["id"], "webhook.attempt"),
        (late["id"], "payment.expired"),
        (late["id"], "webhook.attempt"),
    ]


async def test_a_clock_that_stops_before_its_target_is_not_settled() -> None:
    async with webhook_world(lambda _: NEVER) as hooks:
        await hooks.emulator.create()
        await hooks.receiver.wait_for(1)
        body = {"now": "2026-01-01T00:10:00Z", "frozen": False}
        setting = asyncio.create_task(hooks.emulator.control("PUT", "/clock", body))
        while not setting.done():
            hooks.emulator.wall.move(15_001)
            await hooks.emulator.control("GET", "/deliveries")
        answer = (await setting).json()
        assert answer["settled"] is False
        assert answer["frozen"] is True
        assert answer["now"] < "2026-01-01T00:10:00.000Z"


async def test_a_handler_that_calls_back_does_not_change_the_order_of_effects() -> None:
    async def call_back(received: Received) -> Reply:
        await hooks.emulator.retrieve(received.json["data"]["id"])
        return Reply(status=500)

    seen = []
    for answer in (refusing, call_back):
        async with webhook_world(answer) as hooks:
            await hooks.create(expires_in=100)
            await hooks.create(expires_in=1)
            effects = await hooks.advance(10)
            seen.append([(effect["at"], effect["type"]) for effect in effects])
    assert seen[0] == seen[1]
    assert seen[0][:2] == [
        ("2026-01-01T00:00:01.000Z", "webhook.attempt"),
        ("2026-01-01T00:00:01.000Z", "payment.expired"),
    ]


async def test_a_410_of_a_former_address_does_not_disable_the_endpoint() -> None:
    answered = asyncio.Event()
    async with webhook_world(reply_after(answered, 410)) as hooks, receiving() as moved:
        await hooks.emulator.create()
        await hooks.receiver.wait_for(1)
        path = f"/webhook_endpoints/{hooks.endpoint['id']}"
        await hooks.emulator.control("PATCH", path, {"url": moved.url})
        answered.set()
        await hooks.settle()
        await hooks.advance(1)
        assert len(moved.received) == 1
        assert (await hooks.emulator.shown(path))["enabled"] is True


async def test_a_flowing_clock_makes_attempts_as_real_time_passes() -> None:
    async with observed() as (emulator, wall), receiving(refusing) as receiver:
        await register(emulator, receiver.url)
        await emulator.create()
        for count, wait_ms in enumerate(DEFAULT_MS[1:], start=1):
            await attempted(emulator, count)
            wall.move(wait_ms - 1)
            assert len(receiver.received) == count
            wall.move(1)
        attempts = await attempted(emulator, len(DEFAULT_MS))
        assert [attempt["at"] for attempt in attempts] == instants(DEFAULT_MS)


async def attempted(emulator: World, count: int) -> list[dict[str, Any]]:
    """Look until so many attempts have been written down."""
    async with asyncio.timeout(60):
        while True:
            [delivery] = (await emulator.shown("/deliveries"))["data"]
            if len(delivery["attempts"]) == count:
                return list(delivery["attempts"])


async def test_pending_attempts_continue_when_the_clock_flows() -> None:
    async with webhook_world(replies(Reply(status=500), Reply())) as hooks:
        await hooks.create()
        await run_pending(hooks.emulator)
        await hooks.emulator.control("PUT", "/clock", {"frozen": False})
        hooks.emulator.wall.move(SECOND)
        await hooks.receiver.wait_for(2)


async def test_accounts_with_real_and_frozen_clocks_do_not_disturb_each_other() -> None:
    async with world() as emulator, receiving(refusing) as receiver:
        response = await emulator.control("POST", "/accounts", {"clock": "real"})
        key = response.json()["test_key"]
        await register(emulator, receiver.url)
        await register(emulator, receiver.url, key)
        await emulator.create()
        await emulator.create(key)
        await receiver.wait_for(2)
        await flowed(emulator, receiver.received, key)


async def flowed(emulator: World, received: list[Received], key: str) -> None:
    """Real time passes until all attempts of the flowing account are made, and no others."""
    while len(received) < 2 + len(DEFAULT_MS) - 1:
        emulator.wall.move(SECOND)
        await emulator.control("GET", "/deliveries", key=key)
    frozen = (await emulator.shown("/deliveries"))["data"]
    assert [len(delivery["attempts"]) for delivery in frozen] == [1]


async def test_a_resend_that_is_answered_with_410_ends_the_schedule_too() -> None:
    async with webhook_world(replies(Reply(status=500), Reply(status=410))) as hooks:
        await hooks.create()
        [delivery] = await hooks.deliveries()
        resent = await hooks.resend(delivery)
        assert resent["status"] == "cancelled"
        assert resent["next_attempt_at"] is None
        assert await hooks.advance(100) == []
        assert len(hooks.receiver.received) == 2
