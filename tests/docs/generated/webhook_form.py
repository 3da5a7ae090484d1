"""The tables of docs/reference/webhook-format.md, and the types of events."""

from collections.abc import Collection

from emulator.domain.payment import LISTED_EVENT_TYPES
from emulator.domain.webhooks import (
    BODY_PLACEHOLDERS,
    CONTENT_PLACEHOLDERS,
    EVENT_PLACEHOLDERS,
    HEADER_PLACEHOLDERS,
)
from emulator.scenarios.webhook_form_file import webhook_form_schema
from tests.docs.generated.scenario_types import key_rows, key_table
from tests.docs.markdown import table

_PAGE = "docs/reference/webhook-format.md"
_SCHEMA = webhook_form_schema()
_MEANINGS = {
    "id": "The event's id.",
    "timestamp": "The time of the attempt, as `webhook-timestamp` has it.",
    "body": "The body, byte for byte.",
    "signature": "The signatures, each with its prefix, joined by the separator.",
    "event.id": "The event's id.",
    "event.type": "The type that is sent, as `events` renames it.",
    "event.timestamp": "The instant of the event, in ISO 8601.",
    "event.mode": "`test` or `live`.",
    "payment": "The payment, as the API returns it. Empty in a ping.",
    "payment.amount_birr": "The amount in birr, with two decimals: `150.00`.",
    "payment.metadata.NAME": "The value of one name, such as `{payment.metadata.order}`; an empty"
    " text where a payment does not have it.",
}


def keys_table() -> str:
    return key_table(key_rows(_SCHEMA))


def signature_table() -> str:
    return key_table(key_rows(_SCHEMA["properties"]["signature"]))


def placeholders_table() -> str:
    places = {
        "`body`": BODY_PLACEHOLDERS,
        "`headers`": HEADER_PLACEHOLDERS,
        "`content`": CONTENT_PLACEHOLDERS,
    }
    names = ["id", "timestamp", "body", "signature", *EVENT_PLACEHOLDERS, "payment"]
    members = [name for name in BODY_PLACEHOLDERS if name.startswith("payment.")]
    known = {name: _in(places, name) for name in [*names, *members]}
    values = dict.fromkeys((known[name], _MEANINGS[name]) for name in names)
    rows = [
        (
            ", ".join(f"`{{{name}}}`" for name in names if (known[name], _MEANINGS[name]) == value),
            *value,
        )
        for value in values
    ]
    plain = [name for name in members if name not in _MEANINGS]
    for where in dict.fromkeys(known[name] for name in plain):
        listed = ", ".join(f"`{{{name}}}`" for name in plain if known[name] == where)
        rows.append((listed, where, "A member of the payment."))
    others = [name for name in members if name not in plain]
    rows += [(f"`{{{name}}}`", known[name], _MEANINGS[name]) for name in others]
    return table(("placeholder", "in", "value"), rows)


def types_list() -> str:
    """The types of events."""
    return f"{LISTED_EVENT_TYPES}\n"


def _in(places: dict[str, Collection[str]], name: str) -> str:
    return ", ".join(key for key, known in places.items() if name in known)


TABLES = {
    ("docs/guides/webhooks.md", "types of events"): types_list,
    (_PAGE, "webhook format"): keys_table,
    (_PAGE, "signature"): signature_table,
    (_PAGE, "placeholders"): placeholders_table,
}
