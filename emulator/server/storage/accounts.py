"""The accounts and snapshots tables, and the rows of an account in all other tables.

A row of accounts has the profile, the keys, the random streams and the clock.
"""

from typing import Any, NamedTuple

from emulator.clock import AccountClock
from emulator.domain.accounts import AccountProfile, Mode, is_well_formed_key
from emulator.domain.instants import LAST_INSTANT, MAX_RATE, Instant
from emulator.ids import MAX_KEY_BYTES
from emulator.server.storage.batch import ORDINAL_BITS, Transaction, of_row, positions_of_account

# An owner is a number and a mode, and a position of 63 bits begins with an owner.
LAST_NUMBER = (1 << (62 - ORDINAL_BITS)) - 1

_COLUMNS = (
    "number, id, name, test_key, live_key, seed, test_stream, live_stream, initial_clock,"
    " vary, frozen_at, offset_ms, rate_thousandths"
)
_ALL = f"SELECT {_COLUMNS} FROM accounts ORDER BY number"
_INSERT = f"INSERT INTO accounts ({_COLUMNS}) VALUES ({', '.join('?' * 13)})"
_HAS_KEY = (
    "SELECT 1 FROM accounts WHERE test_key = ? UNION ALL SELECT 1 FROM accounts WHERE live_key = ?"
)
_SET_KEYS = "UPDATE accounts SET test_key = ?, live_key = ? WHERE number = ?"
_SET_NAME = "UPDATE accounts SET name = ? WHERE number = ?"
_DELETE = "DELETE FROM accounts WHERE number = ?"
_SET_CLOCK = (
    "UPDATE accounts SET frozen_at = ?, offset_ms = ?, rate_thousandths = ? WHERE number = ?"
)

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
    "attempt_limits": "payment",
}

_TAKE = "SELECT * FROM {} WHERE {} BETWEEN ? AND ?"
_CLEAR = "DELETE FROM {} WHERE {} BETWEEN ? AND ?"
_HAS_OTHERS = (
    "SELECT EXISTS (SELECT 1 FROM {0} WHERE {1} < ?) OR EXISTS (SELECT 1 FROM {0} WHERE {1} > ?)"
)
_EMPTY = "DELETE FROM {}"
_SHOWN = "name, created_at, is_frozen, rate_thousandths, test_payments, live_payments"
_NEWEST_SNAPSHOTS = f"SELECT {_SHOWN} FROM snapshots WHERE account = ? ORDER BY number DESC"
_SNAPSHOT_STATE = "SELECT state FROM snapshots WHERE account = ? AND name = ?"
_PUT_SNAPSHOT = (
    f"INSERT OR REPLACE INTO snapshots (account, {_SHOWN}, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_DELETE_SNAPSHOT = "DELETE FROM snapshots WHERE account = ? AND name = ?"
_DELETE_SNAPSHOTS = "DELETE FROM snapshots WHERE account = ?"

Rows = dict[str, list[tuple[Any, ...]]]
"""Rows with all of their columns, by table."""


class AccountRow(NamedTuple):
    """An account as it is stored; the streams are the keys of its random numbers."""

    number: int
    profile: AccountProfile
    seed: int | None
    test_stream: bytes
    live_stream: bytes
    initial_clock: str
    vary: str | None
    frozen_at: Instant | None
    offset_ms: int
    rate_thousandths: int


class Snapshot(NamedTuple):
    """A snapshot without its state. `created_at` is by the account's clock."""

    name: str
    created_at: Instant
    is_frozen: bool
    rate_thousandths: int
    test_payments: int
    live_payments: int


def load_all(tx: Transaction) -> list[AccountRow]:
    """All accounts in the order of creation. Raises ValueError."""
    return [_account_of_row(row) for row in tx.execute(_ALL)]


def _account_of_row(row: tuple[Any, ...]) -> AccountRow:
    """Raises ValueError for values with which later operations would fail."""
    number, seed, profile = row[0], row[5], AccountProfile(*row[1:5])
    account = AccountRow(number, profile, None if seed is None else int(seed), *row[6:])
    is_usable = (
        1 <= number <= LAST_NUMBER
        and max(len(account.test_stream), len(account.live_stream)) <= MAX_KEY_BYTES
        and 0 < account.rate_thousandths <= MAX_RATE
        and 0 <= (account.frozen_at or 0) < LAST_INSTANT
        and all(is_well_formed_key(profile.key(mode), mode) for mode in Mode)
    )
    if not is_usable:
        raise ValueError(f"account {number} has an invalid value")
    return account


def insert(tx: Transaction, row: AccountRow) -> None:
    profile, seed = row.profile, None if row.seed is None else str(row.seed)
    named = (profile.id, profile.name, profile.test_key, profile.live_key)
    tx.execute(_INSERT, (row.number, *named, seed, *row[3:]))


def has_key(tx: Transaction, key: str) -> bool:
    """Whether an account has this key."""
    return tx.execute(_HAS_KEY, (key, key)).fetchone() is not None


def set_keys(tx: Transaction, row: AccountRow) -> None:
    """Set the keys of an account to those of its row.

    Raises sqlite3.IntegrityError for a key that is taken.
    """
    tx.execute(_SET_KEYS, (row.profile.test_key, row.profile.live_key, row.number))


def set_name(tx: Transaction, number: int, name: str) -> None:
    tx.execute(_SET_NAME, (name, number))


def delete(tx: Transaction, number: int) -> None:
    """Delete an account with all its rows."""
    clear(tx, number)
    tx.execute(_DELETE_SNAPSHOTS, (number,))
    tx.execute(_DELETE, (number,))


def set_clock(tx: Transaction, number: int, clock: AccountClock) -> None:
    frozen_at = clock.now() if clock.is_frozen else None
    tx.execute(_SET_CLOCK, (frozen_at, clock.saved_offset_ms, clock.rate_thousandths, number))


def take(tx: Transaction, account: int) -> Rows:
    """All rows of an account, by table."""
    return {
        table: tx.execute(_TAKE.format(table, column), _bounds(column, account)).fetchall()
        for table, column in TABLES_OF_ACCOUNT.items()
    }


def put_back(tx: Transaction, account: int, taken: Rows) -> None:
    """Replace all rows of an account."""
    clear(tx, account)
    for table, rows in taken.items():
        if rows:
            tx.insert(f"INSERT INTO {table}", rows)


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


def newest_snapshots(tx: Transaction, account: int) -> list[Snapshot]:
    """An account's snapshots, newest first."""
    return [of_row(Snapshot, row) for row in tx.execute(_NEWEST_SNAPSHOTS, (account,))]


def put_snapshot(tx: Transaction, account: int, snapshot: Snapshot, state: bytes) -> None:
    """Write a snapshot, in place of an earlier one of its name."""
    tx.execute(_PUT_SNAPSHOT, (account, *snapshot, state))


def snapshot_state(tx: Transaction, account: int, name: str) -> bytes:
    """The state of an existing snapshot."""
    row: tuple[bytes] = tx.execute(_SNAPSHOT_STATE, (account, name)).fetchone()
    return row[0]


def delete_snapshot(tx: Transaction, account: int, name: str) -> None:
    tx.execute(_DELETE_SNAPSHOT, (account, name))
