"""Declares the section `script`: a list of steps, each a mapping of its name to its value.

The step `expect` checks a payment or the last response.
"""

from typing import Any

from emulator.domain.payment import Reason
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.files import MapNode
from emulator.scenarios.conditions import PAYMENT_FIELDS, PAYMENT_NAME, TEXT_OR_NULL, of_both
from emulator.scenarios.entries import (
    Entry,
    Pairs,
    hint_nearest,
    listed,
    read_pairs,
)
from emulator.scenarios.faults import MAX_RETRY_AFTER_S
from emulator.scenarios.kinds import Boolean, JsonSchema, Kind, ListOf, OrNull, WholeNumber, Word
from emulator.scenarios.mappings import (
    DeclaredRule,
    Key,
    MappingOf,
    Members,
    excludes,
    implies,
    needs,
)
from emulator.scenarios.script_steps import ACTION_STEPS, REQUEST_STEPS, StepType
from emulator.scenarios.values import Expect, FieldCheck, Json, Place, Step

MAX_SCRIPT_STEPS = 1_000
# The name of the schema of one step.
STEP = "script_step"

MIN_HTTP_STATUS = 100
MAX_HTTP_STATUS = 599
SAME_AS = "same_as"

_EVENTS = ListOf(Word(EVENT_TYPES_IN_ORDER), "a list of event types", "an entry of {}")
_PAYMENTS = ListOf(PAYMENT_NAME, "a list of payments, by their names", "a payment")


# Checks of the last response, so not permitted with `payment`.
RESPONSE_CHECKS = {
    "http_status": Key(
        WholeNumber(at_least=MIN_HTTP_STATUS, at_most=MAX_HTTP_STATUS),
        "The HTTP status of the last response.",
    ),
    "code": Key(TEXT_OR_NULL, "The code of the error in the last response."),
    "param": Key(TEXT_OR_NULL, "The field that the error in the last response names."),
    "retry_after": Key(
        OrNull(WholeNumber(at_least=0, at_most=MAX_RETRY_AFTER_S)),
        "The seconds of the header `Retry-After` of the last response.",
    ),
    "replayed": Key(
        Boolean(), "Whether the last response is an idempotent replay of an earlier one."
    ),
    "lost": Key(Boolean(), "Whether no complete response arrived."),
    "payments": Key(_PAYMENTS, "The payments of the last list, by name, in order."),
    "has_more": Key(Boolean(), "Whether the last list has a further page."),
}
_FOR_ALL = "The same, for all payments."
_ORDERED = "in the order of arrival."


def _check_checks(members: Members) -> None:
    if not members.known.keys() - {"payment"} and not members.has_stray_keys:
        members.entry.note("expect must have something to check, such as 'status'")


class _Expect(MappingOf[dict[str, Any]]):
    """The keys in the order of the file, each with its place."""

    def build(self, members: Members) -> dict[str, Any]:
        checks = tuple(
            FieldCheck(
                place=Place(line=key_entry.node.line, column=key_entry.node.column),
                key=key,
                expected=_as_json(members.values[key]),
            )
            for key, key_entry in members.keys.items()
            if key != "payment"
        )
        return {"payment": members.values["payment"], "checks": checks}

    def write(self, value: Any) -> Json:
        checks = {check.key: check.expected for check in value.checks}
        return checks if value.payment is None else {"payment": value.payment, **checks}


def _as_json(value: Any) -> Json:
    return list(value) if isinstance(value, tuple) else value


EXPECT = _Expect(
    dict,
    {
        "payment": of_both(
            "The name that `create` gave the payment with `as`.",
            "The last response and the account are checked.",
            PAYMENT_NAME,
        ),
        **PAYMENT_FIELDS,
        "reason": of_both(
            "Why the payment failed.",
            "The same, for the payment in the last response.",
            OrNull(Word([reason.value for reason in Reason])),
        ),
        "events": of_both(
            "The types of the payment's events, oldest first.",
            "The types of the newest 1,000 events of the account and mode, oldest first.",
            _EVENTS,
        ),
        "webhooks": of_both(
            f"The types of the webhooks that arrived with a valid signature, {_ORDERED}",
            _FOR_ALL,
            _EVENTS,
        ),
        "forged": of_both(
            f"The types of the webhooks that arrived with an invalid signature, {_ORDERED}",
            _FOR_ALL,
            _EVENTS,
        ),
        **RESPONSE_CHECKS,
        SAME_AS: Key(PAYMENT_NAME, "The name of another payment that must have the same id."),
    },
    excludes("payment", *RESPONSE_CHECKS, reason="it checks the last response"),
    needs(SAME_AS, "payment"),
    DeclaredRule(
        _check_checks,
        {"minProperties": 1},
        implies({"required": ["payment"]}, {"minProperties": 2}),
    ),
)


class _ScriptStep(Kind[Step]):
    """One step; the names that it uses must have been given by the steps before it."""

    def read(self, entry: Entry) -> Step | None:
        if not isinstance(entry.node, MapNode):
            entry.refuse("a mapping of its name to its value, such as 'advance: 30s'")
            return None
        pairs = read_pairs(entry) or {}
        if not entry.node.pairs:
            entry.note(f"a step must have a name: {listed(SCRIPT_STEPS, 'or')}")
        if len(pairs) > 1:
            _read_several(entry, pairs)
            return None
        return next((_read_named(entry, name, *pair) for name, pair in pairs.items()), None)

    def schema(self) -> JsonSchema:
        return {"$ref": f"#/$defs/{STEP}"}

    def write(self, value: Step) -> dict[str, Json]:
        """A mapping of the step's name to its value."""
        name = next(name for name, each in SCRIPT_STEPS.items() if each.make is type(value))
        return {name: SCRIPT_STEPS[name].kind.write(value)}


def _read_named(entry: Entry, name: str, key_entry: Entry, value: Entry) -> Step | None:
    if name in SCRIPT_STEPS:
        step_type = SCRIPT_STEPS[name]
        fields = step_type.kind.read(value)
        place = Place(line=entry.node.line, column=entry.node.column)
        return None if fields is None else step_type.make(place=place, **fields)
    hint = hint_nearest(name, SCRIPT_STEPS) or f"; there are {listed(SCRIPT_STEPS, 'and')}"
    key_entry.note(f"there is no step {name!r}{hint}")
    entry.context.add_names_of(value.node)
    return None


def _read_several(entry: Entry, pairs: Pairs) -> None:
    """Note what is too much in a step: the next one, or what should be inside the first."""
    first, second, *_ = pairs
    stray = next((name for name in pairs if name not in SCRIPT_STEPS), None)
    if stray is None:
        pairs[second][0].note(
            f"a step must have one name, so '{second}' must begin a step of its own"
        )
        for name, pair in pairs.items():
            _read_named(entry, name, *pair)
        return
    if stray == first:
        _read_named(entry, first, *pairs[first])
    else:
        pairs[stray][0].note(
            f"a step must have one name; if {stray!r} belongs to '{first}', indent it deeper"
        )
    for node in (entry.node, *(value.node for _, value in pairs.values())):
        entry.context.add_names_of(node)


SCRIPT_STEP = _ScriptStep()

SCRIPT = ListOf(SCRIPT_STEP, "a list of steps", "a step", at_most=MAX_SCRIPT_STEPS)
SCRIPT_STEPS = {
    **REQUEST_STEPS,
    **ACTION_STEPS,
    "expect": StepType(
        Expect,
        EXPECT,
        "Checks what must be true at this point.",
        {"payment": "order", "status": "refunded"},
    ),
}


def step_schema() -> JsonSchema:
    """One step, for the definition STEP."""
    return {
        "type": "object",
        "properties": {name: step_type.schema() for name, step_type in SCRIPT_STEPS.items()},
        "required": [],
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
