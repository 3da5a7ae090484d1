"""What a script is as a whole: its list of steps, the names in it, its limits, its JSON."""

from typing import Any

import pytest

from emulator.domain.faults import Fault, Point
from emulator.domain.payment import Reason, Status
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.problems import Problem, ScenarioError
from emulator.scenarios.script import steps_played
from emulator.scenarios.steps import (
    AddFault,
    Advance,
    Answer,
    Cancel,
    Create,
    Expect,
    FieldCheck,
    List,
    Pay,
    Place,
    Repeat,
    Retrieve,
    Step,
    Transition,
)
from emulator.scenarios.values import FaultRule, FaultWhen

HEAD = "version: 1\nname: case\nscript:\n"


def script_of(text: str) -> tuple[Step, ...]:
    return parse_scenario(HEAD + text, "case.yaml").script


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioError) as raised:
        script_of(text)
    assert {problem.key for problem in raised.value.problems} == {"script"}
    return raised.value.problems


def assert_one_problem(text: str, line: int, column: int, message: str) -> None:
    (problem,) = problems_of(text)
    assert (problem.line, problem.column) == (line, column), problem
    assert problem.message == message


def sent(value: str) -> Any:
    """What a script sends as the amount when `value` stands there."""
    (create,) = script_of(f"  - create: {{amount: {value}}}\n")
    assert isinstance(create, Create)
    return dict(create.members)["amount"]


def at(line: int, column: int = 5) -> Place:
    return Place(line=line, column=column)


def test_every_step_becomes_its_value_and_knows_its_place() -> None:
    assert script_of(
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
  - repeat:
      times: 3
      steps:
        - create:
"""
    ) == (
        Create(
            place=at(4),
            name="order",
            members=(("amount", 15000), ("methods", ["telebirr"]), ("colour", "red")),
        ),
        Retrieve(place=at(5), payment="order"),
        List(place=at(6), query=(("limit", "1"),), after="order"),
        Pay(place=at(7), payment="order", method="telebirr", phone="+251900000003"),
        Answer(place=at(8), payment="order", answer="wrong_pin"),
        Cancel(place=at(9), payment="order"),
        Transition(
            place=at(10),
            payment="order",
            status=Status.FAILED,
            method="mpesa",
            reason=Reason.TIMEOUT,
            unusual=True,
        ),
        Advance(place=at(11), by_ms=30_000),
        Advance(place=at(12), by_ms=None),
        AddFault(
            place=at(13),
            rule=FaultRule(
                when=FaultWhen(nth=2), then=Fault(status=500, point=Point.AFTER_COMMIT), times=1
            ),
        ),
        Expect(
            place=at(14),
            payment="order",
            checks=(
                FieldCheck(place=at(16, 7), key="status", expected="failed"),
                FieldCheck(place=at(17, 7), key="events", expected=["payment.created"]),
            ),
        ),
        Repeat(place=at(18), times=3, steps=(Create(place=at(21, 11)),)),
    )


def test_the_case_of_the_manual_is_read() -> None:
    steps = script_of(
        """\
  - create: {as: order, amount: 15000, methods: [telebirr]}
  - pay: {payment: order, method: telebirr, phone: "0900000003"}
  - expect: {payment: order, status: processing}
  - advance: 30s
  - expect: {payment: order, status: failed, reason: timeout, events: [payment.created, \
payment.processing, payment.failed]}
"""
    )
    assert [type(step) for step in steps] == [Create, Pay, Expect, Advance, Expect]


def test_a_script_may_be_empty_or_absent() -> None:
    assert parse_scenario(f"{HEAD[:-1]} []\n", "case.yaml").script == ()
    assert parse_scenario("version: 1\nname: case\n", "case.yaml").script == ()


STEPS = "create, retrieve, list, pay, answer, cancel, transition, advance, fault, expect{} repeat"


@pytest.mark.parametrize(
    ("step", "column", "message"),
    [
        (
            "- cancel",
            5,
            "a step must be a mapping of its name to what it says, such as 'advance: 30s', "
            "not 'cancel'",
        ),
        (
            "- [cancel, order]",
            5,
            "a step must be a mapping of its name to what it says, such as 'advance: 30s', "
            "not a list",
        ),
        (
            "-",
            4,
            "a step must be a mapping of its name to what it says, such as 'advance: 30s', "
            "not empty",
        ),
        ("- {}", 5, f"a step must have a name: {STEPS.format(' or')}"),
        ("- advanse: 30s", 5, "there is no step 'advanse'; did you mean 'advance'?"),
        ("- Advance: 30s", 5, "there is no step 'Advance'; did you mean 'advance'?"),
        ("- zzz: 30s", 5, f"there is no step 'zzz'; there are {STEPS.format(' and')}"),
        ("- 30s: advance", 5, f"there is no step '30s'; there are {STEPS.format(' and')}"),
        ("- 30: advance", 5, 'a key of a step must be text, not 30; put it in quotes: "…"'),
        ("- <<: {advance: 30s}", 5, "merge keys (<<) are not understood here; write the keys out"),
        ("- {advance: 1s, advance: 2s}", 19, "'advance' must be given once in a step"),
        (
            "- {advance: 1s, list: {}}",
            19,
            "a step must have one name, so 'list' must begin a step of its own",
        ),
        (
            "- {create: , as: order}",
            16,
            "a step must have one name; if 'as' belongs to 'create', indent it deeper",
        ),
        (
            "- {amount: 5, as: order}",
            6,
            f"there is no step 'amount'; there are {STEPS.format(' and')}",
        ),
        ("- !step {advance: 1s}", 5, "tags are not understood here: '!step'"),
    ],
)
def test_a_mistake_in_a_step_names_its_place(step: str, column: int, message: str) -> None:
    assert_one_problem(f"  {step}\n", 4, column, message)


def test_a_script_is_a_list() -> None:
    (problem,) = problems_of("  create: {}\n")
    assert problem.message == "script must be a list of steps, not a mapping"


def test_a_step_that_was_meant_to_be_two_is_read_as_two() -> None:
    problems = problems_of(
        """\
  - create: {as: order, amont: 5}
    pay: {payment: order, phone: "1"}
  - cancel: order
"""
    )
    assert [(problem.line, problem.column) for problem in problems] == [(4, 25), (5, 5), (5, 34)]


# --- names


def test_a_name_must_have_been_given_before() -> None:
    assert_one_problem(
        "  - create: {as: order}\n  - cancel: ordr\n",
        5,
        13,
        "no payment is called 'ordr' up to here; did you mean 'order'?",
    )
    assert_one_problem(
        "  - create: {as: order}\n  - cancel: zzz\n",
        5,
        13,
        "no payment is called 'zzz' up to here",
    )
    assert_one_problem(
        "  - cancel: order\n  - create: {as: order}\n",
        4,
        13,
        "no payment is called 'order' up to here; 'create: {as: …}' gives a name",
    )


@pytest.mark.parametrize(
    ("step", "column"),
    [
        ("retrieve: ordr", 15),
        ("retrieve: {payment: ordr}", 25),
        ("list: {after: ordr}", 19),
        ("pay: {payment: ordr, phone: '0900000001'}", 20),
        ("answer: {payment: ordr, answer: approve}", 23),
        ("cancel: ordr", 13),
        ("cancel: {payment: ordr}", 23),
        ("transition: {payment: ordr, status: refunded}", 27),
        ("expect: {payment: ordr, status: pending}", 23),
        ("expect: {payment: order, same_as: ordr}", 39),
        ("expect: {payments: [order, ordr]}", 32),
    ],
)
def test_every_step_that_uses_a_name_looks_it_up(step: str, column: int) -> None:
    assert_one_problem(
        f"  - create: {{as: order}}\n  - {step}\n",
        5,
        column,
        "no payment is called 'ordr' up to here; did you mean 'order'?",
    )
    assert script_of(f"  - create: {{as: ordr}}\n  - create: {{as: order}}\n  - {step}\n")


def test_a_name_may_be_given_again() -> None:
    assert len(script_of("  - create: {as: order}\n" * 2 + "  - cancel: order\n")) == 3


def test_a_name_of_before_or_of_inside_counts_in_what_is_repeated_and_afterwards() -> None:
    assert script_of(
        """\
  - create: {as: first}
  - repeat:
      times: 2
      steps:
        - create: {as: second}
        - cancel: second
        - cancel: first
  - cancel: second
"""
    )
    (problem,) = problems_of(
        "  - repeat: {times: 2, steps: [{cancel: late}, {create: {as: late}}]}\n"
    )
    assert problem.message.startswith("no payment is called 'late' up to here")


@pytest.mark.parametrize(
    "given",
    [
        "- creat: {as: Order}",
        "- {create: , as: Order}",
        "- {create: {as: Order}, zzz: 1}",
        "- {as: Order, amount: 5}",
        "- create: {as: Order}",
        "- create: {as: order, amont: 5}",
    ],
)
def test_who_uses_a_name_is_not_blamed_for_the_step_that_gives_it(given: str) -> None:
    name = "order" if "order" in given else "Order"
    (problem,) = problems_of(f"  {given}\n  - cancel: {name}\n")
    assert problem.line == 4


def test_however_many_names_are_wrong_they_are_told_soon() -> None:
    names = ", ".join(f"{'a' * 50}{n}" for n in range(4_000))
    creates = "".join(f"  - create: {{as: {'a' * 55}{n}}}\n" for n in range(300))
    problems = problems_of(f"{creates}  - expect: {{payments: [{names}]}}\n")
    assert len(problems) == 4_000
    assert "did you mean" in problems[0].message
    assert problems[-1].message.endswith("up to here")


# --- repeating, and limits


def test_repeats_may_stand_in_repeats_three_deep() -> None:
    inner = "{advance: 1s}, {list: {}}"
    for _ in range(3):
        inner = f"{{repeat: {{times: 2, steps: [{inner}]}}}}"
    (repeat,) = script_of(f"  - {inner}\n")
    assert steps_played([repeat]) == 16
    text = f"  - repeat: {{times: 2, steps: [{inner}]}}\n"
    assert_one_problem(text, 4, 97, "'repeat' must not be nested deeper than 3 levels")


@pytest.mark.parametrize(
    ("repeat", "column", "message"),
    [
        ("", 12, "repeat must be a mapping, not empty"),
        ("3", 13, "repeat must be a mapping, not 3"),
        ("{steps: [{list: {}}]}", 13, "repeat must have 'times': how often, such as 3"),
        ("{times: 3}", 13, "repeat must have 'steps': a list of steps"),
        (
            "{times: 0, steps: [{list: {}}]}",
            21,
            "times must be a whole number from 1 to 10,000, not 0",
        ),
        (
            "{times: 10001, steps: [{list: {}}]}",
            21,
            "times must be a whole number from 1 to 10,000, not 10001",
        ),
        ("{times: 3, steps: []}", 31, "steps must have at least one step"),
        ("{times: 3, steps: {list: {}}}", 31, "steps must be a list of steps, not a mapping"),
        (
            "{times: 3, step: 1, steps: [{list: }]}",
            24,
            "repeat has no key 'step'; did you mean 'steps'?",
        ),
        (
            "{times: 3, steps: [{advanse: 1s}]}",
            33,
            "there is no step 'advanse'; did you mean 'advance'?",
        ),
    ],
)
def test_a_mistake_in_repeat_names_its_place(repeat: str, column: int, message: str) -> None:
    problem = problems_of(f"  - repeat: {repeat}\n")[0]
    assert (problem.line, problem.column) == (4, column), problem
    assert problem.message == message


def test_a_script_plays_a_hundred_thousand_steps_and_no_more() -> None:
    ten = ", ".join(["{list: }"] * 10)
    (repeat,) = script_of(f"  - repeat: {{times: 10000, steps: [{ten}]}}\n")
    assert steps_played([repeat]) == 100_000
    assert_one_problem(
        f"  - repeat: {{times: 10000, steps: [{ten}]}}\n  - list:\n  - list:\n",
        5,
        5,
        "a script must not play more than 100,000 steps, but up to here it plays 100,001",
    )
    nested = f"{{repeat: {{times: 10000, steps: [{ten}]}}}}"
    assert_one_problem(
        f"  - repeat: {{times: 10000, steps: [{nested}]}}\n",
        4,
        5,
        "a script must not play more than 100,000 steps, but up to here it plays 1,000,000,000",
    )


def test_a_script_has_a_thousand_steps_and_no_more() -> None:
    assert len(script_of("  - list:\n" * 1_000)) == 1_000
    body = ", ".join(["{list: }"] * 998)
    assert script_of(f"  - repeat: {{times: 1, steps: [{body}]}}\n  - list:\n")
    message = "a script must not have more than 1,000 steps, those inside 'repeat' counted too"
    assert_one_problem("  - list:\n" * 1_500, 1_004, 5, message)
    assert_one_problem(
        f"  - repeat: {{times: 1, steps: [{body}]}}\n  - list:\n  - list:\n", 6, 5, message
    )


# --- JSON, and YAML that is none


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("-5", -5),
        ("0", 0),
        ("+5", 5),
        ("100.0", 100.0),
        (".5", 0.5),
        ("1.0e+3", 1000.0),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ('"100"', "100"),
        ("'2026-01-01'", "2026-01-01"),
        ("'yes'", "yes"),
        ('"é\\u12a0\\n"', "éአ\n"),
        ('""', ""),
        ("word", "word"),
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("False", False),
        ("[]", []),
        ("[1, [x, {y: null}], 2.5]", [1, ["x", {"y": None}], 2.5]),
        ("{}", {}),
        ("{a: {b: [true]}, 'as': x}", {"a": {"b": [True]}, "as": "x"}),
    ],
)
def test_a_script_sends_any_value(written: str, expected: object) -> None:
    value = sent(written)
    assert value == expected
    assert type(value) is type(expected)


def test_what_is_said_once_may_be_meant_twice() -> None:
    assert sent("{a: &x [1, 2], b: *x}") == {"a": [1, 2], "b": [1, 2]}


JSON = "text, a number, true, false, null, a list or a mapping"
IN_QUOTES = '; put it in quotes: "…"'


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("2026-01-01", ""),
        ("2026-01-01T00:00:00Z", ""),
        ("=", ""),
        ("<<", ""),
        ("0700", ", or write it in decimal digits"),
        ("0x1F", ", or write it in decimal digits"),
        ("0b11", ", or write it in decimal digits"),
        ("1_000", ", or write it in decimal digits"),
        ("1:30", ", or write it in decimal digits"),
        ("1:30.5", ", or write it in decimal digits"),
        ("1_0.5", ", or write it in decimal digits"),
        (".inf", ", or write it in decimal digits"),
        ("-.inf", ", or write it in decimal digits"),
        (".nan", ", or write it in decimal digits"),
        ("1.0e+999", ", or write it in decimal digits"),
        ("yes", ", or write true or false"),
        ("Off", ", or write true or false"),
    ],
)
def test_what_is_no_json_becomes_nothing_else_in_silence(written: str, hint: str) -> None:
    message = f"must be {JSON}, not {written}{IN_QUOTES}{hint}"
    assert_one_problem(f"  - create: {{amount: {written}}}\n", 4, 22, f"amount {message}")
    assert_one_problem(f"  - create: {{unknown: {{x: {written}}}}}\n", 4, 27, f"x {message}")
    assert_one_problem(
        f"  - create: {{methods: [telebirr, {written}]}}\n",
        4,
        34,
        f"an entry of methods {message}",
    )
    assert_one_problem(f"  - expect: {{amount: {written}}}\n", 4, 22, f"amount {message}")
    assert sent(f'"{written}"') == written


def test_a_number_has_a_hundred_digits_and_no_more() -> None:
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


@pytest.mark.parametrize(
    ("value", "column", "message"),
    [
        ("{a: 1, a: 2}", 29, "'a' must be given once in amount"),
        ("{1: a}", 23, 'a key of amount must be text, not 1; put it in quotes: "…"'),
        ("{yes: a}", 23, 'a key of amount must be text, not yes; put it in quotes: "…"'),
        ("{null: a}", 23, "a key of amount must be text, not empty"),
        ("{[a]: b}", 23, "a key of amount must be text, not a list"),
        ("{<<: {a: 1}}", 23, "merge keys (<<) are not understood here; write the keys out"),
        ("[{b: 1, b: 2}]", 30, "'b' must be given once in an entry of amount"),
        ("!!python/name:os.system x", 22, "tags are not understood here: "),
        ("!!python/object/apply:os.system [ls]", 22, "tags are not understood here: "),
        ("!!str 5", 22, "tags are not understood here: 'tag:yaml.org,2002:str'"),
        ("!!binary aGk=", 22, "tags are not understood here: 'tag:yaml.org,2002:binary'"),
        ("*nothing", 22, "no anchor '&nothing' stands before its alias"),
        ("&a [*a]", 26, "no anchor '&a' stands before its alias"),
        (f"{'[' * 40}{']' * 40}", 50, "nesting must not go deeper than 32 levels"),
    ],
)
def test_yaml_is_as_safe_in_a_script_as_elsewhere(value: str, column: int, message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        script_of(f"  - create: {{amount: {value}}}\n")
    (problem,) = raised.value.problems
    assert problem.message.startswith(message)
    assert (problem.line, problem.column) == (4, column)


def test_aliases_that_explode_are_refused_inside_a_step() -> None:
    lines = ["  - create:", "      metadata:", "        a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"        a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    with pytest.raises(ScenarioError) as raised:
        script_of("\n".join(lines))
    (problem,) = raised.value.problems
    assert problem.message == "the file must not have more than 10,000 nodes"


def test_steps_that_are_repeated_by_alias_count_each_time() -> None:
    first = "  - repeat: {times: 10, steps: &s [{list: }]}\n"
    text = first + "  - repeat: {times: 9, steps: *s}\n" * 499
    assert len(script_of(text)) == 500
    (problem,) = problems_of(f"{text}  - list:\n")
    assert problem.message.startswith("a script must not have more than 1,000 steps")
