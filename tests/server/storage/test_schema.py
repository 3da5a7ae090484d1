"""Databases of other versions and of other programs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from emulator.server.storage import accounts
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import Database
from emulator.server.storage.database_file import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    UnusableDatabase,
    create_schema,
)

ACCOUNT = (
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


def test_every_table_is_strict() -> None:
    with closing(memory()) as connection:
        create_schema(connection, "memory")
        tables = connection.execute("PRAGMA table_list").fetchall()
    ours = [row for row in tables if not row[1].startswith("sqlite_")]
    assert ours
    assert all(is_strict for *_, is_strict in ours)


@pytest.mark.parametrize("number", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
async def test_a_database_of_another_schema_is_refused_and_not_changed(
    tmp_path: Path, number: int
) -> None:
    path = tmp_path / "other.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        create_schema(other, str(path))
        other.execute(f"PRAGMA user_version = {number}")
    before = path.read_bytes()
    refused = f"has schema {number}, and this version needs {SCHEMA_VERSION}; use the emulator that"
    with pytest.raises(UnusableDatabase, match=refused):
        async with Database(str(path)):
            pass
    with closing(sqlite3.connect(path)) as after:
        assert version(after) == number
    assert path.read_bytes()[100:] == before[100:]


async def test_a_database_keeps_its_rows_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        create_schema(connection, str(path))
        connection.execute(ACCOUNT)
    async with Database(str(path)) as database:
        assert await database.read(load_accounts) == ["acct_old"]


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
            create_schema(theirs, "memory")


async def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite3"
    path.touch()
    async with Database(str(path)) as database:
        assert await database.read(load_accounts) == []
    with closing(sqlite3.connect(path)) as made:
        assert made.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
