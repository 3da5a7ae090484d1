"""The values of the section `faults`; `format.txt` has its mistakes."""

from itertools import permutations

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.faults import ApiRequest, Cut, Point, RequestEffect
from emulator.scenarios.faults import FAULT_THEN, TYPES
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.problems import ScenarioError
from emulator.scenarios.values import FaultRule, FaultWhen
from tests.scenarios.drawn import request_fault

HEAD = "version: 1\nname: case\nfaults:\n"
# A value for each fault type.
VALUES = {"status": "500", "latency": "1s", "drop": "true", "truncate": "true"}


def rules_of(text: str) -> tuple[FaultRule, ...]:
    return parse_scenario(HEAD + text, "case.yaml").faults


def effect_of(then: str) -> RequestEffect:
    (rule,) = rules_of(f"  - when: {{}}\n    then: {then}\n")
    return rule.then.effect


def test_a_rule_has_a_condition_an_effect_and_a_limit() -> None:
    assert rules_of(
        """
  - when: {mode: test, request: create_payment, nth: 2}
    then: {status: 500, point: after_commit}
    times: 1
  - when: {mode: live, request: any, every: 3}
    then: {status: 429, retry_after: 30s, latency: 1.5s}
  - when: {request: list_payments, chance: 0.3}
    then: {drop: true, latency: 250ms}
  - when: {}
    then: {truncate: true}
"""
    ) == (
        FaultRule(
            when=FaultWhen(mode=Mode.TEST, request=ApiRequest.CREATE_PAYMENT, nth=2),
            then=request_fault(status=500, point=Point.AFTER_COMMIT),
            times=1,
        ),
        FaultRule(
            when=FaultWhen(mode=Mode.LIVE, every=3),
            then=request_fault(status=429, retry_after=30, latency=1_500),
        ),
        FaultRule(
            when=FaultWhen(request=ApiRequest.LIST_PAYMENTS, chance=0.3),
            then=request_fault(drop=True, latency=250),
        ),
        FaultRule(then=request_fault(truncate=True)),
    )


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        *((f"{{request: {request}}}", FaultWhen(request=request)) for request in ApiRequest),
        ("{request: any}", FaultWhen()),
        ("{nth: 1}", FaultWhen(nth=1)),
        ("{nth: 1000000}", FaultWhen(nth=1_000_000)),
        ("{every: 1}", FaultWhen(every=1)),
        ("{chance: 1}", FaultWhen(chance=1.0)),
        ("{chance: 1.0}", FaultWhen(chance=1.0)),
        ("{chance: .5}", FaultWhen(chance=0.5)),
        ("{chance: 0.00001}", FaultWhen(chance=0.00001)),
        ("{chance: 1.0e-05}", FaultWhen(chance=0.00001)),
    ],
)
def test_a_condition_selects_requests(when: str, expected: FaultWhen) -> None:
    (rule,) = rules_of(f"  - when: {when}\n    then: {{drop: true}}\n")
    assert rule.when == expected


AFTER = Point.AFTER_COMMIT
NONE, HALF = Cut.BEFORE_RESPONSE, Cut.IN_BODY


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("{status: 400}", RequestEffect(status=400)),
        ("{status: 500}", RequestEffect(status=500)),
        ("{status: 599, retry_after: 1}", RequestEffect(status=599, retry_after_s=1)),
        ("{status: 503, retry_after: 1.5m}", RequestEffect(status=503, retry_after_s=90)),
        ("{status: 503, retry_after: 1000ms}", RequestEffect(status=503, retry_after_s=1)),
        ("{status: 503, retry_after: 1d}", RequestEffect(status=503, retry_after_s=86_400)),
        # A 429 always has the header.
        ("{status: 429}", RequestEffect(status=429, retry_after_s=1)),
        ("{status: 429, retry_after: 7}", RequestEffect(status=429, retry_after_s=7)),
        ("{latency: 1ms}", RequestEffect(delay_ms=1)),
        ("{latency: 5m}", RequestEffect(delay_ms=300_000)),
        ("{latency: 1s, point: after_commit}", RequestEffect(delay_ms=1_000, point=AFTER)),
        ("{drop: true}", RequestEffect(cut=NONE)),
        ("{drop: true, point: after_commit}", RequestEffect(cut=NONE, point=AFTER)),
        ("{status: 500, point: before_commit}", RequestEffect(status=500)),
        # Half of a normal response exists after the commit only.
        ("{truncate: true}", RequestEffect(cut=HALF, point=AFTER)),
        ("{truncate: true, point: after_commit}", RequestEffect(cut=HALF, point=AFTER)),
        ("{truncate: true, latency: 1s}", RequestEffect(cut=HALF, delay_ms=1_000, point=AFTER)),
        ("{truncate: true, status: 500}", RequestEffect(cut=HALF, status=500)),
        (
            "{truncate: true, status: 500, point: before_commit}",
            RequestEffect(cut=HALF, status=500),
        ),
        # A key that is false is as good as absent.
        ("{status: 500, drop: false, truncate: false}", RequestEffect(status=500)),
        ("{drop: true, truncate: false}", RequestEffect(cut=NONE)),
        ("{drop: false, truncate: true}", RequestEffect(cut=HALF, point=AFTER)),
        ("{truncate: false, latency: 1s, point: before_commit}", RequestEffect(delay_ms=1_000)),
    ],
)
def test_keys_have_an_effect(then: str, expected: RequestEffect) -> None:
    assert effect_of(then) == expected


def test_two_fault_types_have_both_effects_or_exclude_each_other() -> None:
    excluded = {frozenset((type_.name, other)) for type_ in TYPES for other in type_.excludes}
    assert [*VALUES] == [type_.name for type_ in TYPES]
    assert {*FAULT_THEN.keys} - {*VALUES} == {"retry_after", "point"}
    for key, other in permutations(VALUES, 2):
        then = f"{{{key}: {VALUES[key]}, {other}: {VALUES[other]}}}"
        if {key, other} in excluded:
            with pytest.raises(ScenarioError):
                effect_of(then)
        else:
            assert effect_of(then) not in (effect_of(f"{{{key}: {VALUES[key]}}}"), RequestEffect())


def test_the_mistakes_of_several_rules_are_in_the_order_of_the_file() -> None:
    with pytest.raises(ScenarioError) as raised:
        rules_of(
            """  - when: {mode: tset, request: create, nth: 0}
    then: {status: 200, latency: 0s, point: never}
    times: 0
  - when: {}
    then: {drop: true, status: 500, truncate: true}
  - then: {}
"""
        )
    assert [(problem.line, problem.column) for problem in raised.value.problems] == [
        (4, 18), (4, 33), (4, 46), (5, 20), (5, 34), (5, 45), (6, 12),
        (8, 32), (8, 47),
        (9, 5), (9, 11),
    ]  # fmt: skip
    assert {problem.key for problem in raised.value.problems} == {"faults"}


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
        ("", None),
        ("[]", None),
        ('{"when": {}}', None),
        ('{"then": {}}', "then"),
        ('{"when": {"nth": 0}, "then": {"drop": true}}', "when"),
        ('{"then": {"drop": true}, "times": 0}', "times"),
        ('{"thn": {"drop": true}, "then": {"drop": true}}', None),
    ],
)
def test_a_problem_of_a_rule_that_stands_alone_has_its_key(text: str, key: str | None) -> None:
    with pytest.raises(ScenarioError) as raised:
        read_fault_rule_text(text, "body")
    assert (raised.value.problems[0].key, raised.value.problems[0].source) == (key, "body")
