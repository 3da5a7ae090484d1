from typing import Any

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
from emulator.scenarios.values import OutcomeRule, Scenario, When

ONE, TWO, THREE = "+251900000001", "+251900000002", "+251900000003"
COMPLETES = Scripted(steps=(Step(status=Status.COMPLETED),))
FAILS = Scripted(steps=(Step(status=Status.FAILED),))


def rule(then: Outcome = COMPLETES, times: int | None = None, **when: Any) -> OutcomeRule:
    return OutcomeRule(when=When(**when), then=then, times=times)


FACTS = PaymentFacts(mode=Mode.TEST, methods=("telebirr",), amount_minor=100, method="telebirr")


def named(*files: list[OutcomeRule]) -> list[tuple[str, Outcome]]:
    """The numbers of scenarios, the strongest first."""
    scenarios = [
        Scenario(name=f"s{index}", outcomes=tuple(rules)) for index, rules in enumerate(files)
    ]
    return named_numbers(scenarios, FACTS, NO_PAST)


def phones(*files: list[OutcomeRule]) -> list[str]:
    return [phone for phone, _ in named(*files)]


def test_numbers_come_in_the_order_of_their_rules_each_once() -> None:
    numbers = named(
        [rule(phone=THREE), rule(phone=ONE)], [rule(FAILS, phone=THREE), rule(FAILS, phone=TWO)]
    )
    assert numbers == [(THREE, COMPLETES), (ONE, COMPLETES), (TWO, FAILS)]


def test_a_number_of_another_method_pays_nothing() -> None:
    scenario = Scenario(name="other", outcomes=(rule(method="mpesa", phone=ONE),))
    assert choose_payer((scenario,), FACTS, NO_PAST) is None
    assert phones([rule(method="mpesa", phone=ONE)]) == []


def test_a_number_that_a_rule_without_phone_decides_is_not_offered() -> None:
    assert phones([rule(phone=ONE), rule(FAILS), rule(phone=TWO)]) == [ONE]


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
