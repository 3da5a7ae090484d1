"""Declares how the file of an integration says where a response has a value, and what it means."""

import re

from emulator.files.yaml_nodes import MapNode
from emulator.scenarios.entries import Entry, listed, read_text
from emulator.scenarios.kinds import JsonSchema, JsonValue, Kind, ListOf, Pattern, Text
from emulator.scenarios.mappings import Key, KeyRule, MappingOf, excludes, needs_one
from emulator.scenarios.values import Json
from emulator.tools.explore.json_path import JSON_PATH, JsonPath
from emulator.tools.explore.response_value import Condition, Count, ResponseValue

_NO_VALUES = "in must have a value or more, or the condition is never true"


class PathKind(Kind[JsonPath]):
    """A path; `or_else` says in messages what else is accepted."""

    def __init__(self, or_else: str = "") -> None:
        self._expected = f"a path such as $.id or $.data[0].status{or_else}"

    def read(self, entry: Entry) -> JsonPath | None:
        text = read_text(entry)
        if text is not None and JSON_PATH.fullmatch(text):
            return JsonPath.parse(text)
        if text is not None:
            entry.refuse(self._expected)
        return None

    def schema(self) -> JsonSchema:
        return {"type": "string", "pattern": f"^{JSON_PATH.pattern}$", "examples": ["$.id"]}

    def write(self, value: JsonPath) -> Json:
        return str(value)


class ValueKind(Kind[ResponseValue]):
    """A path, or a mapping that says where a response has a value."""

    def __init__(self, **more: Key) -> None:
        keys = {"path": _PATH_KEY, "header": _HEADER_KEY, "match": _MATCH_KEY, **more}
        rules = (needs_one(*keys), excludes("header", "path"))
        self._mapping = MappingOf(ResponseValue, keys, *rules)
        self._path = PathKind(f", or a mapping with {listed(map(repr, [*keys][1:]), 'or')}")

    def read(self, entry: Entry) -> ResponseValue | None:
        if isinstance(entry.node, MapNode):
            return self._mapping.read(entry)
        path = self._path.read(entry)
        return None if path is None else ResponseValue(path=path)

    def schema(self) -> JsonSchema:
        return {"anyOf": [self._path.schema(), self._mapping.schema()]}

    def write(self, value: ResponseValue) -> Json:
        is_path = value == ResponseValue(path=value.path)
        return str(value.path) if is_path else self._mapping.write(value)


_HEADER_NAME = Text(
    re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII),
    expected="the name of a header, such as location",
    examples=["location"],
)
_PATH_KEY = Key(PathKind(), "The path of the value in the JSON of the response.")
_HEADER_KEY = Key(_HEADER_NAME, "The header that has the value.")
_MATCH_KEY = Key(Pattern(), "A regular expression; its first group, if it has one, is the value.")
VALUE = ValueKind()
CONDITION = MappingOf(
    Condition,
    {
        "path": _PATH_KEY,
        "match": _MATCH_KEY,
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
    KeyRule(
        check=lambda each: None if each.values["in"] != () else each.known["in"].note(_NO_VALUES)
    ),
)
COUNT = MappingOf(Count, {"path": _PATH_KEY, "match": _MATCH_KEY}, needs_one("path", "match"))
