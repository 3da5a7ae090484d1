"""The accounts table: profiles, keys, random streams and clocks."""

import re
from typing import Any, NamedTuple

from emulator.clock import AccountClock
from emulator.domain.accounts import AccountProfile, Mode, is_well_formed_key, mask_key
from emulator.domain.instants import LAST_INSTANT, MAX_RATE, REAL_RATE, Instant
from emulator.ids import MAX_KEY_BYTES
from emulator.server.storage.batch import ORDINAL_BITS, Transaction
from emulator.server.storage.invalid_rows import InvalidValue, check_instant, reading

# An owner is a number and a mode, and a position of 63 bits begins with an owner.
LAST_NUMBER = (1 << (62 - ORDINAL_BITS)) - 1

_SEED = re.compile(r"-?[0-9]{1,19}", re.ASCII)

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
    """All accounts in the order of creation. Raises InvalidRow."""
    with reading("accounts"):
        return [_account_of_row(row) for row in tx.execute(_ALL)]


def _account_of_row(row: tuple[Any, ...]) -> AccountRow:
    number, _, _, test_key, live_key, seed, *streams, initial_clock = row[:9]
    frozen_at, offset_ms, rate_thousandths = row[9:]
    if not 1 <= number <= LAST_NUMBER:
        raise InvalidValue("number", number, f"1 to {LAST_NUMBER}")
    for column, key, mode in (("test_key", test_key, "test"), ("live_key", live_key, "live")):
        if not is_well_formed_key(key, Mode(mode)):
            raise InvalidValue(column, mask_key(key), f"a {mode}_ key")
    if seed is not None and _SEED.fullmatch(seed) is None:
        raise InvalidValue("seed", seed, "an integer")
    for column, stream in zip(("test_stream", "live_stream"), streams, strict=True):
        if not 1 <= len(stream) <= MAX_KEY_BYTES:
            raise InvalidValue(column, len(stream), f"1 to {MAX_KEY_BYTES} as its number of bytes")
    check_instant("frozen_at", frozen_at)
    if not 0 < rate_thousandths <= MAX_RATE:
        raise InvalidValue("rate_thousandths", rate_thousandths, f"1 to {MAX_RATE}")
    if abs(offset_ms) >= LAST_INSTANT * max(1, rate_thousandths // REAL_RATE):
        raise InvalidValue("offset_ms", offset_ms, "milliseconds within the calendar")
    return AccountRow(
        number=number,
        profile=AccountProfile(id=row[1], name=row[2], test_key=test_key, live_key=live_key),
        seed=None if seed is None else int(seed),
        test_stream=streams[0],
        live_stream=streams[1],
        initial_clock=initial_clock,
        frozen_at=frozen_at,
        offset_ms=offset_ms,
        rate_thousandths=rate_thousandths,
    )


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
