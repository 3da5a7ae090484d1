"""The JSON Schema of scenario files, for completion in editors.

It says what a schema can; what it cannot, the loader alone checks: the order of steps, whether a
phone and a method fit each other, keys given twice, names used twice, durations of nothing.
"""

from typing import Any

from emulator.domain.accounts import Mode
from emulator.domain.banks import BANKS
from emulator.domain.payment import DEFAULT_METHODS, LARGEST_AMOUNT_MINOR, Reason, Status
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, Tamper
from emulator.scenarios.vocabulary import (
    AMOUNT_KEYS,
    AWAITED_EVENT,
    EXPIRY_RULE_KEYS,
    EXPIRY_THEN_KEYS,
    FILE_KEYS,
    HANDSET,
    METHOD_PATTERN,
    MOST_COPIES,
    MOST_STEPS,
    MOST_TIMES,
    NAME_PATTERN,
    OUTCOME_RULE_KEYS,
    STEP_KEYS,
    VERSION,
    WEBHOOK_EXCLUSIONS,
    WEBHOOK_RULE_KEYS,
    WEBHOOK_THEN_KEYS,
    WEBHOOK_WHEN_KEYS,
    WHEN_KEYS,
    statuses_after_submit,
)

JsonSchema = dict[str, Any]

_TEXT: JsonSchema = {"type": "string"}
_BOOLEAN: JsonSchema = {"type": "boolean"}
_SWITCH: JsonSchema = {**_BOOLEAN, "default": False}
_MODE: JsonSchema = {"enum": [mode.value for mode in Mode]}
_AMOUNT: JsonSchema = {"type": "integer", "minimum": 1, "maximum": LARGEST_AMOUNT_MINOR}
_TIMES: JsonSchema = {"type": "integer", "minimum": 1, "maximum": MOST_TIMES}
_DURATION: JsonSchema = {
    "type": "string",
    "pattern": r"^[0-9]{1,15}(\.[0-9]{1,15})?(ms|s|m|h|d)$",
    "examples": ["500ms", "30s", "5m"],
}
_PHONE: JsonSchema = {
    "type": "string",
    "pattern": "^[-+ 0-9]*[79]([- ]*[0-9]){8}[- ]*$",
    "examples": ["+251900000001", "0700000001"],
}


def scenario_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of scenario files."""
    shapes = {
        "version": {"const": VERSION},
        "name": {"type": "string", "pattern": f"^{NAME_PATTERN.pattern}$"},
        "description": _TEXT,
        "enabled": {**_BOOLEAN, "default": True},
        "outcomes": {"type": "array", "items": _outcome_rule()},
        "expiry": {"type": "array", "items": _expiry_rule()},
        "webhooks": {"type": "array", "items": _webhook_rule()},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of the ETB payments sandbox emulator",
        "description": "Decides what is luck or waiting in real life.",
        **_object(FILE_KEYS, shapes, required=["version", "name"]),
    }


def _object(keys: dict[str, str], shapes: JsonSchema, *, required: list[str]) -> JsonSchema:
    """A mapping of just these keys, each described as the vocabulary does."""
    return {
        "type": "object",
        "properties": {
            key: {"description": description, **shapes[key]} for key, description in keys.items()
        },
        "required": required,
        "additionalProperties": False,
    }


def _when() -> JsonSchema:
    amount_range = _object(AMOUNT_KEYS, dict.fromkeys(AMOUNT_KEYS, _AMOUNT), required=[])
    shapes = {
        "mode": _MODE,
        "method": {
            "type": "string",
            "pattern": f"^{METHOD_PATTERN.pattern}$",
            "examples": list(DEFAULT_METHODS),
        },
        "phone": _PHONE,
        "bank": {"enum": list(BANKS)},
        "amount": {"anyOf": [_AMOUNT, {**amount_range, "minProperties": 1}]},
        "metadata": {"type": "object", "additionalProperties": _TEXT},
    }
    return _object(WHEN_KEYS, shapes, required=[])


def _outcome_rule() -> JsonSchema:
    steps = {"type": "array", "items": _step(), "maxItems": MOST_STEPS}
    shapes = {
        "when": _when(),
        "then": {"anyOf": [{"const": HANDSET}, steps]},
        "times": _TIMES,
    }
    return _object(OUTCOME_RULE_KEYS, shapes, required=["when", "then"])


def _step() -> JsonSchema:
    shapes = {
        "after": _DURATION,
        "status": {"enum": [status.value for status in statuses_after_submit()]},
        "reason": {"enum": [reason.value for reason in Reason]},
        "unusual": _SWITCH,
    }
    return {
        **_object(STEP_KEYS, shapes, required=["status"]),
        "dependentSchemas": {"reason": {"properties": {"status": {"const": Status.FAILED.value}}}},
    }


def _expiry_rule() -> JsonSchema:
    shapes = {
        "when": _when(),
        "after": _DURATION,
        "then": _object(EXPIRY_THEN_KEYS, {"after": _DURATION}, required=["after"]),
        "times": _TIMES,
    }
    return {
        **_object(EXPIRY_RULE_KEYS, shapes, required=["when"]),
        "oneOf": [{"required": ["after"]}, {"required": ["then"]}],
    }


def _webhook_rule() -> JsonSchema:
    when = {"mode": _MODE, "event": {"enum": list(EVENT_TYPES_IN_ORDER)}}
    shapes = {
        "when": _object(WEBHOOK_WHEN_KEYS, when, required=[]),
        "then": _webhook_then(),
        "times": _TIMES,
    }
    return {
        **_object(WEBHOOK_RULE_KEYS, shapes, required=["when", "then"]),
        "if": {"properties": {"then": _is_on("before_response")}, "required": ["then"]},
        "then": {"properties": {"when": {"properties": {"event": {"const": AWAITED_EVENT}}}}},
    }


def _webhook_then() -> JsonSchema:
    shapes = {
        "copies": {"type": "integer", "minimum": 1, "maximum": MOST_COPIES},
        "delay": _DURATION,
        "drop": _SWITCH,
        "hold": _SWITCH,
        "before_response": _SWITCH,
        "tamper": {"enum": [tamper.value for tamper in Tamper]},
    }
    return {
        **_object(WEBHOOK_THEN_KEYS, shapes, required=[]),
        # What is empty, or says `false` alone, says nothing.
        "not": {"additionalProperties": {"const": False}},
        "allOf": [
            {
                "if": _is_on(key),
                # `false` is as good as absent, and what is no switch has to be absent.
                "then": {"properties": {other: {"const": False} for other in others}},
            }
            for key, others in WEBHOOK_EXCLUSIONS.items()
        ],
    }


def _is_on(key: str) -> JsonSchema:
    return {"type": "object", "properties": {key: {"const": True}}, "required": [key]}
