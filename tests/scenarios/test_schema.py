import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from emulator.scenarios.loader import parse_scenario, read_scenario
from emulator.scenarios.problems import ScenarioError
from emulator.scenarios.schema import scenario_schema

SCHEMA = scenario_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
HEAD = "version: 1\nname: case\n"
DIRECTORY = Path(__file__).parents[2] / "scenarios"


def loads(text: str) -> bool:
    try:
        parse_scenario(text, "case.yaml")
    except ScenarioError:
        return False
    return True


def is_valid(text: str) -> bool:
    # Through JSON, since that is all that an editor's schema knows of.
    document = json.loads(json.dumps(yaml.safe_load(text)))
    return VALIDATOR.is_valid(document)


def outcome(when: str = "{}", then: str = "[]", more: str = "") -> str:
    return f"{HEAD}outcomes:\n  - {{when: {when}, then: {then}{more}}}\n"


def expiry(more: str) -> str:
    return f"{HEAD}expiry:\n  - {{when: {{}}{more}}}\n"


def webhook(then: str = "{copies: 2}", when: str = "{}", more: str = "") -> str:
    return f"{HEAD}webhooks:\n  - {{when: {when}, then: {then}{more}}}\n"


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


FILE = SCHEMA["properties"]
OUTCOME_RULE = FILE["outcomes"]["items"]
EXPIRY_RULE = FILE["expiry"]["items"]
WEBHOOK_RULE = FILE["webhooks"]["items"]
WHEN = OUTCOME_RULE["properties"]["when"]
LEVELS: dict[str, tuple[dict[str, Any], str]] = {
    "file": (SCHEMA, f"{HEAD}qqqqq: 1\n"),
    "outcome rule": (OUTCOME_RULE, outcome(more=", qqqqq: 1")),
    "expiry rule": (EXPIRY_RULE, expiry(", after: 1s, qqqqq: 1")),
    "expiry then": (EXPIRY_RULE["properties"]["then"], expiry(", then: {after: 1s, qqqqq: 1}")),
    "outcome when": (WHEN, outcome("{qqqqq: 1}")),
    "expiry when": (
        EXPIRY_RULE["properties"]["when"],
        f"{HEAD}expiry: [{{after: 1s, when: {{qqqqq: 1}}}}]",
    ),
    "amount": (WHEN["properties"]["amount"]["anyOf"][1], outcome("{amount: {gte: 1, qqqqq: 1}}")),
    "step": (
        OUTCOME_RULE["properties"]["then"]["anyOf"][1]["items"],
        outcome(then="[{status: failed, qqqqq: 1}]"),
    ),
    "webhook rule": (WEBHOOK_RULE, webhook(more=", qqqqq: 1")),
    "webhook when": (WEBHOOK_RULE["properties"]["when"], webhook(when="{qqqqq: 1}")),
    "webhook then": (WEBHOOK_RULE["properties"]["then"], webhook("{copies: 2, qqqqq: 1}")),
}


@pytest.mark.parametrize("level", LEVELS)
def test_schema_and_loader_know_the_same_keys(level: str) -> None:
    schema, text_with_unknown_key = LEVELS[level]
    (problem,) = read_scenario(text_with_unknown_key, "case.yaml").problems
    match = re.fullmatch(r".* has no key 'qqqqq'; it can have (.*)", problem.message)
    assert match is not None
    assert set(re.split(", | and ", match[1])) == set(schema["properties"])
    assert schema["additionalProperties"] is False
    assert not is_valid(text_with_unknown_key)


@pytest.mark.parametrize("level", LEVELS)
def test_every_key_has_a_description(level: str) -> None:
    schema, _ = LEVELS[level]
    assert all(member["description"] for member in schema["properties"].values())


@pytest.mark.parametrize("file", sorted(DIRECTORY.glob("*.yaml")), ids=lambda file: file.name)
def test_the_shipped_files_satisfy_the_schema(file: Path) -> None:
    VALIDATOR.validate(yaml.safe_load(file.read_text(encoding="utf-8")))


GOOD = [
    HEAD,
    f"{HEAD}description: x\nenabled: false\noutcomes: []\nexpiry: []\n",
    outcome(),
    outcome(then="handset"),
    outcome("{mode: live, method: telebirr, phone: '0900-000 001'}"),
    outcome("{method: mpesa, phone: ' +251 7 00 00 00 01 '}"),
    outcome("{phone: '00251900000001'}"),
    outcome("{phone: '700000001'}"),
    outcome("{method: other_method}"),
    outcome("{bank: fidel_test, amount: 1}"),
    outcome("{amount: {gte: 1}}"),
    outcome("{amount: {gte: 1, lte: 9007199254740991}}"),
    outcome("{metadata: {}}"),
    outcome("{metadata: {a: b, '1': ''}}"),
    outcome(then="[{status: completed, after: 1.5h}, {status: refunded, after: 2h}]"),
    outcome(then="[{status: failed, reason: wrong_pin}, {status: completed, unusual: true}]"),
    outcome(then="[{status: failed, unusual: true}]"),
    outcome(more=", times: 1000000"),
    expiry(", after: 5s"),
    expiry(", then: {after: 500ms}, times: 2"),
    f"{HEAD}webhooks: []",
    webhook(),
    webhook(more=", times: 3"),
    webhook(when="{mode: live, event: payment.refunded}"),
    webhook("{copies: 1}"),
    webhook("{copies: 100, delay: 1.5s, tamper: body, drop: false}"),
    webhook("{drop: true}"),
    webhook("{drop: true, hold: false, before_response: false}"),
    webhook("{hold: true, copies: 2, tamper: signature, before_response: false}"),
    webhook("{hold: false, delay: 1s}"),
    webhook("{before_response: true, copies: 2, tamper: timestamp, hold: false}"),
    webhook("{before_response: true}", "{mode: test}"),
    webhook("{before_response: true}", "{event: payment.created}"),
    webhook("{before_response: false, hold: true}", "{event: payment.failed}"),
]

BAD = [
    "[]",
    "words",
    "name: case",
    "version: 1",
    "version: 2\nname: case",
    "version: '1'\nname: case",
    "version: true\nname: case",
    "version: 1\nname: Case",
    "version: 1\nname: 7",
    f"version: 1\nname: {'x' * 65}",
    f"{HEAD}description: yes",
    f"{HEAD}enabled: 1",
    f"{HEAD}enabled:",
    f"{HEAD}faults: []",
    f"{HEAD}script: []",
    f"{HEAD}outcomes:",
    f"{HEAD}outcomes: {{}}",
    f"{HEAD}outcomes: [1]",
    f"{HEAD}outcomes: [{{then: []}}]",
    f"{HEAD}outcomes: [{{when: {{}}}}]",
    outcome(""),
    outcome("{mode: tset}"),
    outcome("{method: Telebirr}"),
    outcome("{method: 1}"),
    outcome("{phone: 12345}"),
    outcome("{phone: '12345'}"),
    outcome("{phone: '0800000001'}"),
    outcome("{bank: walia}"),
    outcome("{amount: 0}"),
    outcome("{amount: '1'}"),
    outcome("{amount: 1.5}"),
    outcome("{amount: true}"),
    outcome("{amount: {}}"),
    outcome("{amount: {gte: 9007199254740992}}"),
    outcome("{metadata: []}"),
    outcome("{metadata: {a: 1}}"),
    outcome("{metadata: {a: yes}}"),
    outcome(then="nobody"),
    outcome(then="{status: failed}"),
    outcome(then="[{}]"),
    outcome(then="[{status: complted}]"),
    outcome(then="[{status: pending}]"),
    outcome(then="[{status: processing}]"),
    outcome(then="[{status: expired, unusual: true}]"),
    outcome(then="[{status: failed, reason: bored}]"),
    outcome(then="[{status: completed, reason: timeout}]"),
    outcome(then="[{status: failed, after: 3}]"),
    outcome(then="[{status: failed, after: 3 s}]"),
    outcome(then="[{status: failed, unusual: 1}]"),
    outcome(then=f"[{', '.join(['{status: failed}'] * 101)}]"),
    outcome(more=", times: 0"),
    outcome(more=", times: 1000001"),
    outcome(more=", after: 1s"),
    expiry(""),
    expiry(", after: 5"),
    expiry(", then: 5s"),
    expiry(", then: {}"),
    expiry(", after: 5s, then: {after: 5s}"),
    f"{HEAD}webhooks:",
    f"{HEAD}webhooks: [drop]",
    f"{HEAD}webhooks: [{{when: {{}}}}]",
    f"{HEAD}webhooks: [{{then: {{copies: 2}}}}]",
    webhook(more=", times: 0"),
    webhook(when="{event: completed}"),
    webhook(when="{event: ping}"),
    webhook(when="{mode: tset}"),
    webhook(when="{phone: '0900000001'}"),
    webhook("drop"),
    webhook("{}"),
    webhook("{drop: false}"),
    webhook("{drop: false, hold: false, before_response: false}"),
    webhook("{copies: 0}"),
    webhook("{copies: 101}"),
    webhook("{copies: '2'}"),
    webhook("{copies: false}"),
    webhook("{delay: 5}"),
    webhook("{drop: 1}"),
    webhook("{hold: 30s}"),
    webhook("{tamper: head}"),
    webhook("{tamper: false}"),
    webhook("{drop: true, copies: 1}"),
    webhook("{drop: true, delay: 1s}"),
    webhook("{drop: true, hold: true}"),
    webhook("{drop: true, before_response: true}"),
    webhook("{drop: true, tamper: body}"),
    webhook("{hold: true, delay: 1s}"),
    webhook("{before_response: true, delay: 1s}"),
    webhook("{before_response: true, hold: true}"),
    webhook("{before_response: true}", "{event: payment.completed}"),
]

# What a schema cannot say, or a parser of YAML does not let it see.
ONLY_THE_LOADER_SEES = [
    f"{HEAD}name: case",
    f"{HEAD}enabled: yes",
    outcome("{mode: test, mode: live}"),
    outcome("{method: mpesa, phone: '0900000001'}"),
    outcome("{method: bank_transfer, phone: '0900000001'}"),
    outcome("{method: telebirr, bank: walia_test}"),
    outcome("{amount: {gte: 2, lte: 1}}"),
    outcome("{amount: 0x10}"),
    outcome("{<<: {mode: test}}"),
    outcome(then="[{status: refunded}]"),
    outcome(then="[{status: failed}, {status: completed}]"),
    outcome(then="[{status: completed, after: 2s}, {status: refunded, after: 1s}]"),
    outcome(then="[{status: failed, after: 4000d}]"),
    expiry(", after: 0s"),
    webhook("{delay: 0s}"),
    webhook("{drop: yes}"),
    webhook("{drop: true, drop: true}"),
]


@pytest.mark.parametrize("text", GOOD)
def test_what_the_loader_takes_satisfies_the_schema(text: str) -> None:
    assert loads(text)
    assert is_valid(text)


@pytest.mark.parametrize("text", BAD)
def test_what_the_schema_refuses_the_loader_refuses(text: str) -> None:
    assert not is_valid(text)
    assert not loads(text)


@pytest.mark.parametrize("text", ONLY_THE_LOADER_SEES)
def test_some_mistakes_only_the_loader_sees(text: str) -> None:
    assert is_valid(text)
    assert not loads(text)
