"""Names of types, and table rows of keys, found from the JSON Schema of scenario files."""

from collections.abc import Iterable
from typing import Any

from emulator.domain.payment import MAX_AMOUNT_MINOR
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.scenarios.conditions import BANK, METHOD, PAYMENT_NAME, PHONE, REASON
from emulator.scenarios.kinds import Duration, Kind
from emulator.scenarios.scenario_file import FILE_KEYS
from emulator.scenarios.script_steps import ANSWERS
from tests.docs.markdown import table


def _pattern(kind: Kind[Any]) -> str:
    return str(kind.schema()["pattern"])


WORDS = {
    "method": (*DEFAULT_METHODS,),
    "bank": (*BANK.offered,),
    "reason": (*REASON.offered,),
}
_NAMES: dict[object, str] = {
    **{words: name for name, words in WORDS.items()},
    (*WORDS["reason"], None): "reason or `null`",
    (*EVENT_TYPES_IN_ORDER,): "event type",
    ANSWERS: "one of the [answers](../guides/checkout-page.md#answer-as-the-customer)",
    _pattern(FILE_KEYS["name"].kind): "name",
    _pattern(PAYMENT_NAME): "payment name",
    _pattern(METHOD): "method",
    _pattern(PHONE): "phone",
    _pattern(Duration()): "duration",
    MAX_AMOUNT_MINOR: "amount",
    "string": "text",
    "integer": "whole number",
    "boolean": "Boolean",
    "null": "`null`",
    "object": "mapping",
}


def joined(words: Iterable[str]) -> str:
    *before, last = words
    return f"{', '.join(before)}{',' * (',' in before[-1])} or {last}" if before else last


def type_name(schema: dict[str, Any]) -> str:
    match schema:
        case {"const": value}:
            return f"`{value}`"
        case {"enum": words}:
            return _NAMES.get((*words,)) or joined(f"`{word}`" for word in words)
        case {"pattern": pattern}:
            name = schema.get("title") or _NAMES.get(pattern)
            return name or f"text such as `{schema['examples'][0]}`"
        case {"items": {"$ref": _}}:
            return "list of [steps](#steps)"
        case {"items": items}:
            return f"list of {type_name(items)}s"
        case {"properties": keys}:
            return f"`{{{', '.join(keys)}}}`"
        case {"anyOf": options}:
            return joined(map(type_name, options))
        case {"additionalProperties": {"type": "string"}}:
            return "mapping of text to text"
        case {"type": str() | list() as given}:
            return _limited(schema, [given] if isinstance(given, str) else given)
    return "any value"


def _limited(schema: dict[str, Any], types: list[str]) -> str:
    names = [_NAMES.get(name, name) for name in types]
    most = schema.get("maximum")
    if most in _NAMES:
        return _NAMES[most]
    if most is not None:
        above_0 = schema.get("minimum") == 1 or "exclusiveMinimum" in schema
        names[0] += f" above 0, up to {most:,}" if above_0 else f", {schema['minimum']} to {most:,}"
    return joined(names)


def key_table(rows: Iterable[tuple[str, ...]]) -> str:
    """The rows of keys; the meaning ends with the default, where there is one."""
    return table(
        ("key", "type", "meaning"),
        [(name, kind, with_default(default, meaning)) for name, kind, default, meaning in rows],
    )


def with_default(default: str, meaning: str) -> str:
    """A meaning that ends with the default, where there is one."""
    match default:
        case "required":
            return f"Required. {meaning}"
        case "none" | "empty" | "off":
            return meaning
    return f"{meaning} Default: {default}."


def key_rows(mapping: dict[str, Any], prefix: str = "") -> list[tuple[str, str, str, str]]:
    """The name, type, default and meaning of each key of a mapping."""
    rows = []
    for key, schema in mapping["properties"].items():
        meaning, _, default = schema["description"].partition(" Default: ")
        if key in mapping["required"]:
            default = "required."
        elif "default" in schema:
            default = f"`{str(schema['default']).lower()}`."
        cells = type_name(schema), default.removesuffix(".") or "none", meaning
        rows.append((f"`{prefix}{key}`", *cells))
    return rows
