"""The payments table: one row for each payment, and its idempotency key.

Pages are read by keyset, from the index that fits the filter.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec

from emulator.domain.accounts import Mode
from emulator.domain.errors import UnknownPayment
from emulator.domain.instants import Instant, format_instant
from emulator.domain.payment import (
    DEFAULT_PAGE_LENGTH,
    Payment,
    Reason,
    Status,
    Terms,
)
from emulator.server.storage.batch import ORDINAL_BITS, Transaction, first_position, positions_of
from emulator.server.storage.rows import RowMapper
from emulator.summaries import PaymentSummary, amount_text, order_text

STATUSES = {status.value: status for status in Status}
REASONS: dict[str | None, Reason | None] = {reason.value: reason for reason in Reason} | {
    None: None
}
# SQLite binds a plain string faster than a member of an enum.
STATUS_WORDS = {status: status.value for status in Status}

_TERMS = msgspec.json.Decoder(Terms)


@lru_cache(maxsize=256)
def methods_of_text(text: str) -> tuple[str, ...]:
    """One tuple for all payments with equal methods."""
    return tuple(text.split(","))


PAYMENT_ROWS = RowMapper(
    Payment,
    decode={
        "methods": methods_of_text,
        "status": STATUSES.__getitem__,
        "reason": REASONS.__getitem__,
        "terms": _TERMS.decode,
    },
    is_decoded=True,
)
PAYMENT_COLUMNS = PAYMENT_ROWS.columns
# The columns that a change of status writes.
_CHANGING = ("status", "method", "reason", "completed_at", "phone", "bank")
_changed_values = attrgetter(*_CHANGING)

_INSERT = (
    "INSERT INTO payments (position, owner, id, amount_minor, methods, terms, created_at,"
    " expires_at, first_event, expiry_timer, status, idempotency_key, fingerprint, request)"
)
_UPDATE = f"UPDATE payments SET {' = ?, '.join(_CHANGING)} = ? WHERE position {{}}"
_UPDATE_STATUS = "UPDATE payments SET status = ? WHERE position {}"
_RANGE = "BETWEEN ? AND ?"
_AMONG = "IN ({})"
_MAX_POSITIONS_PER_STATEMENT = 500
_RENEW = (
    "UPDATE payments SET expires_at = ?, first_lifetime_ms = ?, expiry_timer = ? WHERE position = ?"
)
_BY_ID = f"SELECT {PAYMENT_COLUMNS} FROM payments WHERE id = ?"
_BY_POSITION = f"SELECT {PAYMENT_COLUMNS} FROM payments WHERE position = ?"
_POSITIONS_OF_IDS = "SELECT position FROM payments WHERE id IN ({})"
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

# Without an index: the newest payments that match the other filters, up to this number.
MAX_COMPARED_PAYMENTS = 10_000
_OF_REASON = (
    "SELECT position FROM payments WHERE position IN ({}) AND reason = ?"
    " ORDER BY position DESC LIMIT ?"
)

# `~` comes after every character of an id.
_BY_PREFIX = (
    "SELECT position FROM payments INDEXED BY payments_by_id"
    " WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT ?2"
)
_NEWEST = (
    "(SELECT * FROM payments NOT INDEXED WHERE position BETWEEN ?1 AND ?2"
    f" ORDER BY position DESC LIMIT {MAX_COMPARED_PAYMENTS})"
)
_CONTAINING = (
    f"SELECT position FROM {_NEWEST} WHERE amount_minor IN (?3, ?7) OR instr(phone, ?4)"
    " OR substr(id, -length(?5)) = ?5 COLLATE NOCASE OR status = lower(?6)"
    " OR instr(reason, lower(?5)) OR EXISTS"
    " (SELECT 1 FROM json_each(terms, '$.metadata') WHERE value = ?6 COLLATE NOCASE"
    " OR instr(lower(key || '=' || value), lower(?5)))"
    " ORDER BY position DESC"
)
_WITH_END = (
    "SELECT position FROM (SELECT position, id FROM payments NOT INDEXED"
    f" ORDER BY position DESC LIMIT {MAX_COMPARED_PAYMENTS})"
    " WHERE substr(id, -length(?1)) = ?1 COLLATE NOCASE"
)
_KINDS = f"SELECT status, reason, count(*) FROM {_NEWEST} GROUP BY status, reason ORDER BY 3 DESC"
_SUMMARIES = (
    "SELECT payments.position, id, json_extract(terms, '$.metadata'), amount_minor, status, reason,"
    " payments.created_at,"
    " count(state), count(state = 'succeeded' OR NULL), count(state = 'failed' OR NULL)"
    " FROM payments"
    " LEFT JOIN deliveries INDEXED BY deliveries_by_payment ON payment = payments.position"
    " AND state IN ('pending', 'succeeded', 'failed')"
    " WHERE payments.position IN ({}) GROUP BY payments.position"
)


class PageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A page of an owner's payments, newest first; bounds are inclusive."""

    limit: int = DEFAULT_PAGE_LENGTH
    after: str | None = None
    status: Status | None = None
    method: str | None = None
    created_gte: Instant | None = None
    created_lte: Instant | None = None
    reason: Reason | None = None

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
    idempotency_key: str | None = None
    fingerprint: bytes | None = None
    request_id: str | None = None


class UnknownCursor(Exception):
    """The cursor of a page is not a payment of the owner."""


def insert(tx: Transaction, created: Iterable[NewPayment]) -> list[int]:
    """Write new payments; returns the positions of the events of their creation."""
    rows: list[tuple[Any, ...]] = []
    first_events: list[int] = []
    for new in created:
        payment, owner = new.payment, new.payment.position >> ORDINAL_BITS
        first_event = tx.next_position("events", owner)
        first_events.append(first_event)
        rows.append(
            (
                payment.position,
                owner,
                payment.id,
                payment.amount_minor,
                ",".join(payment.methods),
                msgspec.json.encode(payment.terms).decode(),
                payment.created_at,
                payment.expires_at,
                first_event,
                tx.next_timer(),
                STATUS_WORDS[payment.status],
                new.idempotency_key,
                new.fingerprint,
                new.request_id,
            )
        )
    tx.insert(_INSERT, rows)
    return first_events


def update(tx: Transaction, payments: Iterable[Payment]) -> None:
    """Write the changes of payments; equal changes share a statement."""
    equal: dict[tuple[Any, ...], list[int]] = {}
    for payment in payments:
        equal.setdefault(_changed_values(payment), []).append(payment.position)
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


def renew(tx: Transaction, payment: Payment) -> None:
    """Write the later expiry of a payment that is pending again."""
    values = (payment.expires_at, payment.first_lifetime_ms, tx.next_timer(), payment.position)
    tx.execute(_RENEW, values)


def of_any_owner(tx: Transaction, payment_id: str) -> Payment | None:
    """A payment by its id alone."""
    row = tx.execute(_BY_ID, (payment_id,)).fetchone()
    return None if row is None else PAYMENT_ROWS.value(row)


def find(tx: Transaction, owner: int, payment_id: str) -> Payment:
    """An owner's payment. Raises UnknownPayment, the same for a payment of another owner."""
    payment = of_any_owner(tx, payment_id)
    if payment is None or payment.position >> ORDINAL_BITS != owner:
        mode = [*Mode][owner & 1]
        hint = f" This is {mode} mode; a payment is in the mode of the key that created it."
        raise UnknownPayment(payment_id, hint=hint)
    return payment


def get(tx: Transaction, position: int) -> Payment:
    return PAYMENT_ROWS.value(tx.execute(_BY_POSITION, (position,)).fetchone())


def first_after(tx: Transaction, owner: int, column: str, value: int) -> int:
    """The position from which on a column exceeds a value, where it ascends with the positions."""
    statement = _AT_OR_AFTER.format(column)
    low, end = first_position(owner), tx.next_position("payments", owner, count=0)
    high = end
    while low < high:
        middle = (low + high) // 2
        row = tx.execute(statement, (middle, end)).fetchone()
        found, found_value = row or (middle, None)
        if found_value is None or found_value > value:
            high = middle
        else:
            low = found + 1
    return low


def page(tx: Transaction, owner: int, query: PageQuery) -> list[int]:
    """The positions of a page, newest first, and of one payment more if there is one.

    The instants of creation ascend with the positions, so bounds on instants become bounds on
    positions.
    Raises UnknownCursor.
    """
    low, high = positions_of(owner)
    if query.after is not None:
        (after,) = tx.execute(_POSITIONS_OF_IDS.format("?"), (query.after,)).fetchone() or (0,)
        if not low <= after <= high:
            raise UnknownCursor
        high = after - 1
    if query.created_gte is not None:
        low = first_after(tx, owner, "created_at", query.created_gte - 1)
    if query.created_lte is not None:
        high = min(high, first_after(tx, owner, "created_at", query.created_lte) - 1)
    filters = [value for value in (query.method, query.status) if value is not None]
    statement = _PAGE[query.status is not None, query.method is not None]
    values: tuple[Any, ...] = (*filters, low, high, query.limit + 1)
    if query.reason is not None:
        statement = _OF_REASON.format(statement)
        values = (*filters, low, high, MAX_COMPARED_PAYMENTS, query.reason, query.limit + 1)
    return [position for (position,) in tx.execute(statement, values)]


def with_prefix(tx: Transaction, prefix: str, *, limit: int) -> list[int]:
    """The positions of payments of all owners whose ids begin with a text."""
    return [position for (position,) in tx.execute(_BY_PREFIX, (prefix, limit))]


def with_end(tx: Transaction, end: str) -> list[int]:
    """The positions of the newest payments of all owners whose ids end with a text in any case."""
    return [position for (position,) in tx.execute(_WITH_END, (end,))]


def containing(
    tx: Transaction,
    owner: int,
    text: str,
    *,
    amounts_minor: tuple[int | None, int | None],
    phone_digits: str | None,
    part: str | None,
) -> list[int]:
    """Among an owner's newest payments, the positions of those with one of two amounts, with these
    digits in the phone, with a text as status or as a value of metadata, or with a part of the
    reason, of metadata or of the end of the id, newest first.
    """
    amount, other_amount = amounts_minor
    values = (*positions_of(owner), amount, phone_digits, part, text, other_amount)
    return [position for (position,) in tx.execute(_CONTAINING, values)]


def kinds(tx: Transaction, owner: int) -> list[tuple[str, str | None, int]]:
    """The statuses and reasons of an owner's newest payments, with counts."""
    return tx.execute(_KINDS, positions_of(owner)).fetchall()


def summaries(tx: Transaction, positions: Sequence[int]) -> dict[int, PaymentSummary]:
    """The payments at these positions, in their order."""
    rows = tx.execute(_SUMMARIES.format(", ".join("?" * len(positions))), positions)
    found = {
        position: PaymentSummary(
            id=name,
            order=order_text(name, msgspec.json.decode(metadata)),
            amount=amount_text(amount_minor),
            status=status,
            reason=reason,
            at=format_instant(created_at),
            due=due,
            acknowledged=sent,
            failed=failed,
        )
        for position, name, metadata, amount_minor, status, reason, created_at, *webhooks in rows
        for due, sent, failed in (webhooks,)
    }
    return {position: found[position] for position in positions if position in found}


def summaries_by_id(tx: Transaction, names: Sequence[str]) -> dict[str, PaymentSummary]:
    """The payments with these ids."""
    rows = tx.execute(_POSITIONS_OF_IDS.format(", ".join("?" * len(names))), names)
    return {each.id: each for each in summaries(tx, [position for (position,) in rows]).values()}


def of_owner(
    tx: Transaction, owner: int, *, only: int | None = None
) -> list[tuple[Payment, str | None]]:
    """An owner's payments, oldest first, or the one at a position, with its idempotency key."""
    positions = positions_of(owner) if only is None else (only, only)
    return [(PAYMENT_ROWS.value(row), key) for *row, key in tx.execute(_ALL, positions)]


def metadata_bytes(tx: Transaction, owner: int) -> int:
    """The length of the metadata of all of an owner's payments, in JSON."""
    (length,) = tx.execute(_METADATA_BYTES, positions_of(owner)).fetchone()
    return int(length)


def used_keys(tx: Transaction, owner: int, keys: Sequence[str]) -> dict[str, UsedKey]:
    """The used ones of these idempotency keys, in one statement."""
    statement = _USED_KEYS.format(", ".join("?" * len(keys)))
    return {
        key: UsedKey(fingerprint=fingerprint, payment=payment, used_at=used_at)
        for key, fingerprint, payment, used_at in tx.execute(statement, (owner, *keys))
    }


def release_key(tx: Transaction, payment: int) -> None:
    """Remove a payment's idempotency key, so that it can be used again."""
    tx.execute(_RELEASE_KEY, (payment,))
