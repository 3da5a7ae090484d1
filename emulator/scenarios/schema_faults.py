"""What the JSON Schema says of faults: in their section, and as a step of a script."""

from itertools import combinations

from emulator.domain.faults import MAX_FAULT_STATUS, MIN_FAULT_STATUS, ApiRequest, Point
from emulator.scenarios.schema_parts import (
    LATENCY,
    MODE,
    SWITCH,
    TIMES,
    WHOLE_SECONDS,
    JsonSchema,
    exclusions_of,
    is_on,
    mapping_of,
)
from emulator.scenarios.vocabulary import (
    ANY_REQUEST,
    FAULT_COUNTS,
    FAULT_EXCLUSIONS,
    FAULT_RULE_KEYS,
    FAULT_THEN_KEYS,
    FAULT_WHEN_KEYS,
    MAX_REQUESTS,
    MAX_RETRY_AFTER_S,
)

_COUNT: JsonSchema = {"type": "integer", "minimum": 1, "maximum": MAX_REQUESTS}


def fault_rule(*, needs_when: bool = True) -> JsonSchema:
    shapes = {"when": _when(), "then": _then(), "times": TIMES}
    required = ["when", "then"] if needs_when else ["then"]
    return mapping_of(FAULT_RULE_KEYS, shapes, required=required)


def _when() -> JsonSchema:
    shapes: dict[str, JsonSchema] = {
        "mode": MODE,
        "request": {"enum": [*(request.value for request in ApiRequest), ANY_REQUEST]},
        "nth": _COUNT,
        "every": _COUNT,
        "chance": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    }
    pairs = combinations(FAULT_COUNTS, 2)
    return {
        **mapping_of(FAULT_WHEN_KEYS, shapes, required=[]),
        "allOf": [{"not": {"required": list(pair)}} for pair in pairs],
    }


def _then() -> JsonSchema:
    seconds = {"type": "integer", "minimum": 1, "maximum": MAX_RETRY_AFTER_S}
    shapes: dict[str, JsonSchema] = {
        "status": {
            "type": "integer",
            "minimum": MIN_FAULT_STATUS,
            "maximum": MAX_FAULT_STATUS,
        },
        "retry_after": {"anyOf": [seconds, WHOLE_SECONDS]},
        "latency": LATENCY,
        "drop": SWITCH,
        "truncate": SWITCH,
        "point": {"enum": [point.value for point in Point]},
    }
    halves_the_truth = {**is_on("truncate"), "not": {"required": ["status"]}}
    return {
        **mapping_of(FAULT_THEN_KEYS, shapes, required=[]),
        # What is empty, or says `false` or `point` alone, says nothing.
        "not": {"properties": {"point": True}, "additionalProperties": {"const": False}},
        "dependentRequired": {"retry_after": ["status"]},
        "allOf": [
            *exclusions_of(FAULT_EXCLUSIONS),
            {
                "if": halves_the_truth,
                "then": {"properties": {"point": {"const": Point.AFTER_COMMIT.value}}},
            },
        ],
    }
