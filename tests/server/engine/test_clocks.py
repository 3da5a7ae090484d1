"""Clocks at a rate of real time, and after the system clock was set back."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.clock import AccountClock
from emulator.domain.instants import LAST_INSTANT, MAX_RATE, format_clock, parse_clock
from emulator.settings import Settings
from tests.server.control import refusal
from tests.server.engine.observed_world import observed, run_pending
from tests.server.engine.webhook_world import register
from tests.server.webhooks.receiver import receiving
from tests.world import START, START_MS, ManualClock, World, world

SIXTY = Settings(seed=1, clock=parse_clock("x60"))
LARGE = 10**400


async def put(emulator: World, **body: Any) -> dict[str, Any]:
    return dict(await emulator.done("PUT", "/clock", body))


async def shown(emulator: World) -> tuple[str, float | None]:
    """The time of the day, and the rate."""
    clock = await emulator.shown("/clock")
    return clock["now"][11:], clock["rate"]


@given(
    rate=st.integers(min_value=1, max_value=MAX_RATE),
    start=st.integers(min_value=0, max_value=LAST_INSTANT - 1),
    ahead_ms=st.integers(min_value=0, max_value=10**12),
)
def test_a_clock_reaches_an_instant_exactly_at_its_real_time(
    rate: int, start: int, ahead_ms: int
) -> None:
    wall = ManualClock()
    clock = AccountClock(wall, frozen_at=start)
    clock.flow_from(start, rate)
    assert clock.now() == start
    due_at = min(start + ahead_ms, LAST_INSTANT - 1)
    wait_ms = clock.wall_instant(due_at) - wall.now_ms()
    wall.move(wait_ms)
    assert clock.now() >= due_at
    wall.move(-1)
    assert clock.now() < due_at or wait_ms <= 0


def test_a_clock_stops_at_the_end_of_the_calendar() -> None:
    wall = ManualClock()
    clock = AccountClock.from_spec(wall, parse_clock("x100000"))
    wall.move(10**12)
    assert clock.now() == LAST_INSTANT - 1
    assert clock.wall_instant(LAST_INSTANT) > wall.now_ms()


@pytest.mark.parametrize(
    ("text", "written"),
    [("x60", "x60"), ("x0.5", "x0.5"), ("x1", "real"), ("x100000", "x100000"), ("x02.500", "x2.5")],
)
def test_a_rate_is_written_as_it_is_read(text: str, written: str) -> None:
    assert format_clock(parse_clock(text)) == written
    assert parse_clock(written) == parse_clock(text)


@pytest.mark.parametrize("text", ["x", "x0", "x0.0004", "x-1", "x100000.001", "x1e3", "60x", "X60"])
def test_another_text_is_no_rate(text: str) -> None:
    with pytest.raises(ValueError, match="or a rate from"):
        parse_clock(text)


async def test_timers_fire_in_scaled_real_time() -> None:
    async with observed(SIXTY) as (emulator, wall):
        await emulator.create(expires_in=120)
        await wall.waited_until(START_MS + 2_000)
        wall.move(2_000)
        await wall.waited_until(None)
        await run_pending(emulator)
        events = (await emulator.shown("/events"))["data"]
        assert [(event["type"], event["timestamp"][11:]) for event in events] == [
            ("payment.expired", "00:02:00.000Z"),
            ("payment.created", "00:00:00.000Z"),
        ]


async def test_a_new_rate_wakes_the_scheduler() -> None:
    async with observed() as (emulator, wall):
        await emulator.create(expires_in=1_000)
        await wall.waited_until(START_MS + 1_000_000)
        wall.move(500)
        await put(emulator, rate=1_000)
        await wall.waited_until(START_MS + 500 + 1_000)


async def test_a_rate_lets_a_frozen_clock_run_and_outlives_a_freeze() -> None:
    async with world() as emulator:
        assert await shown(emulator) == ("00:00:00.000Z", None)
        assert (await put(emulator, rate=2.5))["frozen"] is False
        emulator.wall.move(1_000)
        assert await shown(emulator) == ("00:00:02.500Z", 2.5)
        await put(emulator, frozen=True)
        emulator.wall.move(1_000)
        assert await shown(emulator) == ("00:00:02.500Z", None)
        await put(emulator, frozen=False)
        emulator.wall.move(1_000)
        assert await shown(emulator) == ("00:00:05.000Z", 2.5)
        await put(emulator, frozen=False, rate=1)
        emulator.wall.move(1_000)
        assert await shown(emulator) == ("00:00:06.000Z", 1)


async def test_an_advanced_clock_continues_at_its_rate() -> None:
    async with world(SIXTY) as emulator:
        await emulator.advance(3_600)
        emulator.wall.move(1_000)
        assert await shown(emulator) == ("01:01:00.000Z", 60)
        await put(emulator, now="2026-01-01T02:00:00Z")
        emulator.wall.move(1_000)
        assert await shown(emulator) == ("02:01:00.000Z", 60)
        await put(emulator, now="2026-01-01T03:00:00Z", rate=10)
        emulator.wall.move(1_000)
        assert await shown(emulator) == ("03:00:10.000Z", 10)


@pytest.mark.parametrize(
    ("rate", "received"),
    [
        (0, "0"),
        (-1, "-1"),
        (100_000.001, "100000.001"),
        (0.0001, "0.0001"),
        (LARGE, ""),
        ("60", '"60"'),
        (True, "true"),
        ([], "[]"),
    ],
)
async def test_another_rate_is_refused(rate: object, received: str) -> None:
    async with world() as emulator:
        response = await emulator.control("PUT", "/clock", {"now": "2027-01-01", "rate": rate})
        assert refusal(response)[:2] == (400, "invalid_clock")
        message = response.json()["error"]["message"]
        assert received in message
        assert "at most 100000, with at most three decimals" in message
        assert await shown(emulator) == ("00:00:00.000Z", None)


async def test_a_rate_of_a_frozen_clock_is_refused() -> None:
    async with world() as emulator:
        response = await emulator.control("PUT", "/clock", {"frozen": True, "rate": 2})
        assert refusal(response)[:2] == (400, "invalid_clock")
        assert "send one of the two" in response.json()["error"]["message"]


@pytest.mark.parametrize("is_frozen", [False, True])
async def test_a_rate_is_restored_with_a_snapshot_and_by_a_reset(is_frozen: bool) -> None:
    async with world(SIXTY) as emulator:
        await put(emulator, rate=5)
        await put(emulator, frozen=is_frozen)
        await emulator.control("PUT", "/snapshots/first")
        await put(emulator, rate=7)
        emulator.wall.move(1_000)
        await emulator.control("POST", "/snapshots/first/restore")
        await put(emulator, frozen=False)
        emulator.wall.move(1_000)
        assert await shown(emulator) == ("00:00:05.000Z", 5)
        await emulator.control("POST", "/reset")
        assert (await shown(emulator))[1] == 60


async def test_a_stored_clock_continues_at_its_rate_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(seed=1, database=str(tmp_path / "payments.db"), clock=parse_clock("x60"))
    body = {"test_key": "test_second_shop", "clock": "x0.5"}
    async with world(settings) as emulator:
        created = await emulator.done("POST", "/accounts", body)
        assert created["clock"] == "x0.5"
        emulator.wall.move(1_000)
        await put(emulator, rate=100_000)
    async with world(settings) as emulator:
        emulator.wall.move(2_000)  # one second since the rate was set
        assert await shown(emulator) == ("03:47:40.000Z", 100_000)
        second = await emulator.control("GET", "/clock", key="test_second_shop")
        assert (second.json()["now"][11:], second.json()["rate"]) == ("00:00:01.000Z", 0.5)


HOUR = 3_600_000
FLOWING = Settings(seed=1)


async def now(emulator: World) -> str:
    return str((await emulator.shown("/clock"))["now"])


async def test_webhook_timestamps_and_the_log_use_the_system_clock() -> None:
    async with observed() as (emulator, wall), receiving() as receiver:
        await register(emulator, receiver.url)
        wall.set_back(HOUR)
        wall.move(1_000)
        payment = await emulator.create()
        await receiver.wait_for(1)
    assert payment["created_at"] == "2026-01-01T00:00:01.000Z"
    [received] = receiver.received
    assert received.headers["webhook-timestamp"] == str((START_MS - HOUR + 1_000) // 1_000)
    assert "23:00:01.000 POST /v1/payments 201" in "".join(emulator.log)


async def test_a_moved_clock_continues_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(seed=1, database=str(tmp_path / "payments.db"))
    async with observed(settings) as (emulator, wall):
        wall.set_back(HOUR)
        wall.move(1_000)
        await emulator.advance(60)
        assert await now(emulator) == "2026-01-01T00:01:01.000Z"
        shown = wall.system_ms() - START_MS
    async with observed(settings) as (emulator, wall):
        wall.move(shown)
        assert await now(emulator) == "2026-01-01T00:01:01.000Z"


async def test_a_restored_clock_continues_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(seed=1, database=str(tmp_path / "payments.db"))
    async with observed(settings) as (emulator, wall):
        assert (await emulator.control("PUT", "/snapshots/first")).status_code == 201
        wall.set_back(HOUR)
        assert (await emulator.control("POST", "/snapshots/first/restore")).status_code == 200
        assert await now(emulator) == START.replace("Z", ".000Z")
        shown = wall.system_ms() - START_MS
    async with observed(settings) as (emulator, wall):
        wall.move(shown)
        assert await now(emulator) == START.replace("Z", ".000Z")
