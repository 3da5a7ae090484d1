"""The idempotency_keys table: which key was used for which payment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from emulator.domain.instants import Instant
from emulator.storage.batch import Transaction

_FIND = (
    "SELECT key, fingerprint, payment, used_at FROM idempotency_keys"
    " WHERE owner = ? AND key IN ({})"
)
_USE = "INSERT OR REPLACE INTO idempotency_keys (owner, key, fingerprint, payment, used_at)"
_DELETE_ALL = "DELETE FROM idempotency_keys WHERE owner = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedKey:
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


def use(tx: Transaction, uses: Iterable[tuple[int, str, UsedKey]]) -> None:
    """Remember owners' keys, each in place of a use of it that is past its retention."""
    tx.insert(
        _USE,
        [(owner, key, used.fingerprint, used.payment, used.used_at) for owner, key, used in uses],
    )


def delete_all(tx: Transaction, owner: int) -> None:
    tx.execute(_DELETE_ALL, (owner,))
