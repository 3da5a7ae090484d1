"""Declares the steps of a script that send a request of the contract."""

from typing import Any

from emulator.scenarios.entries import Entry, is_empty, read_pairs, read_text
from emulator.scenarios.kinds import JsonSchema, JsonValue, Kind
from emulator.scenarios.mappings import Key, KeyRule, MappingOf, Members
from emulator.scenarios.nodes import ScalarNode
from emulator.scenarios.payment_kinds import (
    PAYMENT_NAME,
    NewPaymentName,
)
from emulator.scenarios.step_types import NAMED, Fields, NameOrMapping, StepType
from emulator.scenarios.steps import (
    Create,
    Json,
    List,
    Retrieve,
)

_JSON = JsonValue()


def _as_given(description: str, kind: Kind[Any] = _JSON, *, default_text: str = "") -> Key:
    return Key(kind, f"{description} The value is sent without a check.", default_text=default_text)


# Of the parameters that the API requires.
_FILLED_IN = "filled in"
CREATE_MEMBERS = {
    "amount": _as_given("The amount in ETB cents.", default_text=_FILLED_IN),
    "currency": _as_given("The currency: ETB.", default_text=_FILLED_IN),
    "methods": _as_given("The payment methods to offer.", default_text=_FILLED_IN),
    "success_url": _as_given("The redirect URL after success.", default_text=_FILLED_IN),
    "cancel_url": _as_given("The redirect URL after a cancellation.", default_text=_FILLED_IN),
    "metadata": _as_given("Up to 20 pairs of texts."),
    "idempotency_key": _as_given("The key that makes a retry of the request safe."),
    "expires_in": _as_given("The seconds until the checkout expires."),
}


class _UnknownMembers(Kind[list[tuple[str, Json]]]):
    """Members of a request that the API does not know."""

    def read(self, entry: Entry) -> list[tuple[str, Json]]:
        members = []
        for name, (key_entry, value) in (read_pairs(entry) or {}).items():
            if name in CREATE_MEMBERS:
                key_entry.note(f"{name!r} is known to the API, so it belongs beside 'unknown'")
            members.append((name, _JSON.read(value)))
        return members

    def schema(self) -> JsonSchema:
        return {"type": "object", "propertyNames": {"not": {"enum": list(CREATE_MEMBERS)}}}


class _Create(MappingOf[Fields]):
    def __init__(self) -> None:
        keys = {
            "as": Key(
                NewPaymentName(),
                "The name of the payment in later steps. A later `create` can use the name again.",
            ),
            **CREATE_MEMBERS,
            "unknown": Key(_UnknownMembers(), "Members that the API does not know."),
        }
        super().__init__(dict, keys, is_optional=True)

    def build(self, members: Members) -> Fields:
        values = members.values
        known = [(key, values[key]) for key in members.known if key in CREATE_MEMBERS]
        return {"name": values["as"], "members": (*known, *(values["unknown"] or ()))}

    def write(self, value: Any) -> Json:
        known = {key: member for key, member in value.members if key in CREATE_MEMBERS}
        unknown = {key: member for key, member in value.members if key not in CREATE_MEMBERS}
        name = {} if value.name is None else {"as": value.name}
        return {**name, **known, **({"unknown": unknown} if unknown else {})}


CREATE = _Create()


class _PaymentId(Kind[str]):
    def read(self, entry: Entry) -> str | None:
        payment_id = read_text(entry)
        if payment_id == "":
            entry.note("id must not be empty")
            return None
        return payment_id

    def schema(self) -> JsonSchema:
        return {"type": "string", "minLength": 1}


def _check_one_of_both(members: Members) -> None:
    if not members.known and not members.has_stray_keys:
        members.entry.note("retrieve must have 'payment' or 'id'")
    if len(members.known) > 1:
        members.known["id"].note("'id' makes no sense beside 'payment': either says which it is")


RETRIEVE = MappingOf[Fields](
    dict,
    {
        "payment": Key(PAYMENT_NAME, NAMED),
        "id": _as_given("An id, instead of `payment`.", _PaymentId()),
    },
    KeyRule(check_keys=_check_one_of_both, schema={"minProperties": 1, "maxProperties": 1}),
)


class _QueryValue(Kind[str]):
    """Any scalar as it is written, since a script must be able to send wrong ones."""

    def read(self, entry: Entry) -> str | None:
        if isinstance(entry.node, ScalarNode) and not is_empty(entry):
            return entry.node.text
        hint = '; an empty text is written ""' if is_empty(entry) else ""
        entry.refuse("text or a number", hint)
        return None

    def schema(self) -> JsonSchema:
        return {"type": ["string", "number", "boolean"]}


def _query(description: str) -> Key:
    return _as_given(description, _QueryValue())


class _List(MappingOf[Fields]):
    def __init__(self) -> None:
        keys = {
            "limit": _query("The number of payments on the page."),
            "after": Key(PAYMENT_NAME, "The page begins after this payment, given by its name."),
            "status": _query("Only payments with this status."),
            "method": _query("Only payments with this method."),
            "created_gte": _query("Only payments created at this time or later."),
            "created_lte": _query("Only payments created at this time or earlier."),
        }
        super().__init__(dict, keys, is_optional=True)

    def build(self, members: Members) -> Fields:
        values = ((key, members.values[key]) for key in members.known if key != "after")
        query = tuple((key, text) for key, text in values if text is not None)
        return {"query": query, "after": members.values["after"]}

    def write(self, value: Any) -> Json:
        return {**dict(value.query), **({} if value.after is None else {"after": value.after})}


LIST = _List()


REQUEST_STEPS = {
    "create": StepType(Create, CREATE, "Creates a payment.", {"as": "order", "amount": 15000}),
    "retrieve": StepType(
        Retrieve,
        NameOrMapping(RETRIEVE, "the name of a payment, or {id: …}"),
        "Retrieves a payment. A name alone is the short form of `payment`.",
        "order",
    ),
    "list": StepType(
        List,
        LIST,
        "Lists payments. `list:` alone lists the newest ten.",
        {"status": "pending", "limit": 2},
    ),
}
