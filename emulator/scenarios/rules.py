"""Chooses the rule for a payment or an event: by precedence of scenarios, then top to bottom."""

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from msgspec import Struct, field

from emulator.domain.accounts import Mode
from emulator.domain.outcomes import Handset
from emulator.scenarios.values import (
    AmountRange,
    CheckoutRule,
    ExpiryRule,
    OutcomeRule,
    RuleSection,
    Scenario,
    WebhookRule,
    When,
)


class PaymentFacts(Struct, frozen=True, kw_only=True):
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


class RuleKey(Struct, frozen=True, kw_only=True):
    """The place of a rule, by which its uses are counted."""

    scenario: str
    section: RuleSection
    index: int


Uses = Callable[[RuleKey], int]
"""How often a rule was used so far; called only for rules that match and have a limit."""

# The customer answers.
DEFAULT_OUTCOME = Handset()

R = TypeVar("R", OutcomeRule, ExpiryRule, CheckoutRule, WebhookRule)


class Chosen(Struct, Generic[R], frozen=True, kw_only=True):
    """The rule that applies, and its place."""

    rule: R
    key: RuleKey

    @property
    def counts(self) -> bool:
        """Whether to count the use."""
        return self.rule.times is not None


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


def choose_outcome(
    scenarios: Iterable[Scenario], facts: PaymentFacts, uses: Uses
) -> Chosen[OutcomeRule] | None:
    """What happens after the submit. `scenarios` are those in force, the strongest first.

    None leaves it to DEFAULT_OUTCOME.
    """
    rules = ((scenario.name, scenario.outcomes) for scenario in scenarios)
    return _first(rules, RuleSection.OUTCOMES, lambda rule: matches(rule.when, facts), uses)


def choose_expiry(
    scenarios: Iterable[Scenario], facts: PaymentFacts, uses: Uses
) -> Chosen[ExpiryRule] | None:
    """How long a new checkout stays open; None leaves it to `expires_in`."""
    rules = ((scenario.name, scenario.expiry) for scenario in scenarios)
    return _first(rules, RuleSection.EXPIRY, lambda rule: matches(rule.when, facts), uses)


def choose_checkout(
    scenarios: Iterable[Scenario], facts: PaymentFacts, uses: Uses
) -> Chosen[CheckoutRule] | None:
    """When the page of a completed payment redirects; None is at once."""
    rules = ((scenario.name, scenario.checkout) for scenario in scenarios)
    return _first(rules, RuleSection.CHECKOUT, lambda rule: matches(rule.when, facts), uses)


def choose_webhook(
    scenarios: Iterable[Scenario], *, mode: Mode, event: str, uses: Uses
) -> Chosen[WebhookRule] | None:
    """The fault of the deliveries of an event of this type, if a rule matches."""
    rules = ((scenario.name, scenario.webhooks) for scenario in scenarios)
    return _first(
        rules,
        RuleSection.WEBHOOKS,
        lambda rule: rule.when.mode in (None, mode) and rule.when.event in (None, event),
        uses,
    )


def _first(
    named: Iterable[tuple[str, tuple[R, ...]]],
    section: RuleSection,
    applies: Callable[[R], bool],
    uses: Uses,
) -> Chosen[R] | None:
    """The first rule that applies and is still active.

    `named` are the rules of this section, with the names of their scenarios.
    """
    for scenario, rules in named:
        for index, rule in enumerate(rules):
            if applies(rule):
                key = RuleKey(scenario=scenario, section=section, index=index)
                if rule.times is None or uses(key) < rule.times:
                    return Chosen(rule=rule, key=key)
    return None


def _matches_method(method: str | None, facts: PaymentFacts) -> bool:
    if facts.method is None:
        return method is None or method in facts.methods
    return method in (None, facts.method)


def _contains(amount: AmountRange, amount_minor: int) -> bool:
    return (amount.gte is None or amount.gte <= amount_minor) and (
        amount.lte is None or amount_minor <= amount.lte
    )
