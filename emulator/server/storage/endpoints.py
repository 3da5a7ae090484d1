"""The endpoints table: the receivers of events. Starting reads no other table of webhooks."""

from typing import TYPE_CHECKING, Any

import msgspec

from emulator.domain.errors import UnknownEndpoint
from emulator.server.storage.batch import Transaction, positions_of

if TYPE_CHECKING:
    # Starting reads this table, which is usually empty.
    from emulator.domain.webhook_forms import WebhookForm
    from emulator.domain.webhooks import RegisteredEndpoint

_COLUMNS = (
    "position, id, url, secret, events, profile, is_enabled, old_secret, old_secret_until, form"
)
_ALL = f"SELECT {_COLUMNS} FROM endpoints WHERE is_deleted = 0 ORDER BY position"
_OF_OWNER = (
    f"SELECT {_COLUMNS} FROM endpoints WHERE is_deleted = 0 AND position BETWEEN ? AND ?"
    " ORDER BY position"
)
_IDENTITIES = "SELECT position, id, form FROM endpoints WHERE position BETWEEN ? AND ?"
_INSERT = f"INSERT INTO endpoints ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE = f"UPDATE endpoints SET ({_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE position = ?"
_MARK_DELETED = "UPDATE endpoints SET is_deleted = 1 WHERE position = ?"


def _endpoint_of_row(row: tuple[Any, ...]) -> "RegisteredEndpoint":
    from emulator.domain.webhooks import Profile, RegisteredEndpoint

    events, profile, form = tuple(row[4].split(",")), Profile(row[5]), _form(row[9])
    return RegisteredEndpoint._make((*row[:4], events, profile, bool(row[6]), *row[7:9], form))


def _form(text: str | None) -> "WebhookForm":
    from emulator.domain.webhook_forms import STANDARD, WebhookForm

    return STANDARD if text is None else msgspec.json.decode(text, type=WebhookForm)


def _row(endpoint: "RegisteredEndpoint") -> tuple[Any, ...]:
    from emulator.domain.webhook_forms import STANDARD

    form = None if endpoint.form == STANDARD else msgspec.json.encode(endpoint.form).decode()
    return (*endpoint[:4], ",".join(endpoint.events), *endpoint[5:9], form)


def load_all(tx: Transaction) -> "list[RegisteredEndpoint]":
    """The endpoints of all owners, in the order of creation. Raises ValueError."""
    endpoints = [_endpoint_of_row(row) for row in tx.execute(_ALL)]
    for endpoint in endpoints:
        _check(endpoint)
    return endpoints


def _check(endpoint: "RegisteredEndpoint") -> None:
    """Raises ValueError for values with which every attempt would fail."""
    from emulator.domain.hosts import parse_url
    from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER

    parse_url(endpoint.url)
    secrets = (endpoint.secret, endpoint.old_secret or endpoint.secret)
    is_usable = set(endpoint.events) <= set(EVENT_TYPES_IN_ORDER)
    if not (is_usable and all(map(endpoint.form.signature.secret.accepts, secrets))):
        raise ValueError(f"the endpoint {endpoint.id} has an invalid value")


def of_owner(tx: Transaction, owner: int) -> "list[RegisteredEndpoint]":
    """The endpoints of one owner, in the order of creation."""
    return [_endpoint_of_row(row) for row in tx.execute(_OF_OWNER, positions_of(owner))]


def identities(tx: Transaction, owner: int) -> "dict[int, tuple[str, WebhookForm]]":
    """The ids and forms of an owner's endpoints, deleted ones included, by position."""
    rows = tx.execute(_IDENTITIES, positions_of(owner))
    return {position: (name, _form(form)) for position, name, form in rows}


def position(tx: Transaction, owner: int, endpoint_id: str) -> int:
    """The position of an owner's endpoint, which may be deleted. Raises UnknownEndpoint."""
    for position, (name, _) in identities(tx, owner).items():
        if name == endpoint_id:
            return position
    raise UnknownEndpoint(endpoint_id)


def insert(tx: Transaction, endpoint: "RegisteredEndpoint") -> None:
    tx.execute(_INSERT, _row(endpoint))


def update(tx: Transaction, endpoint: "RegisteredEndpoint") -> None:
    tx.execute(_UPDATE, (*_row(endpoint), endpoint.position))


def mark_deleted(tx: Transaction, position: int) -> None:
    tx.execute(_MARK_DELETED, (position,))
