"""Chooses rules by their conditions, precedence and uses."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from emulator.domain.accounts import Mode
from emulator.domain.effects import Handset, Scripted, Step
from emulator.domain.payment import Status
from emulator.scenarios.rules import (
    Past,
    PaymentFacts,
    PlacedRule,
    RuleKey,
    choose_expiry,
    choose_outcome,
    choose_webhook,
    matches,
)
from emulator.scenarios.values import (
    ExpiryRule,
    OutcomeRule,
    RuleSection,
    Scenario,
    WebhookRule,
    WebhookWhen,
    When,
)
from tests.scenarios.sample_faults import delivery_fault
from tests.tables import rows

SUBMITTED = PaymentFacts(
    mode=Mode.TEST,
    methods=("telebirr", "mpesa"),
    amount_minor=15_000,
    method="telebirr",
    phone="+251900000001",
    metadata={"order": "7", "case": "short"},
)
CREATED = PaymentFacts(mode=Mode.TEST, methods=("telebirr", "mpesa"), amount_minor=15_000)
AT_BANK = PaymentFacts(
    mode=Mode.LIVE,
    methods=("bank_transfer",),
    amount_minor=100,
    method="bank_transfer",
    bank="walia_test",
)

FACTS = {"submitted": SUBMITTED, "created": CREATED, "at a bank": AT_BANK}

# A rule of each section that matches everything, and one that matches nothing of these tests.
RULES: dict[RuleSection, tuple[Any, Any]] = {
    RuleSection.OUTCOMES: (
        OutcomeRule(then=Scripted(steps=(Step(status=Status.COMPLETED),))),
        OutcomeRule(when=When(mode=Mode.LIVE), then=Handset()),
    ),
    RuleSection.EXPIRY: (
        ExpiryRule(after_ms=5_000),
        ExpiryRule(when=When(mode=Mode.LIVE), after_ms=1),
    ),
    RuleSection.WEBHOOKS: (
        WebhookRule(then=delivery_fault(copies=2)),
        WebhookRule(when=WebhookWhen(event="payment.failed"), then=delivery_fault(drop=True)),
    ),
}
SECTIONS = pytest.mark.parametrize("section", RULES)


def fail_if_counted(key: RuleKey) -> int:
    raise AssertionError(f"the uses of {key} were requested")


def fail_if_timed(scenario: str) -> int:
    raise AssertionError(f"the time of {scenario} was requested")


def choose(
    section: RuleSection, files: Sequence[Sequence[Any]], uses: Callable[[RuleKey], int]
) -> PlacedRule[Any] | None:
    """The rule that is chosen from files with these rules in one section, the strongest first."""
    scenarios = [
        Scenario(name=f"s{index}", **{section.value: tuple(rules)})
        for index, rules in enumerate(files)
    ]
    past = Past(uses, fail_if_timed)
    if section is RuleSection.WEBHOOKS:
        return choose_webhook(scenarios, mode=Mode.TEST, event="payment.completed", past=past)
    if section is RuleSection.EXPIRY:
        return choose_expiry(scenarios, CREATED, past)
    return choose_outcome(scenarios, SUBMITTED, past)


@pytest.mark.parametrize(("when", "facts", "expected"), rows(__file__, "conditions on a payment"))
def test_a_condition_matches_when_all_its_keys_match(
    when: dict[str, Any], facts: str, expected: bool
) -> None:
    assert matches(convert(when, When), FACTS[facts]) is expected


@pytest.mark.parametrize(("when", "expected"), rows(__file__, "conditions on an event"))
def test_a_webhook_rule_matches_on_mode_and_event(when: dict[str, Any], expected: bool) -> None:
    rule = WebhookRule(when=convert(when, WebhookWhen), then=delivery_fault(copies=2))
    chosen = choose(RuleSection.WEBHOOKS, [[rule]], fail_if_counted)
    assert (chosen is not None) is expected


@SECTIONS
def test_without_a_matching_rule_none_is_chosen(section: RuleSection) -> None:
    _, other = RULES[section]
    # The uses of a rule that does not match are not requested.
    for files in ([], [[]], [[other]], [[replace(other, times=1)]]):
        assert choose(section, files, fail_if_counted) is None


@SECTIONS
def test_the_first_matching_rule_of_the_strongest_scenario_applies(section: RuleSection) -> None:
    rule, other = RULES[section]
    chosen = choose(section, [[other], [other, rule, rule], [rule]], fail_if_counted)
    assert chosen is not None
    assert chosen.rule == rule
    assert chosen.key == RuleKey(scenario="s1", section=section, place=1)
    assert not chosen.counts


@SECTIONS
def test_after_its_uses_a_rule_is_inactive_and_the_next_one_applies(section: RuleSection) -> None:
    rule, _ = RULES[section]
    files = [[replace(rule, times=2)], [replace(rule, times=1)]]
    uses: Counter[RuleKey] = Counter()
    names = []
    for _ in range(5):
        chosen = choose(section, files, lambda key: uses[key])
        names.append(chosen and chosen.key.scenario)
        if chosen is not None:
            assert chosen.counts
            uses[chosen.key] += 1
    assert names == ["s0", "s0", "s1", None, None]


def test_an_expiry_rule_with_a_phone_or_a_bank_never_matches() -> None:
    whens = [When(phone="+251900000001"), When(bank="walia_test"), When(method="mpesa")]
    rules = [ExpiryRule(when=when, after_ms=5_000) for when in whens]
    chosen = choose(RuleSection.EXPIRY, [rules], fail_if_counted)
    assert chosen is not None
    assert chosen.key.place == 2


def test_choosing_a_rule_and_printing_the_schema_need_no_yaml() -> None:
    code = (
        "import sys, emulator.scenarios.rules, emulator.scenarios.scenario_file;"
        " sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
