"""Which phone numbers scenarios name, and what each of them would do to a payment."""

from collections.abc import Iterable
from functools import lru_cache, partial

from emulator.domain.accounts import Mode
from emulator.domain.outcomes import Outcome
from emulator.domain.payment import Payment
from emulator.domain.payment_methods import PHONE_METHODS, method_of_phone
from emulator.scenarios.rules import RuleKey, Subject, Uses, choose_outcome
from emulator.scenarios.values import Scenario, When

MAX_NUMBERS = 8
# Of a method, in the order of their rules; each is decided before it is known to be one to offer.
MAX_DECIDED_NUMBERS = 100
MAX_CACHED = 256

Numbers = tuple[tuple[str, Outcome], ...]
"""Phones, each with what happens after it is submitted."""


class NamedNumbers:
    """The numbers that scenarios name, decided for a payment as its submit would be.

    Of a payment only that is looked at which the rules ask for, so that payments that are alike
    in it are decided once.
    """

    def __init__(self, scenarios: tuple[Scenario, ...]) -> None:
        rules = [rule for scenario in scenarios for rule in scenario.outcomes]
        whens = [rule.when for rule in rules]
        self._scenarios = scenarios
        self._phones = {method: _phones(whens, method) for method in PHONE_METHODS}
        self._asks_amount = any(when.amount is not None for when in whens)
        self._metadata_keys = tuple(dict(pair for when in whens for pair in when.metadata))
        self._uncounted = lru_cache(MAX_CACHED)(partial(self._decide, _never_used))
        self.is_counted = any(rule.times is not None for rule in rules)

    def of(self, mode: Mode, payment: Payment, method: str, uses: Uses | None = None) -> Numbers:
        """What is to be offered where a payment's method takes a phone.

        `uses` is needed where rules are counted. A number that is decided by the default, or by a
        rule that asks for no phone, is none to offer.
        """
        amount_minor = payment.amount_minor if self._asks_amount else 0
        metadata = payment.terms.metadata if self._metadata_keys else {}
        asked = tuple((key, metadata[key]) for key in self._metadata_keys if key in metadata)
        if uses is None:
            return self._uncounted(mode, method, amount_minor, asked)
        return self._decide(uses, mode, method, amount_minor, asked)

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
            subject = Subject(
                mode=mode,
                methods=(method,),
                amount_minor=amount_minor,
                method=method,
                phone=phone,
                metadata=dict(metadata),
            )
            chosen = choose_outcome(self._scenarios, subject, uses)
            if chosen.when.phone is not None:
                numbers.append((phone, chosen.outcome))
            if len(numbers) == MAX_NUMBERS:
                break
        return tuple(numbers)


def _phones(whens: Iterable[When], method: str) -> tuple[str, ...]:
    named = dict.fromkeys(when.phone for when in whens if when.phone is not None)
    return tuple(phone for phone in named if method_of_phone(phone) == method)[:MAX_DECIDED_NUMBERS]


def _never_used(_: RuleKey) -> int:
    return 0
