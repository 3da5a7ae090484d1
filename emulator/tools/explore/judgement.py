"""Holds what was observed of a history, and judges it: safety, liveness, and confluence."""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import chain

from msgspec import Struct, field

from emulator.domain.message_text import counted_runs
from emulator.domain.payment import Status
from emulator.scenarios.values import Json
from emulator.tools.explore.connections import Browser, Request
from emulator.tools.explore.histories import History
from emulator.tools.explore.service import ServiceEvent
from emulator.tools.explore.steps import HistoryStep, StepAction

HAS_MONEY = (Status.COMPLETED, Status.REFUNDED)
HAS_NO_MONEY = (Status.FAILED, Status.EXPIRED)


class Verdict(StrEnum):
    """What can be wrong, in words; the most direct loss of money first."""

    FORGED_ACCEPTED = "a forged, stale or unsigned webhook changes the order"
    CHARGED_TWICE = "two payments of one order are completed or may still complete"
    FULFILLED_TWICE = "the order is fulfilled more than once"
    PAID_WITHOUT_MONEY = "the order is paid, and its payment is not completed"
    MONEY_WITHOUT_PAID = "the payment is completed, and the order is not paid in the end"
    NOT_FULFILLED = "the payment is completed, and the paid order is never fulfilled"
    NOT_CLOSED = "the payment failed or expired, and the order is not closed in the end"
    NEVER_ACKNOWLEDGED = "a genuine webhook is never answered with 2xx"
    CONFLUENCE = "the same facts in another order end in another state"

    @property
    def id(self) -> str:
        return self.name.lower().replace("_", "-")


class Sample(Struct, frozen=True, kw_only=True):
    """The order after a step, and its payment's status; `fulfilled` is None where not declared."""

    step: int
    payment_status: str
    is_paid: bool
    is_closed: bool
    is_refunded: bool
    fulfilled: int | None
    state: bytes

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
    """A genuine delivery without a 2xx so far; `step` is that of its first attempt.

    `cause` is the likely cause of the last failure, as a sentence, or empty.
    """

    event: ServiceEvent
    step: int
    results: list[str] = field(default_factory=list)
    cause: str = ""


class Observation(Struct, kw_only=True):
    """One run of a history, as far as it has come.

    `forged`: the order before and after each webhook that is not genuine. `could_know`: the
    statuses of the payment that the application could know of, by an acknowledged webhook, by its
    job, or by a request that it sent to the service. `unacknowledged` are by the ids of events.
    `sent`: the webhooks with their times. `own_ids` differ from order to order.
    """

    history: History
    order: str = ""
    trace: tuple[TracedStep, ...] = ()
    samples: list[Sample] = field(default_factory=list)
    forged: tuple[tuple[Sample, Sample], ...] = ()
    unacknowledged: dict[str, Unacknowledged] = field(default_factory=dict)
    live_payments: tuple[str, ...] = ()
    could_know: set[str] = field(default_factory=set)
    own_ids: tuple[str, ...] = ()
    browser: Browser = field(default_factory=Browser)
    sent: tuple[Request, ...] = ()
    duration_ms: float = 0.0

    @property
    def number(self) -> int:
        """The number of the current step, from 1."""
        return len(self.trace) + 1

    @property
    def final(self) -> Sample:
        """The order at the end."""
        return self.samples[-1]

    @property
    def knows_end(self) -> bool:
        """Whether the application could know the payment's last status."""
        return self.final.payment_status in self.could_know


class HistoryFailure(Struct, frozen=True):
    """A failed judgement after a step (from 1): what was expected, and what was seen."""

    verdict: Verdict
    step: int
    expected: str
    seen: str
    observation: Observation


_Verdicts = Iterator[tuple[Verdict, int, str, str]]


def judge(observation: Observation) -> HistoryFailure | None:
    """The first failed judgement of one history, or None."""
    verdicts = chain(_safety(observation), _end(observation), _deliveries(observation))
    return next((HistoryFailure(*each, observation) for each in verdicts), None)


def is_settled(observation: Observation) -> bool:
    """Whether no state that is expected in the end is missing; a slow application needs time."""
    return next(_end(observation), None) is None


def _safety(observation: Observation) -> _Verdicts:
    live = observation.live_payments
    for before, after in observation.forged:
        if before.summary != after.summary:
            seen = f"the order was {before.text}, and is {after.text}"
            yield Verdict.FORGED_ACCEPTED, after.step, "the webhook changes nothing", seen
    if len(live) > 1:
        expected = "one payment of the order is completed or may still complete"
        seen = f"{len(live)} payments: {', '.join(live)}"
        yield Verdict.CHARGED_TWICE, observation.final.step, expected, seen
    for sample in observation.samples:
        if (sample.fulfilled or 0) > 1:
            expected = "the order is fulfilled at most once"
            seen = f"it is fulfilled {sample.fulfilled} times"
            yield Verdict.FULFILLED_TWICE, sample.step, expected, seen
    for sample in observation.samples:
        if sample.is_paid and sample.payment_status not in HAS_MONEY:
            expected = f"the order is not paid: its payment is {sample.payment_status}"
            yield Verdict.PAID_WITHOUT_MONEY, sample.step, expected, "the order is paid"


def _end(observation: Observation) -> _Verdicts:
    """The end, where the application could know the status of the payment."""
    final, status = observation.final, observation.final.payment_status
    if not observation.knows_end:
        return
    if status == Status.REFUNDED and final.is_paid and not final.is_refunded:
        wrong, state = Verdict.PAID_WITHOUT_MONEY, "refunded"
    elif status == Status.COMPLETED and not final.is_paid:
        wrong, state = Verdict.MONEY_WITHOUT_PAID, "paid"
    elif status == Status.COMPLETED and final.fulfilled == 0:
        wrong, state = Verdict.NOT_FULFILLED, "fulfilled"
    elif status in HAS_NO_MONEY and not final.is_closed:
        wrong, state = Verdict.NOT_CLOSED, "closed"
    else:
        return
    expected = f"the order is {state}: its payment is {status}"
    yield wrong, final.step, expected, f"the order is {final.text}"


def _deliveries(observation: Observation) -> _Verdicts:
    for delivery in observation.unacknowledged.values():
        expected = f"{delivery.event.type} is answered with 2xx in the end"
        seen = f"{counted_runs(delivery.results)}. {delivery.cause}".rstrip()
        yield Verdict.NEVER_ACKNOWLEDGED, delivery.step, expected, seen


def is_order_free(observation: Observation) -> bool:
    """Whether the end must not depend on the order of the facts.

    It may where the application could not know the payment's last status: then it may know an
    earlier one in one order, and none in another. A refund before the completion may leave an order
    that was never fulfilled.
    """
    is_refunded = any(step.action is StepAction.REFUND for step in observation.history.steps)
    return not is_refunded and observation.knows_end


def compare_ends(
    observation: Observation, reference: Observation, ignored: Sequence[str]
) -> HistoryFailure | None:
    """Compare the end with that of a history of the same facts in another order."""
    ends = (json.loads(each.final.state) for each in (reference, observation))
    expected, found = (dict(_values("$", end)) for end in ends)
    ignored_parts = tuple(f"{path}{mark}" for path in ignored for mark in (".", "["))
    for place in expected | found:
        first, second = expected.get(place, ...), found.get(place, ...)
        # A short id may also be another value by chance, so equal values are equal too.
        is_equal = first == second or _normal(first, reference) == _normal(second, observation)
        is_equal &= isinstance(first, bool) is isinstance(second, bool)
        if not (is_equal or place in ignored or place.startswith(ignored_parts)):
            should, does = ("missing" if each is ... else repr(each) for each in (first, second))
            same = f"the same end as with the order of: {reference.history.title}"
            seen, step = f"{place} is {does}, not {should}", observation.final.step
            return HistoryFailure(Verdict.CONFLUENCE, step, same, seen, observation)
    return None


def _values(place: str, state: Json) -> Iterator[tuple[str, Json]]:
    """Each place in a state with its value; an empty object or list is a value, too."""
    if isinstance(state, dict) and state:
        parts = [(f"{place}.{key}", each) for key, each in state.items()]
    elif isinstance(state, list) and state:
        parts = [(f"{place}[{index}]", each) for index, each in enumerate(state)]
    else:
        yield place, state
        return
    for part in parts:
        yield from _values(*part)


def _normal(value: Json, observation: Observation) -> Json:
    """A value with the ids of its own order replaced, by characters that no id has."""
    for number, own_id in enumerate(observation.own_ids):
        if isinstance(value, str):
            value = value.replace(own_id, chr(number))
        elif str(value) == own_id:
            return chr(number)
    return value
