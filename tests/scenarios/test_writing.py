"""What is written is read as the same value, as JSON and as YAML, and satisfies the schema."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from emulator.domain.durations import (
    MAX_DURATION_MS,
    duration_text,
    parse_duration_ms,
    whole_duration_text,
)
from emulator.domain.webhooks import DeliveryEffect
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.scenario_file import (
    SCENARIO,
    checkout_rule_json,
    delivery_fault_json,
    expiry_rule_json,
    fault_rule_json,
    outcome_rule_json,
    scenario_schema,
    step_json,
    webhook_rule_json,
)
from emulator.scenarios.values import Create, Fault, FaultRule, Scenario, Step, WebhookRule
from tests.scenarios.drawn import (
    CHECKOUT_RULES,
    DELIVERY_FAULTS,
    EXPIRY_RULES,
    FAULT_RULES,
    GIVEN,
    NOWHERE,
    OUTCOME_RULES,
    STEPS,
    TEXTS,
    WEBHOOK_RULES,
    nowhere,
)

VALIDATOR = Draft202012Validator(scenario_schema())


def as_json(document: Any) -> str:
    return json.dumps(document)


def as_yaml(document: Any) -> str:
    return yaml.safe_dump(document, sort_keys=False)


WRITERS = st.sampled_from([as_json, as_yaml])
Writer = Callable[[Any], str]


def read_back(section: str, written: list[Any], write: Writer) -> Scenario:
    document = {"version": 1, "name": "case", section: written}
    VALIDATOR.validate(document)
    return parse_scenario(write(document), "case.yaml")


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
    assert {span_ms: whole_duration_text(span_ms) for span_ms in texts} == texts


def test_a_duration_with_a_fraction_of_a_second_is_in_seconds_or_in_milliseconds() -> None:
    assert (duration_text(1_500), whole_duration_text(1_500)) == ("1.5s", "1500ms")
    assert (duration_text(3_600_010), whole_duration_text(3_600_010)) == ("3600.01s", "3600010ms")


RULES: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Any]]] = {
    "outcomes": (OUTCOME_RULES, outcome_rule_json),
    "expiry": (EXPIRY_RULES, expiry_rule_json),
    "checkout": (CHECKOUT_RULES, checkout_rule_json),
    "faults": (FAULT_RULES, fault_rule_json),
    "webhooks": (WEBHOOK_RULES, webhook_rule_json),
}


@pytest.mark.parametrize("section", RULES)
@given(data=st.data(), write=WRITERS)
def test_rules_are_read_as_they_were_written(
    section: str, data: st.DataObject, write: Writer
) -> None:
    strategy, rule_json = RULES[section]
    rules = data.draw(st.lists(strategy, min_size=1, max_size=3))
    read = read_back(section, [rule_json(rule) for rule in rules], write)
    assert getattr(read, section) == tuple(rules)


@given(FAULT_RULES, WRITERS)
def test_a_lone_fault_rule_is_read_as_it_was_written(rule: FaultRule, write: Writer) -> None:
    assert read_fault_rule_text(write(fault_rule_json(rule)), "body") == rule


@given(DELIVERY_FAULTS, WRITERS)
def test_a_delivery_fault_is_read_as_it_was_written(
    fault: Fault[DeliveryEffect], write: Writer
) -> None:
    written = {"when": {}, "then": delivery_fault_json(fault)}
    assert read_back("webhooks", [written], write).webhooks == (WebhookRule(then=fault),)


@given(st.lists(STEPS, max_size=3), WRITERS)
def test_a_script_is_read_as_it_was_written(steps: list[Step], write: Writer) -> None:
    script = [*(Create(place=NOWHERE, name=name) for name in GIVEN), *steps]
    read = read_back("script", [step_json(step) for step in script], write).script
    assert [nowhere(step) for step in read] == script


@given(st.from_regex("[a-z0-9][a-z0-9_-]{0,63}", fullmatch=True), TEXTS, st.booleans(), WRITERS)
def test_the_head_of_a_file_is_read_as_it_was_written(
    name: str, description: str, enabled: bool, write: Writer
) -> None:
    document = {"version": 1, "name": name, "description": description, "enabled": enabled}
    VALIDATOR.validate(document)
    assert parse_scenario(write(document), "case.yaml") == Scenario(
        name=name, description=description, enabled=enabled
    )


# The section, an entry of it, and how it is written where that differs: with its keys in the order
# of their declaration, and without those that are defaults or have no effect.
WRITTEN: list[tuple[str, str, str | None]] = [
    ("outcomes", "{when: {}, then: []}", None),
    ("outcomes", "{when: {}, then: handset}", None),
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
    ("expiry", "{after: 5000ms, when: {}}", "{when: {}, after: 5s}"),
    ("faults", "{then: {truncate: false, drop: true}, when: {}}", "{when: {}, then: {drop: true}}"),
    (
        "faults",
        "{then: {status: 429, retry_after: 1}, when: {}}",
        "{when: {}, then: {status: 429}}",
    ),
    (
        "faults",
        "{then: {truncate: true, point: after_commit}, when: {}}",
        "{when: {}, then: {truncate: true}}",
    ),
    (
        "faults",
        "{times: 1, then: {point: after_commit, truncate: true, latency: 1500ms, retry_after: 30,"
        " status: 503}, when: {every: 3, request: list_payments, mode: live}}",
        "{when: {mode: live, request: list_payments, every: 3}, then: {status: 503,"
        " retry_after: 30, latency: 1.5s, truncate: true, point: after_commit}, times: 1}",
    ),
    ("webhooks", "{when: {}, then: {hold: true}}", None),
    ("webhooks", "{when: {}, then: {copies: 1}}", None),
    (
        "webhooks",
        "{then: {tamper: body, delay: 10s, copies: 2}, when: {event: payment.failed}}",
        "{when: {event: payment.failed}, then: {copies: 2, delay: 10s, tamper: body}}",
    ),
    (
        "webhooks",
        "{when: {}, then: {copies: 1, delay: 10s, tamper: body}}",
        "{when: {}, then: {delay: 10s, tamper: body}}",
    ),
    ("script", "{create: }", "{create: {}}"),
    (
        "script",
        "{create: {unknown: {colour: red}, amount: null, as: third}}",
        "{create: {as: third, amount: null, unknown: {colour: red}}}",
    ),
    ("script", "{retrieve: {payment: order}}", "{retrieve: order}"),
    ("script", "{retrieve: {id: pay_x}}", None),
    ("script", "{list: {after: order, limit: 1}}", "{list: {limit: '1', after: order}}"),
    (
        "script",
        "{pay: {phone: '0700000001', payment: order}}",
        "{pay: {payment: order, method: mpesa, phone: '+251700000001'}}",
    ),
    (
        "script",
        "{answer: {answer: approve, payment: order}}",
        "{answer: {payment: order, answer: approve}}",
    ),
    ("script", "{cancel: {payment: order}}", "{cancel: order}"),
    (
        "script",
        "{transition: {unusual: true, reason: timeout, status: failed, payment: order}}",
        "{transition: {payment: order, status: failed, reason: timeout, unusual: true}}",
    ),
    ("script", "{advance: 0ms}", "{advance: 0s}"),
    ("script", "{advance: next}", None),
    (
        "script",
        "{fault: {times: 1, then: {drop: true}}}",
        "{fault: {when: {}, then: {drop: true}, times: 1}}",
    ),
    (
        "script",
        "{expect: {reason: null, payment: order}}",
        "{expect: {payment: order, reason: null}}",
    ),
    (
        "script",
        "{repeat: {steps: [{cancel: order}], times: 2}}",
        "{repeat: {times: 2, steps: [{cancel: order}]}}",
    ),
]


@pytest.mark.parametrize(("section", "given", "written"), WRITTEN)
def test_an_entry_is_written_in_its_shortest_form_with_its_keys_in_order(
    section: str, given: str, written: str | None
) -> None:
    first = "- create: {as: order}\n" if section == "script" else ""
    text = f"version: 1\nname: case\n{section}:\n{first}- {given}\n"
    entry = SCENARIO.write(parse_scenario(text, "case.yaml"))[section][-1]
    assert as_json(entry) == as_json(yaml.safe_load(written or given))
