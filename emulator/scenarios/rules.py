"""Chooses the rule for a payment or an event: by precedence of scenarios, then top to bottom."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from emulator.domain.accounts import Mode
from emulator.domain.durations import duration_text
from emulator.domain.effects import Handset, Outcome, Step
from emulator.domain.payment import Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, methods_of_phone
from emulator.scenarios.values import (
    AmountRange,
    CheckoutRule,
    ExpiryRule,
    FaultRule,
    OutcomeRule,
    RuleSection,
    Scenario,
    WebhookRule,
    WebhookWhen,
    When,
)

MAX_NUMBERS = 8
# For each method, in the order of the rules; whether to offer a number is known after its decision.
MAX_DECIDED_NUMBERS = 100


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


class RuleKey(NamedTuple):
    """The place of a rule, by which its uses are counted."""

    scenario: str
    section: RuleSection
    place: int


class Past(Struct, frozen=True):
    """How often a rule was used so far, and the time since a scenario was enabled.

    Both are called only for rules that match and depend on it.
    """

    uses: Callable[[RuleKey], int]
    elapsed_ms: Callable[[str], int]


# The customer answers.
DEFAULT_OUTCOME = Handset()

R = TypeVar("R", OutcomeRule, ExpiryRule, CheckoutRule, FaultRule, WebhookRule)


class PlacedRule(Struct, Generic[R], frozen=True, kw_only=True):
    """A rule and its place."""

    rule: R
    key: RuleKey

    @property
    def counts(self) -> bool:
        """Whether to count the use."""
        return self.rule.times is not None

    def is_current(self, elapsed_ms: Callable[[str], int]) -> bool:
        """Whether the time of the rule has come, and is not over."""
        when = self.rule.when
        if isinstance(when, WebhookWhen) or not when.is_timed:
            return True
        return when.contains(elapsed_ms(self.key.scenario))

    def is_left(self, uses: Callable[[RuleKey], int]) -> bool:
        """Whether the rule has a use left."""
        return self.rule.times is None or uses(self.key) < self.rule.times


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
    scenarios: Iterable[Scenario], facts: PaymentFacts, past: Past
) -> PlacedRule[OutcomeRule] | None:
    """What happens after the submit. `scenarios` are those in force, the strongest first.

    None leaves it to DEFAULT_OUTCOME.
    """
    return _first(scenarios, RuleSection.OUTCOMES, lambda rule: matches(rule.when, facts), past)


def choose_payer(
    scenarios: Sequence[Scenario], facts: PaymentFacts, past: Past
) -> PaymentFacts | None:
    """The facts with the first phone or bank of their method whose payments succeed.

    Without such a phone or bank, the first whose customer answers. Only rules that name a phone or
    a bank count, because the others decide about each customer.
    """
    if facts.method == BANK_TRANSFER:
        payers = [replace(facts, bank=bank) for bank in BANKS]
    else:
        whens = [rule.when for scenario in scenarios for rule in scenario.outcomes]
        payers = [replace(facts, phone=phone) for phone in _phones(whens, facts.method)]
    answering: PaymentFacts | None = None
    for payer in payers:

        def names(rule: OutcomeRule, payer: PaymentFacts = payer) -> bool:
            return bool(rule.when.phone or rule.when.bank) and matches(rule.when, payer)

        chosen = _first(scenarios, RuleSection.OUTCOMES, names, past)
        outcome = DEFAULT_OUTCOME if chosen is None else chosen.rule.then
        if isinstance(outcome, Handset):
            answering = answering or payer
        elif {step.status for step in outcome.steps} == {Status.COMPLETED}:
            return payer
    return answering


def choose_expiry(
    scenarios: Iterable[Scenario], facts: PaymentFacts, past: Past
) -> PlacedRule[ExpiryRule] | None:
    """How long a new checkout stays open; None leaves it to `expires_in`."""
    return _first(scenarios, RuleSection.EXPIRY, lambda rule: matches(rule.when, facts), past)


def choose_checkout(
    scenarios: Iterable[Scenario], facts: PaymentFacts, setting: str, past: Past
) -> PlacedRule[CheckoutRule] | None:
    """What the page does, by the first rule with this setting: a field of CheckoutEffect."""

    def applies(rule: CheckoutRule) -> bool:
        return getattr(rule.then, setting) is not None and matches(rule.when, facts)

    return _first(scenarios, RuleSection.CHECKOUT, applies, past)


def choose_webhook(
    scenarios: Iterable[Scenario], *, mode: Mode, event: str, past: Past
) -> PlacedRule[WebhookRule] | None:
    """The fault of the deliveries of an event of this type, if a rule matches."""
    return _first(
        scenarios,
        RuleSection.WEBHOOKS,
        lambda rule: rule.when.mode in (None, mode) and rule.when.event in (None, event),
        past,
    )


def _first(
    scenarios: Iterable[Scenario], section: RuleSection, applies: Callable[[R], bool], past: Past
) -> PlacedRule[R] | None:
    """The first rule of a section that applies and is still active."""
    for scenario in scenarios:
        rules: tuple[R, ...] = getattr(scenario, section)
        for index, rule in enumerate(rules):
            if applies(rule):
                key = RuleKey(scenario=scenario.name, section=section, place=index)
                placed = PlacedRule(rule=rule, key=key)
                if placed.is_current(past.elapsed_ms) and placed.is_left(past.uses):
                    return placed
    return None


def _matches_method(method: str | None, facts: PaymentFacts) -> bool:
    if facts.method is None:
        return method is None or method in facts.methods
    return method in (None, facts.method)


def _contains(amount: AmountRange, amount_minor: int) -> bool:
    return (amount.gte is None or amount.gte <= amount_minor) and (
        amount.lte is None or amount_minor <= amount.lte
    )


class NamedNumber(NamedTuple):
    """A phone number that a scenario names, and the outcome of its submit."""

    phone: str
    outcome: Outcome


def named_numbers(
    scenarios: Sequence[Scenario], facts: PaymentFacts, past: Past
) -> list[NamedNumber]:
    """The phones that scenarios name for the method, each with the outcome of its submit.

    A number that the default decides, or a rule without a phone, is left out. There are at most
    MAX_NUMBERS.
    """
    whens = [rule.when for scenario in scenarios for rule in scenario.outcomes]
    numbers: list[NamedNumber] = []
    for phone in _phones(whens, facts.method):
        chosen = choose_outcome(scenarios, replace(facts, phone=phone), past)
        if chosen is not None and chosen.rule.when.phone is not None:
            numbers.append(NamedNumber(phone, chosen.rule.then))
        if len(numbers) == MAX_NUMBERS:
            break
    return numbers


def _phones(whens: Iterable[When], method: str | None) -> tuple[str, ...]:
    """The phones of a method that rules name for it, or for any method."""
    own = (when for when in whens if when.method in (None, method))
    named = dict.fromkeys(when.phone for when in own if when.phone is not None)
    accepted = [phone for phone in named if method in methods_of_phone(phone)]
    return tuple(accepted[:MAX_DECIDED_NUMBERS])


NO_PAST = Past(lambda _: 0, lambda _: 0)


def designated_numbers(
    scenarios: Iterable[Scenario], methods: Sequence[str]
) -> dict[str, dict[str, str]]:
    """By outcome, then by method: the first number of test mode that leads to it (contract, 4.4).

    Scenarios that are off, and methods other than these, are left out.
    """
    by_method: dict[str, dict[str, str]] = {}
    for scenario in scenarios:
        for rule in scenario.outcomes if scenario.enabled else ():
            when = rule.when
            if when.mode is Mode.TEST and when.method and when.phone:
                by_method.setdefault(when.method, {}).setdefault(
                    _outcome_text(rule.then), when.phone
                )
    numbers: dict[str, dict[str, str]] = {}
    for method in methods:
        for outcome, phone in by_method.get(method, {}).items():
            numbers.setdefault(outcome, {})[method] = phone
    return numbers


def _outcome_text(outcome: Outcome) -> str:
    if isinstance(outcome, Handset):
        return "confirmed on the handset"
    return ", then ".join(map(_step_text, outcome.steps)) or "stays in processing"


def _step_text(step: Step) -> str:
    reason = f": {step.reason}" if step.reason else ""
    after = f" after {duration_text(step.after_ms)}" if step.after_ms else ""
    return f"{step.status}{after}{reason}"
