"""The accounts table: who there is, and where each one's clock stands."""

from dataclasses import dataclass

from emulator.domain.accounts import AccountProfile
from emulator.domain.instants import Instant
from emulator.storage.batch import Transaction

_COLUMNS = (
    "number, id, name, test_key, live_key, seed, test_stream, live_stream, initial_clock,"
    " frozen_at, offset_ms"
)
_ALL = f"SELECT {_COLUMNS} FROM accounts ORDER BY number"
_INSERT = f"INSERT INTO accounts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_HAS_KEY = (
    "SELECT 1 FROM accounts WHERE test_key = ? UNION ALL SELECT 1 FROM accounts WHERE live_key = ?"
)
_SET_KEYS = "UPDATE accounts SET test_key = ?, live_key = ? WHERE number = ?"
_DELETE = "DELETE FROM accounts WHERE number = ?"
_SET_CLOCK = "UPDATE accounts SET frozen_at = ?, offset_ms = ? WHERE number = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """An account as it is stored; the streams are the keys of its random draws."""

    number: int
    profile: AccountProfile
    seed: int | None
    test_stream: bytes
    live_stream: bytes
    initial_clock: str
    frozen_at: Instant | None
    offset_ms: int


def _parameters(row: AccountRow) -> tuple[object, ...]:
    profile = row.profile
    return (
        row.number,
        profile.id,
        profile.name,
        profile.test_key,
        profile.live_key,
        None if row.seed is None else str(row.seed),
        row.test_stream,
        row.live_stream,
        row.initial_clock,
        row.frozen_at,
        row.offset_ms,
    )


def load_all(tx: Transaction) -> list[AccountRow]:
    return [
        AccountRow(
            number=row[0],
            profile=AccountProfile(id=row[1], name=row[2], test_key=row[3], live_key=row[4]),
            seed=None if row[5] is None else int(row[5]),
            test_stream=row[6],
            live_stream=row[7],
            initial_clock=row[8],
            frozen_at=row[9],
            offset_ms=row[10],
        )
        for row in tx.execute(_ALL)
    ]


def insert(tx: Transaction, row: AccountRow) -> None:
    tx.execute(_INSERT, _parameters(row))


def has_key(tx: Transaction, key: str) -> bool:
    """Whether an account has this key."""
    return tx.execute(_HAS_KEY, (key, key)).fetchone() is not None


def set_keys(tx: Transaction, row: AccountRow) -> None:
    """Give an account the keys of its row.

    Raises sqlite3.IntegrityError for a key that is taken.
    """
    tx.execute(_SET_KEYS, (row.profile.test_key, row.profile.live_key, row.number))


def delete(tx: Transaction, number: int) -> None:
    tx.execute(_DELETE, (number,))


def set_clock(tx: Transaction, number: int, *, frozen_at: Instant | None, offset_ms: int) -> None:
    tx.execute(_SET_CLOCK, (frozen_at, offset_ms, number))
