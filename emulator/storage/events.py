"""The events table: one row each time that a payment took on a status."""

from collections.abc import Sequence

from emulator.domain.instants import Instant
from emulator.domain.payment import Event, Payment
from emulator.storage.batch import Transaction, first_position, last_position
from emulator.storage.rows import EVENT_COLUMNS, STATUS_WORDS, event_of_row

_INSERT = f"INSERT INTO events ({EVENT_COLUMNS})"
_FIRST = (
    f"SELECT {EVENT_COLUMNS} FROM events"
    " WHERE position = (SELECT first_event FROM payments WHERE position = ?)"
)
_LATER = (
    f"SELECT {EVENT_COLUMNS} FROM events INDEXED BY events_by_payment"
    " WHERE payment = ? AND status <> 'pending' ORDER BY position"
)
_GET = f"SELECT {EVENT_COLUMNS} FROM events WHERE position = ?"
_NEWEST = (
    f"SELECT {EVENT_COLUMNS} FROM events WHERE position BETWEEN ? AND ?"
    " ORDER BY position DESC LIMIT ?"
)
_ALL = f"SELECT {EVENT_COLUMNS} FROM events WHERE position BETWEEN ? AND ? ORDER BY position"
_DELETE_ALL = "DELETE FROM events WHERE position BETWEEN ? AND ?"


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
    """Where the owner's next event is going to be."""
    return tx.next_position("events", owner, count=0)


def get(tx: Transaction, position: int) -> Event:
    return event_of_row(tx.execute(_GET, (position,)).fetchone())


def of_payment(tx: Transaction, payment: int) -> list[Event]:
    """A payment's events, oldest first."""
    rows = [*tx.execute(_FIRST, (payment,)), *tx.execute(_LATER, (payment,))]
    return [event_of_row(row) for row in rows]


def newest(tx: Transaction, owner: int, limit: int) -> list[Event]:
    bounds = (first_position(owner), last_position(owner))
    return [event_of_row(row) for row in tx.execute(_NEWEST, (*bounds, limit))]


def of_owner(tx: Transaction, owner: int) -> list[Event]:
    """All of an owner's events, oldest first."""
    bounds = (first_position(owner), last_position(owner))
    return [event_of_row(row) for row in tx.execute(_ALL, bounds)]


def delete_all(tx: Transaction, owner: int) -> None:
    tx.execute(_DELETE_ALL, (first_position(owner), last_position(owner)))
