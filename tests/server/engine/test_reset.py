"""Resets of an account or of everything (design 10, `POST /reset`)."""

from pathlib import Path

import pytest

from tests.server.engine.observed_world import observed, run_pending
from tests.world import LIVE_KEY, OTHER_TEST_KEY, START_MS, TEST_KEY, World, headers, order, world

KEY = {"idempotency_key": "order-1"}


async def reset(emulator: World, key: str = TEST_KEY, **body: bool) -> None:
    response = await emulator.control("POST", "/reset", body or None, key)
    assert response.status_code == 204, response.text


async def test_a_reset_deletes_the_rows_of_both_modes(emulator: World) -> None:
    for key in (TEST_KEY, LIVE_KEY):
        await emulator.create(key, **KEY)
    other = await emulator.create(OTHER_TEST_KEY)
    await reset(emulator)
    for key in (TEST_KEY, LIVE_KEY):
        assert await emulator.payments(key) == []
        assert (await emulator.shown("/events", key))["data"] == []
    assert await emulator.payments(OTHER_TEST_KEY) == [other]


async def test_after_a_reset_the_same_requests_get_the_same_bytes(emulator: World) -> None:
    """Clock, idempotency keys and random streams begin again."""

    async def day() -> list[bytes]:
        created = await emulator.api.post("/v1/payments", json=order(**KEY), headers=headers())
        await emulator.pay(created.json(), "0900000001")
        await emulator.advance(60)
        listed = await emulator.api.get("/v1/payments", headers=headers())
        events = await emulator.control("GET", "/events")
        values = [value for _, value in created.headers.raw]
        clock = await emulator.control("GET", "/clock")
        return [created.content, *values, listed.content, events.content, clock.content]

    first = await day()
    await reset(emulator)
    assert await day() == first


async def test_a_payment_from_before_a_reset_is_not_found(emulator: World) -> None:
    """4.2: nothing is remembered, rendered payments included."""
    first, second = await emulator.create(), await emulator.create()
    await emulator.retrieve(second["id"])
    await reset(emulator)
    assert (await emulator.create())["id"] == first["id"]
    gone = await emulator.api.get(f"/v1/payments/{second['id']}", headers=headers())
    assert gone.json()["error"]["code"] == "payment_not_found"


async def test_the_scheduler_fires_only_timers_after_a_reset() -> None:
    """Design 6: timers belong to what they were set for, which a reset removes."""
    async with observed() as (emulator, wall):
        await emulator.create(expires_in=60)
        await wall.waited_until(START_MS + 60_000)
        await reset(emulator)
        payment = await emulator.create(expires_in=90)
        wall.move(60_000)
        await wall.waited_until(START_MS + 90_000)
        wall.move(30_000)
        await wall.waited_until(None)
        await run_pending(emulator)
        assert (await emulator.retrieve(payment["id"]))["status"] == "expired"


@pytest.mark.parametrize("everything", [False, True])
async def test_a_reset_survives_a_restart(tmp_path: Path, everything: bool) -> None:
    """Design 15: an acknowledged write survives."""
    database = str(tmp_path / "state.db")
    async with world(database=database) as emulator:
        await emulator.create(**KEY)
        await emulator.advance(60)
        await reset(emulator, all=everything)
    async with world(database=database) as emulator:
        assert await emulator.payments() == []
        assert (await emulator.create(**KEY))["created_at"] == "2026-01-01T00:00:00.000Z"
