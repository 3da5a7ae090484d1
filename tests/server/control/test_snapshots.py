"""Snapshots over HTTP: saved, shown, restored and deleted; and recordings (design, section 10)."""

import asyncio
from typing import Any

from emulator.server.engine.accounts.snapshots import MAX_SNAPSHOTS
from tests.server.control import refusal
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, world

NOW = "2026-01-01T00:00:00.000Z"
CALLS = [
    *(("GET", "/snapshots"), ("PUT", "/snapshots/a"), ("GET", "/snapshots/a")),
    *(("DELETE", "/snapshots/a"), ("POST", "/snapshots/a/restore")),
]
WRITES = [(method, path) for method, path in CALLS if method != "GET"]


def shown(name: str = "a", **changes: Any) -> dict[str, Any]:
    """A snapshot of an account in which nothing has happened, with some members changed."""
    clock = {"now": NOW, "frozen": True}
    empty = {"name": name, "created_at": NOW, "clock": clock, "payments": {"test": 0, "live": 0}}
    return {**empty, **changes}


async def save(emulator: World, name: str = "a", key: str = TEST_KEY) -> dict[str, Any]:
    return dict(await emulator.done("PUT", f"/snapshots/{name}", key=key))


async def names(emulator: World, key: str = TEST_KEY) -> list[str]:
    return [snapshot["name"] for snapshot in (await emulator.shown("/snapshots", key))["data"]]


def stored(emulator: World) -> int:
    """The number of snapshots of all accounts in the database."""
    connection = emulator.app.engine.snapshots._database._raw
    return int(connection.execute("SELECT count(*) FROM snapshots").fetchone()[0])


async def test_a_new_snapshot_is_201_and_one_that_is_replaced_200(emulator: World) -> None:
    response = await emulator.control("PUT", "/snapshots/a")
    assert (response.status_code, response.json()) == (201, shown())
    await emulator.create()
    await emulator.create(LIVE_KEY)
    await emulator.create(LIVE_KEY)
    await emulator.advance(1.5)
    response = await emulator.control("PUT", "/snapshots/a")
    at = "2026-01-01T00:00:01.500Z"
    clock = {"now": at, "frozen": True}
    expected = shown(created_at=at, clock=clock, payments={"test": 1, "live": 2})
    assert (response.status_code, response.json()) == (200, expected)


async def test_restoring_answers_with_the_snapshot(emulator: World) -> None:
    saved = await save(emulator)
    await emulator.create()
    await emulator.advance(3)
    response = await emulator.control("POST", "/snapshots/a/restore")
    assert (response.status_code, response.json()) == (200, saved)
    clock = await emulator.control("GET", "/clock")
    assert clock.json() == {"now": NOW, "frozen": True, "rate": None, "next": None}


async def test_a_clock_that_flows_is_shown_so() -> None:
    async with world() as emulator:
        await emulator.control("PUT", "/clock", {"frozen": False})
        emulator.wall.move(250)
        saved = await save(emulator)
        assert saved["clock"] == {"now": "2026-01-01T00:00:00.250Z", "frozen": False}


async def test_they_are_listed_newest_first_though_the_clock_stands_or_goes_back(
    emulator: World,
) -> None:
    for name in ("c", "a", "b"):
        await save(emulator, name)
    assert await names(emulator) == ["b", "a", "c"]
    await emulator.advance(10)
    await save(emulator, "later")
    await emulator.control("POST", "/snapshots/a/restore")
    await save(emulator, "c")
    assert await names(emulator) == ["c", "later", "b", "a"]


async def test_there_are_at_most_a_hundred(emulator: World) -> None:
    for number in range(MAX_SNAPSHOTS):
        await save(emulator, str(number))
    response = await emulator.control("PUT", "/snapshots/more")
    assert refusal(response) == (409, "too_many_snapshots", None)
    assert len(await names(emulator)) == MAX_SNAPSHOTS == 100
    await save(emulator, "0")
    await save(emulator, "more", OTHER_TEST_KEY)
    await emulator.control("DELETE", "/snapshots/50")
    await save(emulator, "more")
    assert (await names(emulator))[:2] == ["more", "0"]


async def test_a_reset_takes_them_away(emulator: World) -> None:
    await save(emulator)
    await save(emulator, "others", OTHER_TEST_KEY)
    assert (await emulator.control("POST", "/reset")).status_code == 204
    assert await names(emulator) == []
    response = await emulator.control("POST", "/snapshots/a/restore")
    assert refusal(response) == (404, "snapshot_not_found", None)
    assert await names(emulator, OTHER_TEST_KEY) == ["others"]
    await emulator.control("POST", "/reset", {"all": True})
    assert await names(emulator, OTHER_TEST_KEY) == []


async def test_with_an_account_its_snapshots_are_gone(emulator: World) -> None:
    created = await emulator.done("POST", "/accounts", {"seed": 7})
    await save(emulator, key=created["test_key"])
    assert stored(emulator) == 1
    await emulator.control("DELETE", f"/accounts/{created['id']}")
    assert stored(emulator) == 0


async def test_an_account_that_is_deleted_meanwhile_is_refused(emulator: World) -> None:
    created = await emulator.done("POST", "/accounts")
    key = created["test_key"]
    await save(emulator, key=key)
    responses = await asyncio.gather(
        emulator.control("DELETE", f"/accounts/{created['id']}"),
        *(emulator.control(method, path, key=key) for method, path in WRITES),
    )
    assert [response.status_code for response in responses] == [204, 401, 401, 401]
    assert stored(emulator) == 0


async def test_of_concurrent_writes_each_finds_the_others_done(emulator: World) -> None:
    await save(emulator)
    responses = await asyncio.gather(
        *(emulator.control(method, path) for method, path in WRITES * 5)
    )
    # Each waits for its turn: saved, deleted, and not there to be restored, again and again.
    assert [response.status_code for response in responses] == [200, 204, 404] + [201, 204, 404] * 4


async def test_a_recording_is_yaml(emulator: World) -> None:
    await emulator.create(metadata={"ዕቃ": "ቡና"})
    response = await emulator.control("GET", "/recording")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/yaml"
    assert "metadata: {ዕቃ: ቡና}" in response.content.decode("utf-8")


async def test_a_recording_belongs_to_the_requested_account_and_mode(emulator: World) -> None:
    await emulator.create(LIVE_KEY)
    of_key = await emulator.control("GET", "/recording", key=LIVE_KEY)
    named = await emulator.api.get("/_emulator/recording?account=acct_demo&mode=live")
    assert of_key.content == named.content
    assert "as: order" in named.text
    for query in ("", "?account=acct_other&mode=live", "?mode=test"):
        response = await emulator.api.get(f"/_emulator/recording{query}")
        assert "as: order" not in response.text


async def test_recording_changes_nothing(emulator: World) -> None:
    await emulator.create(expires_in=60)
    await emulator.advance(30)
    first = await emulator.control("GET", "/recording")
    assert (await emulator.control("GET", "/recording")).content == first.content
