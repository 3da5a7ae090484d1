"""The control API as an OpenAPI 3.1 document, with the schemas of scenarios and faults.

These are derived from the JSON Schema of scenario files.
"""

from collections.abc import Mapping
from typing import Any

from emulator.scenarios.faults import LONE_FAULT_RULE
from emulator.scenarios.scenario_file import scenario_schema
from emulator.scenarios.script import STEP
from emulator.scenarios.values import RuleSection
from emulator.server.api.document import contract_schemas
from emulator.server.api.errors import ANSWERS
from emulator.server.control.types import ENUMERATIONS
from emulator.server.openapi.declarations import JsonObject, Resource, ref
from emulator.server.openapi.document import Conventions, DocumentWriter

_DESCRIPTION = """\
Tests use the control API to control the emulator: the actions of the customer, the clock and the
requests that fail. They inspect payments, webhooks and requests. The real service has no such API.

A call acts on one account and mode: the Bearer key's account and mode, otherwise `account` and
`mode` in the query, otherwise the test mode of the first account. Clock, reset, snapshots,
scenarios and faults belong to the account, the rest to its mode.

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
_KEY = {
    "bearerKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "The key of an account: `test_…` or `live_…`. It is optional.",
    }
}
_RULES = {
    RuleSection.OUTCOMES: "OutcomeRule",
    RuleSection.EXPIRY: "ExpiryRule",
    RuleSection.CHECKOUT: "CheckoutRule",
    RuleSection.FAULTS: "FaultRule",
    RuleSection.WEBHOOKS: "WebhookRule",
}
_PARTS = {
    ("OutcomeRule", "when"): "OutcomeWhen",
    ("ExpiryRule", "when"): "PaymentWhen",
    ("CheckoutRule", "when"): "PaymentWhen",
    ("FaultRule", "when"): "FaultWhen",
    ("FaultRule", "then"): "FaultThen",
    ("WebhookRule", "when"): "WebhookWhen",
    ("WebhookRule", "then"): "WebhookThen",
}
_STEP = "ScenarioStep"
_EXAMPLE: JsonObject = {
    "description": "The second create request fails after it was processed.",
    "outcomes": [
        {
            "when": {"method": "telebirr", "phone": "+251911111111"},
            "then": [{"after": "5s", "status": "failed", "reason": "limit_exceeded"}],
        }
    ],
    "expiry": [{"when": {"metadata": {"order": "1043"}}, "after": "5m"}],
    "checkout": [{"when": {}, "then": {"redirect": "after_webhook"}}],
    "faults": [
        {
            "when": {"request": "create_payment", "nth": 2},
            "then": {"status": 500, "point": "after_commit"},
        }
    ],
    "webhooks": [{"when": {"event": "payment.completed"}, "then": {"copies": 2, "delay": "10s"}}],
    "script": [{"advance": "5m"}],
}
_CONDITIONS = {"allOf", "if", "then", "else", "not"}


_CONVENTIONS = Conventions(
    refusals=ANSWERS,
    meanings=_MEANINGS,
    enumerations=ENUMERATIONS,
    shared_responses={401: "Unauthorized", 403: "Forbidden", 503: "NotReady"},
    has_closed_codes=True,
)


def build(
    base_url: str, *, resources: tuple[Resource, ...], methods: tuple[str, ...]
) -> JsonObject:
    """The document of an emulator at `base_url` with these payment methods."""
    document = DocumentWriter(resources, _CONVENTIONS, contract_schemas(methods)).document(
        base_url,
        key=_KEY,
        headers={},
        title="ETB payments sandbox emulator: control API",
        summary="Controls the emulator: customers, clock, webhooks, scenarios and faults.",
        description=_DESCRIPTION,
    )
    return {**document, "security": [*document["security"], {}]}


def scenario_schemas() -> dict[str, JsonObject]:
    """The schemas by component; rules and their parts are components that others refer to."""
    file = as_component(scenario_schema())
    rules = {name: file["properties"][section]["items"] for section, name in _RULES.items()}
    parts = {part: _extracted(rules[rule], key, part) for (rule, key), part in _PARTS.items()}
    for section, name in _RULES.items():
        file["properties"][section]["items"] = ref(name)
    step = file.pop("$defs")[STEP]
    # The name of the component is the title.
    whole = {key: value for key, value in file.items() if key not in ("$schema", "title")}
    fault = rules["FaultRule"]["properties"]
    schemas = {
        **rules,
        **parts,
        _STEP: step,
        "ScenarioFile": whole,
        "PutScenario": {
            **whole,
            "required": [],
            "description": "A scenario as in a file; `version` and `name` are optional, and `name`"
            " must equal the name in the path.",
        },
        "AddFault": {
            "type": "object",
            "description": "A fault rule; without `when` it applies to every request.",
            "properties": {
                **fault,
                "when": _or_null(fault["when"]),
                "times": _or_null(fault["times"]),
            },
            "required": LONE_FAULT_RULE.schema()["required"],
            "additionalProperties": False,
            "allOf": rules["FaultRule"]["allOf"],
        },
    }
    for name, example in _examples().items():
        schemas[name] = {**schemas[name], "examples": [example]}
    return {**schemas, "Fault": {"properties": fault}}


def _examples() -> JsonObject:
    """By component: the whole example, its rules and their parts."""
    rules = {name: _EXAMPLE[section][0] for section, name in _RULES.items()}
    return {
        "ScenarioFile": {"version": 1, "name": "double-success", **_EXAMPLE},
        "PutScenario": _EXAMPLE,
        "AddFault": rules["FaultRule"],
        _STEP: _EXAMPLE["script"][0],
        **rules,
        **{part: rules[rule][key] for (rule, key), part in _PARTS.items()},
    }


def _or_null(schema: JsonObject) -> JsonObject:
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def _extracted(rule: JsonObject, key: str, name: str) -> JsonObject:
    """A part of a rule, which refers to it from now on."""
    part: JsonObject = rule["properties"][key]
    rule["properties"][key] = {**ref(name), "description": part["description"]}
    return part


def as_component(schema: Any, *, is_condition: bool = False) -> Any:
    """The schema as a part of this document: what it refers to is among the components.

    Some tools treat a condition on some members as an object without other members. Therefore a
    condition lists its members and permits others. Some tools do not support the schemas `true`
    and `false`.
    """
    if isinstance(schema, list):
        return [as_component(entry, is_condition=is_condition) for entry in schema]
    if not isinstance(schema, Mapping):
        return schema
    component: JsonObject = {
        key: f"#/components/schemas/{_STEP}"
        if key == "$ref"
        else as_component(
            value, is_condition=key in _CONDITIONS or (is_condition and key == "anyOf")
        )
        for key, value in schema.items()
    }
    spoken_of = [*schema.get("properties", ()), *schema.get("required", ())]
    if is_condition and spoken_of and "additionalProperties" not in schema:
        properties = dict.fromkeys(spoken_of, True) | component.get("properties", {})
        component |= {"properties": properties, "additionalProperties": True}
    for name, member in component.get("properties", {}).items():
        if isinstance(member, bool):
            component["properties"][name] = {} if member else {"not": {}}
    return component
