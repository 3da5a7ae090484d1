"""Databases of older and newer versions, and of other programs."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from emulator.domain.payment import Status
from emulator.server.storage import accounts, events, timers
from emulator.server.storage.batch import Transaction, first_position
from emulator.server.storage.database import Database
from emulator.server.storage.database_file import (
    APPLICATION_ID,
    Migration,
    UnusableDatabase,
    migrate,
    migrations,
)
from tests.architecture.tools import REPOSITORY

FIRST_SCHEMA_ACCOUNT = (
    "INSERT INTO accounts (number, id, name, test_key, live_key, test_stream, live_stream,"
    " initial_clock, offset_ms) VALUES (1, 'acct_old', 'Old', 'test_old_key', 'live_old_key',"
    " x'00', x'01', 'real', 0)"
)


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def load_accounts(tx: Transaction) -> list[str]:
    return [row.profile.id for row in accounts.load_all(tx)]


def test_schema_files_are_numbered_without_a_gap() -> None:
    directory = REPOSITORY / "emulator/server/storage/schema"
    names = sorted(path.name for path in directory.glob("*.sql"))
    assert [name[:4] for name in names] == [f"{n:03}_" for n in range(1, len(names) + 1)]
    assert [migration.number for migration in migrations()] == list(range(1, len(names) + 1))


def test_every_table_is_strict() -> None:
    with closing(memory()) as connection:
        migrate(connection, "memory")
        tables = connection.execute("PRAGMA table_list").fetchall()
    ours = [row for row in tables if not row[1].startswith("sqlite_")]
    assert ours
    assert all(is_strict for *_, is_strict in ours)


async def test_an_older_database_is_migrated_and_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        migrate(old, str(path), migrations()[:1])
        old.execute(FIRST_SCHEMA_ACCOUNT)
        assert version(old) == 1
    async with Database(str(path)) as database:
        assert await database.read(load_accounts) == ["acct_old"]
    with closing(sqlite3.connect(path)) as migrated:
        assert version(migrated) == len(migrations())


async def test_a_payment_of_an_older_database_keeps_its_event_and_its_timer(tmp_path: Path) -> None:
    path, owner = tmp_path / "old.sqlite3", 2
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        migrate(old, str(path), migrations()[:4])
        old.execute(
            "INSERT INTO payments (position, owner, id, amount_minor, methods, terms, created_at,"
            " expires_at, first_event, expiry_timer, status) VALUES (?1, ?2, 'pay_old', 100,"
            " 'telebirr', '{}', 0, 1, ?1, 1, 'pending')",
            (first_position(owner) + 1, owner),
        )
    async with Database(str(path)) as database:
        stored = await database.read(partial(events.of_owner, owner=owner))
        scheduled = await database.read(partial(timers.next_key, account=owner // 2))
    assert [(event.status, event.request_id) for event in stored] == [(Status.PENDING, None)]
    assert scheduled == (1, 1)


def test_a_later_step_keeps_the_rows() -> None:
    later = [
        *migrations(),
        Migration(len(migrations()) + 1, "ALTER TABLE accounts ADD COLUMN color TEXT;"),
    ]
    with closing(memory()) as connection:
        migrate(connection, "memory")
        connection.execute(FIRST_SCHEMA_ACCOUNT)
        migrate(connection, "memory", later)
        assert version(connection) == len(later)
        assert connection.execute("SELECT id, color FROM accounts").fetchall() == [
            ("acct_old", None)
        ]


def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite3"
    number = len(migrations()) + 1
    broken = [*migrations(), Migration(number, "CREATE TABLE new (x) STRICT; CREATE NONSENSE;")]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, str(path))
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, str(path), broken)
    with closing(sqlite3.connect(path)) as after:
        assert version(after) == len(migrations())
        assert after.execute("SELECT 1 FROM sqlite_schema WHERE name = 'new'").fetchall() == []


async def test_a_newer_database_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as new:
        migrate(new, str(path))
        new.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(UnusableDatabase, match=r"has schema 99, and this version knows up to \d"):
        async with Database(str(path)):
            pass
    with closing(sqlite3.connect(path)) as after:
        assert version(after) == 99
    assert path.read_bytes()[100:] == before[100:]


async def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite3"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE theirs (x)")
    with pytest.raises(UnusableDatabase, match="belongs to another program"):
        async with Database(str(path)):
            pass


def test_a_file_of_another_program_whose_header_is_in_its_log_is_refused() -> None:
    with closing(memory()) as theirs:
        theirs.execute("CREATE TABLE theirs (x)")
        with pytest.raises(UnusableDatabase, match="belongs to another program"):
            migrate(theirs, "memory")


async def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite3"
    path.touch()
    async with Database(str(path)) as database:
        assert await database.read(load_accounts) == []
    with closing(sqlite3.connect(path)) as made:
        assert made.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
