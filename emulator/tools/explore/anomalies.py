"""Declares the anomalies of histories: each changes the steps, or does not fit them."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from emulator.domain.payment import EVENT_TYPES
from emulator.tools.explore.steps import (
    CHANGES,
    COMPLETED,
    CREATED,
    REFUNDED,
    Capabilities,
    HistoryStep,
    Manner,
    StepAction,
    Steps,
)

Change = Callable[[Steps, str], Steps | None]
"""Changes the steps, or returns None where the anomaly does not fit."""

_DELIVER, _RETURN = StepAction.DELIVER, StepAction.RETURN
_FIRST_CHANGES = (StepAction.WAIT, StepAction.SUBMIT, StepAction.EXPIRE)
_RESULTS = (StepAction.APPROVE, StepAction.DECLINE, StepAction.EXPIRE)
_ANSWERS = (StepAction.APPROVE, StepAction.DECLINE)
_COMPLETIONS = (StepAction.APPROVE, StepAction.COMPLETE)


def _index(steps: Steps, actions: Collection[StepAction], event: str = "") -> int | None:
    """The index of the first step with one of the actions, and with the event, if given."""
    indices = (i for i, s in enumerate(steps) if s.action in actions and event in ("", s.event))
    return next(indices, None)


def _replaced(steps: Steps, index: int, *others: HistoryStep) -> Steps:
    return (*steps[:index], *others, *steps[index + 1 :])


def _moved(steps: Steps, index: int, to: int) -> Steps | None:
    """A step moved behind others; `to` is its index before its own removal."""
    if to == index + 1:
        return None
    return (*steps[:index], *steps[index + 1 : to], steps[index], *steps[to:])


def _at_end(action: StepAction, *, of_completed: bool) -> Change:
    """One more change of a payment, and its event; of those that are completed, or of the others.

    The event is only delivered if the application receives any.
    """

    def change(steps: Steps, _: str) -> Steps | None:
        if (_index(steps, _COMPLETIONS) is not None) is not of_completed:
            return None
        has_webhook = _index(steps, [_DELIVER], CREATED) is not None
        delivery = HistoryStep(_DELIVER, EVENT_TYPES[CHANGES[action]])
        return (*steps, HistoryStep(action), *[delivery] * has_webhook)

    return change


def _at(
    action: StepAction, change: Callable[[Steps, int], Steps | None], event: str = ""
) -> Change:
    """A change of the step with an action, by its index; of a delivery, that of the event."""

    def find_and_change(steps: Steps, of: str) -> Steps | None:
        index = _index(steps, [action], of or event)
        return None if index is None else change(steps, index)

    return find_and_change


def _expire_later(steps: Steps, index: int) -> Steps:
    actions = (StepAction.WAIT, StepAction.SUBMIT, StepAction.PASS_EXPIRY)
    return _replaced(steps, index, *map(HistoryStep, actions))


def _early(steps: Steps, index: int) -> Steps | None:
    early = HistoryStep(StepAction.START, steps[index].event, Manner.EARLY)
    is_usual = steps[0].manner is Manner.USUAL
    return (early, *_replaced(steps, index)[1:]) if is_usual else None


def _after_next(actions: Collection[StepAction]) -> Change:
    """The event arrives after the next step with one of these actions."""

    def move(steps: Steps, index: int) -> Steps | None:
        after = _index(steps[index + 1 :], actions)
        return None if after is None else _moved(steps, index, index + after + 2)

    return _at(_DELIVER, move)


def _manner(manner: Manner, action: StepAction = _DELIVER, event: str = "") -> Change:
    def change(steps: Steps, index: int) -> Steps | None:
        is_usual = steps[index].manner is Manner.USUAL
        return _replaced(steps, index, replace(steps[index], manner=manner)) if is_usual else None

    return _at(action, change, event)


def _last(steps: Steps, index: int) -> Steps | None:
    return _moved(steps, index, len(steps))


def _repeated(steps: Steps, index: int) -> Steps:
    return _replaced(steps, index, replace(steps[index], manner=Manner.USUAL), steps[index])


def _lost(steps: Steps, index: int) -> Steps:
    return _replaced(steps, index, HistoryStep(StepAction.LOSE, steps[index].event))


def _return_at_once(steps: Steps, index: int) -> Steps | None:
    return _manner(Manner.WITH_RETURN, event=COMPLETED)(_replaced(steps, index), "")


def _before(actions: Collection[StepAction], inserted: HistoryStep, offset: int = 0) -> Change:
    """One more step before the first one with one of these actions, or at an offset to it."""

    def change(steps: Steps, _: str) -> Steps | None:
        index = _index(steps, actions)
        if index is None:
            return None
        return (*steps[: index + offset], inserted, *steps[index + offset :])

    return change


@dataclass(frozen=True, slots=True, eq=False)
class AnomalyKind:
    """A kind of anomaly: `title` describes it, `{}` stands for the event.

    `events` are those that it can concern; without any it concerns none.
    """

    name: str
    title: str
    change: Change
    events: tuple[str, ...] = ("",)
    needs: str = ""
    """The capability without which it does not exist, an attribute of `Capabilities`."""


_ALL = tuple(EVENT_TYPES.values())
# Nothing follows the refund.
_NOT_LAST = tuple(event for event in _ALL if event != REFUNDED)


def _deviation(name: str, manner: Manner, *events: str, needs: str = "") -> AnomalyKind:
    """The start, or the delivery of one of these events, is not the usual one."""
    change = _manner(manner, _DELIVER if events else StepAction.START)
    return AnomalyKind(name, manner, change, events or ("",), needs)


def _forgery(manner: Manner, needs: str = "has_webhook") -> AnomalyKind:
    name = manner.name.lower().replace("_", "-")
    change = _before(_RESULTS, HistoryStep(StepAction.FORGE, COMPLETED, manner))
    return AnomalyKind(name, manner, change, needs=needs)


def _job(name: str, title: str, actions: Collection[StepAction], offset: int = 0) -> AnomalyKind:
    change = _before(actions, HistoryStep(StepAction.SETTLE), offset)
    return AnomalyKind(name, title, change, needs="has_settle")


_EXPIRY = "the checkout expires while the payment is processing"
_LATE_SUCCESS = "the payment completes after it failed or expired"
_UNPAID = "the customer opens success_url without paying"
_ROTATE = _before([StepAction.START], HistoryStep(StepAction.ROTATE), offset=1)
_REFUND = _at_end(StepAction.REFUND, of_completed=True)
_COMPLETE = _at_end(StepAction.COMPLETE, of_completed=False)
_RETURN_UNPAID = _before(_FIRST_CHANGES, HistoryStep(_RETURN))
_SETTLE_AT_ONCE = _manner(Manner.WITH_SETTLE, event=COMPLETED)

ANOMALY_KINDS = (
    AnomalyKind("late-success", _LATE_SUCCESS, _COMPLETE),
    AnomalyKind("refund", StepAction.REFUND, _REFUND),
    AnomalyKind("expiry-while-processing", _EXPIRY, _at(StepAction.SUBMIT, _expire_later)),
    _deviation("create-500-before", Manner.ERROR_BEFORE),
    _deviation("create-500-after", Manner.ERROR_AFTER),
    _deviation("create-cut", Manner.CUT),
    _deviation("create-slow", Manner.SLOW_CREATE),
    _deviation("create-429", Manner.LIMITED),
    AnomalyKind("early", Manner.EARLY, _at(_DELIVER, _early), (CREATED,)),
    AnomalyKind("delayed", "{} arrives after the next change", _after_next(CHANGES), _NOT_LAST),
    AnomalyKind("swapped", "{} arrives after the next event", _after_next([_DELIVER]), _NOT_LAST),
    AnomalyKind("late", "{} arrives last", _at(_DELIVER, _last), _NOT_LAST),
    AnomalyKind("lost", StepAction.LOSE, _at(_DELIVER, _lost), _ALL),
    AnomalyKind("twice", "{} is delivered twice in turn", _at(_DELIVER, _repeated), _ALL),
    _deviation("at-once", Manner.AT_ONCE, *_ALL),
    _deviation("slow", Manner.SLOW, *_ALL),
    _deviation("read-500", Manner.READ_ERROR, *_ALL),
    _deviation("second-read-500", Manner.SECOND_READ_ERROR, *_ALL),
    _deviation("slow-read", Manner.SLOW_READ, COMPLETED),
    _deviation("killed", Manner.KILLED, *_ALL, needs="is_durable"),
    AnomalyKind("rotation", StepAction.ROTATE, _ROTATE, needs="has_two_signatures"),
    AnomalyKind("return-at-once", Manner.WITH_RETURN, _at(_RETURN, _return_at_once)),
    AnomalyKind("settle-at-once", Manner.WITH_SETTLE, _SETTLE_AT_ONCE, needs="has_settle"),
    AnomalyKind("return-unpaid", _UNPAID, _RETURN_UNPAID, needs="has_return"),
    AnomalyKind("return-twice", "the customer opens success_url twice", _at(_RETURN, _repeated)),
    AnomalyKind("no-return", "the customer never opens success_url", _at(_RETURN, _replaced)),
    _job("settle-unpaid", "the job runs before the customer pays", _FIRST_CHANGES),
    _job("settle-processing", "the job runs while the payment is processing", _ANSWERS),
    _job("settle-first", "the job runs before the event arrives", _RESULTS, offset=1),
    _forgery(Manner.FORGED, needs="has_signature"),
    _forgery(Manner.STALE, needs="has_timestamp"),
    _forgery(Manner.UNSIGNED, needs="has_signature"),
    _forgery(Manner.UNKNOWN_TYPE, needs="has_event_type"),
    _forgery(Manner.OTHER_MODE, needs="has_event_mode"),
    _forgery(Manner.OTHER_ORDER),
    _forgery(Manner.OTHER_AMOUNT),
    _forgery(Manner.UNTRUE, needs="has_no_signature"),
)

# What webhooks lack in a form in which an anomaly does not exist.
_LACKING = {
    "has_signature": "have no signature",
    "has_two_signatures": "never have two signatures",
    "has_timestamp": "have no signed timestamp",
    "has_event_type": "do not contain the event's type",
    "has_event_mode": "do not contain the event's mode",
}


def left_out(can: Capabilities) -> Iterator[str]:
    """The anomalies that do not exist in the form of the webhooks, and why, in lines."""
    if not can.has_webhook:
        return
    for needed, reason in _LACKING.items():
        if not getattr(can, needed):
            names = ", ".join(kind.name for kind in ANOMALY_KINDS if kind.needs == needed)
            yield f"left out: {names}; webhooks in the form {can.form.name} {reason}"
    if unsent := [event for event in _ALL if not can.form.sends(event)]:
        yield f"not sent in the form {can.form.name}: {', '.join(unsent)}"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """An anomaly: a kind, and the event that it concerns, if any."""

    kind: AnomalyKind
    event: str = ""

    @property
    def name(self) -> str:
        """The anomaly in files and in the matrix of a report."""
        return f"{self.kind.name} {self.event}".rstrip()

    def apply(self, steps: Steps) -> Steps | None:
        """The changed steps, or None where the anomaly does not fit."""
        return self.kind.change(steps, self.event)


ANOMALIES = tuple(Anomaly(kind, event) for kind in ANOMALY_KINDS for event in kind.events)
ANOMALY_BY_NAME = {anomaly.name: anomaly for anomaly in ANOMALIES}
