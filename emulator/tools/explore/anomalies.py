"""Declares the anomalies of histories: each changes the steps, or does not fit them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from emulator.domain.payment import EVENT_TYPES
from emulator.tools.explore.steps import (
    ACTION_TEXTS,
    CHANGES,
    COMPLETED,
    CREATED,
    MANNER_TEXTS,
    REFUNDED,
    HistoryStep,
    Manner,
    StepAction,
    Steps,
)

Change = Callable[[Steps, str], Steps | None]
"""Changes the steps, or returns None where the anomaly does not fit."""


def _index(steps: Steps, action: StepAction, event: str = "") -> int | None:
    for index, step in enumerate(steps):
        if step.action is action and step.event == event:
            return index
    return None


def _replaced(steps: Steps, index: int, *others: HistoryStep) -> Steps:
    return (*steps[:index], *others, *steps[index + 1 :])


def _insert(steps: Steps, index: int, *inserted: HistoryStep) -> Steps:
    return (*steps[:index], *inserted, *steps[index:])


def _moved(steps: Steps, index: int, to: int) -> Steps | None:
    """A step moved behind others; `to` is its index before its own removal."""
    if to == index + 1:
        return None
    return (*steps[:index], *steps[index + 1 : to], steps[index], *steps[to:])


def _late_success(steps: Steps, _: str) -> Steps | None:
    if _index(steps, StepAction.APPROVE) is not None:
        return None
    return (*steps, HistoryStep(StepAction.COMPLETE), *_deliver(steps, COMPLETED))


def _refund(steps: Steps, _: str) -> Steps | None:
    if _index(steps, StepAction.APPROVE) is None and _index(steps, StepAction.COMPLETE) is None:
        return None
    return (*steps, HistoryStep(StepAction.REFUND), *_deliver(steps, REFUNDED))


def _deliver(steps: Steps, event: str) -> Steps:
    """The delivery of one more event, if the application receives any."""
    has_webhook = _index(steps, StepAction.DELIVER, CREATED) is not None
    return (HistoryStep(StepAction.DELIVER, event),) if has_webhook else ()


def _expire_later(steps: Steps, index: int) -> Steps:
    actions = (StepAction.WAIT, StepAction.SUBMIT, StepAction.PASS_EXPIRY)
    return _replaced(steps, index, *map(HistoryStep, actions))


def _rotate(steps: Steps, _: str) -> Steps:
    return _insert(steps, 1, HistoryStep(StepAction.ROTATE))


def _at(action: StepAction, change: Callable[[Steps, int], Steps | None]) -> Change:
    """A change of the step with an action, by its index; of a delivery, that of the event."""

    def find_and_change(steps: Steps, event: str) -> Steps | None:
        index = _index(steps, action, event)
        return None if index is None else change(steps, index)

    return find_and_change


def _early(steps: Steps, index: int) -> Steps | None:
    early = HistoryStep(StepAction.START, steps[index].event, Manner.EARLY)
    is_usual = steps[0].manner is Manner.USUAL
    return (early, *_replaced(steps, index)[1:]) if is_usual else None


def _after_next(actions: Collection[StepAction]) -> Change:
    """The event arrives after the next step with one of these actions."""

    def move(steps: Steps, index: int) -> Steps | None:
        after = (i for i in range(index + 1, len(steps)) if steps[i].action in actions)
        to = next(after, None)
        return None if to is None else _moved(steps, index, to + 1)

    return _at(StepAction.DELIVER, move)


def _manner(manner: Manner, action: StepAction = StepAction.DELIVER) -> Change:
    def change(steps: Steps, index: int) -> Steps | None:
        is_usual = steps[index].manner is Manner.USUAL
        return _replaced(steps, index, replace(steps[index], manner=manner)) if is_usual else None

    return _at(action, change)


def _last(steps: Steps, index: int) -> Steps | None:
    return _moved(steps, index, len(steps))


def _repeated(steps: Steps, index: int) -> Steps:
    return _insert(steps, index, replace(steps[index], manner=Manner.USUAL))


def _lost(steps: Steps, index: int) -> Steps:
    return _replaced(steps, index, HistoryStep(StepAction.LOSE, steps[index].event))


def _return_at_once(steps: Steps, _: str) -> Steps | None:
    without = _at(StepAction.RETURN, _replaced)(steps, "")
    return None if without is None else _manner(Manner.WITH_RETURN)(without, COMPLETED)


def _settle_at_once(steps: Steps, _: str) -> Steps | None:
    return _manner(Manner.WITH_SETTLE)(steps, COMPLETED)


def _before(actions: Sequence[StepAction], inserted: HistoryStep, offset: int = 0) -> Change:
    def change(steps: Steps, _: str) -> Steps | None:
        for index, step in enumerate(steps):
            if step.action in actions:
                return _insert(steps, index + offset, inserted)
        return None

    return change


def _job(actions: Sequence[StepAction], offset: int = 0) -> Change:
    return _before(actions, HistoryStep(StepAction.SETTLE), offset)


_DELIVER, _RETURN = StepAction.DELIVER, StepAction.RETURN
_FIRST_CHANGES = (StepAction.WAIT, StepAction.SUBMIT, StepAction.EXPIRE)
_RESULTS = (StepAction.APPROVE, StepAction.DECLINE, StepAction.EXPIRE)
_ANSWERS = (StepAction.APPROVE, StepAction.DECLINE)


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


def _create(name: str, manner: Manner) -> AnomalyKind:
    return AnomalyKind(name, MANNER_TEXTS[manner], _manner(manner, StepAction.START))


def _delivery(
    name: str, manner: Manner, events: tuple[str, ...] = _ALL, needs: str = "has_webhook"
) -> AnomalyKind:
    return AnomalyKind(name, MANNER_TEXTS[manner], _manner(manner), events, needs)


def _forgery(manner: Manner) -> AnomalyKind:
    name, title = manner.value.replace(" ", "-"), MANNER_TEXTS[manner]
    change = _before(_RESULTS, HistoryStep(StepAction.FORGE, COMPLETED, manner))
    return AnomalyKind(name, title, change, needs="has_webhook")


def _return(name: str, title: str, change: Change) -> AnomalyKind:
    return AnomalyKind(name, title, change, needs="has_return")


def _settle(name: str, title: str, change: Change) -> AnomalyKind:
    return AnomalyKind(name, title, change, needs="has_settle")


_EXPIRY = "the checkout expires while the payment is processing"
_UNPAID = "the customer opens success_url without paying"

ANOMALY_KINDS = (
    AnomalyKind("late-success", "the payment completes after it failed or expired", _late_success),
    AnomalyKind("refund", ACTION_TEXTS[StepAction.REFUND], _refund),
    AnomalyKind("expiry-while-processing", _EXPIRY, _at(StepAction.SUBMIT, _expire_later)),
    _create("create-500-before", Manner.ERROR_BEFORE),
    _create("create-500-after", Manner.ERROR_AFTER),
    _create("create-cut", Manner.CUT),
    _create("create-slow", Manner.SLOW_CREATE),
    _create("create-429", Manner.LIMITED),
    AnomalyKind("early", MANNER_TEXTS[Manner.EARLY], _at(_DELIVER, _early), (CREATED,)),
    AnomalyKind("delayed", "{} arrives after the next change", _after_next(CHANGES), _NOT_LAST),
    AnomalyKind("swapped", "{} arrives after the next event", _after_next({_DELIVER}), _NOT_LAST),
    AnomalyKind("late", "{} arrives last", _at(_DELIVER, _last), _NOT_LAST),
    AnomalyKind("lost", "{} is lost", _at(_DELIVER, _lost), _ALL),
    AnomalyKind("twice", "{} is delivered twice in turn", _at(_DELIVER, _repeated), _ALL),
    _delivery("at-once", Manner.AT_ONCE),
    _delivery("slow", Manner.SLOW),
    _delivery("read-500", Manner.READ_ERROR),
    _delivery("second-read-500", Manner.SECOND_READ_ERROR),
    _delivery("slow-read", Manner.SLOW_READ, (COMPLETED,)),
    _delivery("killed", Manner.KILLED, needs="is_durable"),
    AnomalyKind("rotation", ACTION_TEXTS[StepAction.ROTATE], _rotate, needs="has_webhook"),
    _return("return-at-once", MANNER_TEXTS[Manner.WITH_RETURN], _return_at_once),
    _settle("settle-at-once", MANNER_TEXTS[Manner.WITH_SETTLE], _settle_at_once),
    _return("return-unpaid", _UNPAID, _before(_FIRST_CHANGES, HistoryStep(_RETURN))),
    AnomalyKind("return-twice", "the customer opens success_url twice", _at(_RETURN, _repeated)),
    AnomalyKind("no-return", "the customer never opens success_url", _at(_RETURN, _replaced)),
    _settle("settle-unpaid", "the job runs before the customer pays", _job(_FIRST_CHANGES)),
    _settle("settle-processing", "the job runs while the payment is processing", _job(_ANSWERS)),
    _settle("settle-first", "the job runs before the event arrives", _job(_RESULTS, offset=1)),
    _forgery(Manner.FORGED),
    _forgery(Manner.STALE),
    _forgery(Manner.UNSIGNED),
    _forgery(Manner.UNKNOWN_TYPE),
    _forgery(Manner.OTHER_MODE),
    _forgery(Manner.OTHER_ORDER),
    _forgery(Manner.OTHER_AMOUNT),
)


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
_BY_NAME = {anomaly.name: anomaly for anomaly in ANOMALIES}


def parse_anomaly(name: str) -> Anomaly | None:
    """The anomaly of a name."""
    return _BY_NAME.get(name)
