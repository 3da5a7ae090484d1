"""Endpoints, deliveries, scenarios, faults and the journal of an account that is restored."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from tests.server.engine.observed_world import observed, run_pending
from tests.server.engine.snapshot_calls import clock, restore, save
from tests.server.engine.webhook_world import register, reply_after, webhook_world
from tests.server.webhooks.receiver import Reply, receiving, replies
from tests.world import START_MS, World, headers, world


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


async def shown(emulator: World, *paths: str) -> list[bytes]:
    answers = [await emulator.control("GET", path) for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    return [answer.content for answer in answers]


async def put(emulator: World, name: str, reason: str) -> None:
    rule = {"when": {}, "then": [{"status": "failed", "reason": reason}], "times": 2}
    body = {"version": 1, "name": name, "outcomes": [rule]}
    await emulator.done("PUT", f"/scenarios/{name}", body)


async def reason_of(emulator: World, payment: dict[str, Any]) -> Any:
    await emulator.pay(payment, "0911223344")
    return (await emulator.shown(f"/payments/{payment['id']}"))["reason"]


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_restore_restores_scenarios_faults_and_their_counts(
    restarted: bool, tmp_path: Path
) -> None:
    """And their uses are counted from there, be it that the program was another one."""
    paths = ("/scenarios", "/faults")
    strikes = {"when": {"request": "list_payments", "every": 2}, "then": {"status": 500}}
    async with contextlib.AsyncExitStack() as worlds:
        database = str(tmp_path / "state.db")
        emulator = await worlds.enter_async_context(world(database=database))
        paid, placed, spare = [await emulator.create() for _ in range(3)]
        await put(emulator, "older", "wrong_pin")
        await put(emulator, "newer", "timeout")
        path = f"/payments/{placed['id']}/scenario"
        await emulator.control("PUT", path, {"name": "older"})
        await emulator.control("PUT", "/scenarios/late-success/enabled", {"enabled": True})
        await emulator.control("POST", "/faults", strikes)
        await emulator.api.get("/v1/payments", headers=headers())
        assert await reason_of(emulator, paid) == "timeout"
        await save(emulator)
        before = await shown(emulator, *paths)
        await put(emulator, "older", "bank_declined")
        await emulator.control("DELETE", "/scenarios/newer")
        await emulator.control("PUT", path, {"name": "late-success"})
        await emulator.control("PUT", "/scenarios/late-success/enabled", {"enabled": False})
        await emulator.control("DELETE", "/faults")
        if restarted:
            await worlds.aclose()
            emulator = await worlds.enter_async_context(world(database=database))
        assert await shown(emulator, *paths) != before
        await restore(emulator)
        assert await shown(emulator, *paths) == before
        assert (await emulator.api.get("/v1/payments", headers=headers())).status_code == 500
        assert await reason_of(emulator, placed) == "wrong_pin"
        assert await reason_of(emulator, spare) == "timeout"
        # The stronger one has retired with that.
        assert await reason_of(emulator, await emulator.create()) == "wrong_pin"


async def test_the_journal_is_empty_after_a_restart_and_a_restore(tmp_path: Path) -> None:
    database = str(tmp_path / "state.db")
    async with world(database=database) as emulator:
        await emulator.create()
        await save(emulator)
    async with world(database=database) as emulator:
        await emulator.create()
        await restore(emulator)
        journal = await emulator.shown("/requests")
        assert journal == {"data": [], "has_more": False, "overflowed": False}


async def test_the_journals_in_memory_are_deleted_with_their_snapshot(emulator: World) -> None:
    account = emulator.app.engine.accounts.first
    for name in ("a", "b"):
        await save(emulator, name=name)
    await restore(emulator, name="a")
    assert set(account.snapshot_journals) == {"a", "b"}
    await emulator.control("DELETE", "/snapshots/a")
    assert set(account.snapshot_journals) == {"b"}
    await emulator.control("POST", "/reset")
    assert account.snapshot_journals == {}
