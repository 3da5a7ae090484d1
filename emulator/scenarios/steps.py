"""Holds the values of the steps of a script, once they are known to be valid.

The `expect` after a step that sends a request checks its response. A payment has the name that
`create` gave it with `as`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulator.domain.payment import Reason, Status
from emulator.scenarios.values import FaultRule

Json = Any
"""A value that YAML and JSON share: null, a Boolean, a number, a text, a list or a mapping."""


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
Steps = Sequence[Step]
