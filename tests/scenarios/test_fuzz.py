"""Reads arbitrary files: the result is a scenario, or a ScenarioError with positions."""

import json
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from emulator.domain.accounts import Mode
from emulator.domain.effects import ApiRequest, Point
from emulator.domain.payment import Reason, Status
from emulator.domain.payment_methods import BANKS
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, Tamper
from emulator.files.yaml_tree import Loader, read_tree
from emulator.scenarios.entries import Notes, ScenarioError
from emulator.scenarios.faults import FAULT_RULE
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.scenario_file import fault_rule_json, scenario_schema
from emulator.scenarios.script import SCRIPT_STEPS
from emulator.scenarios.script_steps import ANSWERS
from emulator.scenarios.values import Scenario

VALIDATOR = Draft202012Validator(scenario_schema())
LOADERS: list[Loader] = [yaml.SafeLoader]
if hasattr(yaml, "CSafeLoader"):
    LOADERS.append(yaml.CSafeLoader)


def read(text: str) -> Scenario | None:
    """The scenario of a text; None after a check of its problems."""
    try:
        return parse_scenario(text, "fuzz.yaml")
    except ScenarioError as error:
        problems = error.problems
    assert problems
    for problem in problems:
        # The end of a text is on a line of its own.
        assert problem.source == "fuzz.yaml", problem
        assert 1 <= problem.line <= len(text.splitlines()) + 1, problem
        assert problem.column >= 1
        assert len(str(problem).splitlines()) == 1, problem
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


STEP_NAMES = st.sampled_from(list(SCRIPT_STEPS))
STEP_VALUES = st.dictionaries(st.sampled_from(STEP_MEMBERS), VALUES, max_size=4) | VALUES
# Texts, and documents of which the reader accepts no more than the schema.
TEXTS: dict[str, st.SearchStrategy[str]] = {
    "text": st.text(),
    "signs of YAML": st.text(alphabet="ab1:-,[]{}&*!|>'\"%#@`?<=~. \n\t\\", max_size=60),
    "values": VALUES.map(lambda value: yaml.safe_dump(value, allow_unicode=True)),
}
DOCUMENTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "known keys": st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8),
    "a script": st.lists(
        st.dictionaries(STEP_NAMES, STEP_VALUES, min_size=1, max_size=2), max_size=3
    ).map(lambda steps: {"script": [{"create": {"as": "order"}}, *steps]}),
}


@pytest.mark.parametrize("kind", TEXTS)
@given(data=st.data())
def test_an_arbitrary_text_is_read_or_has_problems(kind: str, data: st.DataObject) -> None:
    read(data.draw(TEXTS[kind]))


@pytest.mark.parametrize("kind", DOCUMENTS)
@given(data=st.data())
def test_arbitrary_values_are_read_or_have_problems(kind: str, data: st.DataObject) -> None:
    document = {"version": 1, "name": "fuzz", **data.draw(DOCUMENTS[kind])}
    text = yaml.safe_dump(document, sort_keys=False)
    if read(text) is not None:
        VALIDATOR.validate(yaml.safe_load(text))


@given(VALUES | st.dictionaries(st.sampled_from(sorted(FAULT_RULE.keys)), VALUES))
def test_an_arbitrary_fault_is_read_or_has_problems(value: Any) -> None:
    text = yaml.safe_dump(value)
    with suppress(ScenarioError):
        rule = read_fault_rule_text(text, "body")
        assert read_fault_rule_text(json.dumps(fault_rule_json(rule)), "body") == rule


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
    tree = read_tree(text, notes.add, loader=loader)
    assert notes.problems or tree is not None
    assert read(text) is None
