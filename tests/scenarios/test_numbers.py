from typing import Any

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.effects import Outcome, Scripted, Step
from emulator.domain.payment import Status
from emulator.scenarios.rules import (
    MAX_DECIDED_NUMBERS,
    NO_PAST,
    PaymentFacts,
    choose_payer,
    named_numbers,
)
from emulator.scenarios.values import AmountRange, OutcomeRule, Scenario, When

ONE, TWO, THREE = "+251900000001", "+251900000002", "+251900000003"
COMPLETES = Scripted(steps=(Step(status=Status.COMPLETED),))
FAILS = Scripted(steps=(Step(status=Status.FAILED),))


def rule(then: Outcome = COMPLETES, times: int | None = None, **when: Any) -> OutcomeRule:
    return OutcomeRule(when=When(**when), then=then, times=times)


def named(
    *files: list[OutcomeRule], amount_minor: int = 100, metadata: dict[str, str] | None = None
) -> list[tuple[str, Outcome]]:
    """The numbers of scenarios, the strongest first, for a payment."""
    scenarios = [
        Scenario(name=f"s{index}", outcomes=tuple(rules)) for index, rules in enumerate(files)
    ]
    facts = PaymentFacts(
        mode=Mode.TEST,
        methods=("telebirr",),
        amount_minor=amount_minor,
        method="telebirr",
        metadata=metadata or {},
    )
    return named_numbers(scenarios, facts, NO_PAST)


def phones(*files: list[OutcomeRule], **facts: Any) -> list[str]:
    return [phone for phone, _ in named(*files, **facts)]


def test_numbers_come_in_the_order_of_their_rules_each_once() -> None:
    numbers = named(
        [rule(phone=THREE), rule(phone=ONE)], [rule(FAILS, phone=THREE), rule(FAILS, phone=TWO)]
    )
    assert numbers == [(THREE, COMPLETES), (ONE, COMPLETES), (TWO, FAILS)]


def test_a_number_of_another_method_pays_nothing() -> None:
    scenario = Scenario(name="other", outcomes=(rule(method="mpesa", phone=ONE),))
    facts = PaymentFacts(
        mode=Mode.TEST, methods=("telebirr",), amount_minor=100, method="telebirr", metadata={}
    )
    assert choose_payer((scenario,), facts, lambda _: 0) is None
    assert phones([rule(method="mpesa", phone=ONE)]) == []


def test_a_number_that_a_rule_without_phone_decides_is_not_offered() -> None:
    assert phones([rule(phone=ONE), rule(FAILS), rule(phone=TWO)]) == [ONE]


@pytest.mark.parametrize(
    ("amount_minor", "expected"), [(99, [TWO]), (100, [ONE, TWO]), (200, [ONE, TWO]), (201, [TWO])]
)
def test_a_number_may_depend_on_the_amount(amount_minor: int, expected: list[str]) -> None:
    rules = [rule(phone=ONE, amount=AmountRange(gte=100, lte=200)), rule(phone=TWO)]
    assert phones(rules, amount_minor=amount_minor) == expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, [THREE]),
        ({"case": "a"}, [ONE, THREE]),
        ({"case": "b", "of": "x"}, [TWO, THREE]),
        ({"case": "b"}, [THREE]),
        ({"case": "", "of": "x"}, [THREE]),
    ],
)
def test_a_number_may_depend_on_metadata(metadata: dict[str, str], expected: list[str]) -> None:
    rules = [
        rule(phone=ONE, metadata=(("case", "a"),)),
        rule(phone=TWO, metadata=(("case", "b"), ("of", "x"))),
        rule(phone=THREE),
    ]
    assert phones(rules, metadata=metadata) == expected


def test_at_most_eight_numbers_are_offered() -> None:
    named_phones = [f"+2519{number:08}" for number in range(20)]
    of_live_mode = [rule(mode=Mode.LIVE, phone="+251999999999")]
    rules = of_live_mode + [rule(phone=phone) for phone in named_phones]
    assert phones(rules) == named_phones[:8]


def test_at_most_a_hundred_numbers_are_decided() -> None:
    numbers = (f"+25195{number:07}" for number in range(MAX_DECIDED_NUMBERS))
    never = [rule(mode=Mode.LIVE, phone=phone) for phone in numbers]
    assert phones([*never[1:], rule(phone=ONE)]) == [ONE]
    assert phones([*never, rule(phone=ONE)]) == []
