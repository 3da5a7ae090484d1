"""Webhooks of an account that is restored: what is delivered again, and what is let go."""

import asyncio

from tests.engine.observing import breathe, observed
from tests.engine.saving import clock, restore, save
from tests.engine.telling import register, telling
from tests.webhooks.receiver import Received, Reply, receiving, replies
from tests.world import LIVE_KEY, START_MS, world


async def test_what_was_still_to_be_delivered_is_delivered_again() -> None:
    async with telling(replies(Reply(status=500), Reply(status=200))) as told:
        await told.create()
        await save(told.emulator)
        before = await told.deliveries()
        assert [len(one["attempts"]) for one in before] == [1]
        first = await told.advance(1)
        assert [effect["delivery_status"] for effect in first] == ["succeeded"]
        after = await told.deliveries()
        await restore(told.emulator)
        assert await told.deliveries() == before
        assert (await clock(told.emulator))["next"]["kind"] == "webhook_attempt"
        assert await told.advance(1) == first
        assert await told.deliveries() == after
        assert len(set(told.ids)) == 1
        assert len(told.ids) == 3


async def test_what_was_to_be_delivered_later_is_delivered_as_time_flows() -> None:
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
        await breathe(emulator)
        await restore(emulator)
        await wall.waited_until(START_MS + 2_000)
        wall.move(1_000)
        await receiver.wait_for(3)


async def test_an_attempt_that_is_under_way_is_of_another_life_and_made_again() -> None:
    said = asyncio.Event()

    async def answer(_: Received) -> Reply:
        await said.wait()
        return Reply(status=410)

    async with telling(answer) as told:
        await told.emulator.create()
        await told.receiver.wait_for(1)
        await save(told.emulator)
        told.receiver.answer = replies(Reply())
        await restore(told.emulator)
        await told.receiver.wait_for(2)
        said.set()
        await told.settle()
        [delivery] = await told.deliveries()
        assert [attempt["status"] for attempt in delivery["attempts"]] == [200]
        assert len(set(told.ids)) == 1


async def test_a_resend_that_is_under_way_is_not_written_down() -> None:
    said = asyncio.Event()
    async with telling() as told:
        await told.create()
        await save(told.emulator)
        [delivery] = await told.deliveries()

        async def answer(_: Received) -> Reply:
            await said.wait()
            return Reply()

        told.receiver.answer = answer
        path = f"/deliveries/{delivery['id']}/resend"
        resending = asyncio.create_task(told.emulator.control("POST", path))
        await told.receiver.wait_for(2)
        await restore(told.emulator)
        said.set()
        assert (await resending).json()["error"]["code"] == "delivery_not_found"
        assert await told.deliveries() == [delivery]


async def test_endpoints_are_those_that_there_were() -> None:
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
        shown = (await emulator.control("GET", "/webhook_endpoints")).json()["data"]
        assert shown == [before]
        await emulator.create()
        await emulator.advance(0)
        assert (len(kept.received), len(dropped.received)) == (1, 0)
        assert await register(emulator, dropped.url) == after
