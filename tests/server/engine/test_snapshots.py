"""Saving and restoring accounts with their rows (design 10, `/snapshots`)."""

import asyncio
import contextlib
import sqlite3

import pytest

from emulator.domain.accounts import RateLimit
from emulator.server.engine.accounts.clock_service import MAX_ADVANCE_MS
from emulator.server.engine.payments.payments import CreatedPayment
from emulator.server.storage.accounts import TABLES_OF_ACCOUNT, clear, put_back, take
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database_file import create_schema
from emulator.settings import Settings
from tests.server.engine.observed_world import ENGINE_ORDER, observed, run_pending, timeline
from tests.server.engine.snapshot_calls import (
    clock,
    listed,
    posted,
    restore,
    rows,
    save,
)
from tests.server.engine.webhook_world import reply_after, webhook_world
from tests.server.webhooks.receiver import NEVER, Reply, replies
from tests.world import (
    FROZEN,
    LIVE_KEY,
    OTHER_TEST_KEY,
    START_MS,
    TEST_KEY,
    ManualClock,
    World,
    headers,
    world,
    world_at,
)

KEY = {"idempotency_key": "order-1"}


async def test_a_snapshot_can_be_restored_repeatedly_and_after_an_earlier_one(
    emulator: World,
) -> None:
    await save(emulator, name="empty")
    payment = await emulator.create()
    await emulator.advance(10)
    await save(emulator, name="one")
    for name, expected in (("empty", []), ("one", [payment["id"]]), ("empty", []), ("empty", [])):
        await restore(emulator, name=name)
        assert await listed(emulator) == expected
        await emulator.create(amount=999)
    await restore(emulator, name="one")
    assert await emulator.retrieve(payment["id"]) == payment
    assert (await clock(emulator))["now"] == "2026-01-01T00:00:10.000Z"


async def test_a_restore_restores_the_rate_limit() -> None:
    async with world(rate_limit=RateLimit(requests=3, period_ms=60_000)) as emulator:
        await posted(emulator)
        await save(emulator)
        statuses = [(await posted(emulator)).status_code for _ in range(3)]
        assert statuses == [201, 201, 429]
        await emulator.advance(3_600)
        await restore(emulator)
        assert [(await posted(emulator)).status_code for _ in range(3)] == statuses


async def test_a_restore_restores_the_read_counts_of_live_payments(emulator: World) -> None:
    payment = await emulator.create(LIVE_KEY)

    async def reads_until_warned() -> int:
        for count in range(1, 60):
            url = f"/v1/payments/{payment['id']}"
            answer = await emulator.api.get(url, headers=headers(LIVE_KEY))
            if "emulator-warning" in answer.headers:
                return count
        raise AssertionError("never")

    for _ in range(20):
        await emulator.retrieve(payment["id"], LIVE_KEY)
    await save(emulator)
    assert await reads_until_warned() == 11
    await restore(emulator)
    assert await reads_until_warned() == 11


async def test_restored_timers_precede_new_ones_of_the_same_instant(emulator: World) -> None:
    """Though another account has counted on meanwhile, and this one begins to count again."""
    keys = (TEST_KEY, OTHER_TEST_KEY)
    before = [await emulator.create(expires_in=60) for _ in range(3)]
    await save(emulator)
    others = [await emulator.create(OTHER_TEST_KEY, expires_in=60) for _ in range(5)]
    await restore(emulator)
    for _ in range(3):
        before.append(await emulator.create(expires_in=60))
        others.append(await emulator.create(OTHER_TEST_KEY, expires_in=60))
    for key, created in zip(keys, (before, others), strict=True):
        effects = (await emulator.advance(60, key))["effects"]
        assert [effect["payment"] for effect in effects] == [one["id"] for one in created]


async def test_due_timers_fire_before_a_snapshot_is_saved() -> None:
    async with world(Settings(seed=1)) as emulator:
        payment = await emulator.create(expires_in=60)
        emulator.wall.move(90_000)
        await save(emulator)
        assert rows(emulator, 1)["timers"] == []
        emulator.wall.move(60_000)
        await restore(emulator)
        assert (await timeline(emulator, payment))[-1] == ("expired", "2026-01-01T00:01:00.000Z")


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("later", [False, True])
async def test_a_restored_clock_is_frozen_or_flows_as_when_it_was_saved(
    frozen: bool, later: bool
) -> None:
    async with world(Settings(seed=1)) as emulator:
        await emulator.control("PUT", "/clock", {"frozen": frozen})
        await emulator.advance(5)
        await save(emulator)
        emulator.wall.move(3_000)
        await emulator.control("PUT", "/clock", {"frozen": later})
        await emulator.advance(100)
        await restore(emulator)
        restored = await clock(emulator)
        assert (restored["now"], restored["frozen"]) == ("2026-01-01T00:00:05.000Z", frozen)
        emulator.wall.move(700)
        now = "2026-01-01T00:00:05.000Z" if frozen else "2026-01-01T00:00:05.700Z"
        assert (await clock(emulator))["now"] == now


async def test_the_scheduler_fires_restored_timers() -> None:
    async with observed() as (emulator, wall):
        payment = await emulator.create(expires_in=60)
        wall.move(20_000)
        await save(emulator)
        wall.move(40_000)
        assert (await emulator.retrieve(payment["id"]))["status"] == "expired"
        await wall.waited_until(None)
        await restore(emulator)
        await wall.waited_until(START_MS + 100_000)
        wall.move(40_000)
        await wall.waited_until(None)
        await run_pending(emulator)
        assert await timeline(emulator, payment) == [
            ("pending", "2026-01-01T00:00:00.000Z"),
            ("expired", "2026-01-01T00:01:00.000Z"),
        ]


async def test_a_restore_waits_for_an_advance_in_progress() -> None:
    answered = asyncio.Event()
    async with webhook_world(reply_after(answered)) as hooks:
        emulator = hooks.emulator
        await save(emulator)
        payment = await emulator.create(expires_in=60)
        advancing = asyncio.create_task(emulator.advance(90))
        await hooks.receiver.wait_for(1)
        restoring = asyncio.create_task(restore(emulator))
        await run_pending(emulator)
        assert not restoring.done()
        answered.set()
        assert (await advancing)["now"] == "2026-01-01T00:01:30.000Z"
        await restoring
        assert (await clock(emulator))["now"] == "2026-01-01T00:00:00.000Z"
        assert payment["id"] not in await listed(emulator)


async def test_a_stopped_advance_is_not_continued_after_a_restore() -> None:
    async with webhook_world(lambda _: NEVER) as hooks:
        await save(hooks.emulator)
        await hooks.emulator.create()
        advancing = asyncio.create_task(hooks.emulator.advance(1))
        await hooks.receiver.wait_for(1)
        await run_pending(hooks.emulator)
        hooks.emulator.wall.move(MAX_ADVANCE_MS + 1)
        assert (await advancing)["settled"] is False
        await restore(hooks.emulator)
        hooks.receiver.answer = replies(Reply())
        await hooks.emulator.create()
        # What was due when it began is no effect of the next one.
        assert await hooks.advance(0) == []


async def test_a_wait_for_a_removed_payment_ends() -> None:
    async with observed() as (emulator, wall):
        await save(emulator)
        payment = await emulator.create()
        path = f"/payments/{payment['id']}/wait?status=completed&timeout=60"
        waiting = asyncio.create_task(emulator.control("GET", path))
        await wall.waited_until(START_MS + 60_000)
        await restore(emulator)
        async with asyncio.timeout(60):
            hooks = await waiting
        assert hooks.json()["error"]["code"] == "payment_not_found"


async def test_simultaneous_requests_are_executed_before_or_after_a_restore(
    emulator: World,
) -> None:
    """No response comes from a cache of removed payments."""
    first = await emulator.create()
    await save(emulator)

    async def customer() -> list[str]:
        return [(await emulator.create())["id"] for _ in range(12)]

    async def restorer() -> list[str]:
        for _ in range(12):
            await restore(emulator)
        return []

    done = await asyncio.gather(customer(), customer(), restorer(), customer())
    left = await listed(emulator)
    for payment_id in {payment_id for created in done for payment_id in created}:
        url = f"/v1/payments/{payment_id}"
        found = await emulator.api.get(url, headers=headers())
        assert found.status_code == (200 if payment_id in left else 404)
    await restore(emulator)
    assert await listed(emulator) == [first["id"]]


async def test_a_payment_of_the_same_transaction_as_a_restore_is_not_cached(
    emulator: World,
) -> None:
    """A payment is remembered after the commit, by when it is gone again."""
    await save(emulator)
    engine = emulator.app.engine
    database, first = engine.snapshots._database, engine.accounts.first

    async def create() -> CreatedPayment:
        # The work of one turn of the loop shares a transaction: this read and that of
        # the snapshot, and then the creation and the restoring.
        await database.read(lambda _: None, is_long=True)
        return await engine.payments.create(first.test, ENGINE_ORDER, objection=None)

    created, _ = await asyncio.gather(create(), engine.snapshots.restore(first, "here"))
    found = await emulator.api.get(f"/v1/payments/{created.id}", headers=headers())
    assert (found.status_code, await listed(emulator)) == (404, [])


class TickingClock(ManualClock):
    """Real time of which a millisecond passes between two reads."""

    def now_ms(self) -> int:
        self.move(1)
        return super().now_ms()


async def test_a_frozen_clock_is_restored_to_the_millisecond() -> None:
    async with world_at(TickingClock(), FROZEN) as emulator:
        await save(emulator)
        before = await clock(emulator)
        await restore(emulator)
        assert await clock(emulator) == before


# What is no part of an account's state: who it is, and its snapshots themselves.
BESIDE = {"accounts", "snapshots"}
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


def test_every_table_of_the_schema_is_included() -> None:
    """A new table has to be one of an account's, or to be named here."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        create_schema(database, ":memory:")
        tables = {name for (name,) in database.execute(TABLES)}
    assert set(TABLES_OF_ACCOUNT) == tables - BESIDE


@pytest.mark.parametrize("table", TABLES_OF_ACCOUNT)
def test_of_every_table_the_rows_of_one_account_are_taken_and_no_others(table: str) -> None:
    """The first and the last row that an account can have, beside those of its neighbours."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        create_schema(database, ":memory:")
        tx = Transaction(database, {})
        for number in (1, 2, 3):
            for place in _outermost(TABLES_OF_ACCOUNT[table], number):
                _plant(database, table, place)
        before = {number: take(tx, number) for number in (1, 2, 3)}
        assert len(before[2][table]) == len(_outermost(TABLES_OF_ACCOUNT[table], 2))
        clear(tx, 2)
        assert {number: take(tx, number) for number in (1, 3)} == {1: before[1], 3: before[3]}
        assert list(take(tx, 2).values()) == [[]] * len(TABLES_OF_ACCOUNT)
        put_back(tx, 2, before[2])
        assert {number: take(tx, number) for number in (1, 2, 3)} == before


def _outermost(column: str, account: int) -> list[int]:
    test, live = account * 2, account * 2 + 1
    if column in ("account", "owner"):
        return [account] if column == "account" else [test, live]
    return [test << 40, (test << 40) + 1, (live << 40) + 1, (live + 1 << 40) - 1]


def _plant(database: sqlite3.Connection, table: str, place: int) -> None:
    """A row at a place; what else is in it is of the right type and like no other."""
    [(unlike,)] = database.execute("SELECT total_changes() + 1000")
    of_type = {"INTEGER": unlike, "REAL": 0.5, "TEXT": str(unlike), "BLOB": b"\0"}
    row = {
        column: of_type[kind]
        for _, column, kind, *_ in database.execute(f"PRAGMA table_info({table})").fetchall()
    }
    if table == "payments":
        row |= {"owner": place >> 40, "first_event": place}
    row[TABLES_OF_ACCOUNT[table]] = place
    marks = ", ".join("?" * len(row))
    statement = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"  # noqa: S608 - a test's
    database.execute(statement, tuple(row.values()))
