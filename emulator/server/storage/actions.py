"""The actions table: what the customer and the control API did to payments, in order."""

from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.server.storage.batch import Transaction, positions_of

_COLUMNS = "at, verb, payment, event, detail"
_INSERT = f"INSERT INTO actions (position, {_COLUMNS})"
_ALL = f"SELECT {_COLUMNS} FROM actions WHERE position BETWEEN ? AND ? ORDER BY position"


class Action(NamedTuple):
    """An action on a payment, such as `pay`.

    `event` is the position of the first event that it caused; without one, of the next event.
    """

    at: Instant
    verb: str
    payment: int
    event: int
    detail_json: str


def insert(tx: Transaction, owner: int, action: Action) -> None:
    tx.insert(_INSERT, [(tx.next_position("actions", owner), *action)])


def of_owner(tx: Transaction, owner: int) -> list[Action]:
    """All of an owner's actions, oldest first."""
    return [Action(*row) for row in tx.execute(_ALL, positions_of(owner))]
