"""Writes declared operations as the paths and components of an OpenAPI 3.1 document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from inspect import cleandoc

from msgspec import Struct

from emulator import __version__
from emulator.domain.errors import InvalidField, MissingParameter, Refusal
from emulator.server.openapi.declarations import (
    JSON,
    Enumerations,
    ErrorCode,
    JsonObject,
    Operation,
    RequestBody,
    Resource,
    SchemaSource,
    SuccessResponse,
    component_name,
    component_schemas,
    content_schema,
    example_of,
    header,
    ref,
    without_null,
)
from emulator.server.openapi.members import members_of

_HEADERS: JsonObject = {
    "RequestId": header(
        "The identifier of the request, also in the journal.",
        is_required=True,
        pattern="^req_[A-Za-z0-9]+$",
    ),
    "CacheControl": header("Responses must not be cached.", is_required=True, enum=["no-store"]),
    "WwwAuthenticate": header("The authentication scheme.", is_required=True, enum=["Bearer"]),
}
_OF_EVERY_RESPONSE = {"Request-Id": "RequestId", "Cache-Control": "CacheControl"}
_OF_401 = {"WWW-Authenticate": "WwwAuthenticate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """What the operations of a document have in common.

    `headers` are by status the components by header, beside those of every response; every success
    has the headers of status 200. `shared_responses` are the statuses whose refusals are the same
    for all operations, with the names of their components. `other_errors` are the error objects by
    status that every operation can return and that are no refusals. `has_closed_codes`: the
    schema of a refusal lists its codes.
    """

    refusals: Mapping[type[Refusal], ErrorCode]
    meanings: Mapping[int, str]
    enumerations: Enumerations
    headers: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    shared_responses: Mapping[int, str] = field(default_factory=dict)
    other_errors: Mapping[int, JsonObject] = field(default_factory=dict)
    has_closed_codes: bool


class DocumentWriter:
    """Writes the operations of resources."""

    def __init__(
        self,
        resources: tuple[Resource, ...],
        conventions: Conventions,
        schemas: Mapping[str, JsonObject],
    ) -> None:
        """`schemas` are components in addition to the resources' components."""
        self._resources = resources
        self._operations = [each for resource in resources for each in resource.operations]
        self._conventions = conventions
        parameters = {
            struct
            for each in self._operations
            for struct in (each.path_type, each.query_type, each.shared_query_type)
        }
        generated = component_schemas(
            {*parameters, *self._content_structs()}, conventions.enumerations
        )
        self._parameter_schemas = {
            struct: generated.pop(component_name(struct)) for struct in parameters
        }
        for resource in resources:
            for name, more in resource.schemas().items():
                generated[name] = _merged(generated.get(name, {}), more)
        self._schemas = {**generated, **schemas}

    def document(
        self, base_url: str, *, key: JsonObject, headers: JsonObject, **info: str
    ) -> JsonObject:
        """The whole document; `key` is the scheme of the keys by its name."""
        components = {name: part for name, part in self._components().items() if part}
        tags = [{"name": each.tag, "description": each.description} for each in self._resources]
        return {
            "openapi": "3.1.0",
            "info": {
                **info,
                "version": __version__,
                "license": {"name": "MIT", "identifier": "MIT"},
            },
            "servers": [{"url": base_url, "description": "The emulator."}],
            "security": [{name: [] for name in key}],
            "tags": tags,
            "paths": self._paths(),
            "components": {"securitySchemes": key, "headers": _HEADERS | headers, **components},
        }

    def _paths(self) -> JsonObject:
        paths: JsonObject = {}
        for resource in self._resources:
            for operation in resource.operations:
                item = paths.setdefault(operation.path, {})
                item[operation.method.lower()] = self._operation(operation, resource.tag)
        return paths

    def _components(self) -> JsonObject:
        """Schemas, and the parameters and responses that operations share."""
        errors_by_status: dict[int, dict[str, JsonObject]] = {}
        parameters = {}
        for operation in self._operations:
            for status, errors in self._errors(operation).items():
                errors_by_status.setdefault(status, {}).update(errors)
            for parameter in self._parameters(operation.shared_query_type, "query"):
                parameters[_component_of(parameter["name"])] = parameter
        return {
            "schemas": self._schemas,
            "parameters": parameters,
            "responses": {
                name: self._refusal(status, errors_by_status[status])
                for status, name in self._conventions.shared_responses.items()
            },
        }

    def _content_structs(self) -> Iterator[type[Struct]]:
        for resource in self._resources:
            yield from resource.types
        for operation in self._operations:
            if operation.body_struct is not None:
                yield operation.body_struct
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
                *self._parameters(operation.path_type, "path"),
                *self._parameters(operation.query_type, "query"),
                *(
                    {"$ref": f"#/components/parameters/{_component_of(member.name)}"}
                    for member in members_of(operation.shared_query_type)
                ),
            ],
            "responses": self._responses(operation),
        }
        if operation.body is not None:
            described["requestBody"] = self._body(operation.body)
        if not operation.accepts_key:
            described["security"] = []
        return described

    def _parameters(self, struct: type[Struct], place: str) -> Iterator[JsonObject]:
        """The fields of a struct, each with an example, unless `examples` is empty."""
        schema = self._parameter_schemas[struct]
        for name, member in schema["properties"].items():
            parameter = without_null(member)
            has_example = parameter.get("examples") != []
            example = {"example": example_of(parameter, self._schemas)} if has_example else {}
            parameter.pop("examples", None)
            yield {
                "name": name,
                "in": place,
                "required": name in schema["required"],
                "description": parameter.pop("description", None) or member["description"],
                **example,
                "schema": parameter,
            }

    def _body(self, body: RequestBody) -> JsonObject:
        is_required = (
            isinstance(body.content, str)
            or "oneOf" in self._schemas[component_name(body.content)]
            or any(member.is_required for member in members_of(body.content))
        )
        return {
            "description": body.description or cleandoc(body.content.__doc__ or ""),
            "required": is_required,
            "content": {
                media_type: self._content(body.content, media_type)
                for media_type in body.media_types
            },
        }

    def _content(self, source: SchemaSource, media_type: str) -> JsonObject:
        schema = content_schema(source, media_type)
        return {"schema": schema, "example": example_of(schema, self._schemas)}

    def _responses(self, operation: Operation) -> JsonObject:
        responses = {
            status: self._success(response) for status, response in operation.responses.items()
        }
        for status, errors in self._errors(operation).items():
            shared = self._conventions.shared_responses.get(status)
            responses[status] = (
                {"$ref": f"#/components/responses/{shared}"}
                if shared is not None
                else self._refusal(status, errors)
            )
        return {str(status): responses[status] for status in sorted(responses)}

    def _success(self, response: SuccessResponse) -> JsonObject:
        headers = {**self._headers(200), **_references(response.headers)}
        described: JsonObject = {"description": response.description, "headers": headers}
        if response.content is not None:
            described["content"] = {
                response.media_type: self._content(response.content, response.media_type)
            }
        return described

    def _refusal(self, status: int, errors: Mapping[str, JsonObject]) -> JsonObject:
        """A response with the error envelope and one of these errors, which are by code."""
        listed = ", ".join(f"`{code}`" for code in errors)
        schema = ref("Error")
        if self._conventions.has_closed_codes:
            # Beside the reference, and open, so that the rest of the schema still applies.
            code = {"properties": {"code": {"enum": [*errors]}}, "additionalProperties": True}
            schema["properties"] = {"error": code}
        examples = {code: {"value": {"error": error}} for code, error in errors.items()}
        return {
            "description": f"{self._conventions.meanings[status]} Codes: {listed}.",
            "headers": self._headers(status),
            "content": {JSON: {"schema": schema, "examples": examples}},
        }

    def _headers(self, status: int) -> JsonObject:
        scheme = _OF_401 if status == HTTPStatus.UNAUTHORIZED else {}
        more = self._conventions.headers.get(status, {})
        return _references({**_OF_EVERY_RESPONSE, **scheme, **more})

    def _errors(self, operation: Operation) -> dict[int, dict[str, JsonObject]]:
        """An error object for each code, by status, with the codes of invalid fields first."""
        found: dict[int, dict[str, JsonObject]] = {400: {}}
        for error in _field_errors(operation):
            found[400].setdefault(error["code"], error)
        for refusal in operation.refusals:
            answer = self._conventions.refusals[refusal]
            code = str(answer.code)
            found.setdefault(answer.status, {}).setdefault(code, _error(code, refusal))
        for status, error in self._conventions.other_errors.items():
            found.setdefault(status, {})[error["code"]] = error
        return found


def _field_errors(operation: Operation) -> Iterator[JsonObject]:
    """An error object for each missing or invalid member and parameter."""
    members = members_of(operation.body_struct) if operation.body_struct else ()
    query = members_of(operation.query_type)
    for member in (*members, *query):
        if member.is_required:
            yield _error("missing_parameter", MissingParameter, member.name)
    parameters = (
        *query,
        *members_of(operation.path_type),
        *members_of(operation.shared_query_type),
    )
    for member in (*members, *(each for each in parameters if each.is_checked)):
        yield _error(f"invalid_{member.kind or member.name}", InvalidField, member.name)


def _error(code: str, refusal: type[Refusal], param: str | None = None) -> JsonObject:
    """An error object; its message is constant, or the first sentence of the docstring."""
    cause = cleandoc(refusal.__doc__ or "").partition(".\n\n")[0].partition(". ")[0]
    message = f"{cause.removesuffix('.')}.".replace("`", "'").replace("\n", " ")
    error = {"code": code, "message": getattr(refusal, "default_message", message)}
    param = param or refusal.default_param
    return error if param is None else {**error, "param": param}


def _component_of(parameter: str) -> str:
    return parameter.title()


def _merged(schema: JsonObject, more: JsonObject) -> JsonObject:
    properties = {**schema.get("properties", {}), **more.get("properties", {})}
    return {**schema, **more, **({"properties": properties} if properties else {})}


def _references(components: Mapping[str, str]) -> JsonObject:
    return {name: {"$ref": f"#/components/headers/{part}"} for name, part in components.items()}
