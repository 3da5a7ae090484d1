"""The steps of a script: what each says once it is known to be valid.

A script is a list of steps. A step that sends a request leaves its answer behind, for the `expect`
after it; a payment is known by the name that `create` gave it with `as`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulator.domain.payment import Reason, Status
from emulator.scenarios.values import FaultRule

Json = Any
"""What YAML and JSON have in common: null, booleans, numbers, texts, lists and mappings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something stands in its file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Create a payment. `members` replace or add to a usual body, whatever their values.

    `name` is what later steps call the payment.
    """

    place: Place
    name: str | None = None
    members: tuple[tuple[str, Json], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """Retrieve a payment, by its name in the script or by an id that stands there."""

    place: Place
    payment: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """List payments, with these query parameters; `after` is the name of a payment."""

    place: Place
    query: tuple[tuple[str, str], ...] = ()
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pay:
    """What the customer submits on the page."""

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
    """Press the page's cancel button."""

    place: Place
    payment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """Change a status by hand, along any legal edge."""

    place: Place
    payment: str
    status: Status
    method: str | None = None
    reason: Reason | None = None
    unusual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Move the clock, by milliseconds of business time or (None) to the next thing that is due."""

    place: Place
    by_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFault:
    """Let requests go wrong from here on."""

    place: Place
    rule: FaultRule


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCheck:
    """One thing that is expected: a key of `expect`, its value, and where it stands."""

    place: Place
    key: str
    expected: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What must be true here: of a payment, or without one of the last answer and the account."""

    place: Place
    payment: str | None = None
    checks: tuple[FieldCheck, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Play some steps several times."""

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
