"""Which idempotency key was used for which payment: two columns of the payments table."""

from collections.abc import Sequence

import msgspec

from emulator.domain.instants import Instant
from emulator.storage.batch import Transaction

_FIND = (
    "SELECT idempotency_key, fingerprint, position, created_at FROM payments"
    " INDEXED BY payments_by_idempotency_key WHERE owner = ? AND idempotency_key IN ({})"
)
_RELEASE = "UPDATE payments SET idempotency_key = NULL WHERE position = ?"


class UsedKey(msgspec.Struct, frozen=True, kw_only=True):
    """The payment that a key was used for, when, and a digest of the parameters then."""

    fingerprint: bytes
    payment: int
    used_at: Instant


def find(tx: Transaction, owner: int, keys: Sequence[str]) -> dict[str, UsedKey]:
    """Those of an owner's keys that were used, in one statement."""
    statement = _FIND.format(", ".join("?" * len(keys)))
    return {
        row[0]: UsedKey(fingerprint=row[1], payment=row[2], used_at=row[3])
        for row in tx.execute(statement, (owner, *keys))
    }


def release(tx: Transaction, payment: int) -> None:
    """Let a payment's key be used again, its retention having passed."""
    tx.execute(_RELEASE, (payment,))
