"""The JSON Schemas of scenarios and faults: parts of that of scenario files, given names."""

from collections.abc import Mapping
from typing import Any

from emulator.control.document.shapes import (
    BOOLEAN,
    COUNT,
    TEXT,
    Schema,
    answer_of,
    body_of,
    collection_of,
    ref,
    said,
    words,
)
from emulator.engine.state.rules import Origin
from emulator.scenarios.faults import LONE_FAULT_RULE
from emulator.scenarios.schema import scenario_schema
from emulator.scenarios.script import STEP
from emulator.scenarios.values import RuleSection

_RULES = {
    RuleSection.OUTCOMES: "OutcomeRule",
    RuleSection.EXPIRY: "ExpiryRule",
    RuleSection.FAULTS: "FaultRule",
    RuleSection.WEBHOOKS: "WebhookRule",
}
_PARTS = {
    ("OutcomeRule", "when"): "PaymentWhen",
    ("ExpiryRule", "when"): "PaymentWhen",
    ("FaultRule", "when"): "FaultWhen",
    ("FaultRule", "then"): "FaultThen",
    ("WebhookRule", "when"): "WebhookWhen",
    ("WebhookRule", "then"): "WebhookOddity",
}
_STEP = "ScenarioStep"
_CONDITIONS = {"allOf", "if", "then", "else", "not"}

_SUMMARY = {
    "name": said(TEXT, "Its name."),
    "description": said(TEXT, "Its description."),
    "enabled": said(BOOLEAN, "Whether it is enabled in this account."),
    "origin": ref("ScenarioOrigin"),
    "rules": said(
        answer_of(
            "The number of rules in each section.",
            {section.value: COUNT for section in RuleSection},
        ),
        "The number of rules in each section.",
    ),
    "has_script": said(BOOLEAN, "Whether it has a script, for `replay`."),
}


def scenario_schemas() -> dict[str, Schema]:
    """By name. What a scenario file may say is said by its schema, and here only referred to."""
    file = _spelt_out(scenario_schema())
    rules = {name: file["properties"][section]["items"] for section, name in _RULES.items()}
    parts = {part: _taken_out(rules[rule], key, part) for (rule, key), part in _PARTS.items()}
    for section, name in _RULES.items():
        file["properties"][section]["items"] = ref(name)
    step = file.pop("$defs")[STEP]
    # Its name among the components is its title.
    whole = {key: value for key, value in file.items() if key not in ("$schema", "title")}
    return {
        **rules,
        **parts,
        "ScenarioOrigin": said(
            words(Origin), "Its origin: this API, `--scenarios` or the shipped files."
        ),
        _STEP: step,
        "ScenarioFile": whole,
        "PutScenario": said(
            {**whole, "required": []},
            "A scenario as in a file; `version` and `name` are optional, and `name` must equal the"
            " name in the path.",
        ),
        **_answers(),
        "SwitchScenario": body_of(
            "Whether the scenario is enabled.",
            {"enabled": said(BOOLEAN, "Whether the scenario is enabled.")},
            required=["enabled"],
        ),
        **_fault_schemas(rules["FaultRule"]),
    }


def _answers() -> dict[str, Schema]:
    rules = {
        section.value: {"type": "array", "items": ref(name)} for section, name in _RULES.items()
    }
    script = {"type": "array", "items": ref(_STEP)}
    return {
        "Scenario": answer_of(
            "A scenario with its rules and its script.", {**_SUMMARY, **rules, "script": script}
        ),
        "ScenarioSummary": answer_of("A scenario of the account.", _SUMMARY),
        "ScenarioList": collection_of(
            "ScenarioSummary", "The scenarios, highest precedence first."
        ),
    }


def _taken_out(rule: Schema, key: str, name: str) -> Schema:
    """A part of a rule, which refers to it from now on."""
    part: Schema = rule["properties"][key]
    rule["properties"][key] = said(ref(name), part["description"])
    return part


def _fault_schemas(rule: Schema) -> dict[str, Schema]:
    return {
        "AddFault": body_of(
            "A fault rule; without `when` it applies to every request.",
            rule["properties"],
            required=LONE_FAULT_RULE.schema()["required"],
        ),
        "Fault": answer_of(
            "A fault rule that was added by this API.",
            {
                "id": said(TEXT, "Its identifier, with the prefix `flt_`."),
                **rule["properties"],
                "used": said(
                    COUNT, "The number of times that it was applied; present only with `times`."
                ),
            },
            optional=["times", "used"],
        ),
        "FaultList": collection_of(
            "Fault", "The fault rules, newest and highest precedence first."
        ),
    }


def _spelt_out(schema: Any, *, is_condition: bool = False) -> Any:
    """The schema as a part of this document: what it refers to is among the components.

    A condition that only speaks of some members is read by some tools as an object that has no
    others, so it says that it may, and of which members it speaks. Nor do all tools know of
    schemas that are no more than true or false.
    """
    if isinstance(schema, list):
        return [_spelt_out(entry, is_condition=is_condition) for entry in schema]
    if not isinstance(schema, Mapping):
        return schema
    spelt_out: Schema = {
        key: f"#/components/schemas/{_STEP}"
        if key == "$ref"
        else _spelt_out(value, is_condition=key in _CONDITIONS)
        for key, value in schema.items()
    }
    spoken_of = [*schema.get("properties", ()), *schema.get("required", ())]
    if is_condition and spoken_of and "additionalProperties" not in schema:
        properties = dict.fromkeys(spoken_of, True) | spelt_out.get("properties", {})
        spelt_out |= {"properties": properties, "additionalProperties": True}
    for name, member in spelt_out.get("properties", {}).items():
        if isinstance(member, bool):
            spelt_out["properties"][name] = {} if member else {"not": {}}
    return spelt_out
