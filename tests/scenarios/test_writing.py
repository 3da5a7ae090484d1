"""What is written is read as the same value, as JSON and as YAML, and satisfies the schema."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from emulator.domain.accounts import Mode
from emulator.domain.durations import (
    MAX_DURATION_MS,
    duration_text,
    parse_duration_ms,
    whole_duration_text,
)
from emulator.domain.faults import ApiRequest, Point
from emulator.domain.outcomes import Handset, Scripted
from emulator.domain.outcomes import Step as OutcomeStep
from emulator.domain.payment import Reason, Status
from emulator.domain.webhooks import DeliveryEffect, Tamper
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.scenario_file import (
    checkout_rule_json,
    delivery_fault_json,
    expiry_rule_json,
    fault_rule_json,
    outcome_rule_json,
    scenario_schema,
    step_json,
    webhook_rule_json,
)
from emulator.scenarios.values import (
    AddFault,
    Advance,
    AmountRange,
    Cancel,
    Create,
    CustomerAnswer,
    Expect,
    ExpiryRule,
    Fault,
    FaultRule,
    FaultWhen,
    FieldCheck,
    List,
    OutcomeRule,
    Pay,
    Repeat,
    Retrieve,
    Scenario,
    Step,
    Transition,
    WebhookRule,
    WebhookWhen,
    When,
)
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
    delivery_fault,
    nowhere,
    request_fault,
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


@pytest.mark.parametrize(
    ("span_ms", "text"),
    [
        (0, "0s"),
        (1, "1ms"),
        (999, "999ms"),
        (1_000, "1s"),
        (30_000, "30s"),
        (60_000, "1m"),
        (90_000, "90s"),
        (3_600_000, "1h"),
        (5_400_000, "90m"),
        (86_400_000, "1d"),
        (90_000_000, "25h"),
        (MAX_DURATION_MS, "3650d"),
    ],
)
def test_a_duration_has_the_largest_unit_without_a_fraction(span_ms: int, text: str) -> None:
    assert duration_text(span_ms) == whole_duration_text(span_ms) == text


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


def test_defaults_are_not_written() -> None:
    assert outcome_rule_json(OutcomeRule(then=Scripted(steps=())))["then"] == []
    assert outcome_rule_json(OutcomeRule(then=Handset())) == {"when": {}, "then": "handset"}
    assert expiry_rule_json(ExpiryRule(after_ms=5_000)) == {"when": {}, "after": "5s"}
    assert fault_rule_json(FaultRule(then=request_fault(drop=True))) == {
        "when": {},
        "then": {"drop": True},
    }
    assert webhook_rule_json(WebhookRule(then=delivery_fault(hold=True))) == {
        "when": {},
        "then": {"hold": True},
    }
    assert delivery_fault_json(delivery_fault(copies=1)) == {"copies": 1}
    assert step_json(Create(place=NOWHERE)) == {"create": {}}
    too_many = FaultRule(then=request_fault(status=429, retry_after=1))
    assert fault_rule_json(too_many)["then"] == {"status": 429}
    half = FaultRule(then=request_fault(truncate=True, point=Point.AFTER_COMMIT))
    assert fault_rule_json(half)["then"] == {"truncate": True}


def test_keys_are_written_in_the_order_of_their_declaration() -> None:
    when = When(
        mode=Mode.TEST,
        method="telebirr",
        phone="+251900000001",
        amount=AmountRange(gte=100, lte=200),
        metadata=(("a", "b"),),
    )
    steps = (
        OutcomeStep(status=Status.FAILED, after_ms=30_000, reason=Reason.TIMEOUT),
        OutcomeStep(status=Status.COMPLETED, after_ms=60_000, unusual=True),
    )
    rule = OutcomeRule(when=when, then=Scripted(steps=steps), times=2)
    assert as_json(outcome_rule_json(rule)) == as_json(
        {
            "when": {
                "mode": "test",
                "method": "telebirr",
                "phone": "+251900000001",
                "amount": {"gte": 100, "lte": 200},
                "metadata": {"a": "b"},
            },
            "then": [
                {"after": "30s", "status": "failed", "reason": "timeout"},
                {"after": "1m", "status": "completed", "unusual": True},
            ],
            "times": 2,
        }
    )
    fault = FaultRule(
        when=FaultWhen(mode=Mode.LIVE, request=ApiRequest.LIST_PAYMENTS, every=3),
        then=request_fault(
            status=503,
            retry_after=30,
            latency=1_500,
            truncate=True,
            point=Point.AFTER_COMMIT,
        ),
        times=1,
    )
    assert as_json(fault_rule_json(fault)) == as_json(
        {
            "when": {"mode": "live", "request": "list_payments", "every": 3},
            "then": {
                "status": 503,
                "retry_after": 30,
                "latency": "1.5s",
                "truncate": True,
                "point": "after_commit",
            },
            "times": 1,
        }
    )
    webhook = WebhookRule(
        when=WebhookWhen(event="payment.failed"),
        then=delivery_fault(copies=2, delay=10_000, tamper=Tamper.BODY),
    )
    assert as_json(webhook_rule_json(webhook)) == as_json(
        {
            "when": {"event": "payment.failed"},
            "then": {"copies": 2, "delay": "10s", "tamper": "body"},
        }
    )


def test_a_setting_without_an_effect_is_not_written() -> None:
    fault = delivery_fault(copies=1, delay=10_000, tamper=Tamper.BODY)
    assert webhook_rule_json(WebhookRule(then=fault))["then"] == {"delay": "10s", "tamper": "body"}


ORDER = {"place": NOWHERE, "payment": "order"}


@pytest.mark.parametrize(
    ("step", "written"),
    [
        (
            Create(place=NOWHERE, name="order", members=(("colour", "red"), ("amount", None))),
            {"create": {"as": "order", "amount": None, "unknown": {"colour": "red"}}},
        ),
        (Retrieve(**ORDER), {"retrieve": "order"}),
        (Retrieve(place=NOWHERE, id="pay_x"), {"retrieve": {"id": "pay_x"}}),
        (
            List(place=NOWHERE, query=(("limit", "1"),), after="order"),
            {"list": {"limit": "1", "after": "order"}},
        ),
        (
            Pay(**ORDER, method="mpesa", phone="+251700000001"),
            {"pay": {"payment": "order", "method": "mpesa", "phone": "+251700000001"}},
        ),
        (
            CustomerAnswer(**ORDER, answer="approve"),
            {"answer": {"payment": "order", "answer": "approve"}},
        ),
        (Cancel(**ORDER), {"cancel": "order"}),
        (
            Transition(**ORDER, status=Status.FAILED, reason=Reason.TIMEOUT, unusual=True),
            {
                "transition": {
                    "payment": "order",
                    "status": "failed",
                    "reason": "timeout",
                    "unusual": True,
                }
            },
        ),
        (Advance(place=NOWHERE, by_ms=0), {"advance": "0s"}),
        (Advance(place=NOWHERE, by_ms=None), {"advance": "next"}),
        (
            AddFault(place=NOWHERE, rule=FaultRule(then=request_fault(drop=True), times=1)),
            {"fault": {"when": {}, "then": {"drop": True}, "times": 1}},
        ),
        (
            Expect(**ORDER, checks=(FieldCheck(place=NOWHERE, key="reason", expected=None),)),
            {"expect": {"payment": "order", "reason": None}},
        ),
        (
            Repeat(place=NOWHERE, times=2, steps=(Cancel(**ORDER),)),
            {"repeat": {"times": 2, "steps": [{"cancel": "order"}]}},
        ),
    ],
)
def test_a_step_is_written_under_its_name(step: Step, written: dict[str, Any]) -> None:
    assert as_json(step_json(step)) == as_json(written)
