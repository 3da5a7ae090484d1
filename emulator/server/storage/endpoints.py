"""The endpoints table: the receivers of events. Starting reads no other table of webhooks."""

from typing import TYPE_CHECKING, Any

from emulator.domain.errors import UnknownEndpoint
from emulator.server.storage.batch import Transaction, positions_of

if TYPE_CHECKING:
    # Starting reads this table, which is usually empty.
    from emulator.domain.webhooks import RegisteredEndpoint

_COLUMNS = "position, id, url, secret, events, profile, is_enabled, old_secret, old_secret_until"
_ALL = f"SELECT {_COLUMNS} FROM endpoints WHERE is_deleted = 0 ORDER BY position"
_OF_OWNER = (
    f"SELECT {_COLUMNS} FROM endpoints WHERE is_deleted = 0 AND position BETWEEN ? AND ?"
    " ORDER BY position"
)
_IDS = "SELECT position, id FROM endpoints WHERE position BETWEEN ? AND ?"
_INSERT = f"INSERT INTO endpoints ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE = f"UPDATE endpoints SET ({_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE position = ?"
_MARK_DELETED = "UPDATE endpoints SET is_deleted = 1 WHERE position = ?"


def _endpoint_of_row(row: tuple[Any, ...]) -> "RegisteredEndpoint":
    from emulator.domain.webhooks import Profile, RegisteredEndpoint

    events, profile = tuple(row[4].split(",")), Profile(row[5])
    return RegisteredEndpoint._make((*row[:4], events, profile, bool(row[6]), *row[7:]))


def _row(endpoint: "RegisteredEndpoint") -> tuple[Any, ...]:
    return (*endpoint[:4], ",".join(endpoint.events), *endpoint[5:])


def load_all(tx: Transaction) -> "list[RegisteredEndpoint]":
    """The endpoints of all owners, in the order of creation. Raises ValueError."""
    endpoints = [_endpoint_of_row(row) for row in tx.execute(_ALL)]
    for endpoint in endpoints:
        _check(endpoint)
    return endpoints


def _check(endpoint: "RegisteredEndpoint") -> None:
    """Raises ValueError for values with which every attempt would fail."""
    from emulator.domain.hosts import parse_url
    from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, is_webhook_secret

    parse_url(endpoint.url)
    secrets = (endpoint.secret, endpoint.old_secret or endpoint.secret)
    is_usable = set(endpoint.events) <= set(EVENT_TYPES_IN_ORDER)
    if not (is_usable and all(map(is_webhook_secret, secrets))):
        raise ValueError(f"the endpoint {endpoint.id} has an invalid value")


def of_owner(tx: Transaction, owner: int) -> "list[RegisteredEndpoint]":
    """The endpoints of one owner, in the order of creation."""
    return [_endpoint_of_row(row) for row in tx.execute(_OF_OWNER, positions_of(owner))]


def ids(tx: Transaction, owner: int) -> dict[int, str]:
    """The ids of an owner's endpoints, deleted ones included, by position."""
    return dict(tx.execute(_IDS, positions_of(owner)).fetchall())


def position(tx: Transaction, owner: int, endpoint_id: str) -> int:
    """The position of an owner's endpoint, which may be deleted. Raises UnknownEndpoint."""
    for position, name in ids(tx, owner).items():
        if name == endpoint_id:
            return position
    raise UnknownEndpoint(endpoint_id)


def insert(tx: Transaction, endpoint: "RegisteredEndpoint") -> None:
    tx.execute(_INSERT, _row(endpoint))


def update(tx: Transaction, endpoint: "RegisteredEndpoint") -> None:
    tx.execute(_UPDATE, (*_row(endpoint), endpoint.position))


def mark_deleted(tx: Transaction, position: int) -> None:
    tx.execute(_MARK_DELETED, (position,))
