import subprocess
import sys

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.outcomes import Handset, Scripted, Step
from emulator.domain.payment import Status
from emulator.scenarios.rules import (
    ChosenWebhook,
    PaymentFacts,
    RuleKey,
    choose_expiry,
    choose_outcome,
    choose_webhook,
    matches,
)
from emulator.scenarios.values import (
    AmountRange,
    ExpiryRule,
    OutcomeRule,
    RuleSection,
    Scenario,
    WebhookRule,
    WebhookWhen,
    When,
)
from tests.scenarios.drawn import delivery_fault

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

COMPLETES = Scripted(steps=(Step(status=Status.COMPLETED),))
FAILS = Scripted(steps=(Step(status=Status.FAILED),))

TWICE = delivery_fault(copies=2)
DROPPED = delivery_fault(drop=True)


def never_used(_: RuleKey) -> int:
    return 0


def must_not_ask(key: RuleKey) -> int:
    raise AssertionError(f"the uses of {key} were asked for")


@pytest.mark.parametrize(
    ("when", "subject", "expected"),
    [
        (When(), SUBMITTED, True),
        (When(), CREATED, True),
        (When(mode=Mode.TEST), SUBMITTED, True),
        (When(mode=Mode.LIVE), SUBMITTED, False),
        (When(method="telebirr"), SUBMITTED, True),
        (When(method="mpesa"), SUBMITTED, False),  # offered, but another one was submitted
        (When(method="mpesa"), CREATED, True),
        (When(method="bank_transfer"), CREATED, False),
        (When(phone="+251900000001"), SUBMITTED, True),
        (When(phone="+251900000002"), SUBMITTED, False),
        (When(phone="+251900000001"), CREATED, False),
        (When(bank="walia_test"), AT_BANK, True),
        (When(bank="fidel_test"), AT_BANK, False),
        (When(bank="walia_test"), CREATED, False),
        (When(amount=AmountRange(gte=15_000, lte=15_000)), SUBMITTED, True),
        (When(amount=AmountRange(gte=15_001)), SUBMITTED, False),
        (When(amount=AmountRange(lte=14_999)), SUBMITTED, False),
        (When(amount=AmountRange(gte=1)), SUBMITTED, True),
        (When(metadata=(("order", "7"),)), SUBMITTED, True),
        (When(metadata=(("order", "7"), ("case", "short"))), SUBMITTED, True),
        (When(metadata=(("order", "7"), ("case", "long"))), SUBMITTED, False),
        (When(metadata=(("order", "07"),)), SUBMITTED, False),
        (When(metadata=(("absent", ""),)), SUBMITTED, False),
        (When(mode=Mode.TEST, method="mpesa"), SUBMITTED, False),
    ],
)
def test_a_rule_matches_when_everything_it_asks_for_is_true(
    when: When, subject: PaymentFacts, expected: bool
) -> None:
    assert matches(when, subject) is expected


def test_without_a_matching_rule_a_person_answers() -> None:
    live_only = Scenario(name="s", outcomes=(OutcomeRule(when=When(mode=Mode.LIVE), then=FAILS),))
    for scenarios in ([], [live_only]):
        chosen = choose_outcome(scenarios, SUBMITTED, must_not_ask)
        assert chosen.outcome == Handset()
        assert chosen.key is None
        assert not chosen.counts


def test_inside_a_file_the_first_rule_that_matches_wins() -> None:
    scenario = Scenario(
        name="s",
        outcomes=(
            OutcomeRule(when=When(mode=Mode.LIVE), then=Handset()),
            OutcomeRule(then=COMPLETES),
            OutcomeRule(then=FAILS),
        ),
    )
    chosen = choose_outcome([scenario], SUBMITTED, must_not_ask)
    assert chosen.outcome == COMPLETES
    assert chosen.key == RuleKey(scenario="s", section=RuleSection.OUTCOMES, index=1)
    assert not chosen.counts


def test_the_first_scenario_that_matches_beats_later_ones() -> None:
    scenarios = [
        Scenario(
            name="no-match", outcomes=(OutcomeRule(when=When(bank="walia_test"), then=FAILS),)
        ),
        Scenario(name="strong", outcomes=(OutcomeRule(then=COMPLETES),)),
        Scenario(name="weak", outcomes=(OutcomeRule(then=FAILS),)),
    ]
    chosen = choose_outcome(scenarios, SUBMITTED, must_not_ask)
    assert chosen.key == RuleKey(scenario="strong", section=RuleSection.OUTCOMES, index=0)


def test_a_rule_that_was_used_as_often_as_it_says_makes_room_for_the_next() -> None:
    scenario = Scenario(
        name="fail-fail-succeed",
        outcomes=(OutcomeRule(then=FAILS, times=2), OutcomeRule(then=COMPLETES)),
    )
    uses: dict[RuleKey, int] = {}
    outcomes = []
    for _ in range(4):
        chosen = choose_outcome([scenario], SUBMITTED, lambda key: uses.get(key, 0))
        outcomes.append(chosen.outcome)
        if chosen.counts:
            assert chosen.key is not None
            uses[chosen.key] = uses.get(chosen.key, 0) + 1
    assert outcomes == [FAILS, FAILS, COMPLETES, COMPLETES]
    assert list(uses.values()) == [2]


def test_uses_are_asked_only_of_a_rule_that_matches() -> None:
    scenario = Scenario(
        name="s", outcomes=(OutcomeRule(when=When(mode=Mode.LIVE), then=FAILS, times=1),)
    )
    assert choose_outcome([scenario], SUBMITTED, must_not_ask).outcome == Handset()


def test_a_handset_rule_is_a_match_of_its_own() -> None:
    scenario = Scenario(name="s", outcomes=(OutcomeRule(then=Handset()), OutcomeRule(then=FAILS)))
    chosen = choose_outcome([scenario], SUBMITTED, never_used)
    assert chosen.outcome == Handset()
    assert chosen.key is not None


def test_an_expiry_rule_matches_a_method_that_is_offered() -> None:
    scenario = Scenario(
        name="s",
        expiry=(
            ExpiryRule(when=When(phone="+251900000001"), after_ms=1),
            ExpiryRule(when=When(bank="walia_test"), after_ms=2),
            ExpiryRule(when=When(method="mpesa"), after_ms=5_000, times=1),
            ExpiryRule(after_ms=6_000),
        ),
    )
    first = choose_expiry([scenario], CREATED, never_used)
    assert first is not None
    assert (first.after_ms, first.counts) == (5_000, True)
    assert first.key == RuleKey(scenario="s", section=RuleSection.EXPIRY, index=2)
    second = choose_expiry([scenario], CREATED, lambda _: 1)
    assert second is not None
    assert (second.after_ms, second.counts) == (6_000, False)


def test_without_an_expiry_rule_nothing_is_said_about_expiry() -> None:
    scenario = Scenario(name="s", outcomes=(OutcomeRule(then=FAILS),))
    assert choose_expiry([scenario], CREATED, must_not_ask) is None


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (WebhookWhen(), True),
        (WebhookWhen(mode=Mode.TEST), True),
        (WebhookWhen(mode=Mode.LIVE), False),
        (WebhookWhen(event="payment.completed"), True),
        (WebhookWhen(event="payment.created"), False),
        (WebhookWhen(mode=Mode.TEST, event="payment.completed"), True),
        (WebhookWhen(mode=Mode.LIVE, event="payment.completed"), False),
        (WebhookWhen(mode=Mode.TEST, event="payment.failed"), False),
    ],
)
def test_a_webhook_rule_matches_on_mode_and_event(when: WebhookWhen, expected: bool) -> None:
    scenario = Scenario(name="s", webhooks=(WebhookRule(when=when, then=TWICE),))
    chosen = choose_webhook(
        [scenario], mode=Mode.TEST, event="payment.completed", uses=must_not_ask
    )
    key = RuleKey(scenario="s", section=RuleSection.WEBHOOKS, index=0)
    assert chosen == (ChosenWebhook(fault=TWICE, key=key, counts=False) if expected else None)


def test_without_a_webhook_rule_nothing_goes_wrong() -> None:
    scenario = Scenario(name="s", outcomes=(OutcomeRule(then=FAILS),))
    for scenarios in ([], [scenario]):
        chosen = choose_webhook(
            scenarios, mode=Mode.LIVE, event="payment.failed", uses=must_not_ask
        )
        assert chosen is None


def test_the_first_webhook_rule_of_the_first_scenario_that_matches_wins() -> None:
    scenarios = [
        Scenario(
            name="no-match",
            webhooks=(WebhookRule(when=WebhookWhen(mode=Mode.LIVE), then=DROPPED),),
        ),
        Scenario(
            name="strong",
            webhooks=(
                WebhookRule(when=WebhookWhen(event="payment.failed"), then=DROPPED),
                WebhookRule(then=TWICE),
                WebhookRule(then=DROPPED),
            ),
        ),
        Scenario(name="weak", webhooks=(WebhookRule(then=DROPPED),)),
    ]
    chosen = choose_webhook(scenarios, mode=Mode.TEST, event="payment.created", uses=must_not_ask)
    assert chosen is not None
    assert chosen.key == RuleKey(scenario="strong", section=RuleSection.WEBHOOKS, index=1)


def test_a_webhook_rule_retires_and_makes_room_for_the_next_and_then_for_none() -> None:
    scenarios = [
        Scenario(
            name="drop-two",
            webhooks=(
                WebhookRule(when=WebhookWhen(event="payment.completed"), then=DROPPED, times=2),
            ),
        ),
        Scenario(name="then-twice", webhooks=(WebhookRule(then=TWICE, times=1),)),
    ]
    uses: dict[RuleKey, int] = {}
    faults = []
    for _ in range(5):
        chosen = choose_webhook(
            scenarios,
            mode=Mode.TEST,
            event="payment.completed",
            uses=lambda key: uses.get(key, 0),
        )
        faults.append(chosen and chosen.fault)
        if chosen is not None:
            assert chosen.counts
            uses[chosen.key] = uses.get(chosen.key, 0) + 1
    assert faults == [DROPPED, DROPPED, TWICE, None, None]


def test_uses_are_asked_only_of_a_webhook_rule_that_matches() -> None:
    live_only = WebhookRule(when=WebhookWhen(mode=Mode.LIVE), then=DROPPED, times=1)
    scenario = Scenario(name="s", webhooks=(live_only,))
    assert (
        choose_webhook([scenario], mode=Mode.TEST, event="payment.failed", uses=must_not_ask)
        is None
    )


def test_choosing_a_rule_and_printing_the_schema_need_no_yaml() -> None:
    code = (
        "import sys, emulator.scenarios.rules, emulator.scenarios.schema;"
        " sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
