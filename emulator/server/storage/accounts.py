"""The tables of accounts, snapshots and endpoints, and the rows of an account in all others.

A row of accounts has the profile, the keys, the random streams and the clock.
"""

from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from emulator.clock import AccountClock
from emulator.domain.accounts import AccountProfile
from emulator.domain.errors import UnknownEndpoint
from emulator.domain.instants import MAX_RATE, ClockSpec, Instant, format_clock, parse_clock
from emulator.domain.webhooks import STANDARD, RegisteredEndpoint, WebhookForm
from emulator.server.storage.batch import Transaction, positions_of, positions_of_account
from emulator.server.storage.rows import RowMapper


class AccountRow(NamedTuple):
    """An account as it is stored; the streams are the keys of its random numbers."""

    number: int
    id: str
    name: str
    test_key: str
    live_key: str
    seed: int | None
    test_stream: bytes
    live_stream: bytes
    initial_clock: ClockSpec
    vary: str | None
    frozen_at: Annotated[Instant, Meta(ge=0, lt=1 << 48)] | None
    offset_ms: int
    rate_thousandths: Annotated[int, Meta(ge=1, le=MAX_RATE)]

    @property
    def profile(self) -> AccountProfile:
        return AccountProfile(self.id, self.name, self.test_key, self.live_key)


class Snapshot(NamedTuple):
    """A snapshot without its state. `created_at` is by the account's clock."""

    name: str
    created_at: Instant
    is_frozen: bool
    rate_thousandths: int
    test_payments: int
    live_payments: int


_ROWS = RowMapper(
    AccountRow,
    decode={
        "seed": lambda text: None if text is None else int(text),
        "initial_clock": parse_clock,
    },
    encode={
        "seed": lambda seed: None if seed is None else str(seed),
        "initial_clock": format_clock,
    },
)
_COLUMNS = _ROWS.columns
_ALL = f"SELECT {_COLUMNS} FROM accounts ORDER BY number"
_INSERT = f"INSERT INTO accounts ({_COLUMNS}) VALUES ({_ROWS.marks})"
_HAS_KEY = (
    "SELECT 1 FROM accounts WHERE test_key = ? UNION ALL SELECT 1 FROM accounts WHERE live_key = ?"
)
_SET_KEYS = "UPDATE accounts SET test_key = ?, live_key = ? WHERE number = ?"
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
    "scenario_starts": "account",
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
_SNAPSHOT_ROWS = RowMapper(Snapshot)
_SHOWN = _SNAPSHOT_ROWS.columns
_NEWEST_SNAPSHOTS = f"SELECT {_SHOWN} FROM snapshots WHERE account = ? ORDER BY number DESC"
_SNAPSHOT_STATE = "SELECT state FROM snapshots WHERE account = ? AND name = ?"
_PUT_SNAPSHOT = (
    f"INSERT OR REPLACE INTO snapshots (account, {_SHOWN}, state)"
    f" VALUES (?, {_SNAPSHOT_ROWS.marks}, ?)"
)
_DELETE_SNAPSHOT = "DELETE FROM snapshots WHERE account = ? AND name = ?"
_DELETE_SNAPSHOTS = "DELETE FROM snapshots WHERE account = ?"

Rows = dict[str, list[tuple[Any, ...]]]
"""Rows with all of their columns, by table."""


def load_all(tx: Transaction) -> list[AccountRow]:
    """All accounts in the order of creation."""
    rows = [_ROWS.value(row) for row in tx.execute(_ALL)]
    first = next((row.number for row in rows), 1)
    if first != 1:
        raise ValueError(f"the first account has the number {first}")
    return rows


def insert(tx: Transaction, row: AccountRow) -> None:
    tx.execute(_INSERT, _ROWS.row(row))


def has_key(tx: Transaction, key: str) -> bool:
    """Whether an account has this key."""
    return tx.execute(_HAS_KEY, (key, key)).fetchone() is not None


def set_keys(tx: Transaction, row: AccountRow) -> None:
    """Set the keys of an account to the keys of its row.

    Raises sqlite3.IntegrityError for a key that is taken.
    """
    tx.execute(_SET_KEYS, (row.profile.test_key, row.profile.live_key, row.number))


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
    for table in TABLES_OF_ACCOUNT:
        if taken[table]:
            tx.insert(f"INSERT INTO {table}", taken[table])


def clear(tx: Transaction, account: int) -> None:
    """Delete all rows of an account but its snapshots and its own row."""
    for table, column in TABLES_OF_ACCOUNT.items():
        tx.execute(_CLEAR.format(table, column), _bounds(column, account))


def _bounds(column: str, account: int) -> tuple[int, int]:
    if column == "account":
        return account, account
    if column == "owner":
        return account * 2, account * 2 + 1
    return positions_of_account(account)


def newest_snapshots(tx: Transaction, account: int) -> list[Snapshot]:
    """An account's snapshots, newest first."""
    return [_SNAPSHOT_ROWS.value(row) for row in tx.execute(_NEWEST_SNAPSHOTS, (account,))]


def put_snapshot(tx: Transaction, account: int, snapshot: Snapshot, state: bytes) -> None:
    """Write a snapshot, in place of an earlier one of its name."""
    tx.execute(_PUT_SNAPSHOT, (account, *snapshot, state))


def snapshot_state(tx: Transaction, account: int, name: str) -> bytes:
    """The state of an existing snapshot."""
    state: bytes
    (state,) = tx.execute(_SNAPSHOT_STATE, (account, name)).fetchone()
    return state


def delete_snapshot(tx: Transaction, account: int, name: str) -> None:
    tx.execute(_DELETE_SNAPSHOT, (account, name))


def _form(text: str | None) -> WebhookForm:
    return STANDARD if text is None else msgspec.json.decode(text, type=WebhookForm)


def _form_text(form: WebhookForm) -> str | None:
    return None if form == STANDARD else msgspec.json.encode(form).decode()


_ENDPOINT_ROWS = RowMapper(
    RegisteredEndpoint,
    decode={"events": lambda text: tuple(text.split(",")), "form": _form},
    encode={"events": ",".join, "form": _form_text},
)
_ENDPOINT_COLUMNS = _ENDPOINT_ROWS.columns
_ENDPOINTS_OF_OWNER = (
    f"SELECT {_ENDPOINT_COLUMNS} FROM endpoints WHERE is_deleted = 0 AND position BETWEEN ? AND ?"
    " ORDER BY position"
)
_ENDPOINT_IDENTITIES = "SELECT position, id, form FROM endpoints WHERE position BETWEEN ? AND ?"
_INSERT_ENDPOINT = f"INSERT INTO endpoints ({_ENDPOINT_COLUMNS}) VALUES ({_ENDPOINT_ROWS.marks})"
_UPDATE_ENDPOINT = (
    f"UPDATE endpoints SET ({_ENDPOINT_COLUMNS}) = ({_ENDPOINT_ROWS.marks}) WHERE position = ?"
)
_MARK_ENDPOINT_DELETED = "UPDATE endpoints SET is_deleted = 1 WHERE position = ?"


def endpoints_of(tx: Transaction, owner: int) -> dict[int, RegisteredEndpoint]:
    """The endpoints of an owner by position, in the order of creation."""
    rows = tx.execute(_ENDPOINTS_OF_OWNER, positions_of(owner))
    return {endpoint.position: endpoint for endpoint in map(_ENDPOINT_ROWS.value, rows)}


def endpoint_identities(tx: Transaction, owner: int) -> dict[int, tuple[str, WebhookForm]]:
    """The ids and forms of an owner's endpoints, deleted ones included, by position."""
    rows = tx.execute(_ENDPOINT_IDENTITIES, positions_of(owner))
    return {position: (name, _form(form)) for position, name, form in rows}


def endpoint_position(tx: Transaction, owner: int, endpoint_id: str) -> int:
    """The position of an owner's endpoint, which may be deleted. Raises UnknownEndpoint."""
    for position, (name, _) in endpoint_identities(tx, owner).items():
        if name == endpoint_id:
            return position
    raise UnknownEndpoint(endpoint_id)


def insert_endpoint(tx: Transaction, endpoint: RegisteredEndpoint) -> None:
    tx.execute(_INSERT_ENDPOINT, _ENDPOINT_ROWS.row(endpoint))


def update_endpoint(tx: Transaction, endpoint: RegisteredEndpoint) -> None:
    tx.execute(_UPDATE_ENDPOINT, (*_ENDPOINT_ROWS.row(endpoint), endpoint.position))


def mark_endpoint_deleted(tx: Transaction, position: int) -> None:
    tx.execute(_MARK_ENDPOINT_DELETED, (position,))
