"""Chooses the rule that decides about a payment, a delivery or a request, and counts its use."""

from collections.abc import Sequence
from typing import Literal

from emulator import ids
from emulator.domain.accounts import Mode
from emulator.domain.effects import CheckoutEffect, Outcome, Point, RedirectMoment
from emulator.domain.payment import Payment
from emulator.domain.transitions import Change
from emulator.domain.webhooks import DeliveryEffect
from emulator.scenarios.rules import (
    DEFAULT_OUTCOME,
    NamedNumber,
    Past,
    PaymentFacts,
    PlacedRule,
    R,
    RuleKey,
    choose_checkout,
    choose_expiry,
    choose_outcome,
    choose_payer,
    choose_webhook,
    named_numbers,
)
from emulator.scenarios.values import Fault, Scenario
from emulator.server.engine.state.account import Account, Owner
from emulator.server.engine.state.rules import PlacedFault
from emulator.server.storage import scenarios
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import Database, writes


def expiry_ms(tx: Transaction, owner: Owner, payment: Payment) -> int | None:
    """How long a rule keeps the checkout of a new payment open, if one applies."""
    facts = payment_facts(owner.mode, payment)
    chosen = choose_expiry(owner.account.rules.with_expiry, facts, _past(tx, owner))
    return None if chosen is None else _applied(tx, owner, chosen).after_ms


def outcome_of(
    tx: Transaction, owner: Owner, payment: Payment, submit: Change
) -> tuple[Outcome, RuleKey | None]:
    """What the phone or the bank will do after a submit, and the rule that determines it."""
    facts = payment_facts(owner.mode, payment, submit.method, submit.phone, submit.bank)
    chosen = choose_outcome(_candidates(owner, payment.position), facts, _past(tx, owner, payment))
    if chosen is None:
        return DEFAULT_OUTCOME, None
    return _applied(tx, owner, chosen).then, chosen.key


def payer_of(tx: Transaction, owner: Owner, payment: Payment, method: str) -> PaymentFacts | None:
    """The phone or bank of a method whose payments succeed; no use is counted."""
    facts = payment_facts(owner.mode, payment, method)
    return choose_payer(_candidates(owner, payment.position), facts, _past(tx, owner, payment))


def may_have_checkout_rules(account: Account) -> bool:
    return account.rules.has_checkout_rules or bool(account.payment_scenarios)


def checkout_effect(
    tx: Transaction,
    owner: Owner,
    payment: Payment,
    setting: Literal["redirect", "attempts", "cancel"],
    *,
    only: RedirectMoment | None = None,
) -> CheckoutEffect | None:
    """What the page of a payment does, by the first rule with this setting, if one applies.

    With `only`, a redirect at another moment is not chosen yet, and its use not counted.
    """
    if not may_have_checkout_rules(owner.account):
        return None
    facts = payment_facts(owner.mode, payment, payment.method, payment.phone, payment.bank)
    candidates, past = _candidates(owner, payment.position), _past(tx, owner)
    chosen = choose_checkout(candidates, facts, setting, past)
    if chosen is None or only not in (None, chosen.rule.then.redirect):
        return None
    return _applied(tx, owner, chosen).then


def payment_facts(
    mode: Mode,
    payment: Payment,
    method: str | None = None,
    phone: str | None = None,
    bank: str | None = None,
) -> PaymentFacts:
    """What rules compare of a payment, and of the submit of a method."""
    return PaymentFacts(
        mode=mode,
        methods=payment.methods,
        amount_minor=payment.amount_minor,
        method=method,
        phone=phone,
        bank=bank,
        metadata=payment.terms.metadata,
    )


def may_have_delivery_faults(owner: Owner) -> bool:
    return owner.account.rules.has_webhook_rules or bool(owner.account.payment_scenarios)


def delivery_fault(
    tx: Transaction, owner: Owner, payment: int, event_type: str
) -> Fault[DeliveryEffect] | None:
    """The fault of the deliveries of a payment's event, if a rule applies."""
    if not may_have_delivery_faults(owner):
        return None

    candidates, past = _candidates(owner, payment), _past(tx, owner)
    chosen = choose_webhook(candidates, mode=owner.mode, event=event_type, past=past)
    return None if chosen is None else _applied(tx, owner, chosen).then


def numbers(tx: Transaction, owner: Owner, payment: Payment, method: str) -> list[NamedNumber]:
    """The phones that the scenarios name, each with its `outcome_of`; no use is counted."""
    facts = payment_facts(owner.mode, payment, method)
    return named_numbers(_candidates(owner, payment.position), facts, _past(tx, owner, payment))


def _candidates(owner: Owner, payment: int) -> tuple[Scenario, ...]:
    """The scenario that was applied to the payment alone, if there is one, then all others."""
    applied, others = owner.account.scenario_of(payment), owner.account.rules.scenarios
    return others if applied is None else (applied, *others)


def _past(tx: Transaction, owner: Owner, payment: Payment | None = None) -> Past:
    account, position = owner.account, None if payment is None else payment.position
    return Past(
        lambda key: scenarios.use_count(tx, account.number, key),
        lambda scenario: account.elapsed_ms(scenario, position),
    )


def _applied(tx: Transaction, owner: Owner, chosen: PlacedRule[R]) -> R:
    if chosen.counts:
        scenarios.count_use(tx, owner.account.number, chosen.key)
    return chosen.rule


class Faults:
    """Chooses faults; the API injects them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def choose(self, owner: Owner, request: str) -> PlacedFault | None:
        """The fault of a request, if one applies; the request is counted.

        `request` is a value of ApiRequest. The use of a fault that applies before the commit is
        counted at once.
        """
        candidates = [
            candidate
            for candidate in owner.account.rules.faults
            if candidate.rule.when.mode in (None, owner.mode)
            and candidate.rule.when.request in (None, request)
            and candidate.is_current(owner.account.elapsed_ms)
        ]
        if not any(each.counts or each.rule.when.is_counted for each in candidates):
            return candidates[0] if candidates else None
        return await self._choose(owner, candidates)

    @writes()
    def _choose(
        self, tx: Transaction, owner: Owner, candidates: Sequence[PlacedFault]
    ) -> PlacedFault | None:
        owner.account.check_open()
        # Each rule counts all requests of its kind, even if a stronger rule applies to them:
        # the second request is the second for all rules.
        matching = [candidate for candidate in candidates if _matches(tx, owner, candidate)]
        uses = _past(tx, owner).uses
        chosen = next((match for match in matching if match.is_left(uses)), None)
        if chosen is not None and chosen.rule.then.effect.point is Point.BEFORE_COMMIT:
            _applied(tx, owner, chosen)
        return chosen

    async def spend(self, owner: Owner, chosen: PlacedFault, *, generation: int) -> bool:
        """Count the use of a fault that applies after the commit; whether a use was left.

        None is left where the account was reset or restored since `generation`.
        """
        return await self._spend(owner, chosen, generation) if chosen.counts else True

    @writes()
    def _spend(self, tx: Transaction, owner: Owner, chosen: PlacedFault, generation: int) -> bool:
        account = owner.account
        is_outdated = account.is_closed or account.generation != generation
        if is_outdated or not chosen.is_left(_past(tx, owner).uses):
            return False
        _applied(tx, owner, chosen)
        return True


def _matches(tx: Transaction, owner: Owner, candidate: PlacedFault) -> bool:
    """Count the request for a rule; returns whether the rule applies to it."""
    when, (source, _, place) = candidate.rule.when, candidate.key
    if not when.is_counted:
        return True
    count = scenarios.count_request(tx, owner.number, source, place)
    if when.nth is not None:
        return count == when.nth
    if when.every is not None:
        return count % when.every == 0
    return when.chance is None or ids.chance(owner.stream, f"{source}/{place}", count) < when.chance
