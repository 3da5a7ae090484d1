"""What the JSON Schema says of a phone, a duration or a mapping, wherever there is one."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from emulator.domain.accounts import Mode
from emulator.domain.banks import BANKS
from emulator.domain.payment import DEFAULT_METHODS, Reason
from emulator.scenarios.vocabulary import METHOD_PATTERN, MOST_TIMES

JsonSchema = dict[str, Any]

TEXT: JsonSchema = {"type": "string"}
BOOLEAN: JsonSchema = {"type": "boolean"}
SWITCH: JsonSchema = {**BOOLEAN, "default": False}
MODE: JsonSchema = {"enum": [mode.value for mode in Mode]}
TIMES: JsonSchema = {"type": "integer", "minimum": 1, "maximum": MOST_TIMES}
REASON: JsonSchema = {"enum": [reason.value for reason in Reason]}
BANK: JsonSchema = {"enum": list(BANKS)}
METHOD: JsonSchema = {
    "type": "string",
    "pattern": f"^{METHOD_PATTERN.pattern}$",
    "examples": list(DEFAULT_METHODS),
}
DURATION: JsonSchema = {
    "type": "string",
    "pattern": r"^[0-9]{1,15}(\.[0-9]{1,15})?(ms|s|m|h|d)$",
    "examples": ["500ms", "30s", "5m"],
}
PHONE: JsonSchema = {
    "type": "string",
    "pattern": "^[-+ 0-9]*[79]([- ]*[0-9]){8}[- ]*$",
    "examples": ["+251900000001", "0700000001"],
}


def mapping_of(
    keys: Mapping[str, str], shapes: Mapping[str, JsonSchema], *, required: Collection[str]
) -> JsonSchema:
    """A mapping of just these keys, each described as the vocabulary does."""
    return {
        "type": "object",
        "properties": {
            key: {"description": description, **shapes[key]} for key, description in keys.items()
        },
        "required": list(required),
        "additionalProperties": False,
    }


def is_on(key: str) -> JsonSchema:
    return {"type": "object", "properties": {key: {"const": True}}, "required": [key]}


def exclusions_of(table: Mapping[str, Iterable[str]]) -> list[JsonSchema]:
    """What makes no sense beside a key that is true."""
    return [
        {
            "if": is_on(key),
            # `false` is as good as absent, and what is no switch has to be absent.
            "then": {"properties": {other: {"const": False} for other in others}},
        }
        for key, others in table.items()
    ]
