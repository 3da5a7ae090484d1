"""What scenarios say to one account: which rule decides, and how often it has."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

import msgspec
import msgspec.structs

from emulator.domain.outcomes import Outcome
from emulator.domain.payment import Payment
from emulator.storage import rule_uses
from emulator.storage.batch import Transaction

if TYPE_CHECKING:
    from emulator.domain.webhooks import DeliveryEffect
    from emulator.engine.state.account import Owner

    # Rules are made of many values, and starting needs none of them.
    from emulator.scenarios.numbers import NamedNumbers, Numbers
    from emulator.scenarios.rules import RuleKey
    from emulator.scenarios.values import Fault, FaultRule, Scenario


class Origin(StrEnum):
    """Where a scenario comes from, the strongest first."""

    CONTROL = "control"
    FILE = "file"
    SHIPPED = "shipped"


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that an account has, and whether it is on there."""

    scenario: "Scenario"
    origin: Origin
    is_enabled: bool


class PostedFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault rule that an account was given without a file."""

    id: str
    number: int
    rule: "FaultRule"


class AccountOverrides(msgspec.Struct, frozen=True, kw_only=True):
    """What an account says beyond the settings: its own scenarios and faults, newest first."""

    scenarios: "tuple[Scenario, ...]" = ()
    switches: dict[str, bool] = {}
    faults: tuple[PostedFault, ...] = ()

    def changed(self, **changes: object) -> "AccountOverrides":
        return msgspec.structs.replace(self, **changes)


class FaultCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A fault rule at its place: what its uses and requests are counted by."""

    source: str
    index: int
    rule: "FaultRule"


class LoadScenarios(Protocol):
    """How all there are are read, or just those that may be on without anybody's doing."""

    def __call__(self, *, only_on: bool) -> "tuple[tuple[Origin, Scenario], ...]": ...


class Library:
    """The scenarios of the settings and our own, the strongest first; read when first needed."""

    def __init__(self, load: LoadScenarios) -> None:
        self._load = load

    @cached_property
    def scenarios(self) -> "tuple[tuple[Origin, Scenario], ...]":
        return self._load(only_on=False)

    @cached_property
    def on_at_start(self) -> "tuple[Scenario, ...]":
        return tuple(one for _, one in self._load(only_on=True) if one.enabled)


class Rules:
    """The scenarios of one account. A value: rebuilt when the overrides of the account change."""

    def __init__(self, library: Library, overrides: AccountOverrides | None = None) -> None:
        self._library = library
        self.overrides = overrides or AccountOverrides()
        self._numbers_beside: dict[str, NamedNumbers] = {}

    def with_overrides(self, overrides: AccountOverrides) -> "Rules":
        return Rules(self._library, overrides)

    @cached_property
    def listed(self) -> tuple[Listed, ...]:
        """All that there are, on or off, in the order of precedence."""
        own = [(Origin.CONTROL, scenario) for scenario in self.overrides.scenarios]
        taken = {scenario.name for _, scenario in own}
        others = [pair for pair in self._library.scenarios if pair[1].name not in taken]
        switches = self.overrides.switches
        return tuple(
            Listed(
                scenario=scenario,
                origin=origin,
                is_enabled=switches.get(scenario.name, scenario.enabled),
            )
            for origin, scenario in (*own, *others)
        )

    def named(self, name: str) -> Listed | None:
        return next((one for one in self.listed if one.scenario.name == name), None)

    @cached_property
    def scenarios(self) -> "tuple[Scenario, ...]":
        """Those that are on, the strongest first."""
        if not (self.overrides.scenarios or self.overrides.switches):
            return self._library.on_at_start
        return tuple(one.scenario for one in self.listed if one.is_enabled)

    @cached_property
    def faults(self) -> tuple[FaultCandidate, ...]:
        """What can go wrong with requests, the strongest first."""
        posted = [
            FaultCandidate(source=fault.id, index=0, rule=fault.rule)
            for fault in self.overrides.faults
        ]
        written = [
            FaultCandidate(source=scenario.name, index=index, rule=rule)
            for scenario in self.scenarios
            for index, rule in enumerate(scenario.faults)
        ]
        return (*posted, *written)

    @cached_property
    def with_expiry(self) -> "tuple[Scenario, ...]":
        """Those that say how long a checkout stays open; mostly none does."""
        return tuple(scenario for scenario in self.scenarios if scenario.expiry)

    def expiry_ms(
        self,
        tx: Transaction,
        owner: "Owner",
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
        chosen = choose_expiry(self.with_expiry, facts, _uses(tx, owner))
        if chosen is None:
            return None
        if chosen.counts:
            rule_uses.use(tx, owner.account.number, _place(chosen.key))
        return chosen.after_ms

    def outcome(
        self,
        tx: Transaction,
        owner: "Owner",
        payment: Payment,
        *,
        method: str,
        phone: str | None,
        bank: str | None,
    ) -> Outcome:
        """What the phone or the bank will do; the use of a counted rule is written down."""
        from emulator.scenarios.rules import PaymentFacts, choose_outcome

        facts = PaymentFacts(
            mode=owner.mode,
            methods=payment.methods,
            amount_minor=payment.amount_minor,
            method=method,
            phone=phone,
            bank=bank,
            metadata=payment.terms.metadata,
        )
        chosen = choose_outcome(self._of(owner, payment.position), facts, _uses(tx, owner))
        if chosen.counts and chosen.key is not None:
            rule_uses.use(tx, owner.account.number, _place(chosen.key))
        return chosen.outcome

    def placed_on(self, owner: "Owner", payment: int) -> str | None:
        """The name of the scenario that was put on a payment, if there still is one."""
        placed = self._placed(owner, payment)
        return None if placed is None else placed.name

    def _placed(self, owner: "Owner", payment: int) -> "Scenario | None":
        """The scenario that was put on a payment."""
        name = owner.account.placed.get(payment)
        listed = None if name is None else self.named(name)
        return None if listed is None else listed.scenario

    def _of(self, owner: "Owner", payment: int) -> "tuple[Scenario, ...]":
        """The scenarios that decide about a payment, at its position."""
        placed = self._placed(owner, payment)
        return self.scenarios if placed is None else (placed, *self.scenarios)

    @cached_property
    def _has_webhooks(self) -> bool:
        return any(scenario.webhooks for scenario in self.scenarios)

    def has_webhooks(self, owner: "Owner") -> bool:
        """Whether anything can go wrong with deliveries."""
        return self._has_webhooks or bool(owner.account.placed)

    def webhook(
        self, tx: Transaction, owner: "Owner", payment: int, event_type: str
    ) -> "Fault[DeliveryEffect] | None":
        """What goes wrong with the deliveries of a payment's event, if a rule says so."""
        if not self.has_webhooks(owner):
            return None
        from emulator.scenarios.rules import choose_webhook

        chosen = choose_webhook(
            self._of(owner, payment), mode=owner.mode, event=event_type, uses=_uses(tx, owner)
        )
        if chosen is None:
            return None
        if chosen.counts:
            rule_uses.use(tx, owner.account.number, _place(chosen.key))
        return chosen.fault

    def _numbers(self, owner: "Owner", payment: Payment) -> "NamedNumbers":
        placed = self._placed(owner, payment.position)
        name = "" if placed is None else placed.name
        numbers = self._numbers_beside.get(name)
        if numbers is None:
            from emulator.scenarios.numbers import NamedNumbers

            numbers = NamedNumbers(self._of(owner, payment.position))
            self._numbers_beside[name] = numbers
        return numbers

    def numbers_at_once(self, owner: "Owner", payment: Payment, method: str) -> "Numbers | None":
        """As `numbers`; None where that depends on how often rules were used."""
        numbers = self._numbers(owner, payment)
        return None if numbers.is_counted else numbers.of(owner.mode, payment, method)

    def numbers(self, tx: Transaction, owner: "Owner", payment: Payment, method: str) -> "Numbers":
        """The phones that the scenarios name, with what `outcome` would be; no use is counted."""
        numbers = self._numbers(owner, payment)
        return numbers.of(owner.mode, payment, method, _uses(tx, owner))


def _place(key: "RuleKey") -> tuple[str, str, int]:
    return key.scenario, key.section.value, key.index


def _uses(tx: Transaction, owner: "Owner") -> "Callable[[RuleKey], int]":
    return partial(_count, tx, owner.account.number)


def _count(tx: Transaction, account: int, key: "RuleKey") -> int:
    return rule_uses.count(tx, account, _place(key))
