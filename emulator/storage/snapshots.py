"""The snapshots table, and an account's rows in all others: taken out together, and put back."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from emulator.domain.instants import Instant
from emulator.storage.batch import Transaction, first_position, last_position

# All that an account has rows in, each with the column that says whose they are.
TABLES_OF_ACCOUNT = {
    "payments": "position",
    "events": "position",
    "timers": "account",
    "rule_uses": "account",
    "endpoints": "position",
    "deliveries": "position",
    "attempts": "delivery",
    "scenarios": "account",
    "scenario_switches": "account",
    "faults": "account",
    "faults_made": "account",
    "payment_scenarios": "payment",
    "request_counts": "owner",
    "actions": "position",
}
# A payment that is inserted brings these along, as they are when it is new.
_BROUGHT_BY_PAYMENTS = ("events", "timers")

_TAKE = {
    table: f"SELECT * FROM {table} WHERE {column} BETWEEN ? AND ?"
    for table, column in TABLES_OF_ACCOUNT.items()
}
_CLEAR = {
    table: f"DELETE FROM {table} WHERE {column} BETWEEN ? AND ?"
    for table, column in TABLES_OF_ACCOUNT.items()
}
_COLUMNS_OF = {table: f"SELECT * FROM {table} LIMIT 0" for table in TABLES_OF_ACCOUNT}

_SHOWN = "name, created_at, is_frozen, test_payments, live_payments"
_NEWEST = f"SELECT {_SHOWN} FROM snapshots WHERE account = ? ORDER BY number DESC"
_STATE = "SELECT state FROM snapshots WHERE account = ? AND name = ?"
_PUT = f"INSERT OR REPLACE INTO snapshots (account, {_SHOWN}, state) VALUES (?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM snapshots WHERE account = ? AND name = ?"
_DELETE_ALL = "DELETE FROM snapshots WHERE account = ?"


class Rows(msgspec.Struct, frozen=True, array_like=True):
    """An account's rows of one table, with their columns: a later schema may have others."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class Snapshot(NamedTuple):
    """What is shown of one. `created_at` is where the account's clock stood."""

    name: str
    created_at: Instant
    is_frozen: bool
    test_payments: int
    live_payments: int


def take(tx: Transaction, account: int) -> dict[str, Rows]:
    """All rows of an account, by table."""
    taken: dict[str, Rows] = {}
    for table, statement in _TAKE.items():
        cursor = tx.execute(statement, _bounds(table, account))
        columns = tuple(column[0] for column in cursor.description)
        taken[table] = Rows(columns, cursor.fetchall())
    return taken


def put_back(tx: Transaction, account: int, taken: dict[str, Rows]) -> None:
    """Let an account have these rows and no others.

    A table that was not there when they were taken becomes empty, a column that was not there has
    its default.
    """
    for table in TABLES_OF_ACCOUNT:
        _clear(tx, table, account)
    _insert(tx, "payments", taken)
    for table in _BROUGHT_BY_PAYMENTS:
        _clear(tx, table, account)
    for table in TABLES_OF_ACCOUNT:
        if table != "payments":
            _insert(tx, table, taken)


def _clear(tx: Transaction, table: str, account: int) -> None:
    tx.execute(_CLEAR[table], _bounds(table, account))


def _insert(tx: Transaction, table: str, taken: dict[str, Rows]) -> None:
    kept = taken.get(table)
    if kept is None or not kept.rows:
        return
    known = [column[0] for column in tx.execute(_COLUMNS_OF[table]).description]
    columns = [column for column in known if column in kept.columns]
    rows: Sequence[tuple[Any, ...]] = kept.rows
    if columns != list(kept.columns):
        places = [kept.columns.index(column) for column in columns]
        rows = [tuple(row[place] for place in places) for row in rows]
    tx.insert(f"INSERT INTO {table} ({', '.join(columns)})", rows)


def _bounds(table: str, account: int) -> tuple[int, int]:
    """Which values of its column are the account's: those of its two owners lie side by side."""
    column = TABLES_OF_ACCOUNT[table]
    if column == "account":
        return account, account
    test, live = account * 2, account * 2 + 1
    return (test, live) if column == "owner" else (first_position(test), last_position(live))


def newest(tx: Transaction, account: int) -> list[Snapshot]:
    """An account's snapshots, newest first."""
    return [
        Snapshot(row[0], row[1], bool(row[2]), row[3], row[4])
        for row in tx.execute(_NEWEST, (account,))
    ]


def put(tx: Transaction, account: int, snapshot: Snapshot, state: bytes) -> None:
    """Write a snapshot, in place of an earlier one of its name."""
    tx.execute(_PUT, (account, *snapshot, state))


def state(tx: Transaction, account: int, name: str) -> bytes:
    """What a snapshot, which exists, holds."""
    row: tuple[bytes] = tx.execute(_STATE, (account, name)).fetchone()
    return row[0]


def delete(tx: Transaction, account: int, name: str) -> None:
    tx.execute(_DELETE, (account, name))


def delete_all(tx: Transaction, account: int) -> None:
    tx.execute(_DELETE_ALL, (account,))
