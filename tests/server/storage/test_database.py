"""Units of work share a transaction and fail independently."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from emulator.domain.errors import NotReady
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import Database

LOCKED_FOR_S = 0.05


class Refused(Exception):
    """What a unit of work may raise."""


def make_table(tx: Transaction) -> None:
    tx.execute("CREATE TABLE notes (note TEXT NOT NULL UNIQUE) STRICT")


def add(tx: Transaction, note: str) -> str:
    """Inserts a note; raises after the insertion of `bad`."""
    tx.execute("INSERT INTO notes VALUES (?)", (note,))
    if note == "bad":
        raise Refused(note)
    return note


def add_all(tx: Transaction, notes: Sequence[str]) -> list[str | Exception]:
    """Inserts notes; returns an exception for `no`, and raises for `bad`."""
    return [Refused(note) if note == "no" else add(tx, note) for note in notes]


def read_all(tx: Transaction) -> list[str]:
    return [note for (note,) in tx.execute("SELECT note FROM notes ORDER BY note")]


@pytest.fixture(params=["memory", "file"])
async def database(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[Database]:
    async with Database(":memory:" if request.param == "memory" else str(path)) as database:
        await database.write(make_table)
        yield database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.sqlite3"


@pytest.fixture
async def kept(path: Path) -> AsyncIterator[Database]:
    async with Database(str(path)) as database:
        await database.write(make_table)
        yield database


@pytest.fixture
def other(kept: Database, path: Path) -> Iterator[sqlite3.Connection]:  # noqa: ARG001
    """Another program's connection to the kept database."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


FAILURES = {
    "one of three writes raises": ([], ["a", "bad", "c"], [str, Refused, str]),
    "one of three writes breaks a constraint": (
        *([], ["a", "a", "b"], [str, sqlite3.IntegrityError, str]),
    ),
    "the only write raises": ([], ["bad"], [Refused]),
    "one of three items is refused": (["a", "no", "b"], [], [str, Refused, str]),
    "one item raises in its bulk": (
        *(["a", "bad", "no", "b"], ["c"], [str, Refused, Refused, str, str]),
    ),
    "the only item raises": (["bad"], [], [Refused]),
}


@pytest.mark.parametrize(("items", "notes", "types"), FAILURES.values(), ids=FAILURES)
async def test_a_failing_unit_of_work_does_not_affect_the_others(
    items: list[str], notes: list[str], types: list[type], database: Database
) -> None:
    results = await asyncio.gather(
        *(database.write_bulk(add_all, item) for item in items),
        *(database.write(partial(add, note=note)) for note in notes),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == types
    stored = [note for note, kind in zip([*items, *notes], types, strict=True) if kind is str]
    assert [result for result in results if isinstance(result, str)] == stored
    assert await database.read(read_all) == stored
    assert await database.write(partial(add, note="later")) == "later"


async def test_a_read_sees_the_writes_that_came_with_it_and_none_that_failed(
    database: Database,
) -> None:
    _, _, notes = await asyncio.gather(
        database.write(partial(add, note="a")),
        database.write(partial(add, note="bad")),
        database.read(read_all),
        return_exceptions=True,
    )
    assert notes == ["a"]


@pytest.mark.parametrize("others", [0, 1])
async def test_work_that_a_full_disk_rolls_back_is_undone(others: int, database: Database) -> None:
    executed: list[int] = []
    undone: list[int] = []

    def fill(tx: Transaction) -> None:
        executed.append(1)
        tx.execute("PRAGMA max_page_count = 1")  # no more than there are
        add(tx, "a")
        tx.next_position("payments", 2)
        tx.undo.append(partial(undone.append, 1))
        tx.execute("INSERT INTO notes VALUES (hex(zeroblob(100000)))")

    results = await asyncio.gather(
        *(database.write(partial(add, note=f"{note}")) for note in range(others)),
        database.write(fill),
        return_exceptions=True,
    )
    assert {str(result) for result in results} == {"database or disk is full"}
    assert undone == executed
    assert database.is_failing
    assert await database.read(lambda tx: tx.row_count("payments", 2)) == 0
    assert await database.read(read_all) == []
    assert not database.is_failing


async def test_after_commit_is_called_only_after_a_commit(database: Database) -> None:
    called: list[str] = []

    def work(tx: Transaction, *, note: str, fails: bool) -> None:
        add(tx, note)
        tx.after_commit.append(partial(called.append, f"{note} committed"))
        tx.undo.append(partial(called.append, f"{note} undone"))
        if fails:
            raise Refused

    await asyncio.gather(
        database.write(partial(work, note="a", fails=False)),
        database.write(partial(work, note="b", fails=True)),
        return_exceptions=True,
    )
    assert called == ["b undone", "a committed"]


async def test_an_error_after_the_commit_reaches_the_caller_and_stops_no_other_work(
    database: Database,
) -> None:
    def refuse() -> None:
        raise Refused

    def work(tx: Transaction) -> None:
        add(tx, "a")
        tx.after_commit.append(refuse)

    with pytest.raises(Refused):
        await database.write(work)
    assert await database.read(read_all) == ["a"]


async def test_another_program_sees_only_what_is_committed(
    kept: Database, other: sqlite3.Connection
) -> None:
    seen: list[list[str]] = []

    def look() -> list[str]:
        return [note for (note,) in other.execute("SELECT note FROM notes")]

    def work(tx: Transaction) -> None:
        add(tx, "a")
        seen.append(look())

    await kept.write(work)
    assert seen == [[]]
    assert look() == ["a"]


@pytest.mark.parametrize("is_long", [False, True])
async def test_a_write_waits_for_the_lock_of_another_program(
    kept: Database, other: sqlite3.Connection, *, is_long: bool
) -> None:
    other.execute("BEGIN IMMEDIATE")
    work = kept.write(partial(add, note="a"), is_long=is_long)
    neighbour = kept.write_bulk(add_all, "b")
    done, _ = await asyncio.wait({work, neighbour}, timeout=LOCKED_FOR_S)
    assert not done
    other.execute("COMMIT")
    assert await asyncio.gather(work, neighbour) == ["a", "b"]


async def test_a_read_does_not_wait_for_a_lock_of_another_program(
    kept: Database, other: sqlite3.Connection
) -> None:
    other.execute("BEGIN IMMEDIATE")
    assert await kept.read(read_all) == []
    other.execute("ROLLBACK")


async def test_work_of_a_cancelled_caller_is_executed(database: Database) -> None:
    abandoned = database.write(partial(add, note="a"))
    stayed = database.write(partial(add, note="b"))
    await asyncio.wait({stayed}, timeout=0)
    abandoned.cancel()
    assert await stayed == "b"
    assert await database.read(read_all) == ["a", "b"]


async def test_many_units_of_work_share_one_transaction(database: Database) -> None:
    statements: list[str] = []

    def watch(tx: Transaction) -> None:
        tx.execute("SELECT 1").connection.set_trace_callback(statements.append)

    await database.read(watch)
    await asyncio.gather(*(database.write(partial(add, note=str(n))) for n in range(100)))
    assert statements.count("COMMIT") == 1
    assert len(await database.read(read_all)) == 100


async def test_a_closed_database_refuses_work(path: Path) -> None:
    async with Database(str(path)) as database:
        pass
    with pytest.raises(NotReady):
        await database.read(read_all)
