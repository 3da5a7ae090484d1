"""The idempotency_keys table: which key was used for which payment."""

from dataclasses import dataclass

from emulator.domain.instants import Instant
from emulator.storage.database import Transaction

_FIND = "SELECT fingerprint, payment, used_at FROM idempotency_keys WHERE owner = ? AND key = ?"
_USE = (
    "INSERT OR REPLACE INTO idempotency_keys (owner, key, fingerprint, payment, used_at)"
    " VALUES (?, ?, ?, ?, ?)"
)
_DELETE_ALL = "DELETE FROM idempotency_keys WHERE owner = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedKey:
    fingerprint: bytes
    payment: int
    used_at: Instant


def find(tx: Transaction, owner: int, key: str) -> UsedKey | None:
    row = tx.execute(_FIND, (owner, key)).fetchone()
    if row is None:
        return None
    return UsedKey(fingerprint=row[0], payment=row[1], used_at=row[2])


def use(tx: Transaction, owner: int, key: str, used: UsedKey) -> None:
    """Remember a key, in place of a use of it that is past its retention."""
    tx.execute(_USE, (owner, key, used.fingerprint, used.payment, used.used_at))


def delete_all(tx: Transaction, owner: int) -> None:
    tx.execute(_DELETE_ALL, (owner,))
