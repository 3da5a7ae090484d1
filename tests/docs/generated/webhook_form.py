"""The tables of docs/reference/webhook-format.md."""

from emulator.domain.webhook_forms import (
    BODY_PLACEHOLDERS,
    CONTENT_PLACEHOLDERS,
    EVENT_PLACEHOLDERS,
    HEADER_PLACEHOLDERS,
)
from emulator.scenarios.webhook_form_file import webhook_form_schema
from tests.docs.generated.scenario_types import key_rows
from tests.docs.markdown import table

_PAGE = "docs/reference/webhook-format.md"
_SCHEMA = webhook_form_schema()
_HEAD = ("key", "type", "default", "meaning")
_MEANINGS = {
    "id": "The event's id.",
    "timestamp": "The time of the attempt, in seconds since 1970.",
    "body": "The body, byte for byte.",
    "signature": "The signatures, each with its prefix, joined by the separator.",
    "event.id": "The event's id.",
    "event.type": "The type that is sent, as `events` renames it.",
    "event.timestamp": "The instant of the event, in ISO 8601.",
    "event.mode": "`test` or `live`.",
    "payment": "The payment, as the API returns it. Empty in a ping.",
}


def keys_table() -> str:
    return table(_HEAD, key_rows(_SCHEMA))


def signature_table() -> str:
    return table(_HEAD, key_rows(_SCHEMA["properties"]["signature"]))


def placeholders_table() -> str:
    places = {
        "`body`": BODY_PLACEHOLDERS,
        "`headers`": HEADER_PLACEHOLDERS,
        "`content`": CONTENT_PLACEHOLDERS,
    }
    names = ["id", "timestamp", "body", "signature", *EVENT_PLACEHOLDERS, "payment"]
    members = [name for name in BODY_PLACEHOLDERS if name.startswith("payment.")]
    meanings = {**_MEANINGS, **dict.fromkeys(members, "A member of the payment.")}
    rows = [
        (f"`{{{name}}}`", ", ".join(key for key, known in places.items() if name in known), text)
        for name, text in ((name, meanings[name]) for name in [*names, *members])
    ]
    return table(("placeholder", "in", "value"), rows)


TABLES = {
    (_PAGE, "webhook format"): keys_table,
    (_PAGE, "signature"): signature_table,
    (_PAGE, "placeholders"): placeholders_table,
}
