"""Holds what was observed of one run of a history: its orders, their payments and states."""

from collections.abc import Mapping

from msgspec import Struct, field

from emulator.domain.payment import Status
from emulator.scenarios.values import Json
from emulator.tools.explore.histories import History
from emulator.tools.explore.service import Payment, ServiceEvent
from emulator.tools.explore.shop_client import Browser, Request
from emulator.tools.explore.steps import HistoryStep
from emulator.tools.explore.verdicts import Verdict

HAS_MONEY = (Status.COMPLETED, Status.REFUNDED)
HAS_NO_MONEY = (Status.FAILED, Status.EXPIRED)
OPEN = (Status.PENDING, Status.PROCESSING)

Known = tuple[str, str]
"""A payment, and a status that it has or had."""

Judgement = tuple[Verdict, int, str, str]
"""What went wrong in a step, from 1: what was expected, and what was seen."""


class Sample(Struct, frozen=True, kw_only=True):
    """The order after a step, and the status of its money; `fulfilled` is None if not declared.

    `shown` has what the conditions of `state` found, in words, by their keys.
    """

    step: int
    money: str
    is_paid: bool
    is_closed: bool
    is_refunded: bool
    fulfilled: int | None
    state: bytes
    shown: Mapping[str, str] = field(default_factory=dict)
    amount: int | None = None
    once: tuple[tuple[str, int], ...] = ()
    """What happens at most once, and how often it has happened."""

    @property
    def summary(self) -> tuple[bool, bool, int | None]:
        """What a forged webhook must not change."""
        return self.is_paid, self.is_closed, self.fulfilled

    @property
    def text(self) -> str:
        """The state of the order in words."""
        words = "paid" if self.is_paid else "closed" if self.is_closed else "not paid"
        return f"{words}, fulfilled {self.fulfilled} times" if self.fulfilled else words


class TracedStep(Struct, frozen=True, kw_only=True):
    """An executed step: what happened, in words, its result, and its begin and end in real time."""

    step: HistoryStep
    text: str
    result: str = ""
    span: tuple[float, float] = (0.0, 0.0)


class Unacknowledged(Struct):
    """A genuine delivery without a 2xx so far; `step` is the step of its first attempt.

    `cause` is the likely cause of the last failure, as a sentence, or empty.
    """

    event: ServiceEvent
    step: int
    results: list[str] = field(default_factory=list)
    cause: str = ""


class ObservedOrder(Struct, kw_only=True):
    """An order of the shop.

    `payments` are the payments of its customer, in the order in which the customer met them, with
    their `statuses` by id; `created` are all that the shop created for it. `values` come from the
    responses at its start. An order that `is_changed` may be left unpaid; one that `is_reversed`
    had money. `account` is the key of its account, if there is one.
    """

    id: str = ""
    browser: Browser = field(default_factory=Browser)
    payments: list[Payment] = field(default_factory=list)
    created: list[Payment] = field(default_factory=list)
    statuses: dict[str, str] = field(default_factory=dict)
    live_payments: tuple[str, ...] = ()
    samples: list[Sample] = field(default_factory=list)
    values: dict[str, Json] = field(default_factory=dict)
    is_changed: bool = False
    is_reversed: bool = False
    account: str = ""

    @property
    def own_ids(self) -> tuple[str, ...]:
        """What differs from order to order."""
        keys = ("checkout_url", "id")
        return *(payment[key] for key in keys for payment in self.payments), self.id

    @property
    def money(self) -> Known:
        """The payment that decides whether the order has money, and its status.

        It is the last that is completed, else one that is open, else one that is refunded, else the
        last.
        """
        for wanted in ((Status.COMPLETED,), OPEN, (Status.REFUNDED,)):
            if found := [item for item in self.statuses.items() if item[1] in wanted]:
                return found[-1]
        return list(self.statuses.items())[-1]

    @property
    def final(self) -> Sample:
        """The order at the end."""
        return self.samples[-1]


class AccountGrowth(Struct, kw_only=True):
    """A number before the first of its orders was started, and now.

    With `by`, each payment changes it by this, and not by its amount.
    """

    before: int
    now: int
    by: int | None = None

    @property
    def growth(self) -> int:
        return self.now - self.before


class Observation(Struct, kw_only=True):
    """One run of a history, as far as it has come.

    `forged`: the order before and after each webhook that is not genuine. `could_know`: the
    payments with the statuses that the application could know of, by an acknowledged webhook, by
    its job, or by a request that it sent to the service. `unacknowledged` are by the ids of
    events. `sent`: the webhooks with their times. `settled_ms`: how late the end was reached.
    `others` are orders whose state is not judged. `hung_alone`: a request had no response, and no
    other history ran.
    Payments with the statuses that are `unjudged` may leave any order behind.
    """

    history: History
    orders: list[ObservedOrder] = field(default_factory=list)
    trace: tuple[TracedStep, ...] = ()
    forged: tuple[tuple[Sample, Sample], ...] = ()
    unacknowledged: dict[str, Unacknowledged] = field(default_factory=dict)
    could_know: set[Known] = field(default_factory=set)
    unjudged: frozenset[str] = frozenset()
    others: list[ObservedOrder] = field(default_factory=list)
    accounts: dict[str, AccountGrowth] = field(default_factory=dict)
    problems: list[Judgement] = field(default_factory=list)
    sent: tuple[Request, ...] = ()
    duration_ms: float = 0.0
    settled_ms: float = 0.0
    hung_alone: bool = False

    @property
    def number(self) -> int:
        """The number of the current step, from 1."""
        return len(self.trace) + 1

    def knows_end(self, order: ObservedOrder) -> bool:
        """Whether the application could know the status that decides about an order's money."""
        return order.money in self.could_know

    def is_judged(self, order: ObservedOrder) -> bool:
        """Whether the end of an order is judged: it is known, and expected to be one state."""
        return self.knows_end(order) and order.money[1] not in self.unjudged
