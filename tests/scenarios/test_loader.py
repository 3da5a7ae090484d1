"""Reads whole scenario files; `format.txt` has the mistakes of their keys."""

from pathlib import Path

import pytest
import yaml
from msgspec.structs import fields

from emulator.scenarios.entries import Problem, ScenarioError
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.scenario_file import FILE_KEYS, SCENARIO, SECTIONS
from emulator.scenarios.values import AmountRange, ExpiryRule, RuleSection, Scenario, When
from tests.tables import rows

HEAD = "version: 1\nname: case\n"


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(text, "case.yaml")
    return raised.value.problems


WHOLE = Path(__file__).with_name("whole.yaml").read_text(encoding="utf-8")


def test_every_part_of_a_file_becomes_a_value_which_is_written_in_its_usual_form() -> None:
    written = SCENARIO.write(parse_scenario(WHOLE, "case.yaml"))
    usual = WHOLE.replace("0900 000-001", "+251900000001").replace("1.5h", "90m")
    usual = usual.replace("then: {after: 10m}", "after: 10m")
    assert {"version": 1, **written} == yaml.safe_load(usual)


EXPIRES = (ExpiryRule(when=When(amount=AmountRange(gte=1000)), after_ms=5_000),)


@pytest.mark.parametrize(
    ("text", "expiry"),
    [
        pytest.param(HEAD, (), id="version and name are all that is required"),
        pytest.param(f"\ufeff{HEAD}", (), id="a byte order mark is ignored"),
        pytest.param(
            '{"version": 1, "name": "case",\n'
            '"expiry": [{"when": {"amount": {"gte": 1000}}, "after": "5s"}]}',
            EXPIRES,
            id="a file may be JSON",
        ),
        pytest.param(
            f"{HEAD}expiry:\n"
            "  - {when: {amount: &big {gte: 1000}}, after: 5s}\n"
            "  - {when: {amount: *big}, after: 5s}\n",
            EXPIRES * 2,
            id="a small file may use anchors and aliases",
        ),
        pytest.param(
            f"{HEAD}expiry: [{{when: {{method: cbe_birr}}, after: 5s}}]\n",
            (ExpiryRule(when=When(method="cbe_birr"), after_ms=5_000),),
            id="a condition accepts an unknown method",
        ),
    ],
)
def test_a_file_is_read(text: str, expiry: tuple[ExpiryRule, ...]) -> None:
    assert parse_scenario(text, "case.yaml") == Scenario(name="case", expiry=expiry)


def test_each_section_is_a_field_of_the_scenario() -> None:
    assert set(SECTIONS) == {section.value for section in RuleSection} | {"script"}
    assert set(SECTIONS) <= set(FILE_KEYS)
    assert {field.name for field in fields(Scenario)} == set(FILE_KEYS) - {"version"}


LARGE = "the file must not be larger than 256 KiB"
MANY = "the file must not have more than 10,000 nodes"
TENFOLD = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
NESTED = [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 40)]
STEPS = ", ".join(["{status: failed}"] * 101)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        pytest.param(f"{HEAD}description: {'x' * 262_144}\n", 1, 1, LARGE, id="characters"),
        pytest.param(f"{HEAD}description: {'ሀ' * 100_000}\n", 1, 1, LARGE, id="bytes"),
        pytest.param(f"{HEAD}outcomes: [{'a,' * 10_000}]\n", 3, 19_998, MANY, id="nodes"),
        pytest.param("\n".join(["a0: &a0 [x]", *TENFOLD]), 4, 5, MANY, id="nodes of aliases"),
        pytest.param(
            "\n".join(["a0: &a0 [x]", *NESTED]),
            *(32, 12, "nesting must not go deeper than 32 levels"),
            id="nesting of aliases",
        ),
        pytest.param(
            f"{HEAD}outcomes:\n  - {{when: {{}}, then: [{STEPS}]}}\n",
            *(4, 22, "then must not have more than 100 steps, but has 101"),
            id="steps of an outcome",
        ),
    ],
)
def test_a_file_over_a_limit_is_refused_with_its_position(
    text: str, line: int, column: int, message: str
) -> None:
    (problem,) = problems_of(text)
    assert (problem.message, problem.line, problem.column) == (message, line, column)


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
        "a scenario must have 'version': the number 1",
        "a scenario must have 'name': what the scenario is called",
    ]


@pytest.mark.parametrize(
    ("text", "name", "line", "column", "key", "message"), rows(__file__, "names in the address")
)
def test_a_file_must_not_contradict_a_name_from_the_address(
    text: str, name: str, line: int, column: int, key: str | None, message: str
) -> None:
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(text, "body", name=name)
    (problem,) = raised.value.problems
    assert problem == Problem(
        source="body", line=line, column=column, message=message, path=key or ""
    )


@pytest.mark.parametrize(("text", "keys"), rows(__file__, "keys of problems"))
def test_a_problem_has_the_top_level_key_above_it(text: str, keys: list[str | None]) -> None:
    assert [problem.section for problem in problems_of(text)] == keys


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
