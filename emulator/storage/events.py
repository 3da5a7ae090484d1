"""The events table: one row for each status that a payment took on."""

from collections.abc import Sequence
from typing import Any

from emulator.domain.instants import Instant
from emulator.domain.payment import Event, Payment, Status
from emulator.storage.batch import Transaction, positions_of
from emulator.storage.payments import REASONS, STATUS_WORDS, STATUSES

# No request causes these events; payments.insert writes the others.
_INSERT = "INSERT INTO events (position, payment, at, status, method, reason, completed_at)"
_COLUMNS = "position, payment, at, status, method, reason, completed_at, request"
_FIRST = (
    f"SELECT {_COLUMNS} FROM events"
    " WHERE position = (SELECT first_event FROM payments WHERE position = ?)"
)
_LATER = (
    f"SELECT {_COLUMNS} FROM events INDEXED BY events_by_payment"
    " WHERE payment = ? AND status <> 'pending' ORDER BY position"
)
_GET = f"SELECT {_COLUMNS} FROM events WHERE position = ?"
_NEWEST = (
    f"SELECT {_COLUMNS} FROM events WHERE position BETWEEN ? AND ? ORDER BY position DESC LIMIT ?"
)
# Without an earlier event of the index, the payment was pending.
_TRANSITION_COUNTS = (
    "SELECT source, status, count(*) FROM (SELECT status, coalesce((SELECT earlier.status"
    " FROM events AS earlier INDEXED BY events_by_payment WHERE earlier.payment = events.payment"
    " AND earlier.status <> 'pending' AND earlier.position < events.position"
    " ORDER BY earlier.position DESC LIMIT 1), 'pending') AS source FROM events"
    " WHERE position BETWEEN ? AND ? AND status <> 'pending') GROUP BY source, status"
)
_ALL = f"SELECT {_COLUMNS} FROM events WHERE position BETWEEN ? AND ? ORDER BY position"


def _event_of_row(row: tuple[Any, ...]) -> Event:
    return Event(
        position=row[0],
        payment=row[1],
        at=row[2],
        status=STATUSES[row[3]],
        method=row[4],
        reason=REASONS[row[5]],
        completed_at=row[6],
        request_id=row[7],
    )


def insert(tx: Transaction, owner: int, changed: Sequence[tuple[Payment, Instant]]) -> int:
    """Write an event for each payment that took on its present status at an instant, in order.

    Returns the position of the first.
    """
    first = tx.next_position("events", owner, count=len(changed))
    tx.insert(
        _INSERT,
        [
            (
                position,
                payment.position,
                at,
                STATUS_WORDS[payment.status],
                payment.method,
                payment.reason,
                payment.completed_at,
            )
            for position, (payment, at) in enumerate(changed, start=first)
        ],
    )
    return first


def next_position(tx: Transaction, owner: int) -> int:
    """The position of the owner's next event."""
    return tx.next_position("events", owner, count=0)


def get(tx: Transaction, position: int) -> Event:
    return _event_of_row(tx.execute(_GET, (position,)).fetchone())


def transition_counts(
    tx: Transaction, owner: int, *, limit: int
) -> list[tuple[Status, Status, int]]:
    """The numbers of changes from one status to another among the owner's newest events."""
    first, _ = positions_of(owner)
    last = next_position(tx, owner) - 1
    rows = tx.execute(_TRANSITION_COUNTS, (max(first, last - limit + 1), last))
    return [(STATUSES[source], STATUSES[status], count) for source, status, count in rows]


def of_payment(tx: Transaction, payment: int) -> list[Event]:
    """A payment's events, oldest first."""
    rows = [*tx.execute(_FIRST, (payment,)), *tx.execute(_LATER, (payment,))]
    return [_event_of_row(row) for row in rows]


def newest(tx: Transaction, owner: int, limit: int, *, before: int | None = None) -> list[Event]:
    """An owner's events, newest first, or those before a position."""
    first, last = positions_of(owner)
    last = last if before is None else before - 1
    return [_event_of_row(row) for row in tx.execute(_NEWEST, (first, last, limit))]


def of_owner(tx: Transaction, owner: int) -> list[Event]:
    """All of an owner's events, oldest first."""
    return [_event_of_row(row) for row in tx.execute(_ALL, positions_of(owner))]
