"""The events table: one row each time that a payment took on a status."""

from collections.abc import Iterable

from emulator.domain.payment import Event
from emulator.storage.database import Transaction, first_position, last_position
from emulator.storage.rows import EVENT_COLUMNS, event_of_row

_INSERT = f"INSERT INTO events ({EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_OF_PAYMENT = f"SELECT {EVENT_COLUMNS} FROM events WHERE payment = ? ORDER BY position"
_NEWEST = (
    f"SELECT {EVENT_COLUMNS} FROM events WHERE position BETWEEN ? AND ?"
    " ORDER BY position DESC LIMIT ?"
)
_DELETE_ALL = "DELETE FROM events WHERE position BETWEEN ? AND ?"


def insert(tx: Transaction, events: Iterable[Event]) -> None:
    tx.executemany(
        _INSERT,
        [
            (
                event.position,
                event.payment,
                event.at,
                event.status.value,
                event.method,
                event.reason,
                event.completed_at,
            )
            for event in events
        ],
    )


def of_payment(tx: Transaction, payment: int) -> list[Event]:
    """A payment's events, oldest first."""
    return [event_of_row(row) for row in tx.execute(_OF_PAYMENT, (payment,))]


def newest(tx: Transaction, owner: int, limit: int) -> list[Event]:
    bounds = (first_position(owner), last_position(owner))
    return [event_of_row(row) for row in tx.execute(_NEWEST, (*bounds, limit))]


def delete_all(tx: Transaction, owner: int) -> None:
    tx.execute(_DELETE_ALL, (first_position(owner), last_position(owner)))
