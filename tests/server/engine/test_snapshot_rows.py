"""The rows of an account are saved and restored, and no others."""

import contextlib
import sqlite3

import pytest

from emulator.server.storage.accounts import TABLES_OF_ACCOUNT, put_back, take
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database_file import create_schema

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
        put_back(tx, 2, {})
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
