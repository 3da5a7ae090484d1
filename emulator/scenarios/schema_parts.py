"""What the JSON Schema says of a phone, a duration or a mapping, wherever there is one."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from emulator.domain.accounts import Mode
from emulator.domain.payment import Reason
from emulator.domain.payment_methods import BANKS, DEFAULT_METHODS
from emulator.scenarios.vocabulary import MAX_TIMES, METHOD_PATTERN

JsonSchema = dict[str, Any]

TEXT: JsonSchema = {"type": "string"}
BOOLEAN: JsonSchema = {"type": "boolean"}
SWITCH: JsonSchema = {**BOOLEAN, "default": False}
MODE: JsonSchema = {"enum": [mode.value for mode in Mode]}
TIMES: JsonSchema = {"type": "integer", "minimum": 1, "maximum": MAX_TIMES}
REASON: JsonSchema = {"enum": [reason.value for reason in Reason]}
BANK: JsonSchema = {"enum": list(BANKS)}
METHOD: JsonSchema = {
    "type": "string",
    "pattern": f"^{METHOD_PATTERN.pattern}$",
    "examples": list(DEFAULT_METHODS),
}
# Of a number of milliseconds or seconds, nothing finer than a millisecond.
DURATION: JsonSchema = {
    "type": "string",
    "pattern": r"^[0-9]{1,15}((\.0{1,15})?ms|(\.[0-9]{1,3}0{0,12})?s|(\.[0-9]{1,15})?(m|h|d))$",
    "examples": ["500ms", "30s", "5m"],
}
_NO_TIME: JsonSchema = {"pattern": r"^[0.]+(ms|s|m|h|d)$"}
POSITIVE_DURATION: JsonSchema = {**DURATION, "not": _NO_TIME}
# As MAX_LATENCY_MS: five minutes.
LATENCY: JsonSchema = {
    "type": "string",
    "pattern": r"^0{0,9}("
    r"([0-9]{1,5}|[12][0-9]{5}|300000)(\.0{1,15})?ms"
    r"|([0-9]{1,2}|[12][0-9]{2})(\.[0-9]{1,3}0{0,12})?s|300(\.0{1,15})?s"
    r"|[0-4](\.[0-9]{1,15})?m|5(\.0{1,15})?m|0\.0[0-9]{0,14}(h|d)"
    r")$",
    "not": _NO_TIME,
    "examples": ["500ms", "30s", "5m"],
}
# As MAX_RETRY_AFTER_S: a day, in whole seconds.
WHOLE_SECONDS: JsonSchema = {
    "type": "string",
    "pattern": r"^0{0,9}("
    r"([1-9][0-9]{0,3}|[1-7][0-9]{4}|8[0-5][0-9]{3}|86[0-3][0-9]{2}|86400)"
    r"(000(\.0{1,15})?ms|(\.0{1,15})?s)"
    r"|([0-9]{1,3}|1[0-3][0-9]{2}|14[0-3][0-9])(\.[0-9]{1,15})?m|1440(\.0{1,15})?m"
    r"|([0-9]|1[0-9]|2[0-3])(\.[0-9]{1,15})?h|24(\.0{1,15})?h"
    r"|0\.[0-9]{1,15}d|1(\.0{1,15})?d"
    r")$",
    "not": _NO_TIME,
    "examples": ["30s", "5m"],
}
PHONE: JsonSchema = {
    "type": "string",
    # As `normalise_phone`: blanks and dashes may stand anywhere.
    "pattern": "^[- ]*((\\+[- ]*|0[- ]*0[- ]*)?2[- ]*5[- ]*1|0)?[- ]*[79]([- ]*[0-9]){8}[- ]*$",
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
