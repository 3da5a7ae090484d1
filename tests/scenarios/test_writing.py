"""What is written is read as the same value, as JSON and as YAML, and satisfies the schema."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator
from msgspec import Struct
from msgspec.structs import asdict, replace

from emulator.domain.durations import (
    MAX_DURATION_MS,
    duration_text,
    parse_duration_ms,
)
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.scenario_file import SCENARIO, fault_rule_json, scenario_schema
from emulator.scenarios.values import Place, Scenario
from tests.scenarios.test_format import ESCAPED, TEMPLATES, cases
from tests.tables import rows

SHIPPED = (Path(__file__).parents[2] / "scenarios").glob("*.yaml")
VALIDATOR = Draft202012Validator(scenario_schema())
# Each valid text of `format.txt`, and each shipped file.
TEXTS = [
    *(
        TEMPLATES[section].replace("$", json.loads(text) if section in ESCAPED else text)
        for section, text, verdict, _ in cases()
        if verdict == "valid"
    ),
    *(file.read_text(encoding="utf-8") for file in sorted(SHIPPED)),
]
# What JSON can escape without halves of a character, which YAML does not know.
STRINGS = st.text(
    st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=8
) | st.sampled_from(
    ["1e5", "08", "0700", "yes", "null", "2026-01-01", "=", "<<", "- a", "#", "1.5"]
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | STRINGS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=8,
)


def as_json(document: Any) -> str:
    return json.dumps(document)


def as_yaml(document: Any) -> str:
    return yaml.safe_dump(document, sort_keys=False)


WRITERS = st.sampled_from([as_json, as_yaml])
Writer = Callable[[Any], str]


def nowhere(value: Any) -> Any:
    """The value with one position for all its steps."""
    if isinstance(value, Place):
        return Place(line=1, column=1)
    if isinstance(value, tuple):
        return tuple(map(nowhere, value))
    if isinstance(value, Struct):
        return replace(value, **{name: nowhere(inner) for name, inner in asdict(value).items()})
    return value


def assert_is_read_back(scenario: Scenario, write: Writer) -> None:
    document = {"version": 1, **SCENARIO.write(scenario)}
    VALIDATOR.validate(document)
    assert nowhere(parse_scenario(write(document), "case.yaml")) == nowhere(scenario)


@given(st.integers(0, MAX_DURATION_MS))
def test_a_duration_is_read_as_it_was_written(span_ms: int) -> None:
    assert parse_duration_ms(duration_text(span_ms)) == span_ms


def test_a_duration_has_the_largest_unit_without_a_fraction() -> None:
    texts = {
        0: "0s",
        1: "1ms",
        999: "999ms",
        1_000: "1s",
        30_000: "30s",
        60_000: "1m",
        90_000: "90s",
        3_600_000: "1h",
        5_400_000: "90m",
        86_400_000: "1d",
        90_000_000: "25h",
        MAX_DURATION_MS: "3650d",
    }
    assert {span_ms: duration_text(span_ms) for span_ms in texts} == texts


def test_a_duration_with_a_fraction_of_a_second_is_in_seconds() -> None:
    assert duration_text(1_500) == "1.5s"
    assert duration_text(3_600_010) == "3600.01s"


@pytest.mark.parametrize("write", [as_json, as_yaml])
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.partition("name: ")[2][:60])
def test_a_scenario_is_read_as_it_was_written(text: str, write: Writer) -> None:
    scenario = parse_scenario(text, "case.yaml")
    assert_is_read_back(scenario, write)
    for rule in scenario.faults:
        assert read_fault_rule_text(write(fault_rule_json(rule)), "body") == rule


@given(st.dictionaries(STRINGS, JSON, max_size=4), STRINGS, STRINGS, WRITERS)
def test_any_text_and_any_value_is_read_as_it_was_written(
    members: dict[str, Any], description: str, text: str, write: Writer
) -> None:
    document = {
        "version": 1,
        "name": "case",
        "description": description,
        "expiry": [{"when": {"metadata": {text: description}}, "after": "5s"}],
        "script": [
            {"create": {"as": "order", "unknown": members}},
            {"expect": {"payment": "order", "metadata": members}},
        ],
    }
    scenario = parse_scenario(write(document), "case.yaml")
    assert scenario.description == description
    assert scenario.expiry[0].when.metadata == ((text, description),)
    assert_is_read_back(scenario, write)


# The section, an entry of it, and how it is written where that differs: with its keys in the order
# of their declaration, and without those that are defaults or have no effect.
WRITTEN: list[tuple[str, str, str | None]] = [
    *rows(__file__, "rules"),
    (
        "outcomes",
        "{times: 2, then: [{reason: timeout, after: 30s, status: failed},"
        " {unusual: true, status: completed, after: 60s}], when: {metadata: {a: b},"
        " amount: {lte: 200, gte: 100}, phone: '0900000001', method: telebirr, mode: test}}",
        "{when: {mode: test, method: telebirr, phone: '+251900000001',"
        " amount: {gte: 100, lte: 200}, metadata: {a: b}},"
        " then: [{after: 30s, status: failed, reason: timeout},"
        " {after: 1m, status: completed, unusual: true}], times: 2}",
    ),
    (
        "faults",
        "{times: 1, then: {point: after_commit, truncate: true, latency: 1500ms, retry_after: 30,"
        " status: 503}, when: {every: 3, request: list_payments, mode: live}}",
        "{when: {mode: live, request: list_payments, every: 3}, then: {status: 503,"
        " retry_after: 30, latency: 1.5s, truncate: true, point: after_commit}, times: 1}",
    ),
]


@pytest.mark.parametrize(("section", "given", "written"), WRITTEN)
def test_a_rule_is_written_in_its_shortest_form_with_its_keys_in_order(
    section: str, given: str, written: str | None
) -> None:
    text = f"version: 1\nname: case\n{section}:\n- {given}\n"
    [rule] = SCENARIO.write(parse_scenario(text, "case.yaml"))[section]
    assert as_json(rule) == as_json(yaml.safe_load(written or given))
