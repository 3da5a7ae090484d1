"""The requests without a valid key."""

from typing import Any

import pytest

from emulator.server.engine.state.journal import MAX_PATH_CHARACTERS, MAX_UNAUTHORIZED
from tests.server.api.calls import PAYMENTS, get, post
from tests.server.control import refusal
from tests.server.dashboard import page
from tests.world import LIVE_KEY, TEST_KEY, World, order


async def unauthorized(emulator: World, query: str = "") -> Any:
    return (await emulator.api.get(f"/_emulator/unauthorized{query}")).raise_for_status().json()


async def test_they_are_listed_with_what_was_wrong(emulator: World) -> None:
    assert await unauthorized(emulator) == {"data": [], "count": 0}
    await post(emulator, order(), "test_my_own_key")
    emulator.wall.move(1_500)
    await emulator.api.get(f"{PAYMENTS}/pay_x?limit=1")
    await emulator.control("GET", "/clock", key="live_unknown_key")
    await get(emulator, PAYMENTS)
    listed = await unauthorized(emulator)
    assert listed["count"] == 3
    instants = [each.pop("at")[-13:] for each in listed["data"]]
    assert instants == ["00:00:01.500Z", "00:00:01.500Z", "00:00:00.000Z"]
    members = ("method", "path", "code", "key")
    assert [tuple(each[name] for name in members) for each in listed["data"]] == [
        ("GET", "/_emulator/clock", "invalid_api_key", "live_un…key"),
        ("GET", "/v1/payments/pay_x", "missing_api_key", None),
        ("POST", "/v1/payments", "invalid_api_key", "test_my…key"),
    ]
    assert await unauthorized(emulator, "?account=acct_other&mode=live") != {"data": [], "count": 0}


async def test_they_are_limited_and_count_on(emulator: World) -> None:
    for number in range(2 * MAX_UNAUTHORIZED):
        await get(emulator, f"{PAYMENTS}/{number}", "test_unknown")
    listed = await unauthorized(emulator)
    assert listed["count"] == 2 * MAX_UNAUTHORIZED
    paths = [each["path"] for each in listed["data"]]
    assert paths == [
        f"{PAYMENTS}/{2 * MAX_UNAUTHORIZED - 1 - index}" for index in range(MAX_UNAUTHORIZED)
    ]


@pytest.mark.parametrize(
    ("authorization", "shown"),
    [
        ("Basic dXNlcjpwYXNzd29yZA==", None),
        ("Bearer", None),
        ("bearer  sk_live_of_another", "sk_live…her"),
        ("Bearer hunter2", "…"),
        ("Bearer test_x", "test_…"),
        ("Bearer test_" + "k" * 60_000, "test_kk…kkk"),
    ],
)
async def test_no_secret_is_shown(emulator: World, authorization: str, shown: str | None) -> None:
    path = f"{PAYMENTS}/{LIVE_KEY}{TEST_KEY}/" + "p" * 10_000
    await emulator.api.get(path, headers={"Authorization": authorization})
    [entry] = (await unauthorized(emulator))["data"]
    assert entry["key"] == shown
    assert len(entry["path"]) <= MAX_PATH_CHARACTERS
    assert LIVE_KEY not in entry["path"]
    assert TEST_KEY not in entry["path"]


async def test_a_reset_of_all_removes_them(emulator: World) -> None:
    await emulator.api.get(PAYMENTS)
    await emulator.control("POST", "/reset")
    assert (await unauthorized(emulator))["count"] == 1
    await emulator.control("POST", "/reset", {"all": True})
    assert await unauthorized(emulator) == {"data": [], "count": 0}


async def test_a_scripted_401_is_not_one(emulator: World) -> None:
    await emulator.control("POST", "/faults", {"when": {}, "then": {"status": 401}})
    assert refusal(await get(emulator, PAYMENTS)) == (401, "invalid_api_key", None)
    assert (await unauthorized(emulator))["count"] == 0


@pytest.mark.parametrize("name", ["payments", "requests"])
async def test_the_first_pages_of_the_dashboard_show_them(emulator: World, name: str) -> None:
    assert "without a valid key" not in await page(emulator, name)
    await get(emulator, f"{PAYMENTS}/<b>", "test_my_own_key")
    text = await page(emulator, name)
    assert "1 request without a valid key" in text
    assert "test_my…key" in text
    assert "invalid_api_key" in text
    assert "<b>" not in text
