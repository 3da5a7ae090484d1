"""The actions table: what was done to payments other than by the contract, in order."""

from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.storage.batch import Transaction, first_position, last_position

_COLUMNS = "at, verb, payment, event, detail"
_INSERT = f"INSERT INTO actions (position, {_COLUMNS})"
_ALL = f"SELECT {_COLUMNS} FROM actions WHERE position BETWEEN ? AND ? ORDER BY position"
_DELETE_ALL = "DELETE FROM actions WHERE position BETWEEN ? AND ?"


class Action(NamedTuple):
    """A verb that changed a payment, or was heard.

    `event` is the position of the first event that it made; of a verb that made none, that of
    whichever came next.
    """

    at: Instant
    verb: str
    payment: int
    event: int
    detail_json: str


def insert(tx: Transaction, owner: int, action: Action) -> None:
    tx.insert(_INSERT, [(tx.next_position("actions", owner), *action)])


def count(tx: Transaction, owner: int) -> int:
    """How many there are, without a look at them."""
    return tx.next_position("actions", owner, count=0) - first_position(owner) - 1


def of_owner(tx: Transaction, owner: int) -> list[Action]:
    """All of an owner's actions, oldest first."""
    bounds = (first_position(owner), last_position(owner))
    return [Action(*row) for row in tx.execute(_ALL, bounds)]


def delete_all(tx: Transaction, owner: int) -> None:
    tx.execute(_DELETE_ALL, (first_position(owner), last_position(owner)))
