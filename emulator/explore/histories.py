"""Defines histories: what a customer does, what goes wrong, and in which order it happens.

A history is an outcome and a set of anomalies. Its steps are those of the outcome, changed by each
anomaly in the order of the table ANOMALY_KINDS.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, combinations, zip_longest

from emulator import ids
from emulator.domain.payment import EVENT_TYPES, Status

CREATED = EVENT_TYPES[Status.PENDING]
PROCESSING = EVENT_TYPES[Status.PROCESSING]
COMPLETED = EVENT_TYPES[Status.COMPLETED]
FAILED = EVENT_TYPES[Status.FAILED]
EXPIRED = EVENT_TYPES[Status.EXPIRED]
REFUNDED = EVENT_TYPES[Status.REFUNDED]
EVENT_STATUSES = {event_type: status for status, event_type in EVENT_TYPES.items()}

# Random histories have up to this number of anomalies more than `--depth`.
MAX_EXTRA_ANOMALIES = 3
# Draws that yield no new history, after which there is probably none left.
MAX_VAIN_DRAWS = 200


class Outcome(StrEnum):
    """What the customer does."""

    PAID = "paid"
    FAILED = "failed"
    EXPIRED = "expired"


class Action(StrEnum):
    """What happens in a step: to the payment, or to the merchant's application."""

    START = "start"
    WAIT = "wait"
    SUBMIT = "submit"
    PASS_EXPIRY = "pass expiry"  # noqa: S105 - no password
    APPROVE = "approve"
    DECLINE = "decline"
    EXPIRE = "expire"
    COMPLETE = "complete"
    REFUND = "refund"
    DELIVER = "deliver"
    FORGE = "forge"
    RETURN = "return"
    SETTLE = "settle"


CHANGES = {
    Action.SUBMIT: Status.PROCESSING,
    Action.APPROVE: Status.COMPLETED,
    Action.DECLINE: Status.FAILED,
    Action.EXPIRE: Status.EXPIRED,
    Action.COMPLETE: Status.COMPLETED,
    Action.REFUND: Status.REFUNDED,
}
"""The actions that change the payment, and the status that it then has."""


class Manner(StrEnum):
    """How a step deviates from the usual one."""

    USUAL = ""
    AT_ONCE = "twice at once"
    SLOW = "timed out"
    WITH_RETURN = "together with the return"
    WITH_SETTLE = "together with the job"
    EARLY = "before the response"
    ERROR_BEFORE = "500 before commit"
    ERROR_AFTER = "500 after commit"
    LIMITED = "429"
    CUT = "cut"
    FORGED = "forged"
    STALE = "stale"
    UNSIGNED = "unsigned"
    UNKNOWN_TYPE = "unknown type"
    OTHER_MODE = "other mode"
    OTHER_ORDER = "other order"
    OTHER_AMOUNT = "other amount"


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """A step of a history; `event` is the type of the event that is delivered."""

    action: Action
    event: str = ""
    manner: Manner = Manner.USUAL


Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an application has: webhooks, a page to which the customer returns, a job."""

    has_webhook: bool
    has_return: bool
    has_settle: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryName:
    """A history in a file."""

    outcome: Outcome
    anomalies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Anomaly:
    """An anomaly: a kind, and the event that it concerns, if any."""

    kind: "AnomalyKind"
    event: str = ""

    @property
    def name(self) -> str:
        """The anomaly in files and in the matrix of a report."""
        return f"{self.kind.name} {self.event}".rstrip()

    def apply(self, steps: Steps) -> Steps | None:
        """The changed steps, or None where the anomaly does not fit."""
        return self.kind.change(steps, self.event)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A history; `number` counts the histories of an exploration from 1."""

    outcome: Outcome
    anomalies: tuple[Anomaly, ...]
    steps: Steps

    @property
    def name(self) -> HistoryName:
        return HistoryName(
            outcome=self.outcome, anomalies=tuple(anomaly.name for anomaly in self.anomalies)
        )

    @property
    def title(self) -> str:
        """The history in one line."""
        return ", ".join((self.outcome.value, *self.name.anomalies))

    @property
    def waits(self) -> bool:
        """Whether a step waits in real time."""
        return any(step.manner is Manner.LIMITED for step in self.steps)

    @property
    def moves_clock(self) -> bool:
        """Whether a step moves the clock, which all payments share."""
        return any(step.action is Action.PASS_EXPIRY for step in self.steps)

    def contains(self, other: "History") -> bool:
        """Whether another history is a part of this one."""
        return self.outcome is other.outcome and set(other.anomalies) <= set(self.anomalies)


def base_steps(outcome: Outcome, can: Capabilities) -> Steps:
    """The steps without an anomaly."""
    if outcome is Outcome.EXPIRED:
        middle = [Step(Action.EXPIRE), Step(Action.DELIVER, EXPIRED)]
    else:
        is_paid = outcome is Outcome.PAID
        middle = [
            Step(Action.SUBMIT),
            Step(Action.DELIVER, PROCESSING),
            Step(Action.APPROVE if is_paid else Action.DECLINE),
            Step(Action.DELIVER, COMPLETED if is_paid else FAILED),
        ]
    steps = [Step(Action.START), Step(Action.DELIVER, CREATED), *middle]
    if outcome is Outcome.PAID:
        steps.append(Step(Action.RETURN))
    return _possible(steps, can)


def _possible(steps: Iterable[Step], can: Capabilities) -> Steps:
    missing = {Action.DELIVER} if not can.has_webhook else set()
    missing |= {Action.RETURN} if not can.has_return else set()
    return tuple(step for step in steps if step.action not in missing)


def _index(steps: Steps, action: Action, event: str = "") -> int | None:
    for index, step in enumerate(steps):
        if step.action is action and step.event == event:
            return index
    return None


def _insert(steps: Steps, index: int, *inserted: Step) -> Steps:
    return (*steps[:index], *inserted, *steps[index:])


def _moved(steps: Steps, index: int, to: int) -> Steps | None:
    """A step moved behind others; `to` is its index before its own removal."""
    if to == index + 1:
        return None
    return (*steps[:index], *steps[index + 1 : to], steps[index], *steps[to:])


# Each function below changes the steps, or returns None where the anomaly does not fit.


def _late_success(steps: Steps, _: str) -> Steps | None:
    if _index(steps, Action.APPROVE) is not None:
        return None
    return (*steps, Step(Action.COMPLETE), *_delivery(steps, COMPLETED))


def _refund(steps: Steps, _: str) -> Steps | None:
    if _index(steps, Action.APPROVE) is None and _index(steps, Action.COMPLETE) is None:
        return None
    return (*steps, Step(Action.REFUND), *_delivery(steps, REFUNDED))


def _delivery(steps: Steps, event: str) -> Steps:
    """The delivery of one more event, if the application receives any."""
    has_webhook = _index(steps, Action.DELIVER, CREATED) is not None
    return (Step(Action.DELIVER, event),) if has_webhook else ()


def _expiry_while_processing(steps: Steps, _: str) -> Steps | None:
    index = _index(steps, Action.SUBMIT)
    if index is None:
        return None
    submit = (Step(Action.WAIT), Step(Action.SUBMIT), Step(Action.PASS_EXPIRY))
    return (*steps[:index], *submit, *steps[index + 1 :])


def _start(manner: Manner) -> Callable[[Steps, str], Steps | None]:
    def change(steps: Steps, _: str) -> Steps | None:
        if steps[0].manner is not Manner.USUAL:
            return None
        return (replace(steps[0], manner=manner), *steps[1:])

    return change


def _early(steps: Steps, event: str) -> Steps | None:
    index = _index(steps, Action.DELIVER, event)
    if index is None or steps[0].manner is not Manner.USUAL:
        return None
    return (Step(Action.START, event, Manner.EARLY), *steps[1:index], *steps[index + 1 :])


def _delayed(steps: Steps, event: str) -> Steps | None:
    index = _index(steps, Action.DELIVER, event)
    if index is None:
        return None
    after = (i for i in range(index, len(steps)) if steps[i].action in CHANGES)
    to = next(after, None)
    return None if to is None else _moved(steps, index, to + 1)


def _swapped(steps: Steps, event: str) -> Steps | None:
    index = _index(steps, Action.DELIVER, event)
    if index is None:
        return None
    after = (i for i in range(index + 1, len(steps)) if steps[i].action is Action.DELIVER)
    to = next(after, None)
    return None if to is None else _moved(steps, index, to + 1)


def _late(steps: Steps, event: str) -> Steps | None:
    index = _index(steps, Action.DELIVER, event)
    return None if index is None else _moved(steps, index, len(steps))


def _lost(steps: Steps, event: str) -> Steps | None:
    index = _index(steps, Action.DELIVER, event)
    return None if index is None else (*steps[:index], *steps[index + 1 :])


def _twice(steps: Steps, event: str) -> Steps | None:
    index = _index(steps, Action.DELIVER, event)
    return None if index is None else _insert(steps, index, Step(Action.DELIVER, event))


def _manner(manner: Manner) -> Callable[[Steps, str], Steps | None]:
    def change(steps: Steps, event: str) -> Steps | None:
        index = _index(steps, Action.DELIVER, event)
        if index is None or steps[index].manner is not Manner.USUAL:
            return None
        changed = replace(steps[index], manner=manner)
        return (*steps[:index], changed, *steps[index + 1 :])

    return change


def _return_at_once(steps: Steps, _: str) -> Steps | None:
    index = _index(steps, Action.RETURN)
    without = None if index is None else (*steps[:index], *steps[index + 1 :])
    return None if without is None else _manner(Manner.WITH_RETURN)(without, COMPLETED)


def _settle_at_once(steps: Steps, _: str) -> Steps | None:
    return _manner(Manner.WITH_SETTLE)(steps, COMPLETED)


def _return_unpaid(steps: Steps, _: str) -> Steps | None:
    index = next(i for i, step in enumerate(steps) if step.action in _FIRST_CHANGES)
    return _insert(steps, index, Step(Action.RETURN))


def _return_twice(steps: Steps, _: str) -> Steps | None:
    index = _index(steps, Action.RETURN)
    return None if index is None else _insert(steps, index, Step(Action.RETURN))


def _no_return(steps: Steps, _: str) -> Steps | None:
    index = _index(steps, Action.RETURN)
    return None if index is None else (*steps[:index], *steps[index + 1 :])


def _before(
    actions: Sequence[Action], inserted: Step, *, offset: int = 0
) -> Callable[[Steps, str], Steps | None]:
    def change(steps: Steps, _: str) -> Steps | None:
        for index, step in enumerate(steps):
            if step.action in actions:
                return _insert(steps, index + offset, inserted)
        return None

    return change


_FIRST_CHANGES = (Action.WAIT, Action.SUBMIT, Action.EXPIRE)
_RESULTS = (Action.APPROVE, Action.DECLINE, Action.EXPIRE)
_SETTLE = Step(Action.SETTLE)


@dataclass(frozen=True, slots=True, eq=False)
class AnomalyKind:
    """A kind of anomaly: `title` describes it, `{}` stands for the event.

    `events` are those that it can concern; without any it concerns none.
    """

    name: str
    title: str
    change: Callable[[Steps, str], Steps | None]
    events: tuple[str, ...] = ("",)
    needs: str = ""
    """The capability without which it does not exist, an attribute of `Capabilities`."""


_ALL = tuple(EVENT_TYPES.values())
# Nothing follows the refund.
_NOT_LAST = tuple(event for event in _ALL if event != REFUNDED)


def _forgery(manner: Manner, title: str) -> AnomalyKind:
    forged = Step(Action.FORGE, COMPLETED, manner)
    name = manner.value.replace(" ", "-")
    return AnomalyKind(name, title, _before(_RESULTS, forged), needs="has_webhook")


ANOMALY_KINDS = (
    AnomalyKind("late-success", "the payment completes after it failed or expired", _late_success),
    AnomalyKind("refund", "the payment is refunded", _refund),
    AnomalyKind(
        "expiry-while-processing",
        "the checkout expires while the payment is processing",
        _expiry_while_processing,
    ),
    AnomalyKind(
        "create-500-before",
        "create is answered 500 before the commit",
        _start(Manner.ERROR_BEFORE),
    ),
    AnomalyKind(
        "create-500-after", "create is answered 500 after the commit", _start(Manner.ERROR_AFTER)
    ),
    AnomalyKind("create-cut", "the response to create is lost", _start(Manner.CUT)),
    AnomalyKind("create-429", "create is answered 429 with Retry-After: 1", _start(Manner.LIMITED)),
    AnomalyKind("early", "{} arrives before the response to create", _early, (CREATED,)),
    AnomalyKind("delayed", "{} arrives after the next change", _delayed, _NOT_LAST),
    AnomalyKind("swapped", "{} arrives after the next event", _swapped, _NOT_LAST),
    AnomalyKind("late", "{} arrives last", _late, _NOT_LAST),
    AnomalyKind("lost", "{} is lost", _lost, _ALL),
    AnomalyKind("twice", "{} is delivered twice in turn", _twice, _ALL),
    AnomalyKind("at-once", "{} is delivered twice at once", _manner(Manner.AT_ONCE), _ALL),
    AnomalyKind(
        "slow", "the first attempt of {} times out and is repeated", _manner(Manner.SLOW), _ALL
    ),
    AnomalyKind(
        "return-at-once",
        "the customer returns while the event is delivered",
        _return_at_once,
        needs="has_return",
    ),
    AnomalyKind(
        "settle-at-once",
        "the job runs while the event is delivered",
        _settle_at_once,
        needs="has_settle",
    ),
    AnomalyKind(
        "return-unpaid",
        "the customer opens success_url without paying",
        _return_unpaid,
        needs="has_return",
    ),
    AnomalyKind("return-twice", "the customer opens success_url twice", _return_twice),
    AnomalyKind("no-return", "the customer never opens success_url", _no_return),
    AnomalyKind(
        "settle-unpaid",
        "the job runs before the customer pays",
        _before(_FIRST_CHANGES, _SETTLE),
        needs="has_settle",
    ),
    AnomalyKind(
        "settle-processing",
        "the job runs while the payment is processing",
        _before((Action.APPROVE, Action.DECLINE), _SETTLE),
        needs="has_settle",
    ),
    AnomalyKind(
        "settle-first",
        "the job runs before the event arrives",
        _before(_RESULTS, _SETTLE, offset=1),
        needs="has_settle",
    ),
    _forgery(Manner.FORGED, "a webhook with a wrong signature"),
    _forgery(Manner.STALE, "a signed webhook that is an hour old"),
    _forgery(Manner.UNSIGNED, "a webhook without a signature"),
    _forgery(Manner.UNKNOWN_TYPE, "a webhook of an unknown type"),
    _forgery(Manner.OTHER_MODE, "a webhook of the other mode"),
    _forgery(Manner.OTHER_ORDER, "a webhook about another order's payment"),
    _forgery(Manner.OTHER_AMOUNT, "a webhook about a payment of another amount"),
)
ANOMALIES = tuple(Anomaly(kind, event) for kind in ANOMALY_KINDS for event in kind.events)
_BY_NAME = {anomaly.name: anomaly for anomaly in ANOMALIES}


def parse_anomaly(name: str) -> Anomaly | None:
    """The anomaly of a name."""
    return _BY_NAME.get(name)


def build_history(
    outcome: Outcome, anomalies: Sequence[Anomaly], can: Capabilities
) -> History | None:
    """The history with these anomalies, or None where they do not fit together."""
    ordered = tuple(sorted(anomalies, key=ANOMALIES.index))
    steps: Steps | None = base_steps(outcome, can)
    for anomaly in ordered:
        if steps is None or (anomaly.kind.needs and not getattr(can, anomaly.kind.needs)):
            return None
        steps = anomaly.apply(steps)
    return None if steps is None else History(outcome=outcome, anomalies=ordered, steps=steps)


def histories_of_size(size: int, can: Capabilities) -> list[History]:
    """All histories with this number of anomalies, those of the outcomes by turns.

    Those that wait in real time come last.
    """
    of_outcomes = []
    for outcome in Outcome:
        built = (build_history(outcome, chosen, can) for chosen in combinations(ANOMALIES, size))
        of_outcomes.append([history for history in built if history is not None])
    turns = chain.from_iterable(zip_longest(*of_outcomes))
    histories = [history for history in turns if history is not None]
    return sorted(histories, key=lambda history: history.waits)


def random_histories(seed: int, depth: int, can: Capabilities) -> Iterator[History]:
    """Histories with more anomalies than `depth`, without end or until no new one is found."""
    key = ids.stream_key(seed, "explore")
    draws = 0
    seen: set[tuple[Outcome, tuple[Anomaly, ...]]] = set()

    def draw(count: int) -> int:
        nonlocal draws
        draws += 1
        return int(ids.chance(key, "history", draws) * count)

    vain = 0
    while vain < MAX_VAIN_DRAWS:
        outcome = list(Outcome)[draw(len(Outcome))]
        size = depth + 1 + draw(MAX_EXTRA_ANOMALIES)
        chosen = {ANOMALIES[draw(len(ANOMALIES))] for _ in range(size)}
        history = build_history(outcome, list(chosen), can) if len(chosen) == size else None
        if history is None or (outcome, history.anomalies) in seen:
            vain += 1
            continue
        vain = 0
        seen.add((outcome, history.anomalies))
        yield history


def normal_form(steps: Steps, *, reads_on_delivery: bool) -> Steps:
    """The same steps for all orders that only exchange independent ones.

    A change of the payment and the delivery of an event are independent where the application
    sends no request to the service while it handles a delivery.
    """
    if reads_on_delivery:
        return steps
    ordered = list(steps)
    for end in range(1, len(ordered)):
        index = end
        while index > 0 and _are_exchangeable(ordered[index - 1], ordered[index]):
            ordered[index - 1], ordered[index] = ordered[index], ordered[index - 1]
            index -= 1
    return tuple(ordered)


def _are_exchangeable(first: Step, second: Step) -> bool:
    is_delivery = first.action is Action.DELIVER and first.manner in (Manner.USUAL, Manner.AT_ONCE)
    return is_delivery and second.action in CHANGES


def facts(steps: Steps) -> Steps:
    """What happens in a history, without its order."""
    single: list[Step] = []
    for step in steps:
        action = _TOGETHER.get(step.manner)
        if action is not None:
            single += [replace(step, manner=Manner.USUAL), Step(action)]
        else:
            single.append(step)
    return tuple(sorted(single))


_TOGETHER = {Manner.WITH_RETURN: Action.RETURN, Manner.WITH_SETTLE: Action.SETTLE}
