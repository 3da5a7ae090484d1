"""The example of a schema."""

from typing import Any

import pytest

from emulator.server.openapi.declarations import JsonObject, ref
from emulator.server.openapi.schemas import example_of

NULLABLE = {"type": ["string", "null"], "examples": ["a"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "enum": ["a", "b"], "examples": ["b"]}, "b"),
        ({"type": "integer", "minimum": 1, "default": 100}, 100),
        ({"type": "integer", "minimum": 1}, 1),
        ({"type": "number"}, 0),
        ({"type": "string", "const": "a"}, "a"),
        ({"type": "string", "enum": ["a", "b"]}, "a"),
        ({"type": "boolean"}, True),
        ({"anyOf": [ref("Part"), {"type": "null"}]}, "part"),
        ({"type": "array", "items": ref("Part")}, ["part"]),
        ({"type": "object", "properties": {"a": ref("Part")}}, {}),
        ({"type": "object", "properties": {"a": NULLABLE}}, {"a": "a"}),
        ({"type": "object", "properties": {"a": NULLABLE}, "required": ["a"]}, {"a": None}),
    ],
)
def test_an_example_follows_from_the_schema(schema: JsonObject, expected: Any) -> None:
    assert example_of(schema, {"Part": {"const": "part"}}) == expected


def test_a_text_without_an_example_is_an_error() -> None:
    with pytest.raises(LookupError, match="needs an example"):
        example_of({"type": "string"}, {})
