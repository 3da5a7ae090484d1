"""How a call is described: what its subject says of it, and how OpenAPI writes that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from emulator.control.document.examples import Examples
from emulator.control.document.shapes import ref

JSON = "application/json"

# What every call has that acts on an account and mode.
_SUBJECT_PARAMETERS = ("Account", "Mode")
# What came over the connection is no HTTP, or the body no object.
_NO_HTTP = "invalid_request_body"
_CODES_OF_EVERY_SUBJECT = ("unknown_parameter", "duplicate_parameter", "invalid_mode")
_CODES_OF_EVERY_BODY = (
    "invalid_json",
    "unsupported_content_type",
    "request_too_large",
)
# By the name of the response, which every call on an account has.
SHARED_REFUSALS = {
    "Unauthorized": (
        "The API key is malformed or unknown.",
        ("missing_api_key", "invalid_api_key"),
    ),
    "Forbidden": ("The header `Host` or `Origin` is not allowed.", ("forbidden_origin",)),
    "NotReady": ("The emulator is starting or stopping.", ("not_ready",)),
}
_WHAT_IS_WRONG = {
    400: "Bad request: `error.param` is the name of the invalid parameter, if any.",
    404: "The resource does not exist.",
    409: "The current state does not allow this call.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Which call can follow, and where its parameters are found in this one."""

    to: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One way in which a call succeeds; `schema` is a name of the components."""

    description: str
    schema: str | None = None
    media_type: str = JSON
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What a call takes as its body; `schema` is a name of the components."""

    description: str
    schema: str
    required: bool = True
    media_types: tuple[str, ...] = (JSON,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call. `codes` are those that it alone has, by their status.

    Unless it `has_subject`, it acts on no account and knows no key: the program itself answers;
    unless it `is_guarded`, it does so whoever asks.
    """

    method: str
    path: str
    id: str
    summary: str
    description: str
    answers: Mapping[int, Answer]
    parameters: tuple[str, ...] = ()
    body: Body | None = None
    codes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    has_subject: bool = True
    is_guarded: bool = True

    @property
    def all_parameters(self) -> tuple[str, ...]:
        """The names of its parameters among the components."""
        return (*self.parameters, *_SUBJECT_PARAMETERS) if self.has_subject else self.parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The calls about one thing, with their schemas and parameters by name."""

    tag: str
    description: str
    operations: tuple[Operation, ...]
    schemas: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    parameters: Mapping[str, dict[str, Any]] = field(default_factory=dict)


def written(operation: Operation, *, tag: str, examples: Examples) -> dict[str, Any]:
    """A call as OpenAPI has it."""
    described: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [tag],
        "summary": operation.summary,
        "description": operation.description,
        "parameters": [
            {"$ref": f"#/components/parameters/{name}"} for name in operation.all_parameters
        ],
        "responses": _responses(operation, examples),
    }
    if operation.body is not None:
        described["requestBody"] = _body(operation, operation.body, examples)
    if not operation.has_subject:
        described["security"] = []
    return described


def _body(operation: Operation, body: Body, examples: Examples) -> dict[str, Any]:
    return {
        "description": body.description,
        "required": body.required,
        "content": {
            media_type: {
                "schema": _schema(body.schema, media_type),
                "examples": examples.requests(operation.id, media_type),
            }
            for media_type in body.media_types
        },
    }


def _schema(name: str, media_type: str) -> dict[str, Any]:
    if media_type == JSON:
        return ref(name)
    # To a tool that reads no YAML, such a body is a text.
    return {"anyOf": [ref(name), {"type": "string"}]}


def _responses(operation: Operation, examples: Examples) -> dict[str, Any]:
    responses = {
        status: _answer(operation, status, answer, examples)
        for status, answer in operation.answers.items()
    }
    for status, codes in _codes(operation).items():
        responses[status] = refusal(
            _WHAT_IS_WRONG[status], codes, examples.refusals(operation.id, codes)
        )
    for status, name in _shared(operation).items():
        responses[status] = {"$ref": f"#/components/responses/{name}"}
    return {str(status): responses[status] for status in sorted(responses)}


def _shared(operation: Operation) -> dict[int, str]:
    of_guard = {403: "Forbidden"} if operation.is_guarded else {}
    of_subject = {401: "Unauthorized", 503: "NotReady"} if operation.has_subject else {}
    return {**of_guard, **of_subject}


def _codes(operation: Operation) -> dict[int, tuple[str, ...]]:
    """The codes of a call by status, those included that it has in common with others."""
    codes = dict(operation.codes)
    wrong = [*codes.get(400, ()), _NO_HTTP]
    if operation.has_subject:
        wrong += _CODES_OF_EVERY_SUBJECT
        codes[404] = tuple(dict.fromkeys((*codes.get(404, ()), "account_not_found")))
    if operation.method != "get":
        wrong += _CODES_OF_EVERY_BODY
    return {**codes, 400: tuple(wrong)}


def _answer(
    operation: Operation, status: int, answer: Answer, examples: Examples
) -> dict[str, Any]:
    described: dict[str, Any] = {"description": answer.description, "headers": headers()}
    if answer.schema is not None:
        schema = _schema(answer.schema, answer.media_type)
        described["content"] = {answer.media_type: {"schema": schema}}
        shown = examples.answers(operation.id, status)
        if shown:
            described["content"][answer.media_type]["examples"] = shown
    if answer.links:
        described["links"] = {link.to: _link(link, operation) for link in answer.links}
    return described


def _link(link: Link, operation: Operation) -> dict[str, Any]:
    """What follows acts on the account and mode that the call before it has named."""
    carried = {}
    if operation.has_subject:
        carried = {
            "query.account": "$request.query.account",
            "query.mode": "$request.query.mode",
        }
    return {"operationId": link.to, "parameters": {**carried, **link.parameters}}


def refusal(
    description: str, codes: tuple[str, ...], examples: Mapping[str, Any]
) -> dict[str, Any]:
    """A response with the contract's error envelope, whose code is one of these."""
    listed = ", ".join(f"`{code}`" for code in codes)
    # Said beside the reference, and open, so that it takes nothing from what stands there.
    code = {"properties": {"code": {"enum": list(codes)}}, "additionalProperties": True}
    return {
        "description": f"{description} Codes: {listed}.",
        "headers": headers(),
        "content": {
            JSON: {
                "schema": {**ref("Error"), "properties": {"error": code}},
                "examples": dict(examples),
            }
        },
    }


def headers() -> dict[str, Any]:
    """What every answer carries."""
    return {
        name: {"$ref": f"#/components/headers/{name}"} for name in ("Request-Id", "Cache-Control")
    }
