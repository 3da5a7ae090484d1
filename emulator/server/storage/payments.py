"""The payments table: one row for each payment, and its idempotency key.

Pages are read by keyset, from the index that fits the filter.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from emulator.domain.accounts import Mode
from emulator.domain.errors import UnknownPayment
from emulator.domain.instants import Instant
from emulator.domain.payment import Payment, Reason, Status
from emulator.server.storage.batch import ORDINAL_BITS, Transaction, first_position, positions_of

STATUSES = {status.value: status for status in Status}
REASONS: dict[str | None, Reason | None] = {reason.value: reason for reason in Reason} | {
    None: None
}
# SQLite binds a plain string faster than a member of an enum.
STATUS_WORDS = {status: status.value for status in Status}

PAYMENT_COLUMNS = (
    "position, id, amount_minor, methods, terms, created_at, expires_at,"
    " status, method, reason, completed_at, phone, bank"
)

_INSERT = (
    "INSERT INTO payments (position, owner, id, amount_minor, methods, terms, created_at,"
    " expires_at, first_event, expiry_timer, status, idempotency_key, fingerprint, request)"
)
_FIRST_EVENT = 8
_UPDATE = (
    "UPDATE payments SET status = ?, method = ?, reason = ?, completed_at = ?, phone = ?, bank = ?"
    " WHERE position {}"
)
_UPDATE_STATUS = "UPDATE payments SET status = ? WHERE position {}"
_RANGE = "BETWEEN ? AND ?"
_AMONG = "IN ({})"
_MAX_POSITIONS_PER_STATEMENT = 500
# The fields of a payment that a change of status can change.
_MUTABLE = slice(Payment._fields.index("status"), None)
_BY_ID = f"SELECT {PAYMENT_COLUMNS} FROM payments WHERE id = ?"
_BY_POSITION = f"SELECT {PAYMENT_COLUMNS} FROM payments WHERE position = ?"
_POSITION_OF_ID = "SELECT position FROM payments WHERE id = ?"
_ALL = (
    f"SELECT {PAYMENT_COLUMNS}, idempotency_key FROM payments"
    " WHERE position BETWEEN ? AND ? ORDER BY position"
)
_METADATA_BYTES = (
    "SELECT total(length(CAST(json_extract(terms, '$.metadata') AS BLOB))) FROM payments"
    " WHERE position BETWEEN ? AND ?"
)
_AT_OR_AFTER = (
    "SELECT position, {} FROM payments WHERE position BETWEEN ? AND ? ORDER BY position LIMIT 1"
)
_USED_KEYS = (
    "SELECT idempotency_key, fingerprint, position, created_at FROM payments"
    " INDEXED BY payments_by_idempotency_key WHERE owner = ? AND idempotency_key IN ({})"
)
_RELEASE_KEY = "UPDATE payments SET idempotency_key = NULL WHERE position = ?"
_PAGE_HEAD = "SELECT position FROM payments"
_PAGE_TAIL = "position BETWEEN ? AND ? ORDER BY position DESC LIMIT ?"
# The index is named, because SQLite without statistics sometimes chooses the wrong one.
_PAGE = {
    (False, False): f"{_PAGE_HEAD} NOT INDEXED WHERE {_PAGE_TAIL}",
    (True, False): f"{_PAGE_HEAD} INDEXED BY payments_by_status WHERE status = ? AND {_PAGE_TAIL}",
    (False, True): f"{_PAGE_HEAD} INDEXED BY payments_by_method WHERE method = ? AND {_PAGE_TAIL}",
    (True, True): (
        f"{_PAGE_HEAD} INDEXED BY payments_by_method_and_status"
        f" WHERE method = ? AND status = ? AND {_PAGE_TAIL}"
    ),
}

# Without an index: so many payments of the selection are compared, the newest first.
MAX_COMPARED_PAYMENTS = 10_000
_COMPARED = (
    "SELECT position FROM payments WHERE position IN ({}) AND (?1 IS NULL OR amount_minor >= ?1)"
    " AND (?2 IS NULL OR amount_minor <= ?2) AND (?3 IS NULL OR phone = ?3) AND (?4 IS NULL OR"
    " EXISTS (SELECT 1 FROM json_each(terms, '$.metadata') WHERE instr(key || '=' || value, ?4)))"
    " ORDER BY position DESC LIMIT ?5"
)

# `~` comes after every character of an id.
_BY_PREFIX = (
    f"SELECT {PAYMENT_COLUMNS} FROM payments INDEXED BY payments_by_id"
    " WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT ?2"
)
_CONTAINING = (
    f"SELECT {PAYMENT_COLUMNS} FROM (SELECT * FROM payments NOT INDEXED"
    f" WHERE position BETWEEN ?1 AND ?2 ORDER BY position DESC LIMIT {MAX_COMPARED_PAYMENTS})"
    " WHERE amount_minor IN (?3, ?8) OR instr(phone, ?4) OR substr(id, -length(?5)) = ?5 OR EXISTS"
    " (SELECT 1 FROM json_each(terms, '$.metadata')"
    " WHERE value = ?6 OR instr(key || '=' || value, ?5))"
    " ORDER BY position DESC LIMIT ?7"
)


class PageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A page of an owner's payments, newest first; bounds are inclusive.

    `metadata` is a part of `name=value`.
    """

    limit: int
    after: str | None = None
    status: Status | None = None
    method: str | None = None
    created_gte: Instant | None = None
    created_lte: Instant | None = None
    amount_gte: int | None = None
    amount_lte: int | None = None
    phone: str | None = None
    metadata: str | None = None

    @property
    def compared(self) -> tuple[int | None, int | None, str | None, str | None]:
        """The filters without an index."""
        return self.amount_gte, self.amount_lte, self.phone, self.metadata

    @property
    def is_of_newest(self) -> bool:
        """Whether it is the first page without a filter."""
        return self == PageQuery(limit=self.limit)


class UsedKey(msgspec.Struct, frozen=True, kw_only=True):
    """The payment of an idempotency key, its instant and a digest of its parameters."""

    fingerprint: bytes
    payment: int
    used_at: Instant


class NewPayment(msgspec.Struct, frozen=True, kw_only=True):
    """A payment to be written, with the id and the idempotency key of its request."""

    payment: Payment
    idempotency_key: str | None
    fingerprint: bytes | None
    request_id: str | None


class UnknownCursor(Exception):
    """The cursor of a page is not a payment of the owner."""


@lru_cache(maxsize=256)
def methods_of_text(text: str) -> tuple[str, ...]:
    """One tuple for all payments with equal methods."""
    return tuple(text.split(","))


def payment_of_row(row: tuple[Any, ...]) -> Payment:
    """The payment in the first columns of a row, in the order of PAYMENT_COLUMNS.

    By position, which is also the order of its fields: by name it would take twice as long.
    """
    values = list(row[: len(Payment._fields)])
    values[3], values[7] = methods_of_text(row[3]), STATUSES[row[7]]
    values[9] = REASONS[row[9]]
    return Payment._make(values)


def insert(tx: Transaction, created: Iterable[NewPayment]) -> list[int]:
    """Write new payments; returns the positions of the events of their creation."""
    rows: list[tuple[Any, ...]] = []
    for new in created:
        position, payment_id, amount_minor, methods, *terms_and_instants = new.payment[:7]
        owner = position >> ORDINAL_BITS
        first_event, timer = tx.next_position("events", owner), tx.next_timer()
        row = (position, owner, payment_id, amount_minor, ",".join(methods), *terms_and_instants)
        key = (new.idempotency_key, new.fingerprint, new.request_id)
        rows.append((*row, first_event, timer, STATUS_WORDS[new.payment.status], *key))
    tx.insert(_INSERT, rows)
    return [row[_FIRST_EVENT] for row in rows]


def update(tx: Transaction, payments: Iterable[Payment]) -> None:
    """Write the changes of payments; equal changes share a statement."""
    equal: dict[tuple[Any, ...], list[int]] = {}
    for payment in payments:
        equal.setdefault(tuple(payment)[_MUTABLE], []).append(payment.position)
    for (status, *others), positions in equal.items():
        # An expiry changes only the status: the other columns would cost three indexes.
        is_bare = status is Status.EXPIRED and all(value is None for value in others)
        statement = _UPDATE_STATUS if is_bare else _UPDATE
        values = (STATUS_WORDS[status],) if is_bare else (STATUS_WORDS[status], *others)
        for start in range(0, len(positions), _MAX_POSITIONS_PER_STATEMENT):
            part = positions[start : start + _MAX_POSITIONS_PER_STATEMENT]
            if part[-1] - part[0] == len(part) - 1 and part == list(range(part[0], part[-1] + 1)):
                tx.execute(statement.format(_RANGE), (*values, part[0], part[-1]))
            else:
                among = _AMONG.format(", ".join("?" * len(part)))
                tx.execute(statement.format(among), (*values, *part))


def find(tx: Transaction, owner: int, payment_id: str) -> Payment:
    """An owner's payment. Raises UnknownPayment, the same for a payment of another owner."""
    row = tx.execute(_BY_ID, (payment_id,)).fetchone()
    first, last = positions_of(owner)
    if row is None or not first <= row[0] <= last:
        mode = [*Mode][owner & 1]
        hint = f" This is {mode} mode; a payment is in the mode of the key that created it."
        raise UnknownPayment(payment_id, hint=hint)
    return payment_of_row(row)


def get(tx: Transaction, position: int) -> Payment:
    return payment_of_row(tx.execute(_BY_POSITION, (position,)).fetchone())


def first_after(tx: Transaction, owner: int, column: str, value: int) -> int:
    """The position from which on a column exceeds a value, where it ascends with the positions."""
    statement = _AT_OR_AFTER.format(column)
    low, end = first_position(owner), tx.next_position("payments", owner, count=0)
    high = end
    while low < high:
        middle = (low + high) // 2
        row = tx.execute(statement, (middle, end)).fetchone()
        if row is None or row[1] > value:
            high = middle
        else:
            low = row[0] + 1
    return low


def page(tx: Transaction, owner: int, query: PageQuery) -> list[int]:
    """The positions of a page, newest first, and of one payment more if there is one.

    The instants of creation ascend with the positions, so bounds on instants become bounds on
    positions.
    Raises UnknownCursor.
    """
    low, high = positions_of(owner)
    if query.after is not None:
        row = tx.execute(_POSITION_OF_ID, (query.after,)).fetchone()
        if row is None or not low <= row[0] <= high:
            raise UnknownCursor
        high = row[0] - 1
    if query.created_gte is not None:
        low = first_after(tx, owner, "created_at", query.created_gte - 1)
    if query.created_lte is not None:
        high = min(high, first_after(tx, owner, "created_at", query.created_lte) - 1)
    filters = [value for value in (query.method, query.status) if value is not None]
    statement = _PAGE[query.status is not None, query.method is not None]
    compared = query.compared
    is_compared = compared != (None, None, None, None)
    limit = MAX_COMPARED_PAYMENTS if is_compared else query.limit + 1
    positions = [row[0] for row in tx.execute(statement, (*filters, low, high, limit))]
    if not is_compared:
        return positions
    matching: list[int] = []
    for start in range(0, len(positions), _MAX_POSITIONS_PER_STATEMENT):
        part = positions[start : start + _MAX_POSITIONS_PER_STATEMENT]
        # The numbered parameters come first.
        among = ", ".join(f"?{number}" for number in range(6, 6 + len(part)))
        left = query.limit + 1 - len(matching)
        rows = tx.execute(_COMPARED.format(among), (*compared, left, *part))
        matching += [row[0] for row in rows]
        if len(matching) > query.limit:
            break
    return matching


def with_prefix(tx: Transaction, prefix: str, *, limit: int) -> list[Payment]:
    """The payments of all owners whose ids begin with a text."""
    return [payment_of_row(row) for row in tx.execute(_BY_PREFIX, (prefix, limit))]


def containing(
    tx: Transaction,
    owner: int,
    text: str,
    *,
    amounts_minor: tuple[int | None, int | None],
    phone_digits: str | None,
    part: str | None,
    limit: int,
) -> list[Payment]:
    """Among an owner's newest payments, those with one of two amounts, with these digits in the
    phone, with a text as a value of metadata, or with a part of metadata or of the end of the id,
    newest first.
    """
    amount, other_amount = amounts_minor
    values = (*positions_of(owner), amount, phone_digits, part, text, limit, other_amount)
    return [payment_of_row(row) for row in tx.execute(_CONTAINING, values)]


def of_owner(
    tx: Transaction, owner: int, *, only: int | None = None
) -> list[tuple[Payment, str | None]]:
    """An owner's payments, oldest first, or the one at a position, with its idempotency key."""
    positions = positions_of(owner) if only is None else (only, only)
    return [(payment_of_row(row), row[-1]) for row in tx.execute(_ALL, positions)]


def metadata_bytes(tx: Transaction, owner: int) -> int:
    """The length of the metadata of all of an owner's payments, in JSON."""
    return int(tx.execute(_METADATA_BYTES, positions_of(owner)).fetchone()[0])


def used_keys(tx: Transaction, owner: int, keys: Sequence[str]) -> dict[str, UsedKey]:
    """The used ones of these idempotency keys, in one statement."""
    statement = _USED_KEYS.format(", ".join("?" * len(keys)))
    return {
        row[0]: UsedKey(fingerprint=row[1], payment=row[2], used_at=row[3])
        for row in tx.execute(statement, (owner, *keys))
    }


def release_key(tx: Transaction, payment: int) -> None:
    """Remove a payment's idempotency key, so that it can be used again."""
    tx.execute(_RELEASE_KEY, (payment,))
