"""Scheduled changes, in order of due time and then of creation.

A pending payment is the timer of its expiry; the timers table contains the others. Each payment
has an expiry and few reach it, so a row of its own would be written and deleted for nothing: a
partial index of the pending payments orders them instead, and the end of the status `pending`
ends the timer. Therefore each query has two parts, each in the order of its own index: SQLite
merges them without a sort, and reads no more than the limit. Only `due` has a statement for each,
because a thousand rows of a union take nearly twice as long. Both parts, and deliveries, take their
sequence from `Transaction.next_timer`. So the due key (instant, sequence) is one total order, in
which equal instants fire in the order of creation in every run. INDEXED BY and CROSS JOIN name the
plan: without statistics, SQLite sometimes chooses another index or begins with the other table.
"""

from functools import lru_cache
from typing import Any

from emulator.domain.instants import Instant
from emulator.domain.payment import Payment, Status
from emulator.domain.transitions import Change, DueKey, Timer, TimerKind
from emulator.server.storage.batch import Transaction
from emulator.server.storage.payments import (
    PAYMENT_COLUMNS,
    REASONS,
    STATUS_WORDS,
    STATUSES,
    payment_of_row,
)

KINDS = {kind.value: kind for kind in TimerKind}

_COLUMNS = "due_at, sequence, payment, kind, timers.status, timers.reason, unusual"
# The expiry of a pending payment, in the same columns: it has no row of its own.
_EXPIRY_COLUMNS = "expires_at, expiry_timer, position, 'expiry', 'expired', NULL, 0"
_INSERT = (
    "INSERT INTO timers (account, due_at, sequence, payment, kind, status, reason, unusual)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_OF_ACCOUNT = (
    "FROM timers CROSS JOIN payments ON payments.position = timers.payment WHERE account = ?1"
)
_EXPIRIES_OF_ACCOUNT = (
    "FROM payments INDEXED BY payments_by_expiry WHERE status = 'pending' AND owner >> 1 = ?1"
)
# Of the payment only the columns that a change of status needs, for speed.
_CHANGED = (
    "position, id, 0, methods, '', 0, 0, payments.status, method, payments.reason, completed_at,"
    " phone, bank"
)
_CHANGED_AT = 7
_DUE = (
    f"SELECT {_COLUMNS}, {_CHANGED} {_OF_ACCOUNT} AND (due_at, sequence) <= (?, ?)"
    " ORDER BY due_at, sequence LIMIT ?"
)
_DUE_EXPIRIES = (
    f"SELECT {_EXPIRY_COLUMNS}, {_CHANGED} {_EXPIRIES_OF_ACCOUNT}"
    " AND (expires_at, expiry_timer) <= (?, ?) ORDER BY expires_at, expiry_timer LIMIT ?"
)
_NEXT = (
    f"SELECT {_COLUMNS}, id {_OF_ACCOUNT}"
    f" UNION ALL SELECT {_EXPIRY_COLUMNS}, id {_EXPIRIES_OF_ACCOUNT} ORDER BY 1, 2 LIMIT 1"
)
_DELETE_THROUGH = "DELETE FROM timers WHERE account = ? AND (due_at, sequence) <= (?, ?)"
_DELETE_STEPS = "DELETE FROM timers INDEXED BY timers_by_payment WHERE payment = ?"
_POSTPONE = "UPDATE timers INDEXED BY timers_by_payment SET due_at = due_at + ? WHERE payment = ?"
_OF_PAYMENT = (
    f"SELECT {_EXPIRY_COLUMNS} FROM payments WHERE position = ?1 AND status = 'pending'"
    f" UNION ALL SELECT {_COLUMNS} FROM timers INDEXED BY timers_by_payment WHERE payment = ?1"
    " ORDER BY 1, 2"
)

# A row for each step, or one without. One statement, because every page executes it.
_PAYMENT_COLUMNS = [f"payments.{column}" for column in PAYMENT_COLUMNS.split(", ")]
_STEP_AT = len(_PAYMENT_COLUMNS) + 1
_WITH_PAYMENT = (
    f"SELECT {', '.join(_PAYMENT_COLUMNS)}, expiry_timer, {_COLUMNS} FROM payments"
    " LEFT JOIN timers INDEXED BY timers_by_payment ON timers.payment = payments.position"
    " WHERE id = ? ORDER BY due_at, sequence"
)


def _timer_of_row(row: tuple[Any, ...]) -> Timer:
    return Timer(row[0], row[1], row[2], KINDS[row[3]], _change(row[4], row[5], row[6]))


@lru_cache(maxsize=256)
def _change(status: str, reason: str | None, unusual: int) -> Change:
    """One value for all timers with equal changes."""
    return Change(to=STATUSES[status], reason=REASONS[reason], unusual=bool(unusual))


def insert(tx: Transaction, account: int, timer: Timer) -> None:
    change = timer.change
    kind, status = timer.kind.value, STATUS_WORDS[change.to]
    tx.execute(_INSERT, (account, *timer[:3], kind, status, change.reason, change.unusual))


def due(tx: Transaction, account: int, *, until: DueKey, limit: int) -> list[tuple[Timer, Payment]]:
    """The account's timers up to and including a due key, with their payments.

    The payments lack amount, terms and instants, which a change does not need.
    """
    rows = tx.execute(_DUE_EXPIRIES, (account, *until, limit)).fetchall()
    steps = tx.execute(_DUE, (account, *until, limit)).fetchall()
    if steps:
        rows = sorted([*rows, *steps])[:limit]
    return [(_timer_of_row(row), payment_of_row(row[_CHANGED_AT:])) for row in rows]


def next_due_at(tx: Transaction, account: int) -> Instant | None:
    following = next_of_account(tx, account)
    return None if following is None else following[0].due_at


def next_of_account(tx: Transaction, account: int) -> tuple[Timer, str] | None:
    """The account's next timer and the id of its payment."""
    row = tx.execute(_NEXT, (account,)).fetchone()
    return None if row is None else (_timer_of_row(row), row[-1])


def of_payment(tx: Transaction, payment: int) -> list[Timer]:
    """The timers of the payment at a position, in order."""
    return [_timer_of_row(row) for row in tx.execute(_OF_PAYMENT, (payment,))]


def with_payment(tx: Transaction, payment_id: str) -> tuple[Payment, list[Timer]] | None:
    """A payment by its id alone, because the customer has no key, with its timers."""
    rows = tx.execute(_WITH_PAYMENT, (payment_id,)).fetchall()
    if not rows:
        return None
    payment, sequence = payment_of_row(rows[0]), rows[0][_STEP_AT - 1]
    scheduled = [_timer_of_row(row[_STEP_AT:]) for row in rows if row[_STEP_AT] is not None]
    if payment.status is Status.PENDING:
        change = _change("expired", None, 0)
        expiry = Timer(payment.expires_at, sequence, payment.position, TimerKind.EXPIRY, change)
        scheduled.insert(0, expiry)
    return payment, scheduled


def delete_through(tx: Transaction, account: int, last: Timer) -> None:
    """Delete the timers up to and including the last one that was fired."""
    tx.execute(_DELETE_THROUGH, (account, last.due_at, last.sequence))


def postpone(tx: Transaction, payment: int, by_ms: int) -> None:
    """Postpone the timers of a payment, which stay in their order."""
    tx.execute(_POSTPONE, (by_ms, payment))


def cancel(tx: Transaction, payment: int) -> None:
    """Delete the timers of a payment; its expiry ends with its status `pending`."""
    tx.execute(_DELETE_STEPS, (payment,))
