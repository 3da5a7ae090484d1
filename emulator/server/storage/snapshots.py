"""The snapshots table, and the rows of an account in all other tables."""

from typing import Any, NamedTuple

from emulator.domain.instants import Instant
from emulator.server.storage.batch import Transaction, of_row, positions_of

# The tables that have rows of an account, each with the column that names their owner.
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
    "redirects": "payment",
}

_TAKE = {
    table: f"SELECT * FROM {table} WHERE {column} BETWEEN ? AND ?"
    for table, column in TABLES_OF_ACCOUNT.items()
}
_CLEAR = {
    table: f"DELETE FROM {table} WHERE {column} BETWEEN ? AND ?"
    for table, column in TABLES_OF_ACCOUNT.items()
}
_HAS_OTHERS = {
    table: f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {column} < ?)"
    f" OR EXISTS (SELECT 1 FROM {table} WHERE {column} > ?)"
    for table, column in TABLES_OF_ACCOUNT.items()
}
_EMPTY = {table: f"DELETE FROM {table}" for table in TABLES_OF_ACCOUNT}

_SHOWN = "name, created_at, is_frozen, rate_thousandths, test_payments, live_payments"
_NEWEST = f"SELECT {_SHOWN} FROM snapshots WHERE account = ? ORDER BY number DESC"
_STATE = "SELECT state FROM snapshots WHERE account = ? AND name = ?"
_PUT = (
    f"INSERT OR REPLACE INTO snapshots (account, {_SHOWN}, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_DELETE = "DELETE FROM snapshots WHERE account = ? AND name = ?"
_DELETE_ALL = "DELETE FROM snapshots WHERE account = ?"


class Rows(NamedTuple):
    """An account's rows of one table, with their columns."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class Snapshot(NamedTuple):
    """A snapshot without its state. `created_at` is by the account's clock."""

    name: str
    created_at: Instant
    is_frozen: bool
    rate_thousandths: int
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
    """Replace all rows of an account."""
    clear(tx, account)
    for table in TABLES_OF_ACCOUNT:
        columns, rows = taken.get(table, ((), ()))
        if rows:
            tx.insert(f"INSERT INTO {table} ({', '.join(columns)})", rows)


def clear(tx: Transaction, account: int) -> None:
    """Delete all rows of an account but its snapshots and its own row.

    SQLite empties a table ten times as fast as it deletes all of its rows.
    """
    for table, statement in _CLEAR.items():
        bounds = _bounds(table, account)
        if tx.execute(_HAS_OTHERS[table], bounds).fetchone()[0]:
            tx.execute(statement, bounds)
        else:
            tx.execute(_EMPTY[table])


def _bounds(table: str, account: int) -> tuple[int, int]:
    """The account's range of the table's column: the values of its two owners are neighbours."""
    column = TABLES_OF_ACCOUNT[table]
    if column == "account":
        return account, account
    test, live = account * 2, account * 2 + 1
    return (test, live) if column == "owner" else (positions_of(test)[0], positions_of(live)[1])


def newest(tx: Transaction, account: int) -> list[Snapshot]:
    """An account's snapshots, newest first."""
    return [of_row(Snapshot, row) for row in tx.execute(_NEWEST, (account,))]


def put(tx: Transaction, account: int, snapshot: Snapshot, state: bytes) -> None:
    """Write a snapshot, in place of an earlier one of its name."""
    tx.execute(_PUT, (account, *snapshot, state))


def state(tx: Transaction, account: int, name: str) -> bytes:
    """The state of an existing snapshot."""
    row: tuple[bytes] = tx.execute(_STATE, (account, name)).fetchone()
    return row[0]


def delete(tx: Transaction, account: int, name: str) -> None:
    tx.execute(_DELETE, (account, name))


def delete_all(tx: Transaction, account: int) -> None:
    tx.execute(_DELETE_ALL, (account,))
