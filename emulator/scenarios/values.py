"""Holds the values of a scenario, once they are known to be valid."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from emulator.domain.accounts import Mode
from emulator.domain.faults import ApiRequest, RequestEffect
from emulator.domain.outcomes import Outcome
from emulator.domain.webhooks import DeliveryEffect

if TYPE_CHECKING:
    from emulator.scenarios.steps import Step


E = TypeVar("E")


class RuleSection(StrEnum):
    """The sections of a scenario that hold rules; the values are their keys in a file."""

    OUTCOMES = "outcomes"
    EXPIRY = "expiry"
    FAULTS = "faults"
    WEBHOOKS = "webhooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(Generic[E]):
    """What goes wrong with a request or a delivery, and the keys and values that declare it."""

    effect: E
    settings: tuple[tuple[str, Any], ...] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountRange:
    """Amounts in ETB cents, both bounds included; a bound that is None is open."""

    gte: int | None = None
    lte: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """The condition on a payment; None matches everything.

    `phone` is normalised. `metadata` are pairs that the payment's metadata must contain.
    """

    mode: Mode | None = None
    method: str | None = None
    phone: str | None = None
    bank: str | None = None
    amount: AmountRange | None = None
    metadata: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRule:
    """What the phone or bank does after the submit; after `times` uses the rule is inactive."""

    when: When = field(default_factory=When)
    then: Outcome
    times: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryRule:
    """How long a checkout stays open, instead of `expires_in`."""

    when: When = field(default_factory=When)
    after_ms: int
    times: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultWhen:
    """The condition on a request; None matches everything.

    `nth`, `every` and `chance` count the requests that the other keys match, from 1 on, per
    account, mode and rule: only the nth, each multiple of `every`, each with this probability.
    """

    mode: Mode | None = None
    request: ApiRequest | None = None
    nth: int | None = None
    every: int | None = None
    chance: float | None = None

    @property
    def is_counted(self) -> bool:
        """Whether the condition needs the number of requests."""
        return not (self.nth is None and self.every is None and self.chance is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """A fault of requests of the contract."""

    when: FaultWhen = field(default_factory=FaultWhen)
    then: Fault[RequestEffect]
    times: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookWhen:
    """The condition on an event; None matches everything."""

    mode: Mode | None = None
    event: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRule:
    """A fault of the deliveries of an event."""

    when: WebhookWhen = field(default_factory=WebhookWhen)
    then: Fault[DeliveryEffect]
    times: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario file. `enabled` is its state at start; an account can switch it later."""

    name: str
    description: str = ""
    enabled: bool = True
    outcomes: tuple[OutcomeRule, ...] = ()
    expiry: tuple[ExpiryRule, ...] = ()
    faults: tuple[FaultRule, ...] = ()
    webhooks: tuple[WebhookRule, ...] = ()
    script: "tuple[Step, ...]" = ()
