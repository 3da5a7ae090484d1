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
from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.domain.transitions import Change, DueKey, DueTimer, Timer, TimerKind
from emulator.server.storage.batch import Transaction
from emulator.server.storage.payments import PAYMENT_ROWS, REASONS, STATUS_WORDS, STATUSES
from emulator.server.storage.rows import RowMapper

KINDS = {kind.value: kind for kind in TimerKind}


class _TimerRow(NamedTuple):
    due_at: Instant
    sequence: int
    payment: int
    kind: str
    status: str
    reason: str | None
    unusual: int

    @property
    def timer(self) -> Timer:
        due_at, sequence, payment, kind, *change = self
        return Timer(due_at, sequence, payment, KINDS[kind], _change(*change))


_ROWS = RowMapper(
    _TimerRow, expressions={"status": "timers.status", "reason": "timers.reason"}, is_decoded=True
)
_COLUMNS = _ROWS.columns
# The expiry of a pending payment, in the same columns: it has no row of its own.
_EXPIRY_COLUMNS = _ROWS.select(
    due_at="expires_at",
    sequence="expiry_timer",
    payment="position",
    kind="'expiry'",
    status="'expired'",
    reason="NULL",
    unusual="0",
)
_INSERT = f"INSERT INTO timers ({', '.join(_TimerRow._fields)}, account) VALUES ({_ROWS.marks}, ?)"
_OF_ACCOUNT = (
    "FROM timers CROSS JOIN payments ON payments.position = timers.payment WHERE account = ?1"
)
_EXPIRIES_OF_ACCOUNT = (
    "FROM payments INDEXED BY payments_by_expiry WHERE status = 'pending' AND owner >> 1 = ?1"
)
_PAYMENT = PAYMENT_ROWS.select_from("payments")
_DUE = (
    f"SELECT {_COLUMNS}, {_PAYMENT} {_OF_ACCOUNT} AND (due_at, sequence) <= (?, ?)"
    " ORDER BY due_at, sequence LIMIT ?"
)
_DUE_EXPIRIES = (
    f"SELECT {_EXPIRY_COLUMNS}, {_PAYMENT} {_EXPIRIES_OF_ACCOUNT}"
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


@lru_cache(maxsize=256)
def _change(status: str, reason: str | None, unusual: int) -> Change:
    """One value for all timers with equal changes."""
    return Change(to=STATUSES[status], reason=REASONS[reason], unusual=bool(unusual))


def insert(tx: Transaction, account: int, timer: Timer) -> None:
    *place, kind, change = timer
    change_columns = (STATUS_WORDS[change.to], change.reason, change.unusual)
    tx.execute(_INSERT, (*place, kind.value, *change_columns, account))


def due(tx: Transaction, account: int, *, until: DueKey, limit: int) -> list[DueTimer]:
    """The account's timers up to and including a due key."""
    rows = tx.execute(_DUE_EXPIRIES, (account, *until, limit)).fetchall()
    steps = tx.execute(_DUE, (account, *until, limit)).fetchall()
    if steps:
        rows = sorted([*rows, *steps])[:limit]
    width = _ROWS.width
    return [
        DueTimer(_ROWS.value(row[:width]).timer, PAYMENT_ROWS.value(row[width:])) for row in rows
    ]


def next_due_at(tx: Transaction, account: int) -> Instant | None:
    following = next_of_account(tx, account)
    return None if following is None else following[0].due_at


def next_of_account(tx: Transaction, account: int) -> tuple[Timer, str] | None:
    """The account's next timer and the id of its payment."""
    found = tx.execute(_NEXT, (account,)).fetchone()
    if found is None:
        return None
    *row, payment_id = found
    return _ROWS.value(row).timer, payment_id


def of_payment(tx: Transaction, payment: int) -> list[Timer]:
    """The timers of the payment at a position, in order."""
    return [_ROWS.value(row).timer for row in tx.execute(_OF_PAYMENT, (payment,))]


def delete_through(tx: Transaction, account: int, last: Timer) -> None:
    """Delete the timers up to and including the last one that was fired."""
    tx.execute(_DELETE_THROUGH, (account, last.due_at, last.sequence))


def postpone(tx: Transaction, payment: int, by_ms: int) -> None:
    """Postpone the timers of a payment, which stay in their order."""
    tx.execute(_POSTPONE, (by_ms, payment))


def cancel(tx: Transaction, payment: int) -> None:
    """Delete the timers of a payment; its expiry ends with its status `pending`."""
    tx.execute(_DELETE_STEPS, (payment,))
