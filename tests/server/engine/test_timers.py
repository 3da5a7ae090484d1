"""Due timers fire before any read and as real time passes (design 5 and 6)."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.instants import parse_clock
from emulator.domain.payment import Payment, Status
from emulator.server.engine.state.account import Owner
from emulator.settings import Settings
from tests.server.engine.observed_world import ObservedWall, observed, run_pending, timeline
from tests.world import LIVE_KEY, OTHER_TEST_KEY, START_MS, World, headers, world

DUE = [
    pytest.param(1800, None, "pending", "expired", id="expiry"),
    pytest.param(30, "0900000003", "processing", "failed", id="scripted outcome"),
    pytest.param(30, "0911111111", "processing", "failed", id="missing answer"),
]


async def views(emulator: World, payment_id: str, statuses: tuple[str, str]) -> dict[str, Any]:
    """The status of a payment as every way of reading shows it."""
    listed = (await emulator.api.get("/v1/payments", headers=headers())).json()["data"]
    found = {
        status: (
            await emulator.api.get("/v1/payments", params={"status": status}, headers=headers())
        ).json()["data"]
        for status in statuses
    }
    detail = await emulator.shown(f"/payments/{payment_id}")
    events = (await emulator.shown("/events"))["data"]
    return {
        "list": listed[0]["status"],
        "filters": "".join(status for status in statuses if found[status]),
        "retrieve": (await emulator.retrieve(payment_id))["status"],
        "detail": detail["payment"]["status"],
        "timeline": detail["timeline"][-1]["status"],
        "event": events[0]["data"]["status"],
    }


@pytest.mark.parametrize(("after_s", "phone", "before", "after"), DUE)
async def test_every_view_changes_at_the_same_millisecond(
    emulator: World, after_s: int, phone: str | None, before: str, after: str
) -> None:
    """Design 5: a poll, a list filter and a page can never disagree."""
    payment = await emulator.create()
    payment_id = payment["id"]
    if phone is not None:
        await emulator.pay(payment, phone)
    await emulator.advance(after_s - 0.001)
    assert set((await views(emulator, payment_id, (before, after))).values()) == {before}
    await emulator.advance(0.001)
    assert set((await views(emulator, payment_id, (before, after))).values()) == {after}


PAY = {"method": "telebirr", "phone": "0900000001"}
# A first request about a payment that should have expired, and a part of its response.
FIRST_REQUESTS = [
    ("GET", "/v1/payments/{}", None, lambda body: body["status"], "expired"),
    ("GET", "/v1/payments", None, lambda body: body["data"][0]["status"], "expired"),
    ("GET", "/v1/payments?status=expired", None, lambda body: len(body["data"]), 1),
    ("GET", "/_emulator/payments/{}", None, lambda body: body["payment"]["status"], "expired"),
    ("GET", "/_emulator/payments/{}", None, lambda body: body["next"], None),
    ("GET", "/_emulator/events", None, lambda body: body["data"][0]["type"], "payment.expired"),
    ("GET", "/_emulator/clock", None, lambda body: body["next"], None),
    (
        *("POST", "/_emulator/payments/{}/pay", PAY),
        *(lambda body: body["error"]["code"], "payment_not_payable"),
    ),
]


@pytest.mark.parametrize(("method", "path", "body", "part", "expected"), FIRST_REQUESTS)
async def test_the_first_request_fires_due_timers(
    method: str, path: str, body: Any, part: Callable[[Any], object], expected: object
) -> None:
    """Design 5: settled before any read, even where the scheduler had no time yet."""
    async with observed() as (emulator, wall):
        payment_id = (await emulator.create())["id"]
        wall.move(1_800_000)
        response = await emulator.api.request(
            method, path.format(payment_id), json=body, headers=headers()
        )
        assert part(response.json()) == expected


async def test_a_create_call_fires_due_timers_first() -> None:
    async with observed() as (emulator, wall):
        await emulator.create()
        wall.move(1_800_000)
        await emulator.create()
        events = (await emulator.shown("/events"))["data"]
        types = [event["type"] for event in events]
        assert types == ["payment.created", "payment.expired", "payment.created"]


@pytest.mark.deep
async def test_more_timers_than_a_chunk_fire_completely(emulator: World) -> None:
    """Design 5: however much is due at once."""
    for _ in range(1_001):
        await emulator.create(expires_in=60)
    await emulator.control("PUT", "/clock", {"now": "2026-01-01T00:01:00Z"})
    pending = await emulator.api.get(
        "/v1/payments", params={"status": "pending"}, headers=headers()
    )
    assert pending.json()["data"] == []
    expired = await emulator.api.get(
        "/v1/payments", params={"status": "expired", "limit": 100}, headers=headers()
    )
    assert len(expired.json()["data"]) == 100


async def test_an_advance_affects_both_modes_and_no_other_account(emulator: World) -> None:
    """Design 3 and 6: an account has one clock; others have their own."""
    payments = {key: (await emulator.create(key))["id"] for key in ("test_demo_key", LIVE_KEY)}
    other = (await emulator.create(OTHER_TEST_KEY))["id"]
    await emulator.advance(1800)
    for key, payment_id in payments.items():
        assert (await emulator.retrieve(payment_id, key))["status"] == "expired"
    assert (await emulator.retrieve(other, OTHER_TEST_KEY))["status"] == "pending"


async def test_a_payment_never_cancels_the_expiry_of_another(emulator: World) -> None:
    """Design 6: a timer belongs to what it was set for, whatever was set there before."""
    first = (await emulator.create())["id"]
    path = f"/payments/{first}/transition"
    await emulator.control("POST", path, {"status": "processing"})
    assert (await emulator.control("POST", path, {"status": "expired"})).status_code == 409
    second = (await emulator.create())["id"]
    assert (await emulator.shown(f"/payments/{first}"))["scheduled"] == []
    await emulator.control("POST", path, {"status": "completed"})
    await emulator.advance(1800)
    assert (await emulator.retrieve(second))["status"] == "expired"


async def test_a_clock_does_not_go_back_when_the_machine_is_set_back_between_two_runs(
    tmp_path: Path,
) -> None:
    database = str(tmp_path / "state.sqlite")
    async with world(database=database, clock=parse_clock("real")) as emulator:
        emulator.wall.move(3_600_000)
        payment = await emulator.create()
    async with world(database=database, clock=parse_clock("real")) as again:
        clock = await again.shown("/clock")
        assert clock["now"] == payment["created_at"]
        assert clock["frozen"] is False
        later = await again.create()
        listed = (await again.api.get("/v1/payments", headers=headers())).json()["data"]
    assert [one["id"] for one in listed] == [later["id"], payment["id"]]


HALF_AN_HOUR_MS = 1_800_000
HANDSET = {"method": "telebirr", "phone": "0911111111"}


def first_owner(emulator: World) -> Owner:
    return emulator.app.engine.accounts.first.owner(Mode.TEST)


async def seen_to_become(
    emulator: World, wall: ObservedWall, payment: dict[str, Any], status: Status, by_ms: int
) -> Payment:
    """Wait for a status without reading, while the wall is moved."""
    history = emulator.app.engine.history
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
            for _ in ("scheduler", "dispatcher"):
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
            for _ in ("scheduler", "dispatcher"):
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
