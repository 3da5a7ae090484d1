from dataclasses import fields

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.faults import ApiRequest, Fault, Point
from emulator.domain.outcomes import Handset, Scripted, Step
from emulator.domain.payment import Reason, Status
from emulator.domain.webhooks import DeliveryFault
from emulator.scenarios.loader import SECTIONS, parse_scenario
from emulator.scenarios.problems import Problem, ScenarioError
from emulator.scenarios.steps import Advance, Create, Place
from emulator.scenarios.values import (
    AmountRange,
    ExpiryRule,
    FaultRule,
    FaultWhen,
    OutcomeRule,
    Scenario,
    Section,
    WebhookRule,
    WebhookWhen,
    When,
)
from emulator.scenarios.vocabulary import FILE_KEYS

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
                then=Fault(status=500, point=Point.AFTER_COMMIT),
            ),
        ),
        webhooks=(
            WebhookRule(
                when=WebhookWhen(mode=Mode.TEST, event="payment.completed"),
                then=DeliveryFault(copies=2, delay_ms=10_000),
                times=1,
            ),
        ),
        script=(
            Create(place=Place(line=31, column=5), name="order", members=(("amount", 15_000),)),
            Advance(place=Place(line=32, column=5), by_ms=None),
        ),
    )


def test_a_file_needs_no_more_than_version_and_name() -> None:
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


def test_a_byte_order_mark_is_passed_over() -> None:
    assert parse_scenario(f"\ufeff{HEAD}", "case.yaml").name == "case"


def test_a_method_that_is_not_a_known_one_may_be_configured_elsewhere() -> None:
    text = f"{HEAD}outcomes: [{{when: {{method: cbe_birr, phone: '0700000001'}}, then: []}}]\n"
    assert parse_scenario(text, "case.yaml").outcomes[0].when.method == "cbe_birr"


def test_each_section_is_a_field_of_the_scenario() -> None:
    assert set(SECTIONS) == {section.value for section in Section} | {"script"}
    assert set(SECTIONS) <= set(FILE_KEYS)
    assert {field.name for field in fields(Scenario)} == set(FILE_KEYS) - {"version"}


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the file must hold a scenario, but it is empty"),
        ("# only a comment\n", 1, 1, "the file must hold a scenario, but it is empty"),
        ("---\n", 2, 1, "a scenario must be a mapping, not empty"),
        ("just words", 1, 1, "a scenario must be a mapping, not 'just words'"),
        ("- version: 1\n", 1, 1, "a scenario must be a mapping, not a list"),
        ("version: [1\n", 2, 1, "the file must be YAML: "),
        ("version: 1\nname: 'a\n", 3, 1, "the file must be YAML: found unexpected end of stream"),
        (f"{HEAD}description: a\x07b\n", 3, 15, r"the character '\x07' must not stand in a file"),
        (f"{HEAD}description: a\ud800b\n", 3, 15, r"the character '\ud800' must not stand"),
        (f"{HEAD}---\nversion: 1\n", 3, 1, "there must be one document in a file, not several"),
        (f"{HEAD}description: !!python/name:os.system x\n", 3, 14, "tags are not understood here"),
        (f"{HEAD}description: !secret x\n", 3, 14, "tags are not understood here: '!secret'"),
        (f"{HEAD}outcomes: !!python/object/apply:os.system []\n", 3, 11, "tags are not understood"),
        (f"{HEAD}outcomes: *nothing\n", 3, 11, "no anchor '&nothing' stands before its alias"),
        (f"{HEAD}outcomes: &a [*a]\n", 3, 15, "no anchor '&a' stands before its alias"),
        (f"{HEAD}outcomes: {'[' * 40}{']' * 40}\n", 3, 42, "nesting must not go deeper than 32"),
        (f"{HEAD}description: {'x' * 262_144}\n", 1, 1, "the file must not be larger than 256 KiB"),
        (f"{HEAD}description: {'ሀ' * 100_000}\n", 1, 1, "the file must not be larger than 256 KiB"),
        (f"{HEAD}outcomes: [{'a,' * 10_000}]\n", 3, 19_998, "the file must not have more than 10,"),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, str) else None,
)
def test_what_is_no_scenario_at_all_is_refused_with_its_place(
    text: str, line: int, column: int, message: str
) -> None:
    (problem,) = problems_of(text)
    assert problem.message.startswith(message)
    assert problem.line == line
    assert problem.column == column


def test_aliases_that_explode_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    (problem,) = problems_of("\n".join(lines))
    assert problem.message == "the file must not have more than 10,000 nodes"
    assert problem.line <= 5


def test_aliases_cannot_nest_deeper_than_what_is_written_out() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 40)]
    (problem,) = problems_of("\n".join(lines))
    assert problem.message == "nesting must not go deeper than 32 levels"
    assert problem.line == 32


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("name: case\n", 1, 1, "a scenario must have 'version': version: 1"),
        ("version: 1\n", 1, 1, "a scenario must have 'name': what the scenario is called"),
        ("version: 2\nname: case\n", 1, 10, "version must be 1, not 2"),
        ("version: '1'\nname: case\n", 1, 10, "version must be 1, not '1'"),
        ("version: 1.0\nname: case\n", 1, 10, "version must be 1, not 1.0"),
        ("version: true\nname: case\n", 1, 10, "version must be 1, not true"),
        ("version: 0x1\nname: case\n", 1, 10, "version must be 1, not 0x1"),
        ("version:\nname: case\n", 1, 9, "version must be 1, not empty"),
        ("version: 1\nname: Case\n", 2, 7, "name must be 1 to 64 small letters, digits, - and _"),
        ("version: 1\nname: -case\n", 2, 7, "name must be 1 to 64 small letters"),
        ("version: 1\nname: ''\n", 2, 7, "name must be 1 to 64 small letters"),
        (f"version: 1\nname: {'x' * 65}\n", 2, 7, "name must be 1 to 64 small letters"),
        ('version: 1\nname: "case\\n"\n', 2, 7, "name must be 1 to 64 small letters"),
        ("version: 1\nname: 7\n", 2, 7, 'name must be text, not 7; put it in quotes: "…"'),
        ("version: 1\nname: 2026-01-01\n", 2, 7, "name must be text, not 2026-01-01; put it in"),
        (f"{HEAD}description: yes\n", 3, 14, "description must be text, not yes; put it in quotes"),
        (f"{HEAD}description:\n", 3, 13, "description must be text, not empty"),
        (f"{HEAD}description: [a]\n", 3, 14, "description must be text, not a list"),
        (f"{HEAD}enabled: yes\n", 3, 10, "enabled must be true or false, not yes"),
        (f"{HEAD}enabled: 'true'\n", 3, 10, "enabled must be true or false, not 'true'"),
        (f"{HEAD}enabled: 1\n", 3, 10, "enabled must be true or false, not 1"),
        (f"{HEAD}outcoms: []\n", 3, 1, "a scenario has no key 'outcoms'; did you mean 'outcomes'?"),
        (f"{HEAD}xyz: 1\n", 3, 1, "a scenario has no key 'xyz'; it can have version, name, desc"),
        (f"{HEAD}Outcomes: []\n", 3, 1, "a scenario has no key 'Outcomes'; did you mean 'outcome"),
        (f"{HEAD}7: 1\n", 3, 1, "a key of a scenario must be text, not 7"),
        (f"{HEAD}? [a]\n: 1\n", 3, 3, "a key of a scenario must be text, not a list"),
        (f"{HEAD}name: again\n", 3, 1, "'name' must be given once in a scenario"),
        (f"{HEAD}<<: {{enabled: true}}\n", 3, 1, "merge keys (<<) are not understood here"),
        (f"{HEAD}outcomes:\n", 3, 10, "outcomes must be a list of rules, not empty"),
        (f"{HEAD}expiry: {{}}\n", 3, 9, "expiry must be a list of rules, not a mapping"),
        (f"{HEAD}faults: 500\n", 3, 9, "faults must be a list of rules, not 500"),
        (f"{HEAD}script:\n", 3, 8, "script must be a list of steps, not empty"),
        (f"{HEAD}script: {{x: 1}}\n", 3, 9, "script must be a list of steps, not a mapping"),
        (f"{HEAD}script: [{{x: 1}}]\n", 3, 11, "there is no step 'x'; there are create, retr"),
        (f"{HEAD}webhooks: drop\n", 3, 11, "webhooks must be a list of rules, not 'drop'"),
        (f"{HEAD}outcomes: [later]\n", 3, 12, "an outcome rule must be a mapping, not 'later'"),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, str) else None,
)
def test_a_mistake_at_the_top_names_its_place(
    text: str, line: int, column: int, message: str
) -> None:
    assert_one_problem(text, line, column, message)


@pytest.mark.parametrize(
    ("when", "column", "message"),
    [
        ("", 10, "when must be a mapping, not empty"),
        ("[]", 11, "when must be a mapping, not a list"),
        ("{mod: test}", 12, "when has no key 'mod'; did you mean 'mode'?"),
        ("{mode: tset}", 18, "mode must be test or live, not 'tset'; did you mean 'test'?"),
        ("{mode: test, mode: live}", 24, "'mode' must be given once in when"),
        (
            "{method: Telebirr}",
            20,
            "method must be a word such as telebirr, mpesa or bank_transfer",
        ),
        ("{method: 1}", 20, "method must be text, not 1"),
        ("{phone: '12345'}", 19, "'12345' is not an Ethiopian mobile number"),
        ("{phone: '0800000001'}", 19, "'0800000001' is not an Ethiopian mobile number"),
        ("{phone: +251900000001}", 19, "phone must be text, not +251900000001; put it in quotes"),
        ("{phone: 0700000001}", 19, "phone must be text, not 0700000001; put it in quotes"),
        ("{method: mpesa, phone: '0900000001'}", 34, "+251900000001 is a number of telebirr, so"),
        ("{phone: '0700000001', method: telebirr}", 19, "+251700000001 is a number of mpesa, so"),
        (
            "{method: bank_transfer, phone: '0900000001'}",
            42,
            "a bank_transfer has a bank and no ph",
        ),
        ("{method: mpesa, bank: walia_test}", 33, "mpesa has a phone and no bank, so this never"),
        ("{phone: '0900000001', bank: walia_test}", 39, "no payment has both a phone and a bank"),
        (
            "{bank: walia}",
            18,
            "bank must be walia_test, gelada_test, semien_test or fidel_test, no",
        ),
        ("{amount: 0}", 20, "amount must be a whole number from 1 to 9,007,199,254,740,991, not 0"),
        ("{amount: -1}", 20, "amount must be a whole number from 1"),
        ("{amount: 9007199254740992}", 20, "amount must be a whole number from 1"),
        (
            "{amount: 1.5}",
            20,
            "amount must be an amount in ETB cents, or {gte: …, lte: …}, not 1.5",
        ),
        (
            "{amount: '100'}",
            20,
            "amount must be an amount in ETB cents, or {gte: …, lte: …}, not '1",
        ),
        ("{amount: true}", 20, "amount must be an amount in ETB cents"),
        ("{amount: 1_000}", 20, "amount must be an amount in ETB cents"),
        ("{amount: [1, 2]}", 20, "amount must be an amount in ETB cents"),
        ("{amount: {}}", 20, "amount must have 'gte' or 'lte' or both"),
        ("{amount: {gte: x}}", 26, "gte must be a whole number from 1"),
        ("{amount: {gte: 2, lte: 1}}", 20, "gte must not be above lte: no amount is from 2 to 1"),
        ("{amount: {gt: 2, lte: 3}}", 21, "amount has no key 'gt'; did you mean 'gte'?"),
        ("{metadata: x}", 22, "metadata must be a mapping, not 'x'"),
        ("{metadata: {order: 7}}", 30, 'order must be text, not 7; put it in quotes: "…"'),
        ("{metadata: {paid: yes}}", 29, 'paid must be text, not yes; put it in quotes: "…"'),
        ('{metadata: {"a\\nb": 7}}', 31, "'a\\nb' must be text, not 7; put it in quotes"),
        ('{metadata: {"": 7}}', 27, "'' must be text, not 7; put it in quotes"),
        (f"{{metadata: {{{'k' * 65}: 7}}}}", 90, f"'{'k' * 64}…' must be text, not 7"),
        ("{metadata: {7: a}}", 23, "a key of metadata must be text, not 7"),
        ("{metadata: {a: b, a: c}}", 29, "'a' must be given once in metadata"),
    ],
)
def test_a_mistake_in_when_names_its_place(when: str, column: int, message: str) -> None:
    assert_one_problem(f"{HEAD}outcomes:\n  - when: {when}\n    then: []\n", 4, column, message)
    assert_one_problem(f"{HEAD}expiry:\n  - when: {when}\n    after: 1s\n", 4, column, message)


@pytest.mark.parametrize(
    ("rule", "column", "message"),
    [
        ("{then: []}", 5, "an outcome rule must have 'when': what must match; {} matches everythi"),
        ("{when: {}}", 5, "an outcome rule must have 'then': a list of steps, or handset"),
        ("{when: {}, then: []}, {}", 27, "an outcome rule must have"),
        ("{when: {}, then: [], time: 1}", 26, "an outcome rule has no key 'time'; did you mean"),
        ("{when: {}, then: [], after: 1s}", 26, "an outcome rule has no key 'after'"),
        ("{when: {}, then: [], times: 0}", 33, "times must be a whole number from 1 to 1,000,000"),
        ("{when: {}, then: [], times: one}", 33, "times must be a whole number from 1"),
        ("{when: {}, then: handest}", 22, "then must be a list of steps, or handset, not 'hand"),
        ("{when: {}, then: {status: failed}}", 22, "then must be a list of steps, or handset, n"),
    ],
)
def test_a_mistake_in_an_outcome_rule_names_its_place(rule: str, column: int, message: str) -> None:
    problem = problems_of(f"{HEAD}outcomes:\n  [ {rule} ]\n")[0]
    assert (problem.line, problem.column) == (4, column)
    assert problem.message.startswith(message)


@pytest.mark.parametrize(
    ("steps", "column", "message"),
    [
        ("failed", 14, "a step must be a mapping, not 'failed'"),
        ("{after: 1s}", 14, "a step must have 'status': what the payment becomes"),
        ("{status: failed, at: 1s}", 31, "a step has no key 'at'"),
        ("{status: complted}", 23, "status must be completed, failed or refunded, not 'complted'"),
        ("{status: yes}", 23, "status must be completed, failed or refunded, not yes"),
        ("{status: failed, reason: timout}", 39, "reason must be insufficient_balance, "),
        ("{status: completed, reason: timeout}", 42, "reason belongs to 'status: failed' alone"),
        ("{status: failed, after: 3}", 38, "after must be a duration such as 30s or 500ms, not 3"),
        ("{status: failed, after: 3 s}", 38, "after must be a duration: '3 s' is not a number"),
        ("{status: failed, after: -3s}", 38, "after must be a duration: '-3s' is not a number"),
        ("{status: failed, after: 4000d}", 38, "after must be a duration: '4000d' is longer than"),
        ("{status: failed, unusual: 1}", 40, "unusual must be true or false, not 1"),
        ("{status: pending}", 23, "pending cannot follow processing; after processing can come "),
        ("{status: processing}", 23, "processing cannot follow processing; after processing can c"),
        (
            "{status: refunded}",
            23,
            "refunded cannot follow processing; after processing can come completed or failed",
        ),
        ("{status: expired, unusual: true}", 23, "expired cannot follow processing; after"),
        (
            "{status: failed}, {status: completed}",
            41,
            "completed after failed is unusual, so it needs 'unusual: true' beside it",
        ),
        (
            "{status: failed}, {status: completed, unusual: false}",
            41,
            "completed after failed is unusual, so it needs 'unusual: true' beside it",
        ),
        (
            "{status: failed}, {status: refunded}, {status: refunded}",
            41,
            "refunded cannot follow failed; after failed can come completed (with unusual: true)",
        ),
        (
            "{status: completed}, {status: refunded}, {status: completed, unusual: true}",
            64,
            "completed cannot follow refunded: refunded is the end of a payment",
        ),
        (
            "{status: completed, after: 5s}, {status: refunded, after: 4s}",
            72,
            "after counts from the submit, so it must not be less than in the step above",
        ),
        (
            "{status: completed, after: 5s}, {status: refunded}",
            46,
            "after counts from the submit, so it must not be less than in the step above",
        ),
        ("{status: completed, after: 5s}, {status: refunded, after: 4}", 72, "after must be a dur"),
        ("{status: failed}, {status: completed, unusual: yes}", 61, "unusual must be true or fal"),
    ],
)
def test_a_mistake_in_the_steps_names_its_place(steps: str, column: int, message: str) -> None:
    assert_one_problem(
        f"{HEAD}outcomes:\n  - when: {{}}\n    then:   [{steps}]\n", 5, column, message
    )


def test_a_hundred_steps_are_the_most() -> None:
    steps = ", ".join(["{status: failed}"] * 101)
    text = f"{HEAD}outcomes:\n  - {{when: {{}}, then: [{steps}]}}\n"
    assert_one_problem(text, 4, 22, "then must not have more than 100 steps, but has 101")


@pytest.mark.parametrize(
    ("rule", "column", "message"),
    [
        ("{after: 5s}", 5, "an expiry rule must have 'when': what must match"),
        ("{when: {}}", 5, "an expiry rule must have 'after': a duration such as 5s"),
        ("{when: {}, after: 0s}", 23, "after must be longer than nothing"),
        ("{when: {}, after: 5}", 23, "after must be a duration such as 30s or 500ms, not 5"),
        ("{when: {}, then: 5s}", 22, "then must be a mapping, not '5s'"),
        ("{when: {}, then: {}}", 22, "then must have 'after': a duration such as 5s"),
        ("{when: {}, then: {after: 0ms}}", 30, "after must be longer than nothing"),
        ("{when: {}, then: {at: 1s}}", 22, "then must have 'after'"),
        ("{when: {}, then: {after: 5s}, after: 5s}", 22, "'after' must be given once: beside"),
        ("{when: {}, after: 5s, times: -1}", 34, "times must be a whole number from 1"),
    ],
)
def test_a_mistake_in_an_expiry_rule_names_its_place(rule: str, column: int, message: str) -> None:
    problem = problems_of(f"{HEAD}expiry:\n  [ {rule} ]\n")[0]
    assert (problem.line, problem.column) == (4, column)
    assert problem.message.startswith(message)


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


def test_a_name_that_is_known_from_elsewhere_need_not_be_said_again() -> None:
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
        ("name: 7", "7", 1, 7, "name", 'name must be text, not 7; put it in quotes: "…"'),
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
def test_a_name_that_is_known_from_elsewhere_must_not_be_contradicted(
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
def test_a_problem_knows_the_key_that_it_stands_under(text: str, keys: list[str | None]) -> None:
    assert [problem.key for problem in problems_of(text)] == keys


def test_the_error_says_each_problem_on_a_line_of_its_own() -> None:
    with pytest.raises(ScenarioError) as raised:
        parse_scenario("version: 3\nname: ['multi\n\n  line']\n", "dir/case.yaml")
    assert str(raised.value) == (
        "dir/case.yaml:1:10: version must be 1, not 3\n"
        "dir/case.yaml:2:7: name must be text, not a list"
    )


def test_a_problem_stays_on_one_line_and_short_whatever_the_file_holds() -> None:
    long = "\\n" * 10_000
    (problem,) = problems_of(f'{HEAD}outcomes: [{{when: {{phone: "{long}"}}, then: []}}]\n')
    assert "\n" not in str(problem)
    assert len(problem.message) <= 300


def assert_one_problem(text: str, line: int, column: int, message: str) -> None:
    (problem,) = problems_of(text)
    assert (problem.line, problem.column) == (line, column), problem
    assert problem.message.startswith(message), problem
