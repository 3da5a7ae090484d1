"""Holds what was observed of a history, and judges it: safety, liveness, and confluence."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from emulator.domain.payment import Status
from emulator.scenarios.values import Json
from emulator.tools.explore.browser import Browser
from emulator.tools.explore.connections import Span
from emulator.tools.explore.histories import History
from emulator.tools.explore.json_path import JsonPath
from emulator.tools.explore.service import ServiceEvent
from emulator.tools.explore.steps import HistoryStep, StepAction

HAS_MONEY = (Status.COMPLETED, Status.REFUNDED)
_HAS_NO_MONEY = (Status.FAILED, Status.EXPIRED)


class VerdictId(StrEnum):
    """What can be wrong; the most direct loss of money first."""

    FORGED_ACCEPTED = "forged-accepted"
    CHARGED_TWICE = "charged-twice"
    FULFILLED_TWICE = "fulfilled-twice"
    PAID_WITHOUT_MONEY = "paid-without-money"
    MONEY_WITHOUT_PAID = "money-without-paid"
    NOT_FULFILLED = "not-fulfilled"
    NOT_CLOSED = "not-closed"
    NEVER_ACKNOWLEDGED = "never-acknowledged"
    CONFLUENCE = "confluence"


VERDICTS = {
    VerdictId.FORGED_ACCEPTED: "a forged, stale or unsigned webhook changes the order",
    VerdictId.CHARGED_TWICE: "two payments of one order are completed or may still complete",
    VerdictId.FULFILLED_TWICE: "the order is fulfilled more than once",
    VerdictId.PAID_WITHOUT_MONEY: "the order is paid, and its payment is not completed",
    VerdictId.MONEY_WITHOUT_PAID: "the payment is completed, and the order is not paid in the end",
    VerdictId.NOT_FULFILLED: "the payment is completed, and the paid order is never fulfilled",
    VerdictId.NOT_CLOSED: "the payment failed or expired, and the order is not closed in the end",
    VerdictId.NEVER_ACKNOWLEDGED: "a genuine webhook is never answered with 2xx",
    VerdictId.CONFLUENCE: "the same facts in another order end in another state",
}
"""The meaning of each verdict."""


@dataclass(frozen=True, slots=True)
class HistoryVerdict:
    """A failed judgement after a step (from 1): what was expected, and what was seen."""

    id: VerdictId
    step: int
    expected: str
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The order after a step, and the status of its payment then; `state` is JSON.

    `fulfilled` counts, and is None where the file does not declare it.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedStep:
    """An executed step: what happened, in words, its result, and its begin and end in real time."""

    step: HistoryStep
    text: str
    result: str = ""
    span: tuple[float, float] = (0.0, 0.0)


@dataclass(slots=True)
class Unacknowledged:
    """A genuine delivery without a 2xx so far; `step` is that of its first attempt.

    `cause` is the likely cause of the last failure, as a sentence, or empty.
    """

    event: ServiceEvent
    step: int
    results: list[str] = field(default_factory=list)
    cause: str = ""

    @property
    def seen(self) -> str:
        """The results of the attempts, and the cause."""
        return f"{len(self.results)} attempts: {', '.join(self.results)}. {self.cause}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One run of a history.

    `forged`: the order before and after each webhook that is not genuine. `could_know`: the
    statuses of the payment that the application could know of, by an acknowledged webhook, by its
    job, or by a request that it sent to the service. `sent`: the webhooks with their times.
    """

    history: History
    trace: tuple[TracedStep, ...]
    samples: tuple[Sample, ...]
    forged: tuple[tuple[Sample, Sample], ...]
    unacknowledged: tuple[Unacknowledged, ...]
    live_payments: tuple[str, ...]
    could_know: Collection[str]
    order: str
    payment: str
    checkout_url: str
    browser: Browser = field(default_factory=Browser)
    sent: tuple[Span, ...] = ()

    @property
    def final(self) -> Sample:
        """The order at the end."""
        return self.samples[-1]


def judge(observation: Observation) -> HistoryVerdict | None:
    """The first failed judgement of one history, or None."""
    return next(_verdicts(observation), None)


def is_settled(observation: Observation) -> bool:
    """Whether no state that is expected in the end is missing; a slow application needs time."""
    return next(_end(observation), None) is None


def _verdicts(observation: Observation) -> Iterator[HistoryVerdict]:
    live = observation.live_payments
    for before, after in observation.forged:
        if before.summary != after.summary:
            expected = "the webhook changes nothing"
            seen = f"the order was {state_text(before)}, and is {state_text(after)}"
            yield HistoryVerdict(VerdictId.FORGED_ACCEPTED, after.step, expected, seen)
    if len(live) > 1:
        expected = "one payment of the order is completed or may still complete"
        seen = f"{len(live)} payments: {', '.join(live)}"
        yield HistoryVerdict(VerdictId.CHARGED_TWICE, observation.final.step, expected, seen)
    for sample in observation.samples:
        if (sample.fulfilled or 0) > 1:
            expected = "the order is fulfilled at most once"
            seen = f"it is fulfilled {sample.fulfilled} times"
            yield HistoryVerdict(VerdictId.FULFILLED_TWICE, sample.step, expected, seen)
    for sample in observation.samples:
        if sample.is_paid and sample.payment_status not in HAS_MONEY:
            expected = f"the order is not paid: its payment is {sample.payment_status}"
            seen = "the order is paid"
            yield HistoryVerdict(VerdictId.PAID_WITHOUT_MONEY, sample.step, expected, seen)
    yield from _end(observation)
    for delivery in observation.unacknowledged:
        expected = f"{delivery.event.type} is answered with 2xx in the end"
        yield HistoryVerdict(VerdictId.NEVER_ACKNOWLEDGED, delivery.step, expected, delivery.seen)


def state_text(sample: Sample) -> str:
    """The state of an order in words."""
    words = "paid" if sample.is_paid else "closed" if sample.is_closed else "not paid"
    return f"{words}, fulfilled {sample.fulfilled} times" if sample.fulfilled else words


def _end(observation: Observation) -> Iterator[HistoryVerdict]:
    """The end, where the application could know the status of the payment."""
    final, status = observation.final, observation.final.payment_status
    if status not in observation.could_know:
        return
    if status == Status.REFUNDED and final.is_paid and not final.is_refunded:
        wrong, state = VerdictId.PAID_WITHOUT_MONEY, "refunded"
    elif status == Status.COMPLETED and not final.is_paid:
        wrong, state = VerdictId.MONEY_WITHOUT_PAID, "paid"
    elif status == Status.COMPLETED and final.fulfilled == 0:
        wrong, state = VerdictId.NOT_FULFILLED, "fulfilled"
    elif status in _HAS_NO_MONEY and not final.is_closed:
        wrong, state = VerdictId.NOT_CLOSED, "closed"
    else:
        return
    expected = f"the order is {state}: its payment is {status}"
    yield HistoryVerdict(wrong, final.step, expected, f"the order is {state_text(final)}")


def is_order_free(observation: Observation) -> bool:
    """Whether the end must not depend on the order of the facts.

    It may where the application could not know the payment's last status: then it may know an
    earlier one in one order, and none in another. A refund before the completion may leave an order
    that was never fulfilled.
    """
    is_refunded = any(step.action is StepAction.REFUND for step in observation.history.steps)
    return not is_refunded and observation.final.payment_status in observation.could_know


def compare_ends(
    observation: Observation, reference: Observation, ignored: Sequence[JsonPath]
) -> HistoryVerdict | None:
    """Compare the end with that of a history of the same facts in another order."""
    expected, found = (json.loads(each.final.state) for each in (reference, observation))
    for path in ignored:
        expected, found = path.without(expected), path.without(found)
    seen = _difference(expected, found, "$", (_own_ids(reference), _own_ids(observation)))
    if seen is None:
        return None
    same = f"the same end as with the order of: {reference.history.title}"
    return HistoryVerdict(VerdictId.CONFLUENCE, observation.final.step, same, seen)


def _own_ids(observation: Observation) -> dict[str, str]:
    own = {
        observation.checkout_url: "{checkout_url}",
        observation.payment: "{payment}",
        observation.order: "{order}",
    }
    return {key: name for key, name in own.items() if key}


def _normal(value: Json, own: dict[str, str]) -> Json:
    """A value with the ids of its own order replaced."""
    if isinstance(value, str):
        for text, name in own.items():
            value = value.replace(text, name)
    elif not isinstance(value, bool):
        value = own.get(str(value), value)
    return value


def _difference(
    expected: Json, found: Json, place: str, own: tuple[dict[str, str], dict[str, str]]
) -> str | None:
    """Where two states differ, and how.

    A short id may also be another value by chance, so equal values are equal too.
    """
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        parts = [(f"{place}.{key}", expected[key], found[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        parts = [(f"{place}[{index}]", *pair) for index, pair in pairs]
    elif isinstance(expected, dict | list) or isinstance(found, dict | list):
        return f"{place} has other members or another length"
    else:
        is_equal = expected == found or _normal(expected, own[0]) == _normal(found, own[1])
        is_equal = is_equal and isinstance(expected, bool) is isinstance(found, bool)
        return None if is_equal else f"{place} is {found!r}, not {expected!r}"
    return next(filter(None, (_difference(a, b, where, own) for where, a, b in parts)), None)
