"""Endpoints and deliveries of a restored account."""

import asyncio

from tests.server.engine.observed_world import observed, run_pending
from tests.server.engine.snapshot_calls import clock, restore, save
from tests.server.engine.webhook_world import register, reply_after, webhook_world
from tests.server.webhooks.receiver import Reply, receiving, replies
from tests.world import LIVE_KEY, START_MS, world


async def test_a_pending_delivery_is_pending_again_after_a_restore() -> None:
    async with webhook_world(replies(Reply(status=500), Reply(status=200))) as hooks:
        await hooks.create()
        await save(hooks.emulator)
        before = await hooks.deliveries()
        assert [len(one["attempts"]) for one in before] == [1]
        first = await hooks.advance(1)
        assert [effect["delivery_status"] for effect in first] == ["succeeded"]
        after = await hooks.deliveries()
        await restore(hooks.emulator)
        assert await hooks.deliveries() == before
        assert (await clock(hooks.emulator))["next"]["kind"] == "webhook_attempt"
        assert await hooks.advance(1) == first
        assert await hooks.deliveries() == after
        assert len(set(hooks.ids)) == 1
        assert len(hooks.ids) == 3


async def test_a_restored_delivery_is_sent_as_time_flows() -> None:
    async with observed() as (emulator, wall), receiving() as receiver:
        receiver.answer = replies(Reply(status=500), Reply())
        await register(emulator, receiver.url)
        await emulator.create()
        await receiver.wait_for(1)
        await wall.waited_until(START_MS + 1_000)
        await save(emulator)
        wall.move(1_000)
        await receiver.wait_for(2)
        await receiver.drained()
        await run_pending(emulator)
        await restore(emulator)
        await wall.waited_until(START_MS + 2_000)
        wall.move(1_000)
        await receiver.wait_for(3)


async def test_an_attempt_in_progress_is_discarded_and_repeated_after_a_restore() -> None:
    answered = asyncio.Event()
    async with webhook_world(reply_after(answered, 410)) as hooks:
        await hooks.emulator.create()
        await hooks.receiver.wait_for(1)
        await save(hooks.emulator)
        hooks.receiver.answer = replies(Reply())
        await restore(hooks.emulator)
        await hooks.receiver.wait_for(2)
        answered.set()
        await hooks.settle()
        [delivery] = await hooks.deliveries()
        assert [attempt["status"] for attempt in delivery["attempts"]] == [200]
        assert len(set(hooks.ids)) == 1


async def test_a_resend_in_progress_is_not_recorded_after_a_restore() -> None:
    answered = asyncio.Event()
    async with webhook_world() as hooks:
        await hooks.create()
        await save(hooks.emulator)
        [delivery] = await hooks.deliveries()
        hooks.receiver.answer = reply_after(answered)
        path = f"/deliveries/{delivery['id']}/resend"
        resending = asyncio.create_task(hooks.emulator.control("POST", path))
        await hooks.receiver.wait_for(2)
        await restore(hooks.emulator)
        answered.set()
        assert (await resending).json()["error"]["code"] == "delivery_not_found"
        assert await hooks.deliveries() == [delivery]


async def test_a_restore_restores_the_endpoints() -> None:
    async with world() as emulator, receiving() as kept, receiving() as dropped:
        deleted = await register(emulator, dropped.url)
        await emulator.control("DELETE", f"/webhook_endpoints/{deleted['id']}")
        before = await register(emulator, kept.url)
        await register(emulator, "http://127.0.0.1:9/", LIVE_KEY, events=["payment.failed"])
        await save(emulator)
        path = f"/webhook_endpoints/{before['id']}"
        await emulator.control("PATCH", path, {"url": dropped.url, "enabled": False})
        await emulator.control("POST", f"{path}/rotate")
        after = await register(emulator, dropped.url)
        await restore(emulator)
        assert (await emulator.shown("/webhook_endpoints"))["data"] == [before]
        await emulator.create()
        await emulator.advance(0)
        assert (len(kept.received), len(dropped.received)) == (1, 0)
        assert await register(emulator, dropped.url) == after
