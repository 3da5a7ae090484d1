"""The endpoints table: the receivers of events. Starting reads no other table of webhooks."""

import msgspec

from emulator.domain.errors import UnknownEndpoint
from emulator.domain.webhook_forms import STANDARD, WebhookForm
from emulator.domain.webhooks import RegisteredEndpoint
from emulator.server.storage.batch import Transaction, positions_of
from emulator.server.storage.rows import RowMapper


def _form(text: str | None) -> WebhookForm:
    return STANDARD if text is None else msgspec.json.decode(text, type=WebhookForm)


def _form_text(form: WebhookForm) -> str | None:
    return None if form == STANDARD else msgspec.json.encode(form).decode()


_ROWS = RowMapper(
    RegisteredEndpoint,
    decode={"events": lambda text: tuple(text.split(",")), "form": _form},
    encode={"events": ",".join, "form": _form_text},
)
_COLUMNS = _ROWS.columns
_ALL = f"SELECT {_COLUMNS} FROM endpoints WHERE is_deleted = 0 ORDER BY position"
_OF_OWNER = (
    f"SELECT {_COLUMNS} FROM endpoints WHERE is_deleted = 0 AND position BETWEEN ? AND ?"
    " ORDER BY position"
)
_IDENTITIES = "SELECT position, id, form FROM endpoints WHERE position BETWEEN ? AND ?"
_INSERT = f"INSERT INTO endpoints ({_COLUMNS}) VALUES ({_ROWS.marks})"
_UPDATE = f"UPDATE endpoints SET ({_COLUMNS}) = ({_ROWS.marks}) WHERE position = ?"
_MARK_DELETED = "UPDATE endpoints SET is_deleted = 1 WHERE position = ?"


def load_all(tx: Transaction) -> list[RegisteredEndpoint]:
    """The endpoints of all owners, in the order of creation."""
    return [_ROWS.value(row) for row in tx.execute(_ALL)]


def of_owner(tx: Transaction, owner: int) -> list[RegisteredEndpoint]:
    """The endpoints of one owner, in the order of creation."""
    return [_ROWS.value(row) for row in tx.execute(_OF_OWNER, positions_of(owner))]


def identities(tx: Transaction, owner: int) -> dict[int, tuple[str, WebhookForm]]:
    """The ids and forms of an owner's endpoints, deleted ones included, by position."""
    rows = tx.execute(_IDENTITIES, positions_of(owner))
    return {position: (name, _form(form)) for position, name, form in rows}


def position(tx: Transaction, owner: int, endpoint_id: str) -> int:
    """The position of an owner's endpoint, which may be deleted. Raises UnknownEndpoint."""
    for position, (name, _) in identities(tx, owner).items():
        if name == endpoint_id:
            return position
    raise UnknownEndpoint(endpoint_id)


def insert(tx: Transaction, endpoint: RegisteredEndpoint) -> None:
    tx.execute(_INSERT, _ROWS.row(endpoint))


def update(tx: Transaction, endpoint: RegisteredEndpoint) -> None:
    tx.execute(_UPDATE, (*_ROWS.row(endpoint), endpoint.position))


def mark_deleted(tx: Transaction, position: int) -> None:
    tx.execute(_MARK_DELETED, (position,))
