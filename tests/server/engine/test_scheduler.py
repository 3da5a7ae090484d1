"""Timers fire as real time passes; without due timers the scheduler sleeps (design 5 and 6)."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from emulator.domain.accounts import Mode
from emulator.domain.payment import Payment, Status
from emulator.server.engine.state.account import Owner
from emulator.settings import Settings
from tests.server.engine.observed_world import ObservedWall, observed, run_pending, timeline
from tests.world import OTHER_TEST_KEY, START_MS, World

HALF_AN_HOUR_MS = 1_800_000
HANDSET = {"method": "telebirr", "phone": "0911111111"}


def first_owner(emulator: World) -> Owner:
    return emulator.running.engine.accounts.first.owner(Mode.TEST)


async def seen_to_become(
    emulator: World, wall: ObservedWall, payment: dict[str, Any], status: Status, by_ms: int
) -> Payment:
    """Wait for a status without reading, while the wall is moved."""
    history = emulator.running.engine.history
    waiting = asyncio.create_task(
        history.wait(first_owner(emulator), payment["id"], status, timeout_ms=10**9)
    )
    await wall.waited_until(wall.now_ms() + 10**9)
    wall.move(by_ms)
    async with asyncio.timeout(60):
        reached, seen = await waiting
    assert reached
    return seen


async def test_an_unpaid_payment_expires_at_its_millisecond_without_a_read() -> None:
    """2.1: `expires_at` is when the checkout URL expires."""
    async with observed() as (emulator, wall):
        payment = await emulator.create()
        await wall.waited_until(START_MS + HALF_AN_HOUR_MS)
        wall.move(HALF_AN_HOUR_MS - 1)
        await run_pending(emulator)
        assert wall.waits.empty()
        assert await timeline(emulator, payment) == [("pending", "2026-01-01T00:00:00.000Z")]
        await seen_to_become(emulator, wall, payment, Status.EXPIRED, 1)


async def test_a_late_change_has_the_instant_at_which_it_was_due() -> None:
    """Design 6: each at its own instant, however late the scheduler wakes."""
    async with observed() as (emulator, wall):
        payment = await emulator.create()
        await wall.waited_until(START_MS + HALF_AN_HOUR_MS)
        await seen_to_become(emulator, wall, payment, Status.EXPIRED, HALF_AN_HOUR_MS + 5_000)
        assert await timeline(emulator, payment) == [
            ("pending", "2026-01-01T00:00:00.000Z"),
            ("expired", "2026-01-01T00:30:00.000Z"),
        ]


class TestSleep:
    """Design 6: the scheduler sleeps until something is due."""

    async def test_without_timers_the_scheduler_never_wakes(self) -> None:
        async with observed() as (emulator, wall):
            await wall.waited_until(None)
            for _ in range(10):
                wall.move(86_400_000)
                await run_pending(emulator)
            assert wall.waits.empty()

    async def test_reads_do_not_wake_the_scheduler(self) -> None:
        async with observed() as (emulator, wall):
            payment = await emulator.create()
            await wall.waited_until(START_MS + HALF_AN_HOUR_MS)
            for _ in range(20):
                wall.move(1_000)
                await emulator.retrieve(payment["id"])
                await emulator.control("GET", "/clock")
            assert wall.waits.empty()

    async def test_later_timers_do_not_wake_the_scheduler(self) -> None:
        async with observed() as (emulator, wall):
            await emulator.create()
            await wall.waited_until(START_MS + HALF_AN_HOUR_MS)
            for _ in range(50):
                await emulator.create(expires_in=3600)
                await emulator.create(OTHER_TEST_KEY, expires_in=3600)
            await run_pending(emulator)
            assert wall.waits.empty()

    async def test_an_earlier_timer_shortens_the_sleep(self) -> None:
        async with observed() as (emulator, wall):
            await emulator.create()
            await wall.waited_until(START_MS + HALF_AN_HOUR_MS)
            await emulator.create(expires_in=60)
            await wall.waited_until(START_MS + 60_000)
            await emulator.create(OTHER_TEST_KEY, expires_in=2)
            await wall.waited_until(START_MS + 2_000)
            payment = await emulator.create("live_demo_key")
            await emulator.control(
                "POST", f"/payments/{payment['id']}/pay", HANDSET, key="live_demo_key"
            )
            await run_pending(emulator)
            assert wall.waits.empty()

    async def test_the_scheduler_wakes_once_for_each_due_instant(self) -> None:
        async with observed() as (emulator, wall):
            for expires_in in (60, 120, 180):
                for _ in range(3):
                    await emulator.create(expires_in=expires_in)
            await wall.waited_until(START_MS + 60_000)
            for next_ms in (120_000, 180_000, None):
                wall.move(60_000)
                await wall.waited_until(None if next_ms is None else START_MS + next_ms)
            await run_pending(emulator)
            assert wall.waits.empty()

    async def test_timers_of_a_frozen_clock_do_not_wake_the_scheduler(self) -> None:
        async with observed() as (emulator, wall):
            await wall.waited_until(None)
            await emulator.control("PUT", "/clock", {"frozen": True})
            payment = await emulator.create()
            wall.move(10 * HALF_AN_HOUR_MS)
            await run_pending(emulator)
            assert wall.waits.empty()
            assert (await emulator.retrieve(payment["id"]))["status"] == "pending"

    async def test_timers_of_an_unfrozen_clock_fire(self) -> None:
        async with observed() as (emulator, wall):
            await emulator.control("PUT", "/clock", {"frozen": True})
            payment = await emulator.create(expires_in=60)
            wall.move(1_000_000)
            await emulator.control("PUT", "/clock", {"frozen": False})
            await wall.waited_until(START_MS + 1_000_000 + 60_000)
            seen = await seen_to_become(emulator, wall, payment, Status.EXPIRED, 60_000)
            assert seen.status is Status.EXPIRED

    async def test_timers_of_a_clock_that_is_ahead_fire_sooner(self) -> None:
        async with observed() as (emulator, wall):
            await emulator.create()
            await wall.waited_until(START_MS + HALF_AN_HOUR_MS)
            await emulator.advance(1_000)
            await wall.waited_until(START_MS + HALF_AN_HOUR_MS - 1_000_000)


async def test_accounts_that_are_created_while_it_fires_timers_are_included() -> None:
    """Design 6: a timer fires in time, whatever the scheduler was doing when it was set."""
    async with observed(Settings(seed=1, auto_provision=True)) as (emulator, wall):
        first = await emulator.create(expires_in=60)
        for number in range(20):
            await emulator.create(f"test_early_{number}", expires_in=60)
        await wall.waited_until(START_MS + 60_000)
        await seen_to_become(emulator, wall, first, Status.EXPIRED, 60_000)
        await emulator.create("test_late_comer", expires_in=90)
        await wall.waited_until(START_MS + 60_000 + 90_000)


async def test_the_scheduler_continues_after_a_locked_database(tmp_path: Path) -> None:
    """Design 6: timers live in the database; who could not fire them tries again."""
    database = str(tmp_path / "state.db")
    async with observed(Settings(seed=1, database=database)) as (emulator, wall):
        payment = await emulator.create()
        await wall.waited_until(START_MS + HALF_AN_HOUR_MS)
        other = sqlite3.connect(database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        wall.move(HALF_AN_HOUR_MS)
        async with asyncio.timeout(60):
            retry_at = await wall.waits.get()
        assert retry_at is not None
        other.execute("ROLLBACK")
        other.close()
        wall.move(retry_at - wall.now_ms())
        await wall.waited_until(None)
        assert await timeline(emulator, payment) == [
            ("pending", "2026-01-01T00:00:00.000Z"),
            ("expired", "2026-01-01T00:30:00.000Z"),
        ]
