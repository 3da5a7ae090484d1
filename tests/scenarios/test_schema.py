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


def fault(then: str = "{drop: true}", when: str = "{}", more: str = "") -> str:
    return f"{HEAD}faults:\n  - {{when: {when}, then: {then}{more}}}\n"


def step(text: str) -> str:
    return f"{HEAD}script:\n  - create: {{as: order}}\n  - {text}\n"


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


FILE = SCHEMA["properties"]
OUTCOME_RULE = FILE["outcomes"]["items"]
EXPIRY_RULE = FILE["expiry"]["items"]
WEBHOOK_RULE = FILE["webhooks"]["items"]
WHEN = OUTCOME_RULE["properties"]["when"]
FAULT_RULE = FILE["faults"]["items"]
SCRIPT_STEP = SCHEMA["$defs"]["script_step"]
STEPS = SCRIPT_STEP["properties"]
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
    "fault rule": (FAULT_RULE, fault(more=", qqqqq: 1")),
    "fault when": (FAULT_RULE["properties"]["when"], fault(when="{qqqqq: 1}")),
    "fault then": (FAULT_RULE["properties"]["then"], fault("{drop: true, qqqqq: 1}")),
    "create": (STEPS["create"], step("create: {qqqqq: 1}")),
    "retrieve": (STEPS["retrieve"]["anyOf"][1], step("retrieve: {payment: order, qqqqq: 1}")),
    "list": (STEPS["list"], step("list: {qqqqq: 1}")),
    "pay": (STEPS["pay"], step("pay: {payment: order, bank: walia_test, qqqqq: 1}")),
    "answer": (STEPS["answer"], step("answer: {payment: order, answer: approve, qqqqq: 1}")),
    "cancel": (STEPS["cancel"]["anyOf"][1], step("cancel: {payment: order, qqqqq: 1}")),
    "transition": (
        STEPS["transition"],
        step("transition: {payment: order, status: failed, qqqqq: 1}"),
    ),
    "fault": (STEPS["fault"], step("fault: {then: {drop: true}, qqqqq: 1}")),
    "repeat": (STEPS["repeat"], step("repeat: {times: 1, steps: [{list: }], qqqqq: 1}")),
}


def offered_by(message: str) -> set[str]:
    match = re.fullmatch(r".* has no key 'qqqqq'; it can have (.*)", message)
    assert match is not None
    return set(re.split(", | and ", match[1]))


@pytest.mark.parametrize("level", LEVELS)
def test_schema_and_loader_know_the_same_keys(level: str) -> None:
    schema, text_with_unknown_key = LEVELS[level]
    (problem,) = read_scenario(text_with_unknown_key, "case.yaml").problems
    assert offered_by(problem.message) == set(schema["properties"])
    assert schema["additionalProperties"] is False
    assert not is_valid(text_with_unknown_key)


def test_schema_and_loader_know_the_same_steps() -> None:
    (problem,) = read_scenario(step("qqqqq: 1"), "case.yaml").problems
    prefix = "there is no step 'qqqqq'; there are "
    assert set(re.split(", | and ", problem.message.removeprefix(prefix))) == set(STEPS)
    assert SCRIPT_STEP["additionalProperties"] is False


def test_schema_and_loader_expect_the_same() -> None:
    expect = STEPS["expect"]
    beside = {
        "": set(expect["properties"]) - set(expect["else"]["properties"]),
        "payment: order, ": set(expect["properties"]) - set(expect["then"]["properties"]),
    }
    for payment, keys in beside.items():
        text = step(f"expect: {{{payment}qqqqq: 1}}")
        (problem,) = read_scenario(text, "case.yaml").problems
        assert offered_by(problem.message) == keys
        assert not is_valid(text)
    assert expect["additionalProperties"] is False


DESCRIBED = [*(schema for schema, _ in LEVELS.values()), SCRIPT_STEP, STEPS["expect"]]


@pytest.mark.parametrize("schema", DESCRIBED, ids=[*LEVELS, "step", "expect"])
def test_every_key_has_a_description(schema: dict[str, Any]) -> None:
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
    f"{HEAD}faults: []",
    fault(),
    fault(more=", times: 3"),
    fault(when="{mode: live, request: any}"),
    fault(when="{request: create_payment, nth: 2}"),
    fault(when="{every: 1000000}"),
    fault(when="{chance: 0.3}"),
    fault(when="{chance: 1}"),
    fault("{status: 400}"),
    fault("{status: 429, retry_after: 30}"),
    fault("{status: 503, retry_after: 30s, latency: 1.5s, point: after_commit, drop: false}"),
    fault("{status: 500, truncate: true, point: before_commit}"),
    fault("{truncate: true}"),
    fault("{truncate: true, point: after_commit}"),
    fault("{truncate: false, latency: 1s, point: before_commit}"),
    fault("{drop: true, truncate: false, latency: 5m, point: after_commit}"),
    f"{HEAD}script: []",
    step("create:"),
    step("create: {}"),
    step("create: {as: other, amount: -5, currency: null, methods: 7, metadata: [x]}"),
    step("create: {unknown: {colour: {a: 1}}}"),
    step("retrieve: order"),
    step("retrieve: {payment: order}"),
    step("retrieve: {id: pay_x}"),
    step("list:"),
    step("list: {limit: -1, status: x, method: true, created_gte: '', after: order}"),
    step("pay: {payment: order, phone: '0900000001'}"),
    step("pay: {payment: order, method: mpesa, phone: '0700000001'}"),
    step("pay: {payment: order, bank: fidel_test, method: bank_transfer}"),
    step("pay: {payment: order, method: cbe_birr}"),
    step("answer: {payment: order, answer: decline}"),
    step("cancel: order"),
    step("cancel: {payment: order}"),
    step("transition: {payment: order, status: failed, reason: timeout, method: mpesa}"),
    step("transition: {payment: order, status: completed, unusual: true}"),
    step("advance: 0s"),
    step("advance: next"),
    step("fault: {then: {drop: true}}"),
    step("fault: {when: {nth: 1}, then: {status: 500}, times: 2}"),
    step("expect: {payment: order, status: failed, reason: null, method: null, same_as: order}"),
    step("expect: {payment: order, events: [], webhooks: [payment.created], forged: []}"),
    step("expect: {http_status: 429, code: null, param: amount, retry_after: 1, lost: false}"),
    step("expect: {retry_after: null, replayed: true, payments: [order], has_more: true}"),
    step("expect: {id: 1, object: x, amount: {}, metadata: [], completed_at: null}"),
    step("repeat: {times: 10000, steps: [{repeat: {times: 1, steps: [{list: }]}}]}"),
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
    f"{HEAD}faults:",
    f"{HEAD}faults: [drop]",
    f"{HEAD}faults: [{{when: {{}}}}]",
    f"{HEAD}faults: [{{then: {{drop: true}}}}]",
    fault(more=", times: 0"),
    fault(when="{request: POST}"),
    fault(when="{event: payment.failed}"),
    fault(when="{nth: 0}"),
    fault(when="{nth: 1000001}"),
    fault(when="{every: x}"),
    fault(when="{chance: 0}"),
    fault(when="{chance: 1.1}"),
    fault(when="{chance: '0.5'}"),
    fault(when="{nth: 1, every: 1}"),
    fault(when="{every: 1, chance: 1}"),
    fault(when="{nth: 1, chance: 1}"),
    fault("drop"),
    fault("{}"),
    fault("{drop: false}"),
    fault("{point: after_commit}"),
    fault("{point: after_commit, truncate: false}"),
    fault("{status: 399}"),
    fault("{status: 600}"),
    fault("{status: '500'}"),
    fault("{status: 429, retry_after: 0}"),
    fault("{status: 429, retry_after: 86401}"),
    fault("{status: 429, retry_after: soon}"),
    fault("{status: 429, retry_after: 0s}"),
    fault("{status: 429, retry_after: 1500ms}"),
    fault("{latency: 6m}"),
    fault("{latency: 0s}"),
    fault("{latency: 0.5ms}"),
    fault("{latency: 1.0005s}"),
    expiry(", after: 0.0s"),
    expiry(", after: 0s"),
    webhook("{delay: 0s}"),
    fault("{retry_after: 30}"),
    fault("{latency: 1s, retry_after: 30}"),
    fault("{latency: 5}"),
    fault("{drop: 1}"),
    fault("{truncate: 1}"),
    fault("{drop: true, point: after}"),
    fault("{drop: true, status: 500}"),
    fault("{drop: true, truncate: true}"),
    fault("{truncate: true, point: before_commit}"),
    f"{HEAD}script:",
    f"{HEAD}script: {{list: }}",
    step("cancel"),
    step("{}"),
    step("{list: , create: }"),
    step("create: order"),
    step("create: {as: Order}"),
    step("create: {as: 7}"),
    step("create: {unknown: 1}"),
    step("create: {unknown: {amount: 1}}"),
    step("retrieve:"),
    step("retrieve: {}"),
    step("retrieve: {id: ''}"),
    step("retrieve: {payment: order, id: pay_x}"),
    step("list: {limit: }"),
    step("list: {limit: [1]}"),
    step("list: {after: 7}"),
    step("pay: order"),
    step("pay: {payment: order}"),
    step("pay: {phone: '0900000001'}"),
    step("pay: {payment: order, method: telebirr}"),
    step("pay: {payment: order, method: bank_transfer}"),
    step("pay: {payment: order, method: bank_transfer, phone: '0900000001'}"),
    step("pay: {payment: order, method: mpesa, bank: walia_test}"),
    step("pay: {payment: order, phone: '0900000001', bank: walia_test}"),
    step("answer: {payment: order}"),
    step("answer: {payment: order, answer: maybe}"),
    step("cancel: {}"),
    step("cancel:"),
    step("transition: {payment: order}"),
    step("transition: {payment: order, status: pending}"),
    step("transition: {payment: order, status: completed, reason: timeout}"),
    step("transition: {payment: order, status: failed, unusual: 1}"),
    step("advance: 30"),
    step("advance: soon"),
    step("fault: {when: {}}"),
    step("fault: {then: {}}"),
    step("expect: {}"),
    step("expect: {payment: order}"),
    step("expect: {status: paid}"),
    step("expect: {reason: bored}"),
    step("expect: {events: payment.created}"),
    step("expect: {events: [created]}"),
    step("expect: {http_status: 99}"),
    step("expect: {code: 1}"),
    step("expect: {retry_after: -1}"),
    step("expect: {replayed: 1}"),
    step("expect: {payments: order}"),
    step("expect: {payment: order, http_status: 200}"),
    step("expect: {payment: order, payments: []}"),
    step("expect: {same_as: order}"),
    step("repeat: {times: 0, steps: [{list: }]}"),
    step("repeat: {times: 10001, steps: [{list: }]}"),
    step("repeat: {times: 1, steps: []}"),
    step("repeat: {times: 1, steps: [{zzz: }]}"),
    f"{HEAD}script: [{', '.join(['{list: }'] * 1001)}]",
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
    webhook("{drop: yes}"),
    webhook("{drop: true, drop: true}"),
    fault("{status: 429, retry_after: 0.33m}"),
    fault("{latency: 0.09h}"),
    step("cancel: other"),
    step("create: {amount: 0x10}"),
    step("create: {amount: yes}"),
    step("pay: {payment: order, method: telebirr, phone: '0700000001'}"),
    step("expect: {payment: order, same_as: other}"),
    step(f"repeat: {{times: 9999, steps: [{', '.join(['{list: }'] * 11)}]}}"),
    step(
        "repeat: {times: 1, steps: [{repeat: {times: 1, steps: [{repeat: {times: 1, steps: "
        "[{repeat: {times: 1, steps: [{list: }]}}]}}]}}]}"
    ),
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
