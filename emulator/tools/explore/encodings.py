"""Encodes the body of a webhook in other bytes, which have the same meaning."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from emulator.scenarios.values import Json
from emulator.tools.explore.steps import Manner

# "Note", and "the payment is genuine".
ADDED_MEMBER = {"ማስታወሻ": "ክፍያው እውነተኛ ነው"}


def _compact(value: Json, **options: Any) -> str:
    return json.dumps(value, separators=(",", ":"), **options)


def _reversed(value: Json) -> Json:
    if isinstance(value, list):
        return [_reversed(item) for item in value]
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return value


_TEXTS: Mapping[Manner, Callable[[dict[str, Json]], str]] = {
    Manner.PRETTY: lambda value: json.dumps(value, ensure_ascii=False, indent=2),
    # As PHP does.
    Manner.ESCAPED: lambda value: _compact(value).replace("/", r"\/"),
    Manner.REVERSED: lambda value: _compact(_reversed(value), ensure_ascii=False),
    Manner.AMHARIC: lambda value: _compact(value | ADDED_MEMBER, ensure_ascii=False),
}


def encoded(manner: Manner, body: bytes) -> bytes:
    """The body in other bytes: JSON, or the fields of a form."""
    if body.startswith(b"{"):
        return _TEXTS[manner](json.loads(body)).encode()
    fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
    changed = fields | ADDED_MEMBER if manner is Manner.AMHARIC else _reversed(fields)
    return urlencode(changed).encode()
