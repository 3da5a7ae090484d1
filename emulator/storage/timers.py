"""The timers table: scheduled changes, in order of due time and then of creation."""

from functools import lru_cache
from typing import Any

from emulator.domain.instants import Instant
from emulator.domain.payment import Payment
from emulator.domain.timers import DueKey, Timer, TimerKind
from emulator.domain.transitions import Change
from emulator.storage.batch import Transaction
from emulator.storage.payments import (
    PAYMENT_COLUMNS,
    REASONS,
    STATUS_WORDS,
    STATUSES,
    methods_of_text,
    payment_of_row,
)

KINDS = {kind.value: kind for kind in TimerKind}

_COLUMNS = "due_at, sequence, payment, kind, status, reason, unusual"
_INSERT = f"INSERT INTO timers (account, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
# Only the columns of the payment that a change of status needs, for speed.
_DUE = (
    "SELECT due_at, sequence, kind, timers.status, timers.reason, unusual,"
    " position, id, methods, payments.status, method, payments.reason, completed_at, phone, bank"
    " FROM timers CROSS JOIN payments ON payments.position = timers.payment"
    " WHERE account = ? AND (due_at, sequence) <= (?, ?) ORDER BY due_at, sequence LIMIT ?"
)
_NEXT = (
    f"SELECT payments.id, {_COLUMNS} FROM timers"
    " CROSS JOIN payments ON payments.position = timers.payment"
    " WHERE account = ? ORDER BY due_at, sequence LIMIT 1"
).replace("status, reason", "timers.status, timers.reason")
_NEXT_KEY = (
    "SELECT due_at, sequence FROM timers WHERE account = ? ORDER BY due_at, sequence LIMIT 1"
)
_DELETE_THROUGH = "DELETE FROM timers WHERE account = ? AND (due_at, sequence) <= (?, ?)"
# The sequence of a deleted timer may be used again, so the payment is compared too.
_IS_EXPIRY = "account = ? AND due_at = ? AND sequence = ? AND payment = ? AND kind = 'expiry'"
_EXPIRY_TIMER = "SELECT expiry_timer FROM payments WHERE position = ?"
_DELETE_EXPIRY = f"DELETE FROM timers WHERE {_IS_EXPIRY}"
_DELETE_STEPS = (
    "DELETE FROM timers INDEXED BY timers_by_payment WHERE payment = ? AND kind <> 'expiry'"
)
_STEPS = (
    f"SELECT {_COLUMNS} FROM timers INDEXED BY timers_by_payment"
    " WHERE payment = ? AND kind <> 'expiry' ORDER BY due_at, sequence"
)
_EXPIRY = f"SELECT {_COLUMNS} FROM timers WHERE {_IS_EXPIRY}"


def _of(table: str, columns: str) -> list[str]:
    return [f"{table}.{column}" for column in columns.split(", ")]


_PAYMENT_AND_EXPIRY = [*_of("payments", PAYMENT_COLUMNS), *_of("expiry", _COLUMNS)]
_EXPIRY_AT, _STEP_AT = len(_of("payments", PAYMENT_COLUMNS)), len(_PAYMENT_AND_EXPIRY)
# A row for each step, or one without. One statement, because every page executes it.
_WITH_PAYMENT = (
    f"SELECT {', '.join([*_PAYMENT_AND_EXPIRY, *_of('step', _COLUMNS)])} FROM payments"
    " LEFT JOIN timers AS expiry ON expiry.account = payments.owner >> 1"
    " AND expiry.due_at = payments.expires_at AND expiry.sequence = payments.expiry_timer"
    " AND expiry.payment = payments.position AND expiry.kind = 'expiry'"
    " LEFT JOIN timers AS step INDEXED BY timers_by_payment"
    " ON step.payment = payments.position AND step.kind <> 'expiry'"
    " WHERE payments.id = ? ORDER BY step.due_at, step.sequence"
)


def _timer_of_row(row: tuple[Any, ...]) -> Timer:
    return Timer(row[0], row[1], row[2], KINDS[row[3]], _change(row[4], row[5], row[6]))


def _due_of_row(row: tuple[Any, ...]) -> tuple[Timer, Payment]:
    """A row of _DUE; by position, since by name it would take twice as long."""
    timer = Timer(row[0], row[1], row[6], KINDS[row[2]], _change(row[3], row[4], row[5]))
    return timer, Payment(
        row[6],
        row[7],
        0,
        methods_of_text(row[8]),
        "",
        0,
        0,
        STATUSES[row[9]],
        row[10],
        REASONS[row[11]],
        row[12],
        row[13],
        row[14],
    )


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
    return [_due_of_row(row) for row in tx.execute(_DUE, (account, *until, limit)).fetchall()]


def next_key(tx: Transaction, account: int) -> DueKey | None:
    """The due key of the account's next timer."""
    row: DueKey | None = tx.execute(_NEXT_KEY, (account,)).fetchone()
    return row


def next_due_at(tx: Transaction, account: int) -> Instant | None:
    key = next_key(tx, account)
    return None if key is None else key[0]


def next_of_account(tx: Transaction, account: int) -> tuple[Timer, str] | None:
    """The account's next timer and the id of its payment."""
    row = tx.execute(_NEXT, (account,)).fetchone()
    return None if row is None else (_timer_of_row(row[1:]), row[0])


def of_payment(tx: Transaction, account: int, payment: Payment) -> list[Timer]:
    """The timers of one payment, in order."""
    rows = [*_expiry_of(tx, account, payment), *tx.execute(_STEPS, (payment.position,))]
    return [_timer_of_row(row) for row in rows]


def with_payment(tx: Transaction, payment_id: str) -> tuple[Payment, list[Timer]] | None:
    """A payment by its id alone, because the customer has no key, with its timers."""
    rows = tx.execute(_WITH_PAYMENT, (payment_id,)).fetchall()
    if not rows:
        return None
    timers = [rows[0][_EXPIRY_AT:_STEP_AT], *(row[_STEP_AT:] for row in rows)]
    return payment_of_row(rows[0]), [_timer_of_row(row) for row in timers if row[0] is not None]


def _expiry_of(tx: Transaction, account: int, payment: Payment) -> list[tuple[Any, ...]]:
    return tx.execute(_EXPIRY, _expiry_key(tx, account, payment)).fetchall()


def _expiry_key(tx: Transaction, account: int, payment: Payment) -> tuple[int, ...]:
    (sequence,) = tx.execute(_EXPIRY_TIMER, (payment.position,)).fetchone()
    return account, payment.expires_at, sequence, payment.position


def delete_through(tx: Transaction, account: int, last: Timer) -> None:
    """Delete the timers up to and including the last one that was fired."""
    tx.execute(_DELETE_THROUGH, (account, last.due_at, last.sequence))


def cancel(tx: Transaction, account: int, payment: Payment) -> None:
    """Delete the timers of a payment."""
    tx.execute(_DELETE_EXPIRY, _expiry_key(tx, account, payment))
    tx.execute(_DELETE_STEPS, (payment.position,))
