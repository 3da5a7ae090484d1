"""Whatever a file holds, reading it gives a scenario or a ScenarioError that says where."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from emulator.domain.accounts import Mode
from emulator.domain.faults import ApiRequest, Point
from emulator.domain.outcomes import Handset, Scripted
from emulator.domain.payment import Reason, Status
from emulator.domain.payment_methods import BANKS
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, Tamper
from emulator.scenarios.faults import FAULT_RULE
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.problems import Notes, ScenarioError
from emulator.scenarios.scenario_file import fault_rule_json, scenario_schema, step_json
from emulator.scenarios.script import SCRIPT_STEPS
from emulator.scenarios.script_steps import ANSWERS
from emulator.scenarios.values import Scenario
from emulator.scenarios.yaml_tree import Loader, read_tree
from tests.scenarios.drawn import FAULT_RULES, GIVEN, delivery_fault, nowhere
from tests.scenarios.drawn import STEPS as SCRIPT_STEP_VALUES

VALIDATOR = Draft202012Validator(scenario_schema())
SHIPPED = [
    file.read_text(encoding="utf-8")
    for file in sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))
]
LOADERS: list[Loader] = [yaml.SafeLoader]
if hasattr(yaml, "CSafeLoader"):
    LOADERS.append(yaml.CSafeLoader)


def read(text: str) -> Scenario | None:
    """The scenario, or None after a look at the problems: they must be sayable and in place."""
    try:
        return parse_scenario(text, "fuzz.yaml")
    except ScenarioError as error:
        problems = error.problems
    assert problems
    for problem in problems:
        assert problem.source == "fuzz.yaml"
        assert 1 <= problem.line <= len(text.splitlines()) + 1
        assert problem.column >= 1
        assert len(str(problem).splitlines()) == 1
        str(problem).encode()
    return None


def keys_in(schema: Any) -> set[str]:
    """Every key that a schema describes."""
    parts = list(schema.values()) if isinstance(schema, dict) else schema
    inner = [keys_in(part) for part in parts if isinstance(part, dict | list)]
    own = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return {*own, *(key for keys in inner for key in keys)}


STEP_MEMBERS = sorted(keys_in(scenario_schema()["$defs"]) - SCRIPT_STEPS.keys())
KEYS = sorted(keys_in(scenario_schema()["properties"]) | {"<<", "tes"})
WORDS = [
    *Mode, *Status, *Reason, *BANKS, *EVENT_TYPES_IN_ORDER, *Tamper, "telebirr", "mpesa", "handset",
    *ApiRequest, "any", *Point, *ANSWERS, "next", "order", "1e5", "0700",
    "case", "5s", "0s", "1.5h", "0900000001", "+251700000001", "yes", "", "é\u2028ሀ",
]  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.dates()
    | st.binary(max_size=8)
    | st.text(max_size=20)
    | st.sampled_from([str(word) for word in WORDS])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | SCALARS, inner, max_size=5)
    ),
    max_leaves=30,
)


@given(st.text())
def test_arbitrary_text_is_refused_in_words_or_read(text: str) -> None:
    read(text)


@given(st.text(alphabet="ab1:-,[]{}&*!|>'\"%#@`?<=~. \n\t\\", max_size=60))
def test_arbitrary_signs_of_yaml_are_refused_in_words_or_read(text: str) -> None:
    read(text)


@given(VALUES)
def test_arbitrary_values_are_refused_in_words_or_read(value: Any) -> None:
    read(yaml.safe_dump(value, allow_unicode=True))


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8))
def test_arbitrary_values_under_known_keys_are_refused_in_words_or_read(value: Any) -> None:
    text = yaml.safe_dump({"version": 1, "name": "fuzz", **value}, sort_keys=False)
    if read(text) is not None:
        VALIDATOR.validate(yaml.safe_load(text))


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(list(SCRIPT_STEPS)),
            st.dictionaries(st.sampled_from(STEP_MEMBERS), VALUES, max_size=4) | VALUES,
            min_size=1,
            max_size=2,
        ),
        max_size=3,
    )
)
def test_arbitrary_values_in_a_script_are_refused_in_words_or_read(steps: Any) -> None:
    script = [{"create": {"as": "order"}}, *steps]
    text = yaml.safe_dump({"version": 1, "name": "fuzz", "script": script}, sort_keys=False)
    if read(text) is not None:
        VALIDATOR.validate(yaml.safe_load(text))


@given(VALUES | st.dictionaries(st.sampled_from(sorted(FAULT_RULE.keys)), VALUES))
def test_an_arbitrary_fault_is_refused_in_words_or_read(value: Any) -> None:
    text = yaml.safe_dump(value)
    with suppress(ScenarioError):
        rule = read_fault_rule_text(text, "body")
        assert read_fault_rule_text(json.dumps(fault_rule_json(rule)), "body") == rule


WEBHOOK_THENS = st.fixed_dictionaries(
    {},
    optional={
        "copies": st.integers(0, 101),
        "delay": st.integers(1, 10_000).map(lambda span_ms: f"{span_ms}ms"),
        "drop": st.booleans(),
        "hold": st.booleans(),
        "before_response": st.booleans(),
        "tamper": st.sampled_from(list(Tamper)).map(str),
    },
)


@given(
    st.fixed_dictionaries(
        {
            "when": st.fixed_dictionaries(
                {}, optional={"event": st.sampled_from(EVENT_TYPES_IN_ORDER)}
            ),
            "then": WEBHOOK_THENS,
        }
    )
)
def test_loader_and_schema_agree_on_which_webhook_faults_go_together(rule: Any) -> None:
    document = {"version": 1, "name": "fuzz", "webhooks": [rule]}
    is_read = read(yaml.safe_dump(document)) is not None
    assert VALIDATOR.is_valid(document) is is_read


FAULT_THENS = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from([399, 400, 429, 500, 599, 600]),
        "retry_after": st.integers(0, 3) | st.sampled_from(["1s", "2m", 86_400, 86_401]),
        "latency": st.integers(1, 10_000).map(lambda span_ms: f"{span_ms}ms"),
        "drop": st.booleans(),
        "truncate": st.booleans(),
        "point": st.sampled_from(list(Point)).map(str),
    },
)
FAULT_WHENS = st.fixed_dictionaries(
    {},
    optional={
        "request": st.sampled_from([*ApiRequest, "any"]).map(str),
        "nth": st.integers(0, 3),
        "every": st.integers(0, 3),
        "chance": st.floats(-0.5, 1.5) | st.integers(0, 2),
    },
)


@given(FAULT_THENS)
def test_loader_and_schema_agree_on_which_faults_go_together(then: Any) -> None:
    document = {"version": 1, "name": "fuzz", "faults": [{"when": {}, "then": then}]}
    is_read = read(yaml.safe_dump(document)) is not None
    assert VALIDATOR.is_valid(document) is is_read


@given(FAULT_WHENS)
def test_loader_and_schema_agree_on_how_requests_are_counted(when: Any) -> None:
    document = {"version": 1, "name": "fuzz", "faults": [{"when": when, "then": {"drop": True}}]}
    is_read = read(yaml.safe_dump(document)) is not None
    assert VALIDATOR.is_valid(document) is is_read


PAYS = st.fixed_dictionaries(
    {"payment": st.just("order")},
    optional={
        "method": st.sampled_from(["telebirr", "bank_transfer", "cbe_birr"]),
        "phone": st.just("0900000001"),
        "bank": st.sampled_from(list(BANKS)),
    },
)
TRANSITIONS = st.fixed_dictionaries(
    {"payment": st.just("order"), "status": st.sampled_from(list(Status)).map(str)},
    optional={"reason": st.sampled_from(list(Reason)).map(str), "unusual": st.booleans()},
)
EXPECTS = st.fixed_dictionaries(
    {},
    optional={
        "payment": st.just("order"),
        "status": st.just("failed"),
        "same_as": st.just("order"),
        "http_status": st.integers(99, 600),
        "payments": st.just(["order"]),
        "lost": st.booleans(),
    },
)


@given(
    st.fixed_dictionaries({"pay": PAYS})
    | st.fixed_dictionaries({"transition": TRANSITIONS})
    | st.fixed_dictionaries({"expect": EXPECTS})
)
def test_loader_and_schema_agree_on_which_members_of_a_step_go_together(step: Any) -> None:
    script = [{"create": {"as": "order"}}, step]
    document = {"version": 1, "name": "fuzz", "script": script}
    is_read = read(yaml.safe_dump(document)) is not None
    assert VALIDATOR.is_valid(document) is is_read


@given(st.data())
def test_a_shipped_file_with_a_piece_cut_or_put_in_is_refused_in_words_or_read(
    data: st.DataObject,
) -> None:
    text = data.draw(st.sampled_from(SHIPPED))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    piece = data.draw(st.text(alphabet="ab1:-,[]{}&*!'\" \n\t#", max_size=5))
    read(text[:start] + piece + text[end:])


@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.__name__)
@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "- " * 100_000,
        "{a: " * 50_000,
        "? " * 100_000,
        '"\\U00110000"',
        '"\\ud800"',
        f"%YAML 1.{'9' * 5000}\n---\na",
        "%TAG ! %ff\n--- !x b",
        "!<a%zz> b",
        "a: *b",
        "&a [*a]",
        "%YAML 2.0\n---\na",
        "version: " + "9" * 5000,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_hostile_text_is_refused_by_either_parser(text: str, loader: Loader) -> None:
    notes = Notes("fuzz.yaml")
    tree = read_tree(text, notes, loader=loader)
    assert notes.problems or tree is not None
    assert read(text) is None


WHENS = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(list(Mode)).map(str),
        "amount": st.integers(1, 2**53 - 1)
        | st.fixed_dictionaries({"gte": st.integers(1, 500), "lte": st.integers(500, 900)}),
        "metadata": st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
    },
) | st.sampled_from(
    [
        {"method": "telebirr", "phone": "0900 000 001"},
        {"method": "mpesa", "phone": "+251-700000001"},
        {"method": "bank_transfer", "bank": "semien_test"},
    ]
)
REASONS = st.sampled_from(list(Reason)).map(str)
FAILED = st.fixed_dictionaries({"status": st.just("failed")}, optional={"reason": REASONS})
COMPLETED = st.just({"status": "completed"})
LATE = st.just({"status": "completed", "unusual": True})
REFUNDED = st.just({"status": "refunded"})
STEPS = st.one_of(
    st.tuples(), st.tuples(COMPLETED), st.tuples(FAILED), st.tuples(FAILED, LATE, REFUNDED)
).map(lambda steps: [{**step, "after": f"{n}s"} for n, step in enumerate(steps)])
OUTCOME_RULES = st.fixed_dictionaries(
    {"when": WHENS, "then": st.just("handset") | STEPS}, optional={"times": st.integers(1, 99)}
)
EXPIRY_RULES = st.fixed_dictionaries(
    {"when": WHENS, "after": st.integers(1, 10_000).map(lambda span_ms: f"{span_ms}ms")},
    optional={"times": st.integers(1, 99)},
)
OFF = st.just({}) | st.sampled_from(["drop", "hold", "before_response"]).map(
    lambda key: {key: False}
)
MULTIPLIED = {
    "copies": st.integers(1, 100),
    "tamper": st.sampled_from(list(Tamper)).map(str),
}
DELAYED = {"delay": st.integers(1, 10_000).map(lambda span_ms: f"{span_ms}ms")}
DELIVERY_FAULTS = st.one_of(
    st.just({"drop": True}),
    st.fixed_dictionaries(DELAYED, optional=MULTIPLIED),
    st.fixed_dictionaries({"hold": st.just(True)}, optional=MULTIPLIED),
    st.fixed_dictionaries(MULTIPLIED),
)
WEBHOOK_RULES = st.fixed_dictionaries(
    {
        "when": st.fixed_dictionaries(
            {},
            optional={
                "mode": st.sampled_from(list(Mode)).map(str),
                "event": st.sampled_from(EVENT_TYPES_IN_ORDER),
            },
        ),
        "then": st.builds(lambda off, fault: {**off, **fault}, OFF, DELIVERY_FAULTS),
    },
    optional={"times": st.integers(1, 99)},
) | st.fixed_dictionaries(
    {
        "when": st.sampled_from([{}, {"event": "payment.created"}]),
        "then": st.fixed_dictionaries({"before_response": st.just(True)}, optional=MULTIPLIED),
    }
)
SCENARIOS = st.fixed_dictionaries(
    {"version": st.just(1), "name": st.from_regex("[a-z0-9][a-z0-9_-]{0,63}", fullmatch=True)},
    optional={
        "description": st.text(max_size=20),
        "enabled": st.booleans(),
        "outcomes": st.lists(OUTCOME_RULES, max_size=4),
        "expiry": st.lists(EXPIRY_RULES, max_size=4),
        "webhooks": st.lists(WEBHOOK_RULES, max_size=4),
        "faults": st.lists(FAULT_RULES.map(fault_rule_json), max_size=4),
        "script": st.lists(SCRIPT_STEP_VALUES.map(step_json), max_size=4).map(
            lambda steps: [*({"create": {"as": name}} for name in GIVEN), *steps]
        ),
    },
)


@given(SCENARIOS)
def test_every_well_formed_scenario_is_read_as_it_was_written(document: dict[str, Any]) -> None:
    VALIDATOR.validate(document)
    scenario = parse_scenario(yaml.safe_dump(document), "fuzz.yaml")
    assert scenario.name == document["name"]
    assert scenario.enabled == document.get("enabled", True)
    assert scenario.description == document.get("description", "")
    for rule, written in zip(scenario.outcomes, document.get("outcomes", []), strict=True):
        assert rule.times == written.get("times")
        assert dict(rule.when.metadata) == written["when"].get("metadata", {})
        assert rule.when.mode == written["when"].get("mode")
        if written["then"] == "handset":
            assert rule.then == Handset()
        else:
            assert isinstance(rule.then, Scripted)
            assert [step.status for step in rule.then.steps] == [
                step["status"] for step in written["then"]
            ]
            assert [step.reason for step in rule.then.steps] == [
                step.get("reason") for step in written["then"]
            ]
    for expiry, written in zip(scenario.expiry, document.get("expiry", []), strict=True):
        assert f"{expiry.after_ms}ms" == written["after"]
    for webhook, written in zip(scenario.webhooks, document.get("webhooks", []), strict=True):
        assert webhook.times == written.get("times")
        assert webhook.when.mode == written["when"].get("mode")
        assert webhook.when.event == written["when"].get("event")
        settings = dict(written["then"])
        delay_ms = int(settings.pop("delay", "0ms").removesuffix("ms"))
        assert webhook.then == delivery_fault(delay=delay_ms, **settings)
    assert [fault_rule_json(fault) for fault in scenario.faults] == document.get("faults", [])
    assert [step_json(step) for step in scenario.script] == document.get("script", [])


def without_places(scenario: Scenario) -> Scenario:
    return replace(scenario, script=tuple(nowhere(step) for step in scenario.script))


@given(SCENARIOS)
def test_json_without_escapes_is_read_like_yaml(document: dict[str, Any]) -> None:
    as_yaml = parse_scenario(yaml.safe_dump(document, sort_keys=False), "fuzz.yaml")
    try:
        as_json = parse_scenario(json.dumps(document, indent=1), "fuzz.json")
        assert without_places(as_json) == without_places(as_yaml)
    except ScenarioError:
        # JSON escapes a character beyond U+FFFF as two halves, which YAML does not know.
        assert "\\ud" in json.dumps(document)
