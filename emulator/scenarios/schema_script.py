"""What the JSON Schema says of scripts: each step, and which of its members go together."""

from collections.abc import Iterable

from emulator.domain.payment import Status
from emulator.domain.payment_methods import BANK_TRANSFER, PHONE_METHODS
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.scenarios.schema_faults import fault_rule
from emulator.scenarios.schema_parts import (
    BANK,
    BOOLEAN,
    DURATION,
    METHOD,
    PHONE,
    REASON,
    SWITCH,
    TEXT,
    JsonSchema,
    mapping_of,
)
from emulator.scenarios.vocabulary import (
    ANSWER_CHECKS,
    ANSWER_KEYS,
    ANSWERS,
    CANCEL_KEYS,
    CREATE_KEYS,
    CREATE_MEMBERS,
    EXPECT_KEYS,
    LIST_KEYS,
    MAX_HTTP_STATUS,
    MAX_REPEATS,
    MAX_RETRY_AFTER_S,
    MAX_SCRIPT_STEPS,
    MIN_HTTP_STATUS,
    NEXT,
    PAY_KEYS,
    PAYMENT_FIELDS,
    PAYMENT_NAME_PATTERN,
    REPEAT_KEYS,
    RETRIEVE_KEYS,
    SCRIPT_STEPS,
    TRANSITION_KEYS,
)

STEP = "script_step"

# A value for each step. In this order, they are a script that passes the loader.
EXAMPLES: dict[str, object] = {
    "create": {"as": "order", "amount": 15000},
    "retrieve": "order",
    "list": {"status": "pending", "limit": 2},
    "pay": {"payment": "order", "phone": "0711223344"},
    "answer": {"payment": "order", "answer": "approve"},
    "cancel": "order",
    "transition": {"payment": "order", "status": "refunded"},
    "advance": "30s",
    "fault": {"then": {"status": 500}, "times": 1},
    "expect": {"payment": "order", "status": "refunded"},
    "repeat": {"times": 3, "steps": [{"retrieve": "order"}, {"advance": "1s"}]},
}

_ANYTHING: JsonSchema = {}
_NAME: JsonSchema = {"type": "string", "pattern": f"^{PAYMENT_NAME_PATTERN.pattern}$"}
_STEPS: JsonSchema = {"type": "array", "items": {"$ref": f"#/$defs/{STEP}"}}
_TEXT_OR_NULL: JsonSchema = {"type": ["string", "null"]}
_EVENTS: JsonSchema = {"type": "array", "items": {"enum": list(EVENT_TYPES_IN_ORDER)}}


def script() -> JsonSchema:
    return {**_STEPS, "maxItems": MAX_SCRIPT_STEPS}


def script_step() -> JsonSchema:
    """One step; `script` refers to it by the name STEP, since steps may hold steps."""
    shapes = {
        "create": _create(),
        "retrieve": {"anyOf": [_NAME, _retrieve()]},
        "list": _list(),
        "pay": _pay(),
        "answer": _answer(),
        "cancel": {
            "anyOf": [_NAME, mapping_of(CANCEL_KEYS, {"payment": _NAME}, required=CANCEL_KEYS)]
        },
        "transition": _transition(),
        "advance": {"anyOf": [DURATION, {"const": NEXT}]},
        "fault": fault_rule(needs_when=False),
        "expect": _expect(),
        "repeat": _repeat(),
    }
    described = {step: {**shapes[step], "examples": [value]} for step, value in EXAMPLES.items()}
    return {
        **mapping_of(SCRIPT_STEPS, described, required=[]),
        "minProperties": 1,
        "maxProperties": 1,
    }


def _create() -> JsonSchema:
    shapes = {
        **dict.fromkeys(CREATE_MEMBERS, _ANYTHING),
        "as": _NAME,
        "unknown": {
            "type": "object",
            "propertyNames": {"not": {"enum": list(CREATE_MEMBERS)}},
        },
    }
    return {**mapping_of(CREATE_KEYS, shapes, required=[]), "type": ["object", "null"]}


def _retrieve() -> JsonSchema:
    shapes = {"payment": _NAME, "id": {**TEXT, "minLength": 1}}
    return {
        **mapping_of(RETRIEVE_KEYS, shapes, required=[]),
        "minProperties": 1,
        "maxProperties": 1,
    }


def _list() -> JsonSchema:
    scalar = {"type": ["string", "number", "boolean"]}
    shapes = {**dict.fromkeys(LIST_KEYS, scalar), "after": _NAME}
    return {**mapping_of(LIST_KEYS, shapes, required=[]), "type": ["object", "null"]}


def _pay() -> JsonSchema:
    shapes = {"payment": _NAME, "method": METHOD, "phone": PHONE, "bank": BANK}
    return {
        **mapping_of(PAY_KEYS, shapes, required=["payment"]),
        "anyOf": [{"required": [key]} for key in ("method", "phone", "bank")],
        "allOf": [
            {"not": {"required": ["phone", "bank"]}},
            {"if": _pays_by(PHONE_METHODS), "then": {"required": ["phone"]}},
            {"if": _pays_by([BANK_TRANSFER]), "then": {"required": ["bank"]}},
        ],
    }


def _pays_by(methods: Iterable[str]) -> JsonSchema:
    return {"properties": {"method": {"enum": sorted(methods)}}, "required": ["method"]}


def _answer() -> JsonSchema:
    shapes = {"payment": _NAME, "answer": {"enum": list(ANSWERS)}}
    return mapping_of(ANSWER_KEYS, shapes, required=ANSWER_KEYS)


def _transition() -> JsonSchema:
    statuses = [status.value for status in Status if status is not Status.PENDING]
    shapes = {
        "payment": _NAME,
        "status": {"enum": statuses},
        "method": METHOD,
        "reason": REASON,
        "unusual": SWITCH,
    }
    return {
        **mapping_of(TRANSITION_KEYS, shapes, required=["payment", "status"]),
        "dependentSchemas": {"reason": {"properties": {"status": {"const": Status.FAILED.value}}}},
    }


def _repeat() -> JsonSchema:
    shapes = {
        "times": {"type": "integer", "minimum": 1, "maximum": MAX_REPEATS},
        "steps": {**_STEPS, "minItems": 1},
    }
    return mapping_of(REPEAT_KEYS, shapes, required=REPEAT_KEYS)


def _expect() -> JsonSchema:
    shapes = {
        **dict.fromkeys(PAYMENT_FIELDS, _ANYTHING),
        "payment": _NAME,
        "same_as": _NAME,
        "status": {"enum": [status.value for status in Status]},
        "method": _TEXT_OR_NULL,
        "reason": {"enum": [*REASON["enum"], None]},
        **dict.fromkeys(("events", "webhooks", "forged"), _EVENTS),
        "http_status": {
            "type": "integer",
            "minimum": MIN_HTTP_STATUS,
            "maximum": MAX_HTTP_STATUS,
        },
        "code": _TEXT_OR_NULL,
        "param": _TEXT_OR_NULL,
        "retry_after": {
            "type": ["integer", "null"],
            "minimum": 0,
            "maximum": MAX_RETRY_AFTER_S,
        },
        **dict.fromkeys(("replayed", "lost", "has_more"), BOOLEAN),
        "payments": {"type": "array", "items": _NAME},
    }
    return {
        **mapping_of(EXPECT_KEYS, shapes, required=[]),
        "minProperties": 1,
        "if": {"required": ["payment"]},
        "then": {"minProperties": 2, "properties": dict.fromkeys(ANSWER_CHECKS, False)},
        "else": {"properties": {"same_as": False}},
    }
