"""Which scenario rule decides for a payment, and how often it has."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from emulator.domain.accounts import Mode
from emulator.domain.outcomes import Outcome
from emulator.domain.payment import Payment
from emulator.engine.accounts import Owner
from emulator.storage import rule_uses
from emulator.storage.batch import Transaction

if TYPE_CHECKING:
    from emulator.domain.webhooks import Oddity

    # Rules are made of many values, and starting needs none of them.
    from emulator.scenarios.numbers import NamedNumbers, Numbers
    from emulator.scenarios.rules import RuleKey
    from emulator.scenarios.values import Scenario


class Rules:
    """The scenarios that are switched on, the strongest first; read when first needed."""

    def __init__(self, load: "Callable[[], tuple[Scenario, ...]]") -> None:
        self._load = load

    @cached_property
    def scenarios(self) -> "tuple[Scenario, ...]":
        return tuple(scenario for scenario in self._load() if scenario.enabled)

    @cached_property
    def _with_expiry(self) -> "tuple[Scenario, ...]":
        return tuple(scenario for scenario in self.scenarios if scenario.expiry)

    def expiry_ms(
        self,
        tx: Transaction,
        owner: Owner,
        *,
        methods: tuple[str, ...],
        amount_minor: int,
        metadata: Mapping[str, str],
    ) -> int | None:
        """How long a rule keeps the checkout of a new payment open, if one applies."""
        if not self._with_expiry:
            return None
        from emulator.scenarios.rules import Subject, choose_expiry

        subject = Subject(
            mode=owner.mode, methods=methods, amount_minor=amount_minor, metadata=metadata
        )
        chosen = choose_expiry(self._with_expiry, subject, _uses(tx, owner))
        if chosen is None:
            return None
        if chosen.counts:
            rule_uses.use(tx, owner.account.number, _place(chosen.key))
        return chosen.after_ms

    def outcome(
        self,
        tx: Transaction,
        owner: Owner,
        payment: Payment,
        *,
        method: str,
        phone: str | None,
        bank: str | None,
    ) -> Outcome:
        """What the phone or the bank will do; the use of a counted rule is written down."""
        from emulator.scenarios.rules import Subject, choose_outcome

        subject = Subject(
            mode=owner.mode,
            methods=payment.methods,
            amount_minor=payment.amount_minor,
            method=method,
            phone=phone,
            bank=bank,
            metadata=payment.terms.metadata,
        )
        chosen = choose_outcome(self.scenarios, subject, _uses(tx, owner))
        if chosen.counts and chosen.key is not None:
            rule_uses.use(tx, owner.account.number, _place(chosen.key))
        return chosen.outcome

    @cached_property
    def _with_webhooks(self) -> "tuple[Scenario, ...]":
        return tuple(scenario for scenario in self.scenarios if scenario.webhooks)

    @property
    def has_webhooks(self) -> bool:
        """Whether anything can go wrong with deliveries."""
        return bool(self._with_webhooks)

    def webhook(self, tx: Transaction, owner: Owner, event_type: str) -> "Oddity | None":
        """What goes wrong with the deliveries of an event, if a rule says so."""
        if not self._with_webhooks:
            return None
        from emulator.scenarios.rules import choose_webhook

        chosen = choose_webhook(
            self._with_webhooks, mode=owner.mode, event=event_type, uses=_uses(tx, owner)
        )
        if chosen is None:
            return None
        if chosen.counts:
            rule_uses.use(tx, owner.account.number, _place(chosen.key))
        return chosen.oddity

    @cached_property
    def _numbers(self) -> "NamedNumbers":
        from emulator.scenarios.numbers import NamedNumbers

        return NamedNumbers(self.scenarios)

    def numbers_at_once(self, mode: Mode, payment: Payment, method: str) -> "Numbers | None":
        """As `numbers`; None where that depends on how often rules were used."""
        return None if self._numbers.is_counted else self._numbers.of(mode, payment, method)

    def numbers(self, tx: Transaction, owner: Owner, payment: Payment, method: str) -> "Numbers":
        """The phones that the scenarios name, with what `outcome` would be; no use is counted."""
        return self._numbers.of(owner.mode, payment, method, _uses(tx, owner))


def _place(key: "RuleKey") -> tuple[str, str, int]:
    return key.scenario, key.section.value, key.index


def _uses(tx: Transaction, owner: Owner) -> "Callable[[RuleKey], int]":
    return partial(_count, tx, owner.account.number)


def _count(tx: Transaction, account: int, key: "RuleKey") -> int:
    return rule_uses.count(tx, account, _place(key))
