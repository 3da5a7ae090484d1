"""Reads whole scenario files; `format.txt` has the mistakes of their keys."""

import pytest
from msgspec.structs import fields

from emulator.domain.accounts import Mode
from emulator.domain.faults import ApiRequest, Point
from emulator.domain.outcomes import Handset, Scripted, Step
from emulator.domain.payment import Reason, Status
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.problems import Problem, ScenarioError
from emulator.scenarios.scenario_file import FILE_KEYS, SECTIONS
from emulator.scenarios.values import (
    Advance,
    AmountRange,
    Create,
    ExpiryRule,
    FaultRule,
    FaultWhen,
    OutcomeRule,
    Place,
    RuleSection,
    Scenario,
    WebhookRule,
    WebhookWhen,
    When,
)
from tests.scenarios.drawn import delivery_fault, request_fault

HEAD = "version: 1\nname: case\n"


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(text, "case.yaml")
    return raised.value.problems


def test_every_part_of_a_file_becomes_a_value() -> None:
    scenario = parse_scenario(
        """
version: 1
name: whole-case
description: Everything at once.
enabled: false
outcomes:
  - when: {mode: test, method: telebirr, phone: "0900 000-001", amount: {gte: 100, lte: 200}}
    then:
      - {status: failed, reason: timeout}
      - {after: 1.5h, status: completed, unusual: true}
      - {after: 2h, status: refunded}
    times: 3
  - when: {method: bank_transfer, bank: walia_test, amount: 500}
    then: handset
  - when: {}
    then: []
expiry:
  - when: {metadata: {test_case: short, "1": "yes"}}
    after: 5s
  - when: {mode: live, amount: {gte: 7}}
    then: {after: 10m}
    times: 1
faults:
  - when: {request: create_payment, nth: 2}
    then: {status: 500, point: after_commit}
webhooks:
  - when: {mode: test, event: payment.completed}
    then: {copies: 2, delay: 10s}
    times: 1
script:
  - create: {as: order, amount: 15000}
  - advance: next
""",
        "case.yaml",
    )
    assert scenario == Scenario(
        name="whole-case",
        description="Everything at once.",
        enabled=False,
        outcomes=(
            OutcomeRule(
                when=When(
                    mode=Mode.TEST,
                    method="telebirr",
                    phone="+251900000001",
                    amount=AmountRange(gte=100, lte=200),
                ),
                then=Scripted(
                    steps=(
                        Step(status=Status.FAILED, reason=Reason.TIMEOUT),
                        Step(status=Status.COMPLETED, after_ms=5_400_000, unusual=True),
                        Step(status=Status.REFUNDED, after_ms=7_200_000),
                    )
                ),
                times=3,
            ),
            OutcomeRule(
                when=When(
                    method="bank_transfer", bank="walia_test", amount=AmountRange(gte=500, lte=500)
                ),
                then=Handset(),
            ),
            OutcomeRule(then=Scripted(steps=())),
        ),
        expiry=(
            ExpiryRule(when=When(metadata=(("test_case", "short"), ("1", "yes"))), after_ms=5_000),
            ExpiryRule(
                when=When(mode=Mode.LIVE, amount=AmountRange(gte=7)), after_ms=600_000, times=1
            ),
        ),
        faults=(
            FaultRule(
                when=FaultWhen(request=ApiRequest.CREATE_PAYMENT, nth=2),
                then=request_fault(status=500, point=Point.AFTER_COMMIT),
            ),
        ),
        webhooks=(
            WebhookRule(
                when=WebhookWhen(mode=Mode.TEST, event="payment.completed"),
                then=delivery_fault(copies=2, delay=10_000),
                times=1,
            ),
        ),
        script=(
            Create(place=Place(line=31, column=5), name="order", members=(("amount", 15_000),)),
            Advance(place=Place(line=32, column=5), by_ms=None),
        ),
    )


def test_a_file_requires_only_version_and_name() -> None:
    assert parse_scenario(HEAD, "case.yaml") == Scenario(name="case")


def test_a_file_may_be_json() -> None:
    text = '{"version": 1, "name": "case",\n"expiry": [{"when": {}, "after": "5s"}]}'
    assert parse_scenario(text, "case.json").expiry == (ExpiryRule(after_ms=5_000),)


def test_a_small_file_may_use_anchors_and_aliases() -> None:
    text = f"""{HEAD}outcomes:
  - when: &big {{amount: {{gte: 1000}}}}
    then: handset
expiry:
  - {{when: *big, after: 5s}}
"""
    scenario = parse_scenario(text, "case.yaml")
    assert scenario.outcomes[0].when == scenario.expiry[0].when


def test_a_byte_order_mark_is_ignored() -> None:
    assert parse_scenario(f"\ufeff{HEAD}", "case.yaml").name == "case"


def test_a_condition_accepts_an_unknown_method() -> None:
    text = f"{HEAD}outcomes: [{{when: {{method: cbe_birr, phone: '0700000001'}}, then: []}}]\n"
    assert parse_scenario(text, "case.yaml").outcomes[0].when.method == "cbe_birr"


def test_each_section_is_a_field_of_the_scenario() -> None:
    assert set(SECTIONS) == {section.value for section in RuleSection} | {"script"}
    assert set(SECTIONS) <= set(FILE_KEYS)
    assert {field.name for field in fields(Scenario)} == set(FILE_KEYS) - {"version"}


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        (f"{HEAD}description: {'x' * 262_144}\n", 1, 1, "the file must not be larger than 256 KiB"),
        (f"{HEAD}description: {'ሀ' * 100_000}\n", 1, 1, "the file must not be larger than 256 KiB"),
        (f"{HEAD}outcomes: [{'a,' * 10_000}]\n", 3, 19_998, "the file must not have more than 10,"),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, str) else None,
)
def test_a_file_over_a_limit_is_refused_with_its_position(
    text: str, line: int, column: int, message: str
) -> None:
    (problem,) = problems_of(text)
    assert problem.message.startswith(message)
    assert problem.line == line
    assert problem.column == column


def test_aliases_that_expand_to_too_many_nodes_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    (problem,) = problems_of("\n".join(lines))
    assert problem.message == "the file must not have more than 10,000 nodes"
    assert problem.line <= 5


def test_aliases_have_the_same_limit_of_nesting() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 40)]
    (problem,) = problems_of("\n".join(lines))
    assert problem.message == "nesting must not go deeper than 32 levels"
    assert problem.line == 32


def test_an_outcome_has_at_most_a_hundred_steps() -> None:
    steps = ", ".join(["{status: failed}"] * 101)
    (problem,) = problems_of(f"{HEAD}outcomes:\n  - {{when: {{}}, then: [{steps}]}}\n")
    assert (problem.line, problem.column) == (4, 22)
    assert problem.message == "then must not have more than 100 steps, but has 101"


def test_every_mistake_of_a_file_is_reported_in_its_order() -> None:
    problems = problems_of(
        """version: 3
name: Case
outcoms: []
outcomes:
  - when: {mode: tset, phone: "1"}
    then: [{status: complted}]
    times: 0
expiry:
  - when: {}
    after: 0s
webhooks:
  - when: {}
    then: {}
script: [wait]
"""
    )
    places = [(problem.line, problem.column) for problem in problems]
    assert places == [
        (1, 10), (2, 7), (3, 1), (5, 18), (5, 31), (6, 21), (7, 12), (10, 12), (13, 11), (14, 10),
    ]  # fmt: skip


NAMELESS = "enabled: false\n"


def test_a_file_may_omit_a_name_from_the_address() -> None:
    scenario = Scenario(name="case", enabled=False)
    assert parse_scenario(NAMELESS, "body", name="case") == scenario
    assert parse_scenario(f"{HEAD}{NAMELESS}", "body", name="case") == scenario
    assert parse_scenario("{}", "body", name="case") == Scenario(name="case")
    messages = [problem.message for problem in problems_of(NAMELESS)]
    assert messages == [
        "a scenario must have 'version': version: 1",
        "a scenario must have 'name': what the scenario is called",
    ]


@pytest.mark.parametrize(
    ("text", "name", "line", "column", "key", "message"),
    [
        (HEAD, "other", 2, 7, "name", "name must be 'other', as in the address, not 'case'"),
        ("name: Case", "case", 1, 7, "name", "name must be 'case', as in the address, not 'Case'"),
        (
            "name: 7",
            "7",
            1,
            7,
            "name",
            'name must be text, not the integer 7; put it in quotes: "7"',
        ),
        ("version: 2", "case", 1, 10, "version", "version must be 1, not 2"),
        (
            "enabled: true",
            "My case",
            1,
            1,
            None,
            "the name in the address must be 1 to 64 small letters, digits, - and _, a letter "
            "or digit first, not 'My case'",
        ),
        ("", "case", 1, 1, None, "the file must hold a scenario, but it is empty"),
    ],
)
def test_a_file_must_not_contradict_a_name_from_the_address(
    text: str, name: str, line: int, column: int, key: str | None, message: str
) -> None:
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(text, "body", name=name)
    (problem,) = raised.value.problems
    assert problem == Problem(source="body", line=line, column=column, message=message, key=key)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", [None]),
        ("[1]", [None]),
        ("version: [1", [None]),
        ("{}", [None, None]),
        ("version: 1", [None]),
        ("enabled: 1\nversion: 1", [None, "enabled"]),
        ("{version: 1, name: case, enabled: 1}", ["enabled"]),
        (f"{HEAD}zzz: {{}}\nfaults: []", [None]),
        (f"zzz: 1\n{HEAD}", [None]),
        (f"{HEAD}zzz: !tag 1\n", [None, "zzz"]),
        (f"{HEAD}name: case\n", [None]),
        (f"{HEAD}7: 1\n", [None]),
        (f"{HEAD}enabled:\noutcomes:\n", ["enabled", "outcomes"]),
        (f"{HEAD}expiry: [{{}}]\nfaults:\n  - {{when: {{}}}}\n", ["expiry", "expiry", "faults"]),
    ],
)
def test_a_problem_has_the_top_level_key_above_it(text: str, keys: list[str | None]) -> None:
    assert [problem.key for problem in problems_of(text)] == keys


def test_the_error_has_a_line_for_each_problem() -> None:
    with pytest.raises(ScenarioError) as raised:
        parse_scenario("version: 3\nname: ['multi\n\n  line']\n", "dir/case.yaml")
    assert str(raised.value) == (
        "dir/case.yaml:1:10: version must be 1, not 3\n"
        "dir/case.yaml:2:7: name must be text, not a list"
    )


def test_a_problem_is_one_short_line() -> None:
    long = "\\n" * 10_000
    (problem,) = problems_of(f'{HEAD}outcomes: [{{when: {{phone: "{long}"}}, then: []}}]\n')
    assert "\n" not in str(problem)
    assert len(problem.message) <= 300
