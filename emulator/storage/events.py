"""The events table: one row each time that a payment took on a status."""

from collections.abc import Iterable

from emulator.domain.payment import Event
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
_NEWEST = (
    f"SELECT {EVENT_COLUMNS} FROM events WHERE position BETWEEN ? AND ?"
    " ORDER BY position DESC LIMIT ?"
)
_DELETE_ALL = "DELETE FROM events WHERE position BETWEEN ? AND ?"


def insert(tx: Transaction, events: Iterable[Event]) -> None:
    tx.insert(
        _INSERT,
        [
            (
                event.position,
                event.payment,
                event.at,
                STATUS_WORDS[event.status],
                event.method,
                event.reason,
                event.completed_at,
            )
            for event in events
        ],
    )


def of_payment(tx: Transaction, payment: int) -> list[Event]:
    """A payment's events, oldest first."""
    rows = [*tx.execute(_FIRST, (payment,)), *tx.execute(_LATER, (payment,))]
    return [event_of_row(row) for row in rows]


def newest(tx: Transaction, owner: int, limit: int) -> list[Event]:
    bounds = (first_position(owner), last_position(owner))
    return [event_of_row(row) for row in tx.execute(_NEWEST, (*bounds, limit))]


def delete_all(tx: Transaction, owner: int) -> None:
    tx.execute(_DELETE_ALL, (first_position(owner), last_position(owner)))
