"""`/_emulator/deliveries/paused`, `…/release` and `…/drop` (design, section 10)."""

from typing import Any

import pytest

from emulator.server.engine.delivery.gates import MAX_PAUSE_MS, MAX_PAUSED_DELIVERIES
from tests.server.control import refusal
from tests.server.engine.webhook_world import WebhookWorld, webhook_world
from tests.server.webhooks.receiver import Reply, replies
from tests.world import LIVE_KEY, World

PAUSED = "/deliveries/paused"


async def pause(hooks: WebhookWorld) -> None:
    response = await hooks.emulator.control("PUT", PAUSED, {"paused": True})
    assert response.json() == {"paused": True, "seconds_left": MAX_PAUSE_MS / 1000}


async def is_paused(emulator: World) -> bool:
    return bool((await emulator.shown(PAUSED))["paused"])


async def act(hooks: WebhookWorld, delivery: dict[str, Any], action: str) -> dict[str, Any]:
    path = f"/deliveries/{delivery['id']}/{action}"
    return dict(await hooks.emulator.done("POST", path))


async def three_waiting(hooks: WebhookWorld) -> list[dict[str, Any]]:
    """The deliveries of a paid payment, which wait."""
    await pause(hooks)
    await hooks.pay(await hooks.emulator.create())
    waiting = await hooks.deliveries()
    assert [each["attempts"] for each in waiting] == [[], [], []]
    return waiting


async def test_paused_deliveries_are_released_in_any_order_repeated_or_dropped() -> None:
    async with webhook_world() as hooks:
        created, processing, completed = await three_waiting(hooks)
        assert (await act(hooks, completed, "release"))["status"] == "succeeded"
        assert (await act(hooks, completed, "resend"))["status"] == "succeeded"
        assert (await act(hooks, processing, "drop"))["status"] == "dropped"
        assert (await act(hooks, created, "release"))["status"] == "succeeded"
        assert hooks.types == ["payment.completed", "payment.completed", "payment.created"]
        assert await is_paused(hooks.emulator)


async def test_the_end_of_a_pause_sends_what_waits_in_order() -> None:
    async with webhook_world() as hooks:
        await three_waiting(hooks)
        response = await hooks.emulator.control("PUT", PAUSED, {"paused": False})
        assert response.json() == {"paused": False, "seconds_left": None}
        await hooks.settle()
        assert hooks.types == ["payment.created", "payment.processing", "payment.completed"]


@pytest.mark.parametrize("is_advanced", [True, False])
async def test_an_advance_or_five_minutes_of_real_time_end_a_pause(is_advanced: bool) -> None:
    async with webhook_world() as hooks:
        await three_waiting(hooks)
        if is_advanced:
            await hooks.advance(0)
            assert len(hooks.types) == 3
        else:
            await hooks.emulator.wall.waited_for()
            hooks.emulator.wall.move(MAX_PAUSE_MS)
        assert not await is_paused(hooks.emulator)
        await hooks.receiver.wait_for(3)


async def test_one_delivery_more_than_can_wait_ends_a_pause() -> None:
    async with webhook_world() as hooks:
        await pause(hooks)
        for _ in range(MAX_PAUSED_DELIVERIES):
            await hooks.emulator.create()
        assert await is_paused(hooks.emulator)
        assert hooks.types == []
        await hooks.emulator.create()
        await hooks.receiver.wait_for(MAX_PAUSED_DELIVERIES + 1)
        assert not await is_paused(hooks.emulator)


async def test_a_pause_is_of_one_mode_and_ends_with_a_reset() -> None:
    async with webhook_world() as hooks:
        await pause(hooks)
        live = await hooks.emulator.control("GET", PAUSED, key=LIVE_KEY)
        assert live.json() == {"paused": False, "seconds_left": None}
        await hooks.emulator.control("POST", "/reset")
        assert not await is_paused(hooks.emulator)


async def test_a_released_delivery_that_fails_keeps_its_schedule() -> None:
    async with webhook_world(replies(Reply(status=500), Reply())) as hooks:
        await pause(hooks)
        await hooks.emulator.create()
        [delivery] = await hooks.deliveries()
        failed = await act(hooks, delivery, "release")
        assert (failed["status"], len(failed["attempts"])) == ("pending", 1)
        assert failed["attempts"][0]["trigger"] == "schedule"
        await hooks.advance(1)
        assert [each["status"] for each in await hooks.deliveries()] == ["succeeded"]


async def test_a_retry_can_be_released_without_a_pause() -> None:
    async with webhook_world(replies(Reply(status=500), Reply())) as hooks:
        await hooks.create()
        [delivery] = await hooks.deliveries()
        assert (await act(hooks, delivery, "release"))["status"] == "succeeded"
        assert await hooks.advance(100) == []


@pytest.mark.parametrize("action", ["release", "drop"])
async def test_only_pending_deliveries_can_be_released_or_dropped(action: str) -> None:
    async with webhook_world() as hooks:
        await hooks.create()
        [delivery] = await hooks.deliveries()
        response = await hooks.emulator.control("POST", f"/deliveries/{delivery['id']}/{action}")
        assert refusal(response) == (409, "delivery_not_pending", None)
        response = await hooks.emulator.control("POST", f"/deliveries/dlv_1/{action}")
        assert refusal(response) == (404, "delivery_not_found", None)


@pytest.mark.parametrize(
    ("body", "code"), [({}, "missing_parameter"), ({"paused": "yes"}, "invalid_paused")]
)
async def test_a_wrong_pause_is_refused(emulator: World, body: Any, code: str) -> None:
    assert refusal(await emulator.control("PUT", PAUSED, body)) == (400, code, "paused")
