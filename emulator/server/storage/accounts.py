"""The accounts table: profiles, keys, random streams and clocks."""

from typing import Any, NamedTuple

from emulator.clock import AccountClock
from emulator.domain.accounts import AccountProfile, Mode, is_well_formed_key
from emulator.domain.instants import LAST_INSTANT, MAX_RATE, Instant
from emulator.ids import MAX_KEY_BYTES
from emulator.server.storage.batch import ORDINAL_BITS, Transaction

# An owner is a number and a mode, and a position of 63 bits begins with an owner.
LAST_NUMBER = (1 << (62 - ORDINAL_BITS)) - 1

_COLUMNS = (
    "number, id, name, test_key, live_key, seed, test_stream, live_stream, initial_clock,"
    " frozen_at, offset_ms, rate_thousandths"
)
_ALL = f"SELECT {_COLUMNS} FROM accounts ORDER BY number"
_INSERT = f"INSERT INTO accounts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_HAS_KEY = (
    "SELECT 1 FROM accounts WHERE test_key = ? UNION ALL SELECT 1 FROM accounts WHERE live_key = ?"
)
_SET_KEYS = "UPDATE accounts SET test_key = ?, live_key = ? WHERE number = ?"
_DELETE = "DELETE FROM accounts WHERE number = ?"
_SET_CLOCK = (
    "UPDATE accounts SET frozen_at = ?, offset_ms = ?, rate_thousandths = ? WHERE number = ?"
)


class AccountRow(NamedTuple):
    """An account as it is stored; the streams are the keys of its random numbers."""

    number: int
    profile: AccountProfile
    seed: int | None
    test_stream: bytes
    live_stream: bytes
    initial_clock: str
    frozen_at: Instant | None
    offset_ms: int
    rate_thousandths: int


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


def delete(tx: Transaction, number: int) -> None:
    tx.execute(_DELETE, (number,))


def set_clock(tx: Transaction, number: int, clock: AccountClock) -> None:
    frozen_at = clock.now() if clock.is_frozen else None
    tx.execute(_SET_CLOCK, (frozen_at, clock.saved_offset_ms, clock.rate_thousandths, number))
