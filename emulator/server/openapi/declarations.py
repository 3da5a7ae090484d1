"""The declaration of an HTTP operation: the only place that states its types and texts."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Meta, Struct, field

from emulator.domain.errors import Refusal

JSON = "application/json"

JsonObject = dict[str, Any]
SchemaSource = type[Struct] | str
"""A struct, or the name of a schema among the components."""


class SuccessResponse(Struct, frozen=True):
    """A response of a successful call.

    `headers` are the names of header components by header, besides the headers of every response.
    """

    description: str
    content: SchemaSource | None = None
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


class RequestBody(Struct, frozen=True):
    """The body of a request.

    The body must be exactly one of the structs in `alternatives`.
    """

    description: str
    content: SchemaSource
    media_types: tuple[str, ...] = (JSON,)
    alternatives: tuple[type[Struct], ...] = ()


class NoParameters(Struct, frozen=True):
    """The parameters of an operation that has none."""


class Operation(Struct, frozen=True, kw_only=True):
    """One method of one path.

    The fields of `path_type`, `query_type` and `shared_query_type` are its parameters; the last
    are components, and links pass them on. With `takes_query_texts` the handler parses the
    values of `query_type` itself. `refusals` have a code of their own; the codes of
    invalid fields follow from the types.
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
    def body_structs(self) -> tuple[type[Struct], ...]:
        """The struct of the body, or the alternative structs."""
        if self.body is None:
            return ()
        if self.body.alternatives or isinstance(self.body.content, str):
            return self.body.alternatives
        return (self.body.content,)


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
