"""Reads whole scripts: their steps, names, limits and JSON values."""

from typing import Any

import pytest

from emulator.scenarios.entries import Problem, ScenarioError
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.values import Create, Expect, FieldCheck, Place, Step
from tests.tables import rows

HEAD = "version: 1\nname: case\nscript:\n"


def script_of(text: str) -> tuple[Step, ...]:
    return parse_scenario(HEAD + text, "case.yaml").script


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioError) as raised:
        script_of(text)
    assert {problem.section for problem in raised.value.problems} == {"script"}
    return raised.value.problems


def assert_one_problem(text: str, line: int, column: int, message: str) -> None:
    (problem,) = problems_of(text)
    assert (problem.line, problem.column) == (line, column), problem
    assert problem.message == message


def sent(value: str) -> Any:
    """The amount that a script sends for this text."""
    (create,) = script_of(f"  - create: {{amount: {value}}}\n")
    assert isinstance(create, Create)
    return dict(create.members)["amount"]


def at(line: int, column: int = 5) -> Place:
    return Place(line=line, column=column)


def test_every_step_and_every_check_knows_its_place() -> None:
    *steps, expect = script_of(
        """\
  - create: {as: order, amount: 15000, methods: [telebirr], unknown: {colour: red}}
  - retrieve: order
  - list: {limit: 1, after: order}
  - pay: {payment: order, phone: "0900000003"}
  - answer: {payment: order, answer: wrong_pin}
  - cancel: order
  - transition: {payment: order, status: failed, method: mpesa, reason: timeout, unusual: true}
  - advance: 30s
  - advance: next
  - fault: {when: {nth: 2}, then: {status: 500, point: after_commit}, times: 1}
  - expect:
      payment: order
      status: failed
      events: [payment.created]
"""
    )
    assert [step.place for step in steps] == [at(line) for line in range(4, 14)]
    assert expect == Expect(
        place=at(14),
        payment="order",
        checks=(
            FieldCheck(place=at(16, 7), key="status", expected="failed"),
            FieldCheck(place=at(17, 7), key="events", expected=["payment.created"]),
        ),
    )


def test_a_script_may_be_empty_or_absent() -> None:
    assert parse_scenario(f"{HEAD[:-1]} []\n", "case.yaml").script == ()
    assert parse_scenario("version: 1\nname: case\n", "case.yaml").script == ()


# --- names


def test_a_name_may_be_given_again() -> None:
    assert script_of("  - create: {as: order}\n  - create: {as: order}\n  - cancel: order\n")


def test_many_unknown_names_are_noted_without_hints() -> None:
    names = ", ".join(f"{'a' * 50}{n}" for n in range(201))
    problems = problems_of(f"  - create: {{as: {'a' * 55}}}\n  - expect: {{payments: [{names}]}}\n")
    assert len(problems) == 201
    assert "did you mean" in problems[0].message
    assert problems[-1].message.endswith("before this step")


# --- limits


def test_a_script_has_at_most_a_thousand_steps() -> None:
    assert len(script_of("  - list:\n" * 1_000)) == 1_000
    message = "script must have 0 to 1,000 entries (got 1,001)"
    assert_one_problem("  - list:\n" * 1_001, 4, 3, message)


# --- JSON values


@pytest.mark.parametrize(("written", "expected"), rows(__file__, "sent values"))
def test_a_script_sends_any_value(written: str, expected: object) -> None:
    value = sent(written)
    assert value == expected
    assert type(value) is type(expected)


def test_an_alias_repeats_a_value() -> None:
    assert sent("{a: &x [1, 2], b: *x}") == {"a": [1, 2], "b": [1, 2]}


def test_a_number_has_at_most_a_hundred_digits() -> None:
    assert sent("9" * 100) == int("9" * 100)
    for number in ("9" * 101, "9" * 10_000, "0." + "1" * 99):
        assert_one_problem(
            f"  - create: {{amount: {number}}}\n",
            4,
            22,
            "amount must not have more than 100 digits",
        )


def test_an_exponent_is_text_in_yaml_and_a_number_in_json() -> None:
    assert sent("1e3") == "1e3"
    scenario = parse_scenario(
        '{"version": 1, "name": "case", "script": [{"create": {"metadata": '
        '{"a": 1e3, "b": 1E-5, "c": "1e3", "d": 1.5e+300, "e": 1e16, "f": 0.5}}}]}',
        "case.json",
    )
    (create,) = scenario.script
    assert isinstance(create, Create)
    assert dict(create.members)["metadata"] == {
        "a": 1000.0, "b": 0.00001, "c": "1e3", "d": 1.5e300, "e": 1e16, "f": 0.5,
    }  # fmt: skip
