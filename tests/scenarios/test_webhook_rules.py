"""The values of the section `webhooks`; `format.txt` has its mistakes."""

from itertools import permutations

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryEffect, Tamper
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.problems import ScenarioError
from emulator.scenarios.values import WebhookRule, WebhookWhen
from emulator.scenarios.webhook_faults import TYPES, WEBHOOK_THEN
from tests.scenarios.drawn import delivery_fault

HEAD = "version: 1\nname: case\nwebhooks:\n"
# A value for each fault type.
VALUES = {
    "copies": "2",
    "delay": "1s",
    "drop": "true",
    "hold": "true",
    "before_response": "true",
    "tamper": "body",
}


def rules_of(text: str) -> tuple[WebhookRule, ...]:
    return parse_scenario(HEAD + text, "case.yaml").webhooks


def effect_of(then: str, when: str = "{}") -> DeliveryEffect:
    (rule,) = rules_of(f"  - when: {when}\n    then: {then}\n")
    return rule.then.effect


def test_a_rule_has_a_condition_an_effect_and_a_limit() -> None:
    assert rules_of(
        """
  - when: {mode: test, event: payment.completed}
    then: {copies: 2, delay: 10s}
    times: 1
  - when: {mode: live}
    then: {drop: true}
  - when: {event: payment.created}
    then: {before_response: true, copies: 3, tamper: timestamp}
  - when: {}
    then: {hold: true, copies: 100, tamper: signature}
"""
    ) == (
        WebhookRule(
            when=WebhookWhen(mode=Mode.TEST, event="payment.completed"),
            then=delivery_fault(copies=2, delay=10_000),
            times=1,
        ),
        WebhookRule(when=WebhookWhen(mode=Mode.LIVE), then=delivery_fault(drop=True)),
        WebhookRule(
            when=WebhookWhen(event="payment.created"),
            then=delivery_fault(before_response=True, copies=3, tamper=Tamper.TIMESTAMP),
        ),
        WebhookRule(then=delivery_fault(hold=True, copies=100, tamper=Tamper.SIGNATURE)),
    )


@pytest.mark.parametrize("event", EVENT_TYPES_IN_ORDER)
def test_a_condition_selects_an_event(event: str) -> None:
    (rule,) = rules_of(f"  - when: {{event: {event}}}\n    then: {{copies: 2}}\n")
    assert rule.when == WebhookWhen(event=event)


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("{copies: 1}", DeliveryEffect()),  # it has no effect, and precedes later rules
        ("{copies: 100}", DeliveryEffect(copies=100)),
        ("{delay: 1ms}", DeliveryEffect(delay_ms=1)),
        ("{delay: 1.5h, tamper: body}", DeliveryEffect(delay_ms=5_400_000, tamper=Tamper.BODY)),
        ("{drop: true}", DeliveryEffect(drop=True)),
        ("{hold: true}", DeliveryEffect(hold=True)),
        ("{before_response: true}", DeliveryEffect(before_response=True)),
        ("{tamper: signature}", DeliveryEffect(tamper=Tamper.SIGNATURE)),
        # A key that is false is as good as absent.
        ("{copies: 2, drop: false}", DeliveryEffect(copies=2)),
        ("{drop: true, hold: false, before_response: false}", DeliveryEffect(drop=True)),
        ("{hold: false, delay: 1s}", DeliveryEffect(delay_ms=1_000)),
        ("{before_response: false, hold: true}", DeliveryEffect(hold=True)),
        ("{before_response: true, hold: false}", DeliveryEffect(before_response=True)),
    ],
)
def test_keys_have_an_effect(then: str, expected: DeliveryEffect) -> None:
    assert effect_of(then) == expected


def test_two_fault_types_have_both_effects_or_exclude_each_other() -> None:
    excluded = {frozenset((type_.name, other)) for type_ in TYPES for other in type_.excludes}
    excluded |= {frozenset(("drop", key)) for key in VALUES}
    assert [*VALUES] == [type_.name for type_ in TYPES] == [*WEBHOOK_THEN.keys]
    for key, other in permutations(VALUES, 2):
        then = f"{{{key}: {VALUES[key]}, {other}: {VALUES[other]}}}"
        if {key, other} in excluded:
            with pytest.raises(ScenarioError):
                effect_of(then)
        else:
            assert effect_of(then) not in (effect_of(f"{{{key}: {VALUES[key]}}}"), DeliveryEffect())


@pytest.mark.parametrize("when", ["{}", "{mode: live}", "{event: payment.created}"])
def test_the_event_of_creation_can_come_before_the_response(when: str) -> None:
    assert effect_of("{before_response: true}", when).before_response


def test_the_mistakes_of_several_rules_are_in_the_order_of_the_file() -> None:
    with pytest.raises(ScenarioError) as raised:
        rules_of(
            """  - when: {mode: tset, event: created}
    then: {copies: 0, delay: 0s, tamper: head}
    times: 0
  - when: {event: payment.failed}
    then: {before_response: true, hold: true}
  - then: {}
"""
        )
    assert [(problem.line, problem.column) for problem in raised.value.problems] == [
        (4, 18), (4, 31), (5, 20), (5, 30), (5, 42), (6, 12),
        (8, 29), (8, 41),
        (9, 5), (9, 11),
    ]  # fmt: skip
