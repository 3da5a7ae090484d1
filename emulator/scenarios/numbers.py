"""Decides what the phone numbers that scenarios name do to a payment."""

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial

from emulator.domain.accounts import Mode
from emulator.domain.durations import whole_duration_text
from emulator.domain.outcomes import Handset, Outcome, Step
from emulator.domain.payment import Payment
from emulator.domain.payment_methods import PHONE_METHODS, method_of_phone
from emulator.scenarios.rules import PaymentFacts, RuleKey, Uses, choose_outcome
from emulator.scenarios.values import Scenario, When

MAX_NUMBERS = 8
# For each method, in the order of the rules; whether to offer a number is known after its decision.
MAX_DECIDED_NUMBERS = 100
MAX_CACHED = 256

Numbers = tuple[tuple[str, Outcome], ...]
"""Phone numbers, each with its outcome."""


class NamedNumbers:
    """The numbers that scenarios name, decided for a payment as its submit would be.

    Only the facts that the rules match are read from a payment, so that payments with the same
    facts are decided once.
    """

    def __init__(self, scenarios: tuple[Scenario, ...]) -> None:
        rules = [rule for scenario in scenarios for rule in scenario.outcomes]
        whens = [rule.when for rule in rules]
        self._scenarios = scenarios
        self._phones = {method: _phones(whens, method) for method in PHONE_METHODS}
        self._needs_amount = any(when.amount is not None for when in whens)
        self._metadata_keys = tuple(dict(pair for when in whens for pair in when.metadata))
        self._uncounted = lru_cache(MAX_CACHED)(partial(self._decide, _never_used))
        self.is_counted = any(rule.times is not None for rule in rules)

    def of(self, mode: Mode, payment: Payment, method: str, uses: Uses | None = None) -> Numbers:
        """The numbers to offer for a method that takes a phone.

        `uses` is required where rules are counted. A number that the default decides, or a rule
        without a phone, is not offered.
        """
        amount_minor = payment.amount_minor if self._needs_amount else 0
        metadata = payment.terms.metadata if self._metadata_keys else {}
        relevant = tuple((key, metadata[key]) for key in self._metadata_keys if key in metadata)
        if uses is None:
            return self._uncounted(mode, method, amount_minor, relevant)
        return self._decide(uses, mode, method, amount_minor, relevant)

    def _decide(
        self,
        uses: Uses,
        mode: Mode,
        method: str,
        amount_minor: int,
        metadata: tuple[tuple[str, str], ...],
    ) -> Numbers:
        numbers: list[tuple[str, Outcome]] = []
        for phone in self._phones.get(method, ()):
            facts = PaymentFacts(
                mode=mode,
                methods=(method,),
                amount_minor=amount_minor,
                method=method,
                phone=phone,
                metadata=dict(metadata),
            )
            chosen = choose_outcome(self._scenarios, facts, uses)
            if chosen is not None and chosen.rule.when.phone is not None:
                numbers.append((phone, chosen.rule.then))
            if len(numbers) == MAX_NUMBERS:
                break
        return tuple(numbers)


def _phones(whens: Iterable[When], method: str) -> tuple[str, ...]:
    named = dict.fromkeys(when.phone for when in whens if when.phone is not None)
    return tuple(phone for phone in named if method_of_phone(phone) == method)[:MAX_DECIDED_NUMBERS]


def _never_used(_: RuleKey) -> int:
    return 0


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
                by_method.setdefault(when.method, {}).setdefault(_text(rule.then), when.phone)
    numbers: dict[str, dict[str, str]] = {}
    for method in methods:
        for outcome, phone in by_method.get(method, {}).items():
            numbers.setdefault(outcome, {})[method] = phone
    return numbers


def _text(outcome: Outcome) -> str:
    if isinstance(outcome, Handset):
        return "confirmed on the handset"
    return ", then ".join(map(_step, outcome.steps)) or "stays in processing"


def _step(step: Step) -> str:
    reason = f": {step.reason}" if step.reason else ""
    after = f" after {whole_duration_text(step.after_ms)}" if step.after_ms else ""
    return f"{step.status}{after}{reason}"
