"""Derives an example of a schema from its constants, limits and formats and its own examples."""

from collections.abc import Mapping
from typing import Any

from emulator.server.openapi.declarations import JsonObject

_INSTANT = "2026-01-01T00:00:00.000Z"


def example_of(schema: JsonObject, components: Mapping[str, JsonObject]) -> Any:
    """A valid value, always the same. Raises LookupError if a member needs an example.

    Of optional members it contains those that have an example.
    """
    match schema:
        case {"examples": [value, *_]} | {"default": value} | {"const": value}:
            return value
        case {"enum": [value, *_]}:
            return value
        case {"$ref": reference}:
            return example_of(components[reference.rpartition("/")[2]], components)
        case {"oneOf": [first, *_]} | {"anyOf": [first, *_]}:
            return example_of(first, components)
        case {"format": "date-time"}:
            return _INSTANT
        case {"type": "object"}:
            return _object(schema, components)
        case {"type": "array", "items": items}:
            return [example_of(items, components)]
        case {"type": "boolean"}:
            return True
        case {"type": "integer" | "number"}:
            return schema.get("minimum", 0)
    raise LookupError(f"A member needs an example: {schema}")


def _object(schema: JsonObject, components: Mapping[str, JsonObject]) -> JsonObject:
    required = schema.get("required", ())
    return {
        name: None if name in required and _is_nullable(member) else example_of(member, components)
        for name, member in schema.get("properties", {}).items()
        if name in required or "examples" in member
    }


def _is_nullable(schema: JsonObject) -> bool:
    return "null" in schema.get("type", ()) or {"type": "null"} in schema.get("anyOf", ())
