"""Chooses the rule for a payment or an event: by precedence of scenarios, then top to bottom."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from emulator.domain.accounts import Mode
from emulator.domain.outcomes import Handset, Outcome
from emulator.domain.webhooks import DeliveryEffect
from emulator.scenarios.values import (
    AmountRange,
    ExpiryRule,
    Fault,
    OutcomeRule,
    RuleSection,
    Scenario,
    WebhookRule,
    When,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentFacts:
    """The facts about a payment that conditions match: at creation, or at the submit.

    At creation `method`, `phone` and `bank` are None, since the customer has chosen nothing.
    `phone` is normalised.
    """

    mode: Mode
    methods: tuple[str, ...]
    amount_minor: int
    method: str | None = None
    phone: str | None = None
    bank: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleKey:
    """The place of a rule, by which its uses are counted."""

    scenario: str
    section: RuleSection
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The outcome, its rule (None: the default) and condition, and whether to count the use."""

    outcome: Outcome
    key: RuleKey | None = None
    when: When = field(default_factory=When)
    counts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenExpiry:
    """How long the checkout stays open, the rule, and whether to count the use."""

    after_ms: int
    key: RuleKey
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenWebhook:
    """The fault of an event's deliveries, its rule, and whether to count the use."""

    fault: Fault[DeliveryEffect]
    key: RuleKey
    counts: bool


Uses = Callable[[RuleKey], int]
"""How often a rule was used so far; called only for rules that match and have a limit."""

_Rule = TypeVar("_Rule", OutcomeRule, ExpiryRule, WebhookRule)


def matches(when: When, facts: PaymentFacts) -> bool:
    """Whether a condition matches; `When()` matches everything."""
    return (
        when.mode in (None, facts.mode)
        and _matches_method(when.method, facts)
        and when.phone in (None, facts.phone)
        and when.bank in (None, facts.bank)
        and (when.amount is None or _contains(when.amount, facts.amount_minor))
        and all(facts.metadata.get(key) == value for key, value in when.metadata)
    )


def choose_outcome(scenarios: Iterable[Scenario], facts: PaymentFacts, uses: Uses) -> Chosen:
    """What happens after the submit. `scenarios` are those in force, the strongest first.

    Without a matching rule the customer answers, at the handset.
    """
    first = _first(
        ((scenario.name, scenario.outcomes) for scenario in scenarios),
        RuleSection.OUTCOMES,
        lambda rule: matches(rule.when, facts),
        uses,
    )
    if first is None:
        return Chosen(outcome=Handset())
    key, rule = first
    return Chosen(outcome=rule.then, key=key, when=rule.when, counts=rule.times is not None)


def choose_expiry(
    scenarios: Iterable[Scenario], facts: PaymentFacts, uses: Uses
) -> ChosenExpiry | None:
    """How long a new checkout stays open; None leaves it to `expires_in`."""
    first = _first(
        ((scenario.name, scenario.expiry) for scenario in scenarios),
        RuleSection.EXPIRY,
        lambda rule: matches(rule.when, facts),
        uses,
    )
    if first is None:
        return None
    key, rule = first
    return ChosenExpiry(after_ms=rule.after_ms, key=key, counts=rule.times is not None)


def choose_webhook(
    scenarios: Iterable[Scenario], *, mode: Mode, event: str, uses: Uses
) -> ChosenWebhook | None:
    """The fault of the deliveries of an event of this type, if a rule matches."""
    first = _first(
        ((scenario.name, scenario.webhooks) for scenario in scenarios),
        RuleSection.WEBHOOKS,
        lambda rule: rule.when.mode in (None, mode) and rule.when.event in (None, event),
        uses,
    )
    if first is None:
        return None
    key, rule = first
    return ChosenWebhook(fault=rule.then, key=key, counts=rule.times is not None)


def _first(
    named: Iterable[tuple[str, tuple[_Rule, ...]]],
    section: RuleSection,
    applies: Callable[[_Rule], bool],
    uses: Uses,
) -> tuple[RuleKey, _Rule] | None:
    """The first rule that applies and is still active, with its place.

    `named` are the rules of this section, with the names of their scenarios.
    """
    for scenario, rules in named:
        for index, rule in enumerate(rules):
            if applies(rule):
                key = RuleKey(scenario=scenario, section=section, index=index)
                if rule.times is None or uses(key) < rule.times:
                    return key, rule
    return None


def _matches_method(method: str | None, facts: PaymentFacts) -> bool:
    if facts.method is None:
        return method is None or method in facts.methods
    return method in (None, facts.method)


def _contains(amount: AmountRange, amount_minor: int) -> bool:
    return (amount.gte is None or amount.gte <= amount_minor) and (
        amount.lte is None or amount_minor <= amount.lte
    )
