"""The snapshots table, and the rows of an account in all other tables."""

from typing import Any, NamedTuple

from emulator.domain.instants import Instant
from emulator.server.storage.batch import Transaction, of_row, positions_of_account

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

_TAKE = "SELECT * FROM {} WHERE {} BETWEEN ? AND ?"
_CLEAR = "DELETE FROM {} WHERE {} BETWEEN ? AND ?"
_HAS_OTHERS = (
    "SELECT EXISTS (SELECT 1 FROM {0} WHERE {1} < ?) OR EXISTS (SELECT 1 FROM {0} WHERE {1} > ?)"
)
_EMPTY = "DELETE FROM {}"
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
    for table, column in TABLES_OF_ACCOUNT.items():
        cursor = tx.execute(_TAKE.format(table, column), _bounds(column, account))
        columns = tuple(described[0] for described in cursor.description)
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
    for table, column in TABLES_OF_ACCOUNT.items():
        bounds = _bounds(column, account)
        if tx.execute(_HAS_OTHERS.format(table, column), bounds).fetchone()[0]:
            tx.execute(_CLEAR.format(table, column), bounds)
        else:
            tx.execute(_EMPTY.format(table))


def _bounds(column: str, account: int) -> tuple[int, int]:
    """The account's range of a table's column."""
    if column == "account":
        return account, account
    if column == "owner":
        return account * 2, account * 2 + 1
    return positions_of_account(account)


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
