"""The declaration of an HTTP operation, the only place that states its types and texts.

The schemas of the components, and an example of each, follow from its structs.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Meta, Struct, field

from emulator.domain.errors import Refusal

JSON = "application/json"

JsonObject = dict[str, Any]
SchemaSource = type[Struct] | str
"""A struct, or the name of a schema among the components."""
# Distinguishes a struct from the class that it shows: `AccountJson` is the schema `Account`.
_SUFFIX = "Json"
_INSTANT = "2026-01-01T00:00:00.000Z"


class SuccessResponse(Struct, frozen=True):
    """A response of a successful call.

    `headers` are the names of header components by header, besides the headers of every response.
    """

    description: str
    content: SchemaSource | None = None
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


class RequestBody(Struct, frozen=True):
    """The body of a request; by default its description is the text of its struct."""

    content: SchemaSource
    description: str | None = None
    media_types: tuple[str, ...] = (JSON,)


class ErrorCode(Struct, frozen=True):
    """The status and the code of a refusal; without a code it is made from the field's name."""

    status: int
    code: str | None


class NoParameters(Struct, frozen=True):
    """The parameters of an operation that has none."""


class Operation(Struct, frozen=True, kw_only=True):
    """One method of one path.

    The fields of `path_type`, `query_type` and `shared_query_type` are its parameters; the last
    are components. With `takes_query_texts` the handler parses the values of `query_type` itself.
    `refusals` have a code of their own; the codes of invalid fields follow from the types.
    """

    method: str
    path: str
    id: str
    summary: str
    description: str
    responses: Mapping[int, SuccessResponse]
    path_type: type[Struct] = NoParameters
    query_type: type[Struct] = NoParameters
    shared_query_type: type[Struct] = NoParameters
    takes_query_texts: bool = False
    body: RequestBody | None = None
    refusals: tuple[type[Refusal], ...] = ()
    accepts_key: bool = True
    handler: Callable[..., Any] | None = None

    @property
    def body_struct(self) -> type[Struct] | None:
        if self.body is None or isinstance(self.body.content, str):
            return None
        return self.body.content


class Resource(Struct, frozen=True, kw_only=True):
    """The operations on one resource.

    `schemas` returns what the structs cannot express, by component: it is merged into theirs.
    `types` are structs that only `schemas` refer to.
    """

    tag: str
    description: str
    operations: tuple[Operation, ...]
    types: tuple[type[Struct], ...] = ()
    schemas: Callable[[], Mapping[str, JsonObject]] = dict


def doc(
    description: str | None, example: object = None, *, kind: str | None = None, **schema: Any
) -> Meta:
    """The description of a member, and an example if the schema does not determine one.

    `kind` is its refusals' kind; see `members`. `schema` is what its type does not determine.
    """
    return Meta(
        description=description,
        examples=None if example is None else [example],
        extra=None if kind is None else {"kind": kind},
        extra_json_schema=schema or None,
    )


def int64(minimum: int, maximum: int, example: int | None = None) -> Meta:
    """The limits of an integer."""
    return Meta(
        ge=minimum,
        le=maximum,
        examples=None if example is None else [example],
        extra_json_schema={"format": "int64"},
    )


def const(value: object) -> Meta:
    """The only value of a member."""
    return Meta(extra_json_schema={"const": value})


def refers_to(name: str) -> Meta:
    """The component that is the schema of a member."""
    return Meta(extra_json_schema=ref(name))


def parsed(parse: Callable[[str, Any], Any], *, kind: str | None = None) -> Meta:
    """How a member is parsed, and the kind of its refusals; see `members`."""
    return Meta(extra={"parse": parse, "kind": kind})


def ref(name: str) -> JsonObject:
    """A reference to a schema of the components."""
    return {"$ref": f"#/components/schemas/{name}"}


def header(description: str, *, is_required: bool = False, **schema: Any) -> JsonObject:
    """A header of responses, with a schema of type string unless it has another."""
    required = {"required": True} if is_required else {}
    return {"description": description, **required, "schema": {"type": "string", **schema}}


Enumerations = Mapping[type[StrEnum], tuple[str, str]]
"""The component name and the description of each enumeration."""


def component_name(struct: type[Struct]) -> str:
    return struct.__name__.removesuffix(_SUFFIX)


def content_schema(source: SchemaSource, media_type: str) -> JsonObject:
    """The schema of a body."""
    schema = ref(source if isinstance(source, str) else component_name(source))
    # A tool that reads no YAML treats such a body as a string.
    return schema if media_type == JSON else {"anyOf": [schema, {"type": "string"}]}


def component_schemas(
    structs: Iterable[type[Struct]], enumerations: Enumerations
) -> dict[str, JsonObject]:
    """The schemas of structs, and of all that they refer to, by component name."""
    _, generated = msgspec.json.schema_components(
        sorted(structs, key=lambda struct: struct.__name__), ref_template="{name}"
    )
    renamed = {words.__name__: name for words, (name, _) in enumerations.items()}
    schemas = {
        renamed.get(name, name.removesuffix(_SUFFIX)): _simplified(schema, renamed)
        for name, schema in generated.items()
    }
    for words, (name, description) in enumerations.items():
        if name in schemas:
            values = [word.value for word in words]
            schemas[name] = {"type": "string", "description": description, "enum": values}
    return schemas


def _simplified(schema: Any, renamed: Mapping[str, str]) -> Any:
    """Without titles and defaults of null, and with null as one of two types."""
    if isinstance(schema, list):
        return [_simplified(entry, renamed) for entry in schema]
    if not isinstance(schema, Mapping):
        return schema
    simplified: JsonObject = {
        key: _simplified(value, renamed)
        for key, value in schema.items()
        if key not in ("title", "properties") and not (key == "default" and value is None)
    }
    if "properties" in schema:
        properties = {
            name: _simplified(member, renamed) for name, member in schema["properties"].items()
        }
        if [*properties] == ["data"]:
            # A collection: its only member has the description of the whole.
            properties["data"].setdefault("description", schema["description"])
        simplified["properties"] = properties
    if "enum" in simplified:
        simplified = {"type": "string", **simplified}
    if "$ref" in simplified:
        name = simplified["$ref"]
        if not name.startswith("#"):
            simplified |= ref(renamed.get(name, name.removesuffix(_SUFFIX)))
        simplified.pop("type", None)
    return _with_null_as_type(simplified)


def _with_null_as_type(schema: JsonObject) -> JsonObject:
    """`anyOf` of a schema and null as a schema with two types, unless it is a reference."""
    match schema.get("anyOf"):
        case [inner, {"type": "null", **rest}] if not rest and "$ref" not in inner:
            outer = {key: value for key, value in schema.items() if key != "anyOf"}
            types = inner["type"] if isinstance(inner["type"], list) else [inner["type"]]
            nullable = {**inner, **outer, "type": [*types, "null"]}
            return {**nullable, "enum": [*inner["enum"], None]} if "enum" in inner else nullable
    return schema


def without_null(schema: JsonObject) -> JsonObject:
    """The schema of a query parameter, which may be absent but is never null."""
    match schema:
        case {"anyOf": [inner, {"type": "null"}]}:
            return dict(inner)
        case {"type": [kind, "null"]}:
            return {**schema, "type": kind}
    return dict(schema)


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
