"""`from` and `until` of rules count from when their scenario was enabled (design 7)."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emulator.settings import Settings
from tests.world import FROZEN, OTHER_TEST_KEY, TEST_KEY, World, headers, world

HOUR_S = 3600.0
FAULT = {"when": {"from": "1h", "until": "2h"}, "then": {"status": 503}}
OUTAGE = {"version": 1, "name": "night", "faults": [FAULT]}
LIMIT = {
    "version": 1,
    "name": "night",
    "outcomes": [
        {
            "when": {"until": "1h"},
            "then": [{"status": "failed", "reason": "limit_exceeded"}],
        }
    ],
}
PUT = "/scenarios/night"


async def is_out(emulator: World, key: str = TEST_KEY) -> bool:
    response = await emulator.api.get("/v1/payments", headers=headers(key))
    return response.status_code == 503


async def check_hours(emulator: World, key: str = TEST_KEY) -> None:
    """It is out in the second hour from now."""
    seen = [await is_out(emulator, key)]
    for seconds in (HOUR_S - 0.001, 0.001, HOUR_S - 0.001, 0.001):
        await emulator.advance(seconds, key)
        seen.append(await is_out(emulator, key))
    assert seen == [False, False, True, True, False]


async def put(emulator: World) -> None:
    await emulator.done("PUT", PUT, OUTAGE)


async def switch_on(emulator: World) -> None:
    await emulator.done("PUT", PUT, {**OUTAGE, "enabled": False})
    await emulator.advance(90 * 60)
    assert not await is_out(emulator)
    await emulator.done("PUT", f"{PUT}/enabled", {"enabled": True})


async def switch_off_and_on(emulator: World) -> None:
    await put(emulator)
    await emulator.advance(90 * 60)
    for is_on in (False, True):
        await emulator.done("PUT", f"{PUT}/enabled", {"enabled": is_on})


async def post_fault(emulator: World) -> None:
    await emulator.done("POST", "/faults", FAULT)


@pytest.mark.parametrize("begin", [put, switch_on, switch_off_and_on, post_fault])
async def test_the_time_of_a_fault_begins_when_it_is_enabled(
    emulator: World, begin: Callable[[World], Awaitable[None]]
) -> None:
    await emulator.advance(12_345)
    await begin(emulator)
    await check_hours(emulator)


def settings(directory: Path, **changes: Any) -> Settings:
    file = directory / "night.yaml"
    file.write_text(json.dumps(OUTAGE), encoding="utf-8")
    return replace(FROZEN, scenarios=(str(file),), **changes)


async def test_the_time_of_a_file_begins_with_each_account_and_with_a_reset(tmp_path: Path) -> None:
    async with world(settings(tmp_path)) as emulator:
        await check_hours(emulator)
        assert (await emulator.control("POST", "/reset")).is_success
        await check_hours(emulator)
        await check_hours(emulator, OTHER_TEST_KEY)
        account = await emulator.done("POST", "/accounts", {"clock": "frozen@2030-01-01T00:00:00Z"})
        await check_hours(emulator, account["test_key"])


async def test_the_time_survives_a_restart_and_a_snapshot(tmp_path: Path) -> None:
    changed = settings(tmp_path, database=str(tmp_path / "state.db"))
    async with world(changed) as emulator:
        await emulator.advance(90 * 60)
        await emulator.done("POST", "/faults", {**FAULT, "then": {"status": 500}})
        await emulator.done("PUT", "/snapshots/here")
    async with world(changed) as emulator:
        for _ in range(2):
            assert await is_out(emulator)
            await emulator.advance(HOUR_S)
            response = await emulator.api.get("/v1/payments", headers=headers())
            assert response.status_code == 500
            await switch_off_and_on(emulator)
            await emulator.done("POST", "/snapshots/here/restore")


async def test_an_outcome_has_a_time(emulator: World) -> None:
    await emulator.advance(12_345)
    await emulator.done("PUT", PUT, LIMIT)
    for seconds, status in ((0, "failed"), (HOUR_S - 0.001, "failed"), (0.001, "completed")):
        await emulator.advance(seconds)
        payment = await emulator.pay(await emulator.create(), "0900000001")
        assert payment["status"] == status


async def test_the_time_of_a_scenario_of_one_payment_begins_with_it(emulator: World) -> None:
    """Unless the scenario is on for the account."""
    await emulator.done("PUT", PUT, {**LIMIT, "enabled": False})
    await emulator.advance(5 * HOUR_S)
    payments = [await emulator.create(expires_in=86_400) for _ in range(3)]
    for payment in payments[:2]:
        await emulator.done("PUT", f"/payments/{payment['id']}/scenario", {"name": "night"})
    statuses = [(await emulator.pay(payments[0], "0900000001"))["status"]]
    await emulator.advance(HOUR_S)
    statuses += [(await emulator.pay(each, "0900000001"))["status"] for each in payments[1:]]
    assert statuses == ["failed", "completed", "completed"]
