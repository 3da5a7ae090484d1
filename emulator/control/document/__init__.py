"""The control API as an OpenAPI 3.1 document: its subjects in order, and what they share."""

import json
from typing import Any

from emulator import __version__
from emulator.control.document import (
    accounts,
    clock,
    deliveries,
    endpoints,
    payments,
    program,
    requests,
    scenarios,
    snapshots,
)
from emulator.control.document.examples import Examples, kept_examples
from emulator.control.document.operations import SHARED_REFUSALS, Subject, refusal, written
from emulator.control.document.scenario_shapes import scenario_schemas

SUBJECTS: tuple[Subject, ...] = (
    accounts.SUBJECT,
    clock.SUBJECT,
    payments.SUBJECT,
    endpoints.SUBJECT,
    deliveries.SUBJECT,
    scenarios.SCENARIOS,
    scenarios.FAULTS,
    requests.SUBJECT,
    snapshots.SUBJECT,
    program.SUBJECT,
)

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


def build(*, base_url: str, payment: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    """The document, of an emulator at `base_url`.

    `payment` and `error` are the JSON Schemas of the contract's payment object and error envelope.
    """
    examples = kept_examples()
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
        "tags": [{"name": subject.tag, "description": subject.description} for subject in SUBJECTS],
        "security": [{"bearerKey": []}, {}],
        "paths": _paths(examples),
        "components": {
            "schemas": _schemas(payment, error),
            "parameters": _parameters(examples),
            "responses": _responses(examples),
            "headers": _HEADERS,
            "examples": examples.of_any_call(),
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def _paths(examples: Examples) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for subject in SUBJECTS:
        for operation in subject.operations:
            described = written(operation, tag=subject.tag, examples=examples)
            paths.setdefault(operation.path, {})[operation.method] = described
    return paths


def _schemas(payment: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    schemas = {"Payment": payment, "Error": error}
    for subject in SUBJECTS:
        schemas |= subject.schemas
    return schemas | scenario_schemas()


def _parameters(examples: Examples) -> dict[str, Any]:
    """By name, each with a value that a call has succeeded with."""
    parameters: dict[str, Any] = {}
    for subject in SUBJECTS:
        for name, parameter in subject.parameters.items():
            parameters[name] = {"example": _example_of(name, parameter, examples), **parameter}
    return parameters


def _example_of(component: str, parameter: dict[str, Any], examples: Examples) -> Any:
    if "example" in parameter:
        return parameter["example"]
    name = parameter["name"]
    values = (
        examples.parameter(operation.path, operation.id, name)
        for subject in SUBJECTS
        for operation in subject.operations
        if component in operation.all_parameters
    )
    text = next(value for value in values if value is not None)
    return json.loads(text) if parameter["schema"].get("type") in ("integer", "number") else text


def _responses(examples: Examples) -> dict[str, Any]:
    """How any call may be refused."""
    responses = {
        name: refusal(description, codes, examples.common_refusals(codes))
        for name, (description, codes) in SHARED_REFUSALS.items()
    }
    responses["Unauthorized"]["headers"] |= {
        "WWW-Authenticate": {"$ref": "#/components/headers/WWW-Authenticate"}
    }
    return responses
