"""The control API as an OpenAPI 3.1 document."""

from collections.abc import Mapping
from typing import Any

from emulator import __version__
from emulator.domain.errors import Refusal
from emulator.server.control.app import RESOURCES
from emulator.server.control.types import ENUMERATIONS
from emulator.server.openapi.declarations import JsonObject
from emulator.server.openapi.document import Conventions, DocumentWriter, StatusAndCode

_DESCRIPTION = """\
Tests use the control API to control the emulator: the actions of the customer, the clock and the
requests that fail. They inspect payments, webhooks and requests. The real service has no such API.

A call acts on one account and mode: those of the Bearer key, if the call has one, otherwise those
of `account` and `mode` in the query, otherwise the test mode of the first account. Clock, reset,
snapshots, scenarios and faults belong to the account, the rest to its mode.

In a body, null counts as absent. Unknown members and query parameters get 400.
Collections are `{"data": [...]}`, newest first. Errors are
`{"error": {"code", "message", "param"}}`.

Web pages cannot use this API: the header `Host` must be an IP address, a local name, or one of
`serve --allowed-hosts`, and requests of other origins get 403.
"""
_MEANINGS = {
    400: "Bad request: `error.param` is the name of the invalid parameter, if any.",
    401: "The API key is malformed or unknown.",
    403: "The header `Host` or `Origin` is not allowed.",
    404: "The resource does not exist.",
    409: "The current state does not allow this call.",
    503: "The emulator is starting or stopping.",
}
_SHARED_RESPONSES = {401: "Unauthorized", 403: "Forbidden", 503: "NotReady"}
_SECURITY_SCHEMES = {
    "bearerKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "The key of an account: `test_…` or `live_…`. It is optional.",
    }
}
_HEADERS = {
    "Request-Id": {
        "description": "The identifier of the request.",
        "required": True,
        "schema": {"type": "string", "pattern": "^req_"},
    },
    "Cache-Control": {
        "description": "Responses must not be cached.",
        "required": True,
        "schema": {"type": "string", "const": "no-store"},
    },
    "WWW-Authenticate": {
        "description": "The authentication scheme.",
        "required": True,
        "schema": {"type": "string", "const": "Bearer"},
    },
}


def build(
    *,
    base_url: str,
    schemas: Mapping[str, JsonObject],
    refusals: Mapping[type[Refusal], StatusAndCode],
) -> dict[str, Any]:
    """The document of an emulator at `base_url`.

    `schemas` are those of the contract's payment and error envelope, by component.
    """
    conventions = Conventions(
        refusals=refusals,
        meanings=_MEANINGS,
        headers=_headers,
        enumerations=ENUMERATIONS,
        shared_responses=_SHARED_RESPONSES,
        has_closed_codes=True,
    )
    writer = DocumentWriter(RESOURCES, conventions, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ETB payments sandbox emulator: control API",
            "version": __version__,
            "summary": "Controls the emulator: customers, clock, webhooks, scenarios and faults.",
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": base_url, "description": "The emulator."}],
        "tags": writer.tags(),
        "security": [{"bearerKey": []}, {}],
        "paths": writer.paths(),
        "components": {
            **writer.components(),
            "headers": _HEADERS,
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def _headers(status: int) -> dict[str, str]:
    """The header components of a response, by header."""
    names = ("Request-Id", "Cache-Control", *(("WWW-Authenticate",) if status == 401 else ()))
    return {name: name for name in names}
