"""The JSON Schema of scenario files, for completion in editors.

The loader checks what a schema cannot express: the order of steps, the phone against the method,
duplicate keys, duplicate names, and the payment names that a script uses.
"""

from emulator.domain.payment import MAX_AMOUNT_MINOR, Status
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, Tamper
from emulator.scenarios.schema_faults import fault_rule
from emulator.scenarios.schema_parts import (
    BANK,
    BOOLEAN,
    DURATION,
    METHOD,
    MODE,
    PHONE,
    POSITIVE_DURATION,
    REASON,
    SWITCH,
    TEXT,
    TIMES,
    JsonSchema,
    exclusions_of,
    is_on,
    mapping_of,
)
from emulator.scenarios.schema_script import STEP, script, script_step
from emulator.scenarios.vocabulary import (
    AMOUNT_KEYS,
    AWAITED_EVENT,
    EXPIRY_RULE_KEYS,
    EXPIRY_THEN_KEYS,
    FILE_KEYS,
    HANDSET,
    MAX_COPIES,
    MAX_STEPS,
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

_AMOUNT: JsonSchema = {"type": "integer", "minimum": 1, "maximum": MAX_AMOUNT_MINOR}


def scenario_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of scenario files."""
    shapes: dict[str, JsonSchema] = {
        "version": {"const": VERSION},
        "name": {"type": "string", "pattern": f"^{NAME_PATTERN.pattern}$"},
        "description": TEXT,
        "enabled": {**BOOLEAN, "default": True},
        "outcomes": {"type": "array", "items": _outcome_rule()},
        "expiry": {"type": "array", "items": _expiry_rule()},
        "faults": {"type": "array", "items": fault_rule()},
        "webhooks": {"type": "array", "items": _webhook_rule()},
        "script": script(),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of the ETB payments sandbox emulator",
        "description": "Rules and a script that decide how payments, requests and webhooks behave.",
        **mapping_of(FILE_KEYS, shapes, required=["version", "name"]),
        "$defs": {STEP: script_step()},
    }


def _when() -> JsonSchema:
    amount_range = mapping_of(AMOUNT_KEYS, dict.fromkeys(AMOUNT_KEYS, _AMOUNT), required=[])
    shapes = {
        "mode": MODE,
        "method": METHOD,
        "phone": PHONE,
        "bank": BANK,
        "amount": {"anyOf": [_AMOUNT, {**amount_range, "minProperties": 1}]},
        "metadata": {"type": "object", "additionalProperties": TEXT},
    }
    return mapping_of(WHEN_KEYS, shapes, required=[])


def _outcome_rule() -> JsonSchema:
    steps = {"type": "array", "items": _step(), "maxItems": MAX_STEPS}
    shapes = {
        "when": _when(),
        "then": {"anyOf": [{"const": HANDSET}, steps]},
        "times": TIMES,
    }
    return mapping_of(OUTCOME_RULE_KEYS, shapes, required=["when", "then"])


def _step() -> JsonSchema:
    shapes = {
        "after": DURATION,
        "status": {"enum": [status.value for status in statuses_after_submit()]},
        "reason": REASON,
        "unusual": SWITCH,
    }
    return {
        **mapping_of(STEP_KEYS, shapes, required=["status"]),
        "dependentSchemas": {"reason": {"properties": {"status": {"const": Status.FAILED.value}}}},
    }


def _expiry_rule() -> JsonSchema:
    shapes = {
        "when": _when(),
        "after": POSITIVE_DURATION,
        "then": mapping_of(EXPIRY_THEN_KEYS, {"after": POSITIVE_DURATION}, required=["after"]),
        "times": TIMES,
    }
    return {
        **mapping_of(EXPIRY_RULE_KEYS, shapes, required=["when"]),
        "oneOf": [{"required": ["after"]}, {"required": ["then"]}],
    }


def _webhook_rule() -> JsonSchema:
    when = {"mode": MODE, "event": {"enum": list(EVENT_TYPES_IN_ORDER)}}
    shapes = {
        "when": mapping_of(WEBHOOK_WHEN_KEYS, when, required=[]),
        "then": _webhook_then(),
        "times": TIMES,
    }
    return {
        **mapping_of(WEBHOOK_RULE_KEYS, shapes, required=["when", "then"]),
        "if": {"properties": {"then": is_on("before_response")}, "required": ["then"]},
        "then": {"properties": {"when": {"properties": {"event": {"const": AWAITED_EVENT}}}}},
    }


def _webhook_then() -> JsonSchema:
    shapes = {
        "copies": {"type": "integer", "minimum": 1, "maximum": MAX_COPIES},
        "delay": POSITIVE_DURATION,
        "drop": SWITCH,
        "hold": SWITCH,
        "before_response": SWITCH,
        "tamper": {"enum": [tamper.value for tamper in Tamper]},
    }
    return {
        **mapping_of(WEBHOOK_THEN_KEYS, shapes, required=[]),
        # What is empty, or says `false` alone, says nothing.
        "not": {"additionalProperties": {"const": False}},
        "allOf": exclusions_of(WEBHOOK_EXCLUSIONS),
    }
