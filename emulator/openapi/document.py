"""Writes declared operations as the paths and components of an OpenAPI 3.1 document."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import Struct

from emulator.domain.errors import Refusal
from emulator.openapi.declarations import (
    JSON,
    JsonObject,
    Operation,
    RequestBody,
    Resource,
    SuccessResponse,
    ref,
)
from emulator.openapi.examples import ANY_OPERATION, RecordedExamples
from emulator.openapi.members import members_of
from emulator.openapi.schemas import (
    Enumerations,
    component_name,
    component_schemas,
    content_schema,
    without_null,
)


class StatusAndCode(Protocol):
    """How a class of refusals is answered; without a code, it depends on the invalid field."""

    @property
    def status(self) -> int: ...
    @property
    def code(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """What the operations of a document have in common.

    `headers` returns the header components of a refusal by header; those of status 200 are on
    every success. `shared_parameters` are those of each operation on an account.
    `shared_responses` are the statuses whose refusals are the same for all operations, with the
    names of their components. `has_closed_codes`: the schema of a refusal lists its codes.
    """

    refusals: Mapping[type[Refusal], StatusAndCode]
    meanings: Mapping[int, str]
    headers: Callable[[int], Mapping[str, str]]
    enumerations: Enumerations
    shared_parameters: type[Struct] | None = None
    shared_responses: Mapping[int, str] = field(default_factory=dict)
    other_codes: Mapping[int, str] = field(default_factory=dict)
    has_closed_codes: bool


class DocumentWriter:
    """Writes the operations of resources."""

    def __init__(
        self,
        resources: tuple[Resource, ...],
        conventions: Conventions,
        examples: RecordedExamples,
        schemas: Mapping[str, JsonObject],
    ) -> None:
        """`schemas` are further components, beside those of the resources."""
        self._resources = resources
        self._conventions = conventions
        self._examples = examples
        generated = component_schemas(set(self._structs()), conventions.enumerations)
        self._parameter_types = {
            struct: generated.pop(component_name(struct)) for struct in self._parameter_structs()
        }
        for resource in resources:
            for name, more in resource.schemas().items():
                generated[name] = _merged(generated.get(name, {}), more)
        self._schemas = {**generated, **schemas}

    def tags(self) -> list[JsonObject]:
        return [{"name": each.tag, "description": each.description} for each in self._resources]

    def paths(self) -> JsonObject:
        paths: JsonObject = {}
        for resource in self._resources:
            for operation in resource.operations:
                item = paths.setdefault(operation.path, {})
                item[operation.method.lower()] = self._operation(operation, resource.tag)
        return paths

    def components(self) -> JsonObject:
        """Schemas, examples, and the parameters and responses that operations share."""
        shared = {}
        for status, name in self._conventions.shared_responses.items():
            codes = dict.fromkeys(
                code
                for operation in self._operations()
                for code in self._codes(operation).get(status, ())
            )
            shared[name] = self._refusal("", status, [*codes])
        parameters = self._parameters(self._conventions.shared_parameters, "query", None)
        return {
            "schemas": self._schemas,
            "parameters": {parameter["name"].title(): parameter for parameter in parameters},
            "responses": shared,
            "examples": self._examples.bodies(ANY_OPERATION),
        }

    def _operations(self) -> Iterator[Operation]:
        for resource in self._resources:
            yield from resource.operations

    def _parameter_structs(self) -> set[type[Struct]]:
        found = {self._conventions.shared_parameters}
        for operation in self._operations():
            found |= {operation.path_type, operation.query_type}
        return {struct for struct in found if struct is not None}

    def _structs(self) -> Iterator[type[Struct]]:
        yield from self._parameter_structs()
        for resource in self._resources:
            yield from resource.types
        for operation in self._operations():
            yield from () if operation.body is None else operation.body.structs
            for response in operation.responses.values():
                if response.content is not None and not isinstance(response.content, str):
                    yield response.content

    def _operation(self, operation: Operation, tag: str) -> JsonObject:
        described: JsonObject = {
            "operationId": operation.id,
            "tags": [tag],
            "summary": operation.summary,
            "description": operation.description,
            "parameters": [
                *self._parameters(operation.path_type, "path", operation),
                *self._parameters(operation.query_type, "query", operation),
                *self._shared_parameters(operation),
            ],
            "responses": self._responses(operation),
        }
        if operation.body is not None:
            described["requestBody"] = self._body(operation, operation.body)
        if not operation.has_account:
            described["security"] = []
        return described

    def _shared_parameters(self, operation: Operation) -> list[JsonObject]:
        shared = self._conventions.shared_parameters
        if shared is None or not operation.has_account:
            return []
        names = [member.name.title() for member in members_of(shared)]
        return [{"$ref": f"#/components/parameters/{name}"} for name in names]

    def _parameters(
        self, struct: type[Struct] | None, place: str, operation: Operation | None
    ) -> Iterator[JsonObject]:
        """The fields of a struct, each with a value from a successful request."""
        if struct is None:
            return
        operations = [] if operation is None else [operation]
        operations += [
            each for each in self._operations() if issubclass(each.query_type or struct, struct)
        ]
        schema = self._parameter_types[struct]
        for name, member in schema["properties"].items():
            parameter = without_null(member)
            yield {
                "name": name,
                "in": place,
                "required": name in schema["required"],
                "description": parameter.pop("description", None) or member["description"],
                "example": self._parameter_example(name, parameter, operations),
                "schema": parameter,
            }

    def _parameter_example(
        self, name: str, schema: JsonObject, operations: list[Operation]
    ) -> object:
        if "examples" in schema:
            return schema.pop("examples")[0]
        text = next(
            value
            for each in operations
            if (value := self._examples.parameter(each.path, each.id, name))
        )
        return json.loads(text) if schema.get("type") in ("integer", "number") else text

    def _body(self, operation: Operation, body: RequestBody) -> JsonObject:
        is_required = isinstance(body.content, str) or any(
            member.is_required for member in members_of(body.content)
        )
        return {
            "description": body.description,
            "required": is_required,
            "content": {
                media_type: {
                    "schema": content_schema(body.content, media_type),
                    "examples": self._examples.requests(operation.id, media_type),
                }
                for media_type in body.media_types
            },
        }

    def _responses(self, operation: Operation) -> JsonObject:
        responses = {
            status: self._success(operation, status, response)
            for status, response in operation.responses.items()
        }
        for status, codes in self._codes(operation).items():
            shared = self._conventions.shared_responses.get(status)
            responses[status] = (
                {"$ref": f"#/components/responses/{shared}"}
                if shared is not None
                else self._refusal(operation.id, status, codes)
            )
        return {str(status): responses[status] for status in sorted(responses)}

    def _success(self, operation: Operation, status: int, response: SuccessResponse) -> JsonObject:
        headers = {**self._conventions.headers(200), **response.headers}
        described: JsonObject = {"description": response.description, "headers": _headers(headers)}
        if response.content is not None:
            content = {"schema": content_schema(response.content, response.media_type)}
            if examples := self._examples.responses(operation.id, status):
                content["examples"] = examples
            described["content"] = {response.media_type: content}
        if response.links:
            described["links"] = {
                to: {"operationId": to, "parameters": {**self._carried(operation), **parameters}}
                for to, parameters in response.links.items()
            }
        return described

    def _carried(self, operation: Operation) -> dict[str, str]:
        """A link leads to the account and mode of the request before it."""
        shared = self._conventions.shared_parameters
        names = [each.name for each in members_of(shared)] if shared is not None else []
        if not operation.has_account:
            return {}
        return {f"query.{name}": f"$request.query.{name}" for name in names}

    def _refusal(self, operation_id: str, status: int, codes: list[str]) -> JsonObject:
        """A response with the error envelope and one of these codes."""
        listed = ", ".join(f"`{code}`" for code in codes)
        schema = ref("Error")
        if self._conventions.has_closed_codes:
            # Beside the reference, and open, so that the rest of the schema still applies.
            code = {"properties": {"code": {"enum": codes}}, "additionalProperties": True}
            schema["properties"] = {"error": code}
        return {
            "description": f"{self._conventions.meanings[status]} Codes: {listed}.",
            "headers": _headers(self._conventions.headers(status)),
            "content": {
                JSON: {"schema": schema, "examples": self._examples.refusals(operation_id, codes)}
            },
        }

    def _codes(self, operation: Operation) -> dict[int, list[str]]:
        """The error codes by status: those of the types first."""
        found: dict[int, dict[str, None]] = {}
        for status, code in self._statuses_and_codes(operation):
            found.setdefault(status, {})[code] = None
        return {status: [*codes] for status, codes in found.items()}

    def _statuses_and_codes(self, operation: Operation) -> Iterator[tuple[int, str]]:
        for code in _field_codes(operation):
            yield 400, code
        if operation.has_account and self._conventions.shared_parameters is not None:
            for member in members_of(self._conventions.shared_parameters):
                if member.is_checked:
                    yield 400, f"invalid_{member.kind or member.name}"
        for refusal in operation.refusals:
            error = self._conventions.refusals[refusal]
            yield error.status, str(error.code)
        yield from self._conventions.other_codes.items()


def _field_codes(operation: Operation) -> Iterator[str]:
    """The codes of missing and invalid members and parameters."""
    structs = () if operation.body is None else operation.body.structs
    members = [member for struct in structs for member in members_of(struct)]
    query = () if operation.query_type is None else members_of(operation.query_type)
    path = () if operation.path_type is None else members_of(operation.path_type)
    # Of alternatives, no member is required by itself.
    if any(member.is_required for member in (*(members if len(structs) == 1 else ()), *query)):
        yield "missing_parameter"
    for member in (*members, *(each for each in (*query, *path) if each.is_checked)):
        yield f"invalid_{member.kind or member.name}"


def _merged(schema: JsonObject, more: JsonObject) -> JsonObject:
    properties = {**schema.get("properties", {}), **more.get("properties", {})}
    return {**schema, **more, **({"properties": properties} if properties else {})}


def _headers(components: Mapping[str, str]) -> JsonObject:
    return {header: {"$ref": f"#/components/headers/{name}"} for header, name in components.items()}
