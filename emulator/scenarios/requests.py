"""The steps of a script that send a request of the contract: create, retrieve, list."""

from collections.abc import Collection

from emulator.scenarios.entries import (
    Entry,
    Members,
    is_empty,
    is_text,
    read_members,
    read_pairs,
    read_text,
)
from emulator.scenarios.json_values import read_json
from emulator.scenarios.names import Names
from emulator.scenarios.nodes import MapNode, ScalarNode
from emulator.scenarios.steps import Create, Json, List, Place, Retrieve
from emulator.scenarios.vocabulary import CREATE_KEYS, CREATE_MEMBERS, LIST_KEYS, RETRIEVE_KEYS


def read_create(entry: Entry, place: Place, names: Names) -> Create | None:
    create = _read_optional_members(entry, CREATE_KEYS)
    if create is None:
        return None
    known = [(key, read_json(value)) for key, value in create.known.items() if _is_sent(key)]
    unknown = create.get("unknown", _read_unknown) or []
    name = create.get("as", names.give)
    return Create(place=place, name=name, members=(*known, *unknown))


def read_retrieve(entry: Entry, place: Place, names: Names) -> Retrieve | None:
    if is_text(entry):
        return Retrieve(place=place, payment=names.use(entry))
    if not isinstance(entry.node, MapNode):
        entry.refuse("the name of a payment, or {id: …}")
        return None
    retrieve = read_members(entry, RETRIEVE_KEYS)
    if retrieve is None:
        return None
    if not retrieve.known and not retrieve.has_stray_keys:
        entry.note("retrieve must have 'payment' or 'id'")
    if len(retrieve.known) > 1:
        retrieve.known["id"].note("'id' makes no sense beside 'payment': either says which it is")
    return Retrieve(
        place=place,
        payment=retrieve.get("payment", names.use),
        id=retrieve.get("id", _read_id),
    )


def read_list(entry: Entry, place: Place, names: Names) -> List | None:
    members = _read_optional_members(entry, LIST_KEYS)
    if members is None:
        return None
    values = ((key, _read_query(value)) for key, value in members.known.items() if key != "after")
    return List(
        place=place,
        query=tuple((key, text) for key, text in values if text is not None),
        after=members.get("after", names.use),
    )


def _read_optional_members(entry: Entry, keys: Collection[str]) -> Members | None:
    """A mapping of known keys, or nothing, which is as good as an empty one."""
    return Members(entry=entry, known={}) if is_empty(entry) else read_members(entry, keys)


def _is_sent(key: str) -> bool:
    return key in CREATE_MEMBERS


def _read_unknown(entry: Entry) -> list[tuple[str, Json]]:
    members = []
    for name, (key_entry, value) in (read_pairs(entry) or {}).items():
        if _is_sent(name):
            key_entry.note(f"{name!r} is known to the API, so it belongs beside 'unknown'")
        members.append((name, read_json(value)))
    return members


def _read_id(entry: Entry) -> str | None:
    payment_id = read_text(entry)
    if payment_id == "":
        entry.note("id must not be empty")
        return None
    return payment_id


def _read_query(entry: Entry) -> str | None:
    """Any scalar as it is written, since a script must be able to send wrong ones."""
    if isinstance(entry.node, ScalarNode) and not is_empty(entry):
        return entry.node.text
    entry.refuse("text or a number", '; an empty text is written ""' if is_empty(entry) else "")
    return None
