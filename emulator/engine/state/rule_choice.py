"""Chooses the rule that decides about a payment or a delivery, and counts its use."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from emulator.domain.outcomes import Outcome
from emulator.domain.payment import Payment
from emulator.engine.state.account import Owner
from emulator.storage import scenarios
from emulator.storage.batch import Transaction

if TYPE_CHECKING:
    from emulator.domain.webhooks import DeliveryEffect
    from emulator.scenarios.numbers import Numbers
    from emulator.scenarios.rules import Chosen, RuleKey
    from emulator.scenarios.values import Fault


def expiry_ms(
    tx: Transaction,
    owner: Owner,
    *,
    methods: tuple[str, ...],
    amount_minor: int,
    metadata: Mapping[str, str],
) -> int | None:
    """How long a rule keeps the checkout of a new payment open, if one applies."""
    from emulator.scenarios.rules import PaymentFacts, choose_expiry

    facts = PaymentFacts(
        mode=owner.mode, methods=methods, amount_minor=amount_minor, metadata=metadata
    )
    chosen = choose_expiry(owner.account.rules.with_expiry, facts, _uses(tx, owner))
    if chosen is None:
        return None
    _count_use(tx, owner, chosen)
    return chosen.rule.after_ms


def outcome_of(
    tx: Transaction,
    owner: Owner,
    payment: Payment,
    *,
    method: str,
    phone: str | None,
    bank: str | None,
) -> Outcome:
    """What the phone or the bank will do after a submit."""
    from emulator.scenarios.rules import DEFAULT_OUTCOME, PaymentFacts, choose_outcome

    facts = PaymentFacts(
        mode=owner.mode,
        methods=payment.methods,
        amount_minor=payment.amount_minor,
        method=method,
        phone=phone,
        bank=bank,
        metadata=payment.terms.metadata,
    )
    account = owner.account
    candidates = account.rules.with_applied(account.scenario_of(payment.position))
    chosen = choose_outcome(candidates, facts, _uses(tx, owner))
    if chosen is None:
        return DEFAULT_OUTCOME
    _count_use(tx, owner, chosen)
    return chosen.rule.then


def may_have_delivery_faults(owner: Owner) -> bool:
    return owner.account.rules.has_webhook_rules or bool(owner.account.payment_scenarios)


def delivery_fault(
    tx: Transaction, owner: Owner, payment: int, event_type: str
) -> "Fault[DeliveryEffect] | None":
    """The fault of the deliveries of a payment's event, if a rule applies."""
    if not may_have_delivery_faults(owner):
        return None
    from emulator.scenarios.rules import choose_webhook

    account = owner.account
    candidates = account.rules.with_applied(account.scenario_of(payment))
    uses = _uses(tx, owner)
    chosen = choose_webhook(candidates, mode=owner.mode, event=event_type, uses=uses)
    if chosen is None:
        return None
    _count_use(tx, owner, chosen)
    return chosen.rule.then


def uncounted_numbers(owner: Owner, payment: Payment, method: str) -> "Numbers | None":
    """As `numbers`; None where the outcome depends on how often rules were used."""
    account = owner.account
    numbers = account.rules.named_numbers(account.scenario_of(payment.position))
    return None if numbers.is_counted else numbers.of(owner.mode, payment, method)


def numbers(tx: Transaction, owner: Owner, payment: Payment, method: str) -> "Numbers":
    """The phones that the scenarios name, each with its `outcome_of`; no use is counted."""
    account = owner.account
    numbers = account.rules.named_numbers(account.scenario_of(payment.position))
    return numbers.of(owner.mode, payment, method, _uses(tx, owner))


def _uses(tx: Transaction, owner: Owner) -> "Callable[[RuleKey], int]":
    return partial(_use_count, tx, owner.account.number)


def _use_count(tx: Transaction, account: int, key: "RuleKey") -> int:
    return scenarios.use_count(tx, account, _rule(key))


def _count_use(tx: Transaction, owner: Owner, chosen: "Chosen[Any]") -> None:
    if chosen.counts:
        scenarios.count_use(tx, owner.account.number, _rule(chosen.key))


def _rule(key: "RuleKey") -> tuple[str, str, int]:
    return key.scenario, key.section.value, key.index
