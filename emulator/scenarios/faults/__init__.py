"""Declares the section `faults`: which requests go wrong, and how.

A fault type is a file here and an entry in TYPES.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from emulator.domain.faults import ApiRequest, Point, RequestEffect
from emulator.scenarios.conditions import list_of_rules, mode_key, rule_keys
from emulator.scenarios.entries import Entry, decimal_number, whole_number
from emulator.scenarios.fault_types import FaultMapping
from emulator.scenarios.faults.drop import DROP
from emulator.scenarios.faults.hold import HOLD
from emulator.scenarios.faults.latency import LATENCY
from emulator.scenarios.faults.status import STATUS
from emulator.scenarios.faults.truncate import TRUNCATE
from emulator.scenarios.kinds import JsonSchema, Kind, WholeNumber, Word
from emulator.scenarios.mappings import Key, KeyRule, MappingOf, Members
from emulator.scenarios.values import FaultRule, FaultWhen, Json

TYPES = (STATUS, LATENCY, DROP, TRUNCATE, HOLD)

MAX_REQUESTS = 1_000_000
ANY_REQUEST = "any"
# At most one of these.
FAULT_COUNTS = ("nth", "every", "chance")

_COUNT = WholeNumber(at_most=MAX_REQUESTS)


class _Request(Word[str]):
    """A request of the contract; None is any."""

    def read(self, entry: Entry) -> str | None:
        word = super().read(entry)
        return None if word == ANY_REQUEST else word


class _Chance(Kind[float]):
    def read(self, entry: Entry) -> float | None:
        whole = whole_number(entry.node)
        chance = decimal_number(entry.node) if whole is None else float(whole)
        if chance is not None and 0 < chance <= 1:
            return chance
        entry.refuse("a number above 0 and at most 1, such as 0.3")
        return None

    def schema(self) -> JsonSchema:
        return {"type": "number", "exclusiveMinimum": 0, "maximum": 1}


def _check_counts(members: Members) -> None:
    first, *others = [key for key in members.known if key in FAULT_COUNTS] or [""]
    for key in others:
        members.known[key].note(
            f"'{key}' is not allowed beside '{first}': "
            "each of them selects the requests to which the rule applies"
        )


FAULT_WHEN = MappingOf(
    FaultWhen,
    {
        "mode": mode_key("Requests with a key of this mode."),
        "request": Key(
            _Request((*ApiRequest, ANY_REQUEST)),
            f"This API request; `{ANY_REQUEST}` matches all of them.",
            default_text=f"`{ANY_REQUEST}`",
        ),
        "nth": Key(_COUNT, "Only the nth request, counted from 1."),
        "every": Key(
            _COUNT, "Every nth request: `every: 3` matches the third request, the sixth and so on."
        ),
        "chance": Key(_Chance(), "Each request with this probability. The seed decides."),
    },
    KeyRule(
        check_keys=_check_counts,
        schema={
            "allOf": [{"not": {"required": list(pair)}} for pair in combinations(FAULT_COUNTS, 2)]
        },
    ),
)


FAULT_THEN = FaultMapping(
    TYPES,
    RequestEffect,
    {
        "point": Key(
            Word(Point),
            "Before anything is done, or after everything is done.",
            default_text="`before_commit`; `after_commit` for `hold`, and for `truncate` without "
            "`status`",
        )
    },
)
_KEYS = rule_keys(
    FAULT_WHEN,
    then=Key(
        FAULT_THEN, "The effect on the request.", required="what goes wrong, such as {status: 500}"
    ),
)
_RULES = [rule for type_ in TYPES for rule in type_.rule_rules]
FAULT_RULE = MappingOf(FaultRule, _KEYS, *_RULES)
# Where it stands alone, it applies to every request by default.
LONE_FAULT_RULE = MappingOf(
    FaultRule,
    {**_KEYS, "when": replace(_KEYS["when"], required=None, default=FaultWhen())},
    *_RULES,
)
FAULTS = list_of_rules(FAULT_RULE, "a fault rule")

COVERAGE_NAMES = tuple(
    f"{type_.name} {point}"
    for type_ in TYPES
    for point in Point
    if type_ is not HOLD or point is Point.AFTER_COMMIT
)


def coverage_names_of(then: Mapping[str, Json]) -> Iterator[str]:
    """What a fault that is written as JSON exercises."""
    given = {key: value for key, value in then.items() if value}
    point = FAULT_THEN.fault(given).effect.point
    for type_, _ in FAULT_THEN.exercised(then):
        yield f"{type_.name} {point}"
