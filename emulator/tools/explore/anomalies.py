"""Declares the anomalies of histories: each changes a step, or does not fit the steps."""

from collections.abc import Callable, Collection
from functools import partial
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from emulator.domain.payment import EVENT_TYPES
from emulator.tools.explore import needs as has
from emulator.tools.explore.steps import (
    CHANGES,
    COMPLETED,
    CREATED,
    EXPIRED,
    FAILED,
    KILLS,
    PROCESSING,
    REFUNDED,
    WAITING,
    Capabilities,
    HistoryStep,
    Manner,
    Outcome,
    StepAction,
    Steps,
)

_Actions = tuple[StepAction, ...]
Change = Callable[[Steps, int], Steps | None]
"""Changes the step with an index, or returns None where the anomaly does not fit."""

MANY_ORDERS = 12
MANY_STEPS = 1_000
_FIRST_CHANGES = (StepAction.WAIT, StepAction.SUBMIT, StepAction.EXPIRE)
_RESULTS = (StepAction.APPROVE, StepAction.DECLINE, StepAction.EXPIRE)
_ANSWERS = (StepAction.APPROVE, StepAction.DECLINE)
_COMPLETIONS = (StepAction.APPROVE, StepAction.COMPLETE)
_FAILURES = (StepAction.DECLINE, StepAction.EXPIRE)
_START, _SUBMIT, _APPROVAL = (StepAction.START,), (StepAction.SUBMIT,), (StepAction.APPROVE,)
_DELIVER, _RETURN = (StepAction.DELIVER,), (StepAction.RETURN,)


def _index(steps: Steps, actions: Collection[StepAction], event: str = "") -> int | None:
    """The index of the first step with one of the actions, and with the event, if given."""
    indices = (i for i, s in enumerate(steps) if s.action in actions and event in ("", s.event))
    return next(indices, None)


def _replaced(steps: Steps, index: int, *others: HistoryStep) -> Steps:
    return (*steps[:index], *others, *steps[index + 1 :])


def _before(
    action: StepAction, manner: Manner = Manner.USUAL, *, offset: int = 0, **members: Any
) -> Change:
    step = HistoryStep(action, manner=manner, **members)
    return lambda steps, index: (*steps[: index + offset], step, *steps[index + offset :])


_after = partial(_before, offset=1)
_at_end = partial(_before, offset=MANY_STEPS)


def _expire_later(steps: Steps, index: int) -> Steps | None:
    """It does not fit where another payment is open, which would expire too."""
    following = _index(steps[index + 1 :], (*_START, *_SUBMIT))
    if following is not None and steps[index + 1 + following].action in _SUBMIT:
        return None
    actions = (StepAction.WAIT, StepAction.SUBMIT, StepAction.PASS_EXPIRY)
    return _replaced(steps, index, *map(HistoryStep, actions))


def _completed_late(steps: Steps, _: int) -> Steps:
    """The payment completes in the end, and its event follows, if any event is delivered."""
    delivery = HistoryStep(StepAction.DELIVER, COMPLETED)
    has_webhook = _index(steps, _DELIVER) is not None
    return (*steps, HistoryStep(StepAction.COMPLETE), *[delivery] * has_webhook)


def _later(manner: Manner, steps: Steps, _: int) -> Steps:
    """The last event arrives again after some time."""
    deliveries = [step for step in steps if step.action in _DELIVER]
    again = replace(deliveries[-1], manner=Manner.USUAL)
    return (*steps, HistoryStep(StepAction.PASS_TIME, manner=manner), again)


def _at_night(steps: Steps, _: int) -> Steps:
    """All webhooks are lost."""
    lost = (replace(s, action=StepAction.LOSE) if s.action in _DELIVER else s for s in steps)
    return (HistoryStep(StepAction.PASS_TIME, manner=Manner.NIGHT), *lost)


def _overlapping(steps: Steps, index: int) -> Steps | None:
    """Another event follows while the handler of this one waits for its read."""
    has_next = _index(steps[index + 1 :], _DELIVER) is not None
    return _in_manner(Manner.OVERLAPPING, steps, index) if has_next else None


def _delayed(actions: Collection[StepAction], steps: Steps, index: int) -> Steps | None:
    """The event arrives after the next step with one of these actions, or last."""
    rest = steps[index + 1 :]
    after = _index(rest, actions) if actions else len(rest) - 1
    if after is None or after < 0:
        return None
    return (*steps[:index], *rest[: after + 1], steps[index], *rest[after + 1 :])


def _early(steps: Steps, index: int) -> Steps | None:
    early = HistoryStep(StepAction.START, steps[index].event, Manner.EARLY)
    return None if steps[0].manner else (early, *_replaced(steps, index)[1:])


def _lost(steps: Steps, index: int) -> Steps:
    return _replaced(steps, index, HistoryStep(StepAction.LOSE, steps[index].event))


def _repeated(steps: Steps, index: int) -> Steps:
    return _replaced(steps, index, replace(steps[index], manner=Manner.USUAL), steps[index])


def _in_manner(manner: Manner, steps: Steps, index: int) -> Steps | None:
    step = replace(steps[index], manner=manner)
    return _replaced(steps, index, step) if steps[index].manner is Manner.USUAL else None


def _together(steps: Steps, _: int) -> Steps | None:
    """No event arrives before the last one, and then all arrive at one moment."""
    deliveries = [step for step in steps if step.action in _DELIVER]
    if len(deliveries) < 2 or any(step.manner for step in deliveries):
        return None
    index = max(i for i, step in enumerate(steps) if step.action in _DELIVER)
    early = (replace(step, manner=Manner.TOGETHER) for step in deliveries[:-1])
    before = (step for step in steps[:index] if step.action not in _DELIVER)
    return (*before, *early, *steps[index:])


def _with_completed(manner: Manner, steps: Steps, index: int) -> Steps | None:
    """The step occurs while `payment.completed` is delivered; a job has no step yet."""
    steps = _replaced(steps, index) if steps[index].action in _RETURN else steps
    delivery = _index(steps, _DELIVER, COMPLETED)
    return None if delivery is None else _in_manner(manner, steps, delivery)


class AnomalyKind(Struct, frozen=True, eq=False):
    """A kind of anomaly: `title` describes it, `{}` stands for the event.

    It changes the first step with one of the actions in `at`. `events` are those that it can
    concern; without any it concerns none. It fits the `outcomes`.
    """

    name: str
    title: str
    at: _Actions
    change: Change
    events: tuple[str, ...] = ("",)
    needs: tuple[has.Need, ...] = ()
    outcomes: tuple[Outcome, ...] = tuple(Outcome)

    @property
    def is_combined(self) -> bool:
        """Whether a history has other anomalies beside it."""
        return self.change is not _many_orders


_ALL = tuple(EVENT_TYPES.values())
_FINAL = (COMPLETED, FAILED, EXPIRED, REFUNDED)
# Nothing follows the refund.
_PRIOR = tuple(event for event in _ALL if event != REFUNDED)
_PAID, _UNPAID = (Outcome.PAID,), (Outcome.FAILED, Outcome.EXPIRED)
_JOB = StepAction.SETTLE


def _kind(
    name: str, title: str, at: _Actions, change: Change, *needs: has.Need, **more: Any
) -> AnomalyKind:
    return AnomalyKind(name, title, at, change, needs=needs, **more)


def _event(name: str, title: str, change: Change, events: tuple[str, ...] = ("",)) -> AnomalyKind:
    return _kind(name, title, _DELIVER, change, has.WEBHOOK, events=events)


def _start(name: str, manner: Manner) -> AnomalyKind:
    """The start is unusual; of the histories that wait, only a customer who pays is needed."""
    outcomes = _PAID if manner in WAITING else tuple(Outcome)
    return _kind(name, manner, _START, partial(_in_manner, manner), outcomes=outcomes)


def _delivery(name: str, manner: Manner, *events: str) -> AnomalyKind:
    """The delivery of one of these events is not the usual one."""
    needs = (has.WEBHOOK, *[has.DISK] * (manner in KILLS))
    needs += (has.UNUSUAL,) * (manner is Manner.READ_UNKNOWN)
    kind = replace(_start(name, manner), at=_DELIVER, events=events, needs=needs)
    return replace(kind, change=_overlapping) if manner is Manner.OVERLAPPING else kind


def _forgery(manner: Manner, *needs: has.Need) -> AnomalyKind:
    name = manner.name.lower().replace("_", "-")
    change = _before(StepAction.FORGE, manner, event=COMPLETED)
    return _kind(name, manner, _RESULTS, change, has.WEBHOOK, *needs)


def _encoding(name: str, manner: Manner, *needs: has.Need) -> AnomalyKind:
    return _kind(name, manner, _START, _after(StepAction.ENCODE, manner), has.WEBHOOK, *needs)


def _page(name: str, title: str, at: _Actions, change: Change) -> AnomalyKind:
    return _kind(name, title, at, change, has.PAGE)


def _job(name: str, title: str, at: _Actions, change: Change, *needs: has.Need) -> AnomalyKind:
    return _kind(name, title, at, change, has.JOB, *needs)


def _payer(name: str, title: str, at: _Actions, change: Change, *needs: has.Need) -> AnomalyKind:
    """What a customer does beside paying once."""
    return _kind(name, title, at, change, *needs, outcomes=_PAID)


def _of_only_order(change: Change) -> Change:
    """The change adds the second order; it does not fit where another change has added it."""
    return lambda steps, at: None if any(step.order for step in steps) else change(steps, at)


def _order_again(manner: Manner, place: int, steps: Steps, _: int) -> Steps:
    start, *others = (replace(step, order=1) for step in steps)
    return (*steps[:place], replace(start, manner=manner), *steps[place:], *others)


def _two_orders(steps: Steps, index: int) -> Steps:
    start = replace(steps[index], manner=Manner.TWO_CUSTOMERS)
    pairs = ((step, replace(step, order=1)) for step in steps if step.action not in _START)
    return (start, *chain(*pairs))


def _many_orders(_: Steps, __: int) -> Steps:
    """The job must find all; no webhook arrives."""
    numbers = range(MANY_ORDERS)
    starts = (HistoryStep(StepAction.START, order=number) for number in numbers)
    actions = (*_SUBMIT, *_APPROVAL)
    payments = (HistoryStep(each, order=number) for number in numbers for each in actions)
    return (*starts, HistoryStep(_JOB), *payments)


_SECOND = _of_only_order(partial(_order_again, Manner.SAME_CUSTOMER, MANY_STEPS))
_SECOND_EARLY = _of_only_order(partial(_order_again, Manner.OPEN_ORDER, 1))
_AGAIN_EARLY = _before(StepAction.AGAIN, Manner.SECOND_TAB, payment=1)
_TAMPERED = _before(StepAction.START, Manner.TAMPERED, order=1)
_AT_RETURN = partial(_with_completed, Manner.WITH_RETURN)
_AT_JOB = partial(_with_completed, Manner.WITH_SETTLE)
_AFTER_HOUR, _AFTER_DAYS = (partial(_later, m) for m in (Manner.AN_HOUR, Manner.THREE_DAYS))
_ROTATE = _after(StepAction.ROTATE)
_FOREIGN = _before(StepAction.RETURN, Manner.FOREIGN)
_AFTER_TWICE, _AFTER_BOTH = (_after(_JOB, m) for m in (Manner.JOB_TWICE, Manner.JOB_WITH_RETURN))
_EXPIRY = "the checkout expires while the payment is processing, and the payment does not expire"
_LATE_SUCCESS = "the payment completes after it failed or expired"
_JOB_RETURN = "the job runs while the customer's browser opens success_url"
_EARLY_JOB = "the job runs while the payment is processing"
_LATER = "the last event arrives again after an hour"
_MUCH_LATER = "the last event arrives again after three days"
_NIGHT = "all webhooks are lost at 22:30 UTC, half past one of the next day in Addis Ababa"
_DELAYED = "{} arrives after the next change of the payment"
_SWAPPED = "{} arrives after the event that follows it"
_OUTAGE = "no webhook arrives until the last event, and then all arrive at one moment"
_BEFORE_PAYING = "the customer opens success_url without paying"
_EARLY_RETURN = "the customer opens success_url while the payment is processing"
_CANCEL = "the customer opens cancel_url before paying"
_LATE_CANCEL = "the customer opens cancel_url after paying"
_CHANGED = "the customer changes the order before paying"
_MANY = f"the job runs before and after {MANY_ORDERS} orders are paid, and all webhooks are lost"

ANOMALY_KINDS = (
    _payer("second-order", Manner.SAME_CUSTOMER, _START, _SECOND),
    _payer("two-open-orders", Manner.OPEN_ORDER, _START, _SECOND_EARLY),
    _payer("two-orders", Manner.TWO_CUSTOMERS, _START, _of_only_order(_two_orders), has.NAMED),
    _payer("two-tabs", "the customer pays in two tabs", _SUBMIT, _AGAIN_EARLY, has.AGAIN),
    _payer("changed-order", _CHANGED, _SUBMIT, _before(StepAction.BETWEEN), has.BETWEEN),
    _payer("tampered", Manner.TAMPERED, _SUBMIT, _of_only_order(_TAMPERED), has.TAMPER),
    _payer("twelve-orders", _MANY, _APPROVAL, _many_orders, has.COMMON_JOB),
    _kind("late-success", _LATE_SUCCESS, _FAILURES, _completed_late, outcomes=_UNPAID),
    _kind("expiry-while-processing", _EXPIRY, _SUBMIT, _expire_later),
    _start("create-500-before", Manner.ERROR_BEFORE),
    _start("create-500-after", Manner.ERROR_AFTER),
    _start("create-cut", Manner.CUT),
    _start("create-slow", Manner.SLOW_CREATE),
    _start("create-429", Manner.LIMITED),
    _event("early", Manner.EARLY, _early, (CREATED,)),
    _event("delayed", _DELAYED, partial(_delayed, CHANGES), _PRIOR),
    _event("swapped", _SWAPPED, partial(_delayed, _DELIVER), _PRIOR),
    _event("late", "{} arrives after everything else", partial(_delayed, ()), _PRIOR),
    _event("lost", StepAction.LOSE, _lost, _ALL),
    _event("twice", "{} is delivered twice, one delivery after the other", _repeated, _ALL),
    _delivery("at-once", Manner.AT_ONCE, *_ALL),
    _delivery("slow", Manner.SLOW, *_ALL),
    _event("outage", _OUTAGE, _together),
    _delivery("read-500", Manner.READ_ERROR, *_FINAL),
    _delivery("second-read-500", Manner.SECOND_READ_ERROR, *_FINAL),
    _delivery("read-429", Manner.READ_LIMITED, COMPLETED),
    _delivery("read-cut", Manner.READ_CUT, *_FINAL),
    _delivery("read-404", Manner.READ_UNKNOWN, COMPLETED),
    _delivery("slow-read", Manner.SLOW_READ, COMPLETED),
    _delivery("overlapping", Manner.OVERLAPPING, CREATED, PROCESSING, COMPLETED),
    _delivery("killed", Manner.KILLED, *_ALL),
    _delivery("killed-again", Manner.KILLED_AGAIN, *_FINAL),
    _delivery("killed-in-handler", Manner.KILLED_IN_HANDLER, *_FINAL),
    _kind("rotation", StepAction.ROTATE, _START, _ROTATE, has.WEBHOOK, has.SIGNATURES),
    _encoding("bytes-pretty", Manner.PRETTY, has.JSON),
    _encoding("bytes-escaped", Manner.ESCAPED, has.JSON),
    _encoding("bytes-order", Manner.REVERSED),
    _encoding("amharic", Manner.AMHARIC),
    _page("return-at-once", Manner.WITH_RETURN, _RETURN, _AT_RETURN),
    _job("settle-at-once", Manner.WITH_SETTLE, _COMPLETIONS, _AT_JOB),
    _page("return-unpaid", _BEFORE_PAYING, _FIRST_CHANGES, _before(StepAction.RETURN)),
    _page("return-processing", _EARLY_RETURN, _ANSWERS, _before(StepAction.RETURN)),
    _page("return-foreign", Manner.FOREIGN, _FIRST_CHANGES, _FOREIGN),
    _page("return-twice", "the customer opens success_url twice", _RETURN, _repeated),
    _page("no-return", "the customer never opens success_url", _RETURN, _replaced),
    _kind("cancel-opened", _CANCEL, _FIRST_CHANGES, _before(StepAction.CANCEL)),
    _kind("cancel-opened-paid", _LATE_CANCEL, _COMPLETIONS, _at_end(StepAction.CANCEL)),
    _job("settle-unpaid", "the job runs before the customer pays", _FIRST_CHANGES, _before(_JOB)),
    _job("settle-processing", _EARLY_JOB, _ANSWERS, _before(_JOB)),
    _job("settle-first", "the job runs before the event arrives", _RESULTS, _after(_JOB)),
    _job("job-twice-at-once", "the job runs twice at once", _COMPLETIONS, _AFTER_TWICE),
    _job("job-with-return", _JOB_RETURN, _COMPLETIONS, _AFTER_BOTH, has.PAGE),
    _forgery(Manner.FORGED, has.SIGNATURE),
    _forgery(Manner.STALE, has.TIMESTAMP),
    _forgery(Manner.UNSIGNED, has.SIGNATURE),
    _forgery(Manner.MALFORMED, has.SIGNATURE),
    _forgery(Manner.FORGED_ORDER),
    _forgery(Manner.UNKNOWN_TYPE, has.TYPE),
    _forgery(Manner.OTHER_MODE, has.MODE),
    _forgery(Manner.OTHER_ORDER),
    _forgery(Manner.OTHER_AMOUNT, has.AMOUNT),
    _forgery(Manner.UNTRUE, has.UNSIGNED),
    _kind("later-1h", _LATER, _DELIVER, _AFTER_HOUR, has.WEBHOOK, has.CLOCK),
    _kind("later-3d", _MUCH_LATER, _DELIVER, _AFTER_DAYS, has.WEBHOOK, has.CLOCK),
    _job("night", _NIGHT, _APPROVAL, _at_night, has.CLOCK),
)


def left_out(can: Capabilities) -> dict[str, list[str]]:
    """The anomalies that an application cannot have, by the reason."""
    problems: dict[str, list[str]] = {}
    for kind in ANOMALY_KINDS:
        if problem := has.missing(kind.needs, can):
            problems.setdefault(problem, []).append(kind.name)
    return problems


class Anomaly(Struct, frozen=True):
    """An anomaly: a kind, and the event that it concerns, if any."""

    kind: AnomalyKind
    event: str = ""

    @property
    def name(self) -> str:
        """The anomaly in files and in the matrix of a report."""
        return f"{self.kind.name} {self.event}".rstrip()

    def apply(self, steps: Steps, can: Capabilities) -> Steps | None:
        """The changed steps, or None where the anomaly does not fit, or cannot occur."""
        index = _index(steps, self.kind.at, self.event)
        can_occur = not has.missing(self.kind.needs, can) and can.form.sends(self.event)
        return self.kind.change(steps, index) if can_occur and index is not None else None


ANOMALIES = tuple(Anomaly(kind, event) for kind in ANOMALY_KINDS for event in kind.events)
ANOMALY_BY_NAME = {anomaly.name: anomaly for anomaly in ANOMALIES}
