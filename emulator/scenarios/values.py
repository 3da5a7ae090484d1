"""Holds the values of a scenario, once they are known to be valid.

A script is a sequence of steps. The `expect` after a step that sends a request checks its
response. A payment has the name that `create` gave it with `as`.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from emulator.domain.accounts import Mode
from emulator.domain.faults import ApiRequest, RequestEffect
from emulator.domain.outcomes import Outcome, Redirect
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
class CheckoutRule:
    """When the customer's browser is redirected after the payment has completed."""

    when: When = field(default_factory=When)
    then: Redirect
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
class Place:
    """A position in a file; both numbers count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Creates a payment. `members` replace members of a default body, or are added to it.

    `name` is the name of the payment in later steps.
    """

    place: Place
    name: str | None = None
    members: tuple[tuple[str, Json], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """Retrieves a payment, by its name in the script or by an id."""

    place: Place
    payment: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """Lists payments, with these query parameters; `after` is the name of a payment."""

    place: Place
    query: tuple[tuple[str, str], ...] = ()
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pay:
    """Submits a method, as the customer does on the page."""

    place: Place
    payment: str
    method: str
    phone: str | None = None
    bank: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerAnswer:
    """The answer of a customer on the phone or at the bank."""

    place: Place
    payment: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Presses the cancel button of the page."""

    place: Place
    payment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """Changes the status directly, along any legal edge."""

    place: Place
    payment: str
    status: Status
    method: str | None = None
    reason: Reason | None = None
    unusual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Moves the clock by milliseconds of business time, or (None) to the next due item."""

    place: Place
    by_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFault:
    """Adds a fault rule, from this step on."""

    place: Place
    rule: FaultRule


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCheck:
    """A key of `expect` with its value and its position."""

    place: Place
    key: str
    expected: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """Checks a payment, or without one the last response and the account."""

    place: Place
    payment: str | None = None
    checks: tuple[FieldCheck, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Runs steps several times."""

    place: Place
    times: int
    steps: "tuple[Step, ...]"


Step = (
    Create
    | Retrieve
    | List
    | Pay
    | CustomerAnswer
    | Cancel
    | Transition
    | Advance
    | AddFault
    | Expect
    | Repeat
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario file. `enabled` is its state at start; an account can switch it later."""

    name: str
    description: str = ""
    enabled: bool = True
    outcomes: tuple[OutcomeRule, ...] = ()
    expiry: tuple[ExpiryRule, ...] = ()
    checkout: tuple[CheckoutRule, ...] = ()
    faults: tuple[FaultRule, ...] = ()
    webhooks: tuple[WebhookRule, ...] = ()
    script: tuple[Step, ...] = ()
