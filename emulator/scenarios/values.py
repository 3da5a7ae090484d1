"""Holds the values of a scenario, once they are known to be valid.

A script is a sequence of steps. The `expect` after a step that sends a request checks its
response. A payment has the name that `create` gave it with `as`.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from msgspec import Struct

from emulator.domain.accounts import Mode
from emulator.domain.effects import ApiRequest, CheckoutEffect, Outcome, RequestEffect
from emulator.domain.payment import Reason, Status
from emulator.domain.webhooks import DeliveryEffect

E = TypeVar("E")
Json = Any
"""A value that YAML and JSON share: null, a Boolean, a number, a text, a list or a mapping."""


class RuleSection(StrEnum):
    """The sections of a scenario that hold rules; the values are their keys in a file."""

    OUTCOMES = "outcomes"
    EXPIRY = "expiry"
    CHECKOUT = "checkout"
    FAULTS = "faults"
    WEBHOOKS = "webhooks"


class VariantKind(StrEnum):
    """What `rehearse` expects of a suite while a scenario is on: to fail, or to pass."""

    FALSE_ANSWER = "false-answer"
    DISTURBANCE = "disturbance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(Generic[E]):
    """A fault of a request or a delivery, and the keys and values that declare it."""

    effect: E
    settings: tuple[tuple[str, Any], ...] = field(compare=False)


class AmountRange(Struct, frozen=True, kw_only=True):
    """Amounts in ETB cents, both bounds included; a bound that is None is open."""

    gte: int | None = None
    lte: int | None = None


class Timed(Struct, frozen=True, kw_only=True):
    """A condition that may hold for a time only, counted from when its scenario was enabled."""

    from_ms: int | None = None
    until_ms: int | None = None

    @property
    def is_timed(self) -> bool:
        return self.from_ms is not None or self.until_ms is not None

    def contains(self, elapsed_ms: int) -> bool:
        """Whether the time has come: `from` is included, `until` is not."""
        has_begun = self.from_ms is None or self.from_ms <= elapsed_ms
        return has_begun and (self.until_ms is None or elapsed_ms < self.until_ms)


class When(Timed, frozen=True, kw_only=True):
    """The condition on a payment; None matches everything.

    `phone` is normalised. `metadata` are pairs that the payment's metadata must contain.
    """

    mode: Mode | None = None
    method: str | None = None
    phone: str | None = None
    bank: str | None = None
    amount: AmountRange | None = None
    metadata: tuple[tuple[str, str], ...] = ()


class OutcomeRule(Struct, frozen=True, kw_only=True):
    """What the phone or bank does after the submit; after `times` uses the rule is inactive."""

    when: When = When()
    then: Outcome
    times: int | None = None


class ExpiryRule(Struct, frozen=True, kw_only=True):
    """How long a checkout stays open, instead of `expires_in`."""

    when: When = When()
    after_ms: int
    times: int | None = None


class CheckoutRule(Struct, frozen=True, kw_only=True):
    """What the checkout page does: when it redirects, and whether a failure is final."""

    when: When = When()
    then: CheckoutEffect
    times: int | None = None


class FaultWhen(Timed, frozen=True, kw_only=True):
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


class FaultRule(Struct, frozen=True, kw_only=True):
    """A fault of requests of the contract."""

    when: FaultWhen = FaultWhen()
    then: Fault[RequestEffect]
    times: int | None = None


class WebhookWhen(Struct, frozen=True, kw_only=True):
    """The condition on an event; None matches everything."""

    mode: Mode | None = None
    event: str | None = None


class WebhookRule(Struct, frozen=True, kw_only=True):
    """A fault of the deliveries of an event."""

    when: WebhookWhen = WebhookWhen()
    then: Fault[DeliveryEffect]
    times: int | None = None


class Place(Struct, frozen=True, kw_only=True):
    """A position in a file; both numbers count from 1."""

    line: int
    column: int


class Step(Struct, frozen=True, kw_only=True):
    """A step of a script, with its place in the file."""

    place: Place


class Create(Step, frozen=True, kw_only=True):
    """Creates a payment. `members` replace members of a default body, or are added to it.

    `name` is the name of the payment in later steps.
    """

    name: str | None = None
    members: tuple[tuple[str, Json], ...] = ()


class Retrieve(Step, frozen=True, kw_only=True):
    """Retrieves a payment, by its name in the script or by an id."""

    payment: str | None = None
    id: str | None = None


class List(Step, frozen=True, kw_only=True):
    """Lists payments, with these query parameters; `after` is the name of a payment."""

    query: tuple[tuple[str, str], ...] = ()
    after: str | None = None


class Pay(Step, frozen=True, kw_only=True):
    """Submits a method, as the customer does on the page; the phone decides if `method` is None."""

    payment: str
    method: str | None = None
    phone: str | None = None
    bank: str | None = None


class CustomerAnswer(Step, frozen=True, kw_only=True):
    """The answer of a customer on the phone or at the bank."""

    payment: str
    answer: str


class Cancel(Step, frozen=True, kw_only=True):
    """Presses the cancel button of the page."""

    payment: str


class Transition(Step, frozen=True, kw_only=True):
    """Changes the status directly, along any legal edge."""

    payment: str
    status: Status
    method: str | None = None
    reason: Reason | None = None
    unusual: bool = False


class AdvanceStep(Step, frozen=True, kw_only=True):
    """Moves the clock by milliseconds of business time, or (None) to the next due item."""

    by_ms: int | None


class AddFault(Step, frozen=True, kw_only=True):
    """Adds a fault rule, from this step on."""

    rule: FaultRule


class FieldCheck(Struct, frozen=True, kw_only=True):
    """A key of `expect` with its value and its place."""

    place: Place
    key: str
    expected: Json


class Expect(Step, frozen=True, kw_only=True):
    """Checks a payment, or without a payment the last response and the account."""

    payment: str | None = None
    checks: tuple[FieldCheck, ...] = ()


class Scenario(Struct, frozen=True, kw_only=True):
    """One scenario file. `enabled` is its state at start; an account can switch it later."""

    name: str
    description: str = ""
    enabled: bool = True
    rehearsal: VariantKind = VariantKind.DISTURBANCE
    outcomes: tuple[OutcomeRule, ...] = ()
    expiry: tuple[ExpiryRule, ...] = ()
    checkout: tuple[CheckoutRule, ...] = ()
    faults: tuple[FaultRule, ...] = ()
    webhooks: tuple[WebhookRule, ...] = ()
    script: tuple[Step, ...] = ()
