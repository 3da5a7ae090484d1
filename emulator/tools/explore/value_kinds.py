"""Declares how a file says where a response has a value: a path, a header, a pattern, a unit."""

import re

from emulator.files import MapNode
from emulator.scenarios.entries import Entry, listed
from emulator.scenarios.kinds import JsonSchema, JsonValue, Kind, ListOf, Pattern, Text, Word
from emulator.scenarios.mappings import Key, MappingOf, excludes, needs_one
from emulator.scenarios.values import Json
from emulator.tools.explore.response_value import (
    JSON_PATH,
    Amount,
    Condition,
    Count,
    ResponseValue,
    Unit,
)

_NO_VALUES = "in must have a value or more, or the condition is never true"


def path_kind(or_else: str = "") -> Text:
    """A path; `or_else` says in messages what else is accepted."""
    expected = f"a path such as $.id or $.data[0].status{or_else}"
    return Text(JSON_PATH, expected=expected, examples=["$.id"], accepts=bool)


class ValueKind(Kind[ResponseValue]):
    """A path, or a mapping that says where a response has a value."""

    def __init__(self, **more: Key) -> None:
        keys = {"path": PATH_KEY, "header": _HEADER_KEY, "match": MATCH_KEY, **more}
        rules = (needs_one(*keys), excludes("header", "path"))
        self._mapping = MappingOf(ResponseValue, keys, *rules)
        self._path = path_kind(f", or a mapping with {listed(map(repr, [*keys][1:]), 'or')}")

    def read(self, entry: Entry) -> ResponseValue | None:
        if isinstance(entry.node, MapNode):
            return self._mapping.read(entry)
        path = self._path.read(entry)
        return None if path is None else ResponseValue(path=path)

    def schema(self) -> JsonSchema:
        return {"anyOf": [self._path.schema(), self._mapping.schema()]}

    def write(self, value: ResponseValue) -> Json:
        return value.path if value == ResponseValue(path=value.path) else self._mapping.write(value)


_HEADER_NAME = Text(
    re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII),
    expected="the name of a header, such as location",
    examples=["location"],
)
PATH_KEY = Key(path_kind(), "The path of the value in the JSON of the response.")
_HEADER_KEY = Key(_HEADER_NAME, "The header that has the value.")
MATCH_KEY = Key(Pattern(), "A regular expression; its first group, if it has one, is the value.")
VALUE = ValueKind()
CONDITION = MappingOf(
    Condition,
    {
        "path": PATH_KEY,
        "match": MATCH_KEY,
        "in": Key(
            ListOf(JsonValue(), "a list of values", "an entry of in"),
            "The values for which the condition is true.",
            field="values",
            default=(True,),
            default_text="true",
        ),
    },
    needs_one("path", "match"),
    excludes("match", "in"),
    lambda each: None if each.values["in"] != () else each.known["in"].note(_NO_VALUES),
)
COUNT = MappingOf(Count, {"path": PATH_KEY, "match": MATCH_KEY}, needs_one("path", "match"))
UNIT_KEY = Key(Word(Unit), "What the number counts.", default=Unit.CENTS, default_text="cents")
AMOUNT = MappingOf(
    Amount,
    {"path": PATH_KEY, "match": MATCH_KEY, "unit": UNIT_KEY},
    needs_one("path", "match"),
)
