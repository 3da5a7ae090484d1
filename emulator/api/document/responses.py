"""What each call of the contract may be answered with, out of the one table of refusals."""

import json
from collections.abc import Iterable

from emulator.api import parameters, queries
from emulator.api.document.examples import Examples
from emulator.api.document.schemas import Json, ref
from emulator.api.errors import ANSWERS, INTERNAL_ERROR_BODY, code_of
from emulator.domain import errors
from emulator.domain.errors import InvalidField, Refusal
from emulator.engine.payments.payments import MAX_WAIT_FOR_KEY_MS

HEADERS: Json = {
    "RequestId": {
        "description": "Identifies the request, in the journal as well.",
        "required": True,
        "schema": {"type": "string", "pattern": "^req_[A-Za-z0-9]+$"},
    },
    "CacheControl": {
        "description": "No answer may be stored.",
        "required": True,
        "schema": {"type": "string", "enum": ["no-store"]},
    },
    "EmulatorWarning": {
        "description": (
            "What was tolerated in the request though the contract does not speak of it:"
            " comma-separated, such as `unknown-parameter:metdata`."
        ),
        "schema": {"type": "string"},
    },
    "Location": {
        "description": "The path of the payment.",
        "required": True,
        "schema": {"type": "string"},
    },
    "IdempotentReplayed": {
        "description": "There where an earlier request with the same key created the payment.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "RetryAfter": {
        "description": "How many seconds to wait before the next attempt.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    },
    "RetryAfterKey": {
        "description": "With `idempotency_key_in_use`: how many seconds to wait.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "RetryAfterFault": {
        "description": "Where a fault rule says so: how many seconds to wait.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WwwAuthenticate": {
        "description": "How to authenticate.",
        "required": True,
        "schema": {"type": "string", "enum": ["Bearer"]},
    },
}

_SERVER_ERROR = 500
_ON_EVERY_RESPONSE = {"Request-Id": "RequestId", "Cache-Control": "CacheControl"}
_WARNING = {"Emulator-Warning": "EmulatorWarning"}
_MORE_HEADERS = {
    401: {"WWW-Authenticate": "WwwAuthenticate"},
    409: {"Retry-After": "RetryAfterKey"},
    429: {"Retry-After": "RetryAfter"},
    _SERVER_ERROR: {"Retry-After": "RetryAfterFault"},
}
_MEANINGS = {
    400: "Bad request; `error.param` tells which field is invalid, where one is.",
    401: "Missing or invalid API key.",
    404: "Not found, or of another account or mode.",
    409: (
        "A conflict over the idempotency key: it was used with different parameters, or a"
        " request with it is still being processed after"
        f" {MAX_WAIT_FOR_KEY_MS // 1000} seconds of waiting."
    ),
    429: "Rate limit exceeded; wait the seconds of `Retry-After`.",
    _SERVER_ERROR: "Server error; retry.",
}

Answers = tuple[tuple[int, str], ...]


def _answers(*kinds: type[Refusal]) -> Answers:
    """The status and code of each kind of refusal that has a code of its own."""
    return tuple(
        (answer.status, answer.code)
        for answer in map(ANSWERS.__getitem__, kinds)
        if answer.code is not None
    )


def _field_answers(names: Iterable[str]) -> Answers:
    status = ANSWERS[InvalidField].status
    return tuple((status, code_of(InvalidField(name, ""))) for name in names)


_ON_EVERY_CALL: Answers = (
    *_answers(
        errors.MissingApiKey,
        errors.InvalidApiKey,
        errors.RateLimitExceeded,
        errors.UnknownParameter,
        errors.DuplicateParameter,
        errors.IdempotencyKeyHeader,
    ),
    (_SERVER_ERROR, json.loads(INTERNAL_ERROR_BODY)["error"]["code"]),
)

OF_CREATE: Answers = (
    _ON_EVERY_CALL
    + _answers(
        errors.UnsupportedContentType,
        errors.RequestTooLarge,
        errors.InvalidJson,
        errors.InvalidRequestBody,
        errors.MissingParameter,
        errors.IdempotencyKeyReused,
        errors.IdempotencyKeyInUse,
    )
    + _field_answers(parameters.KNOWN)
)
OF_RETRIEVE: Answers = _ON_EVERY_CALL + _answers(errors.UnknownPayment, errors.UnknownRoute)
# The parameter is called `after`, but what it takes is a cursor.
OF_LIST: Answers = _ON_EVERY_CALL + _field_answers(
    "cursor" if name == "after" else name for name in queries.KNOWN
)


def refusals(answers: Answers, shown: Examples) -> Json:
    """The responses of these statuses and codes; each code has its example."""
    return {
        str(status): _refusal(status, [code for at, code in answers if at == status], shown)
        for status in sorted({status for status, _ in answers})
    }


def success(description: str, schema: str, examples: Json, **more: str) -> Json:
    """A response that is a value of a schema; `more` names further headers, `_` for `-`."""
    named = {header.replace("_", "-"): component for header, component in more.items()}
    return {
        "description": description,
        "headers": _headers({**_WARNING, **named}),
        "content": {"application/json": {"schema": ref(schema), "examples": examples}},
    }


def _refusal(status: int, codes: list[str], shown: Examples) -> Json:
    listed = ", ".join(f"`{code}`" for code in codes)
    warning = {} if status == 401 else _WARNING
    return {
        "description": f"{_MEANINGS[status]} Codes: {listed}.",
        "headers": _headers({**warning, **_MORE_HEADERS.get(status, {})}),
        "content": {"application/json": {"schema": ref("Error"), "examples": shown.bodies(codes)}},
    }


def _headers(more: dict[str, str]) -> Json:
    return {
        header: {"$ref": f"#/components/headers/{component}"}
        for header, component in {**_ON_EVERY_RESPONSE, **more}.items()
    }
