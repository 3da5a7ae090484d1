"""JSON Schemas of what is said in many calls: instants, names, flags, and that null is absent."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from emulator.control.fields import MAX_TEXT_LENGTH, MAX_URL_LENGTH

Schema = dict[str, Any]

# What the contract writes, and we as well.
INSTANT: Schema = {
    "type": "string",
    "format": "date-time",
    "description": "UTC, with milliseconds.",
}
BOOLEAN: Schema = {"type": "boolean"}
TEXT: Schema = {"type": "string"}
SHORT_TEXT: Schema = {"type": "string", "maxLength": MAX_TEXT_LENGTH}
COUNT: Schema = {"type": "integer", "minimum": 0}
# No URI by its format: other letters than those of ASCII are taken as they are written.
URL: Schema = {"type": "string", "pattern": r"^https?://[^\s/?#]\S*$", "maxLength": MAX_URL_LENGTH}
HEADERS: Schema = {
    "type": "object",
    "additionalProperties": TEXT,
    "description": "The headers by lower-case name; repeated headers have joined values.",
}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def words(values: Iterable[str]) -> Schema:
    """One of a closed set of words."""
    return {"type": "string", "enum": list(values)}


def nullable(schema: Schema) -> Schema:
    """The schema, or null: in a body that counts as absent, in an answer there is none."""
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    with_null = {**schema, "type": [schema["type"], "null"]}
    return {**with_null, "enum": [*schema["enum"], None]} if "enum" in schema else with_null


def said(schema: Schema, description: str) -> Schema:
    """A schema with what it means in its place."""
    return {**schema, "description": description}


def body_of(
    description: str, properties: Mapping[str, Schema], *, required: Collection[str] = ()
) -> Schema:
    """A body: no other members are taken; one that is not required may be null, which is absent."""
    return {
        "type": "object",
        "description": description,
        "properties": {
            name: schema if name in required else nullable(schema)
            for name, schema in properties.items()
        },
        "required": list(required),
        "additionalProperties": False,
    }


def having(**members: Schema) -> Schema:
    """A condition on some members of a body, whatever others there are."""
    return {"properties": members, "additionalProperties": True}


def answer_of(
    description: str, properties: Mapping[str, Schema], *, optional: Collection[str] = ()
) -> Schema:
    """An answer: all of its members are always there, but for the optional ones."""
    return {
        "type": "object",
        "description": description,
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
    }


def collection_of(name: str, description: str) -> Schema:
    """The envelope of a collection."""
    items = {"type": "array", "items": ref(name), "description": description}
    return answer_of(description, {"data": items})


def path_parameter(name: str, description: str, schema: Schema | None = None) -> Schema:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema or {"type": "string", "minLength": 1},
    }


def query_parameter(
    name: str, description: str, schema: Schema, *, required: bool = False
) -> Schema:
    return {
        "name": name,
        "in": "query",
        "required": required,
        "description": description,
        "schema": schema,
    }
