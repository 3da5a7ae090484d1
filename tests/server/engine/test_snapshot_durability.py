"""A snapshot that cannot be restored, and one that the next program restores."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import msgspec

from emulator.domain.accounts import RateLimit
from tests.server.engine.snapshot_calls import (
    clock,
    connection,
    kept,
    listed,
    posted,
    restore,
    rows,
    save,
)
from tests.server.engine.webhook_world import register
from tests.world import FROZEN, OTHER_TEST_KEY, World, world


async def test_a_snapshot_that_cannot_be_restored_changes_nothing(emulator: World) -> None:
    await emulator.create()
    await register(emulator, "http://127.0.0.1:9/")
    await save(emulator)
    await emulator.control("PUT", "/clock", {"frozen": False})
    payment = await emulator.create()
    await emulator.advance(5)
    spoiled = msgspec.msgpack.decode(_state(emulator))
    spoiled["rows"]["endpoints"] *= 2
    connection(emulator).execute(
        "UPDATE snapshots SET state = ?", (msgspec.msgpack.encode(spoiled),)
    )
    before = rows(emulator, 1), await clock(emulator), await listed(emulator)
    assert (await emulator.control("POST", "/snapshots/here/restore")).status_code == 500
    assert (rows(emulator, 1), await clock(emulator), await listed(emulator)) == before
    assert await emulator.retrieve(payment["id"]) == payment
    expired = (await emulator.advance(3_600))["effects"]
    assert [effect["type"] for effect in expired].count("payment.expired") == 2


async def test_a_commit_that_fails_changes_nothing(emulator: World) -> None:
    await emulator.create()
    await save(emulator)
    await emulator.control("PUT", "/clock", {"frozen": False})
    await register(emulator, "http://127.0.0.1:9/")
    payment = await emulator.create(expires_in=60)
    before = rows(emulator, 1), await clock(emulator), await listed(emulator)

    def refuse(action: int, what: str | None, *_: object) -> int:
        is_commit = (action, what) == (sqlite3.SQLITE_TRANSACTION, "COMMIT")
        return sqlite3.SQLITE_DENY if is_commit else sqlite3.SQLITE_OK

    connection(emulator).set_authorizer(refuse)
    response = await emulator.control("POST", "/snapshots/here/restore")
    connection(emulator).set_authorizer(None)
    assert response.status_code == 500
    assert (rows(emulator, 1), await clock(emulator), await listed(emulator)) == before
    assert await emulator.retrieve(payment["id"]) == payment
    assert len((await emulator.shown("/webhook_endpoints"))["data"]) == 1
    await restore(emulator)
    assert (await clock(emulator))["frozen"] is True


def _state(emulator: World) -> bytes:
    found: tuple[bytes] = connection(emulator).execute("SELECT state FROM snapshots").fetchone()
    return found[0]


async def test_a_snapshot_survives_a_restart(tmp_path: Path) -> None:
    """Design 15: an acknowledged write survives. Without a seed, too, ids go on as they did."""
    settings = replace(FROZEN, seed=None, database=str(tmp_path / "state.db"))
    async with world(settings) as emulator:
        before = [await emulator.create(expires_in=60) for _ in range(9)]
        await save(emulator)
        first = kept(await posted(emulator, expires_in=60))
        await emulator.advance(3_600)
    async with world(settings) as emulator:
        # Without timers their count begins again; the restored timers have higher sequences.
        await emulator.create(OTHER_TEST_KEY)
        await restore(emulator)
        assert [await emulator.retrieve(payment["id"]) for payment in before] == before
        await restore(emulator)
        assert kept(await posted(emulator, expires_in=60)) == first
        effects = (await emulator.advance(60))["effects"]
        expired = [effect["payment"] for effect in effects]
        assert expired[:-1] == [payment["id"] for payment in before]
    async with world(settings) as emulator:
        assert (await clock(emulator))["now"] == "2026-01-01T00:01:00.000Z"
        assert len(await listed(emulator)) == 10


async def test_a_changed_rate_limit_is_full_after_a_restore(tmp_path: Path) -> None:
    database = str(tmp_path / "state.db")

    async def most(limit: RateLimit | None, *, saved: bool = True) -> int:
        """How many of ten requests are answered after the restore, or else before the saving."""
        async with world(database=database, rate_limit=limit) as emulator:
            if saved:
                await restore(emulator)
            statuses = [(await posted(emulator)).status_code for _ in range(10)]
            if not saved:
                await save(emulator)
            return statuses.count(201)

    three, five = (RateLimit(requests=count, period_ms=60_000) for count in (3, 5))
    assert await most(three, saved=False) == 3
    assert await most(three) == 0
    assert await most(five) == 5
    assert await most(None) == 10
