"""The values of the sections `faults` and `webhooks`; `format.txt` has their mistakes."""

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

import pytest
import yaml
from jsonschema_rs import Draft202012Validator

from emulator.domain.effects import ApiRequest, Point, RequestEffect
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryEffect
from emulator.scenarios import faults, webhook_faults
from emulator.scenarios.entries import ScenarioError
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.scenario_file import scenario_schema
from emulator.scenarios.values import FaultRule, FaultWhen, WebhookWhen
from tests.depth import usually
from tests.scenarios.sample_faults import request_fault
from tests.tables import rows

VALIDATOR = Draft202012Validator(scenario_schema())
# A value for each fault type.
REQUEST_FAULTS = {
    "status": "500",
    "body": "html",
    "latency": "1s",
    "drop": "true",
    "truncate": "true",
    "hold": "delivery",
}
NEEDED = {"concurrent": "copies", "body": "status"}
# The delays are the number of copies too.
IMPLIED = {("delays", "copies")}
WEBHOOK_FAULTS = {
    "copies": "2",
    "concurrent": "true",
    "timeout": "500ms",
    "delay": "1s",
    "delays": "[1s, 2s]",
    "drop": "true",
    "hold": "true",
    "before_response": "true",
    "tamper": "body",
}


def rule_of(section: str, when: str, then: str) -> Any:
    text = f"version: 1\nname: case\n{section}:\n  - when: {when}\n    then: {then}\n"
    (rule,) = getattr(parse_scenario(text, "case.yaml"), section)
    return rule


def effect_of(section: str, then: str, when: str = "{}") -> Any:
    return rule_of(section, when, then).then.effect


@pytest.mark.parametrize(("when", "expected"), rows(__file__, "conditions"))
def test_a_condition_selects_requests(when: str, expected: dict[str, Any]) -> None:
    assert rule_of("faults", when, "{drop: true}").when == FaultWhen(**expected)


@pytest.mark.parametrize("event", EVENT_TYPES_IN_ORDER)
def test_a_condition_selects_an_event(event: str) -> None:
    rule = rule_of("webhooks", f"{{event: {event}}}", "{copies: 2}")
    assert rule.when == WebhookWhen(event=event)


@pytest.mark.parametrize(("then", "expected"), rows(__file__, "effects on a request"))
def test_keys_have_an_effect_on_a_request(then: str, expected: dict[str, Any]) -> None:
    assert effect_of("faults", then) == RequestEffect(**expected)


@pytest.mark.parametrize(("then", "expected"), rows(__file__, "effects on a delivery"))
def test_keys_have_an_effect_on_a_delivery(then: str, expected: dict[str, Any]) -> None:
    expected |= {"delays_ms": tuple(expected.get("delays_ms", ()))}
    assert effect_of("webhooks", then) == DeliveryEffect(**expected)


@pytest.mark.parametrize(
    ("section", "types", "values", "nothing"),
    [
        ("faults", faults.TYPES, REQUEST_FAULTS, RequestEffect()),
        ("webhooks", webhook_faults.TYPES, WEBHOOK_FAULTS, DeliveryEffect()),
    ],
)
def test_two_fault_types_have_both_effects_or_exclude_each_other(
    section: str, types: Sequence[FaultType], values: dict[str, str], nothing: object
) -> None:
    assert [*values] == [type_.name for type_ in types]
    excluded = {
        frozenset((type_.name, other))
        for type_ in types
        for other in (values if type_.excludes_all else type_.excludes)
    }

    def then_of(*keys: str) -> str:
        """These keys, and those that they need."""
        needed = [NEEDED[key] for key in keys if NEEDED.get(key) not in (None, *keys)]
        return f"{{{', '.join(f'{key}: {values[key]}' for key in (*keys, *needed))}}}"

    when = "{request: list_payments}" if section == "faults" else "{}"
    for key, other in permutations(values, 2):
        then = then_of(key, other)
        if {key, other} in excluded:
            with pytest.raises(ScenarioError):
                effect_of(section, then, when)
        else:
            is_alone = key not in NEEDED and (key, other) not in IMPLIED
            alone = [effect_of(section, then_of(key), when)] if is_alone else []
            assert effect_of(section, then, when) not in (*alone, nothing)


@pytest.mark.parametrize(
    ("section", "settings"),
    [
        (
            "faults",
            {**REQUEST_FAULTS, "status": "429", "retry_after": "1", "point": "after_commit"},
        ),
        ("faults", {**REQUEST_FAULTS, "point": "before_commit"}),
        ("webhooks", WEBHOOK_FAULTS),
    ],
)
@pytest.mark.sampled
@pytest.mark.parametrize("when", ["{}", "{request: list_payments}", "{event: payment.failed}"])
def test_the_reader_and_the_schema_agree_on_which_keys_go_together(
    section: str, settings: dict[str, str], when: str
) -> None:
    for count in range(usually(4, deep=len(settings) + 1)):
        for keys in combinations(settings, count):
            then = f"{{{', '.join(f'{key}: {settings[key]}' for key in keys)}}}"
            rule = f"{{when: {when}, then: {then}}}"
            text = f"version: 1\nname: case\n{section}: [{rule}]\n"
            try:
                is_read = bool(parse_scenario(text, "case.yaml"))
            except ScenarioError:
                is_read = False
            assert VALIDATOR.is_valid(yaml.safe_load(text)) is is_read, rule


@pytest.mark.parametrize("when", ["{}", "{mode: live}", "{event: payment.created}"])
def test_the_event_of_creation_can_come_before_the_response(when: str) -> None:
    assert effect_of("webhooks", "{before_response: true}", when).before_response


def test_a_rule_that_stands_alone_is_json_or_yaml() -> None:
    rule = FaultRule(
        when=FaultWhen(request=ApiRequest.CREATE_PAYMENT, nth=2),
        then=request_fault(status=500, point=Point.AFTER_COMMIT),
        times=3,
    )
    json = (
        '{"when":{"request":"create_payment","nth":2},'
        '"then":{"status":500,"point":"after_commit"},"times":3}'
    )
    yaml = """
when: {request: create_payment, nth: 2}
then:
  status: 500
  point: after_commit
times: 3
"""
    assert read_fault_rule_text(json, "body") == rule
    assert read_fault_rule_text(yaml, "body") == rule


def test_a_rule_that_stands_alone_needs_no_condition() -> None:
    for text in ('{"then": {"drop": true}}', '{"then": {"drop": true}, "when": null}'):
        assert read_fault_rule_text(text, "body") == FaultRule(then=request_fault(drop=True))


def test_a_chance_may_be_written_as_json_writes_small_numbers() -> None:
    rule = read_fault_rule_text('{"when": {"chance": 1e-05}, "then": {"drop": true}}', "body")
    assert rule.when.chance == 0.00001


@pytest.mark.parametrize(
    ("text", "key"),
    [
        *(("", None), ("[]", None), ('{"when": {}}', None), ('{"then": {}}', "then")),
        ('{"when": {"nth": 0}, "then": {"drop": true}}', "when"),
        ('{"then": {"drop": true}, "times": 0}', "times"),
        ('{"thn": {"drop": true}, "then": {"drop": true}}', None),
    ],
)
def test_a_problem_of_a_rule_that_stands_alone_has_its_key(text: str, key: str | None) -> None:
    with pytest.raises(ScenarioError) as raised:
        read_fault_rule_text(text, "body")
    assert (raised.value.problems[0].section, raised.value.problems[0].source) == (key, "body")
