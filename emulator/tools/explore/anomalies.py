"""Declares the anomalies of histories: each changes a step, or does not fit the steps."""

from collections.abc import Callable, Collection
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from emulator.domain.payment import EVENT_TYPES
from emulator.tools.explore.needs import (
    AGAIN,
    AMOUNT,
    BETWEEN,
    COMMON_JOB,
    DISK,
    JOB,
    JSON,
    MODE,
    NAMED,
    NOTHING,
    PAGE,
    SIGNATURE,
    SIGNATURES,
    TAMPER,
    TIMESTAMP,
    TYPE,
    UNSIGNED,
    WEBHOOK,
    Need,
    clock,
    night_job,
)
from emulator.tools.explore.steps import (
    CHANGES,
    COMPLETED,
    CREATED,
    EXPIRED,
    FAILED,
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

Change = Callable[[Steps, int], Steps | None]
"""Changes the step with an index, or returns None where the anomaly does not fit."""

MANY_ORDERS = 12
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


def _inserted(step: HistoryStep, *, offset: int = 0) -> Change:
    return lambda steps, index: (*steps[: index + offset], step, *steps[index + offset :])


def _expire_later(steps: Steps, index: int) -> Steps:
    actions = (StepAction.WAIT, StepAction.SUBMIT, StepAction.PASS_EXPIRY)
    return _replaced(steps, index, *map(HistoryStep, actions))


def _completed_late(steps: Steps, _: int) -> Steps:
    """The payment completes in the end, and its event follows, if any event is delivered."""
    delivery = HistoryStep(StepAction.DELIVER, COMPLETED)
    has_webhook = _index(steps, _DELIVER) is not None
    return (*steps, HistoryStep(StepAction.COMPLETE), *[delivery] * has_webhook)


def _later(manner: Manner) -> Change:
    """The last event arrives again after some time."""

    def change(steps: Steps, _: int) -> Steps:
        deliveries = [step for step in steps if step.action in _DELIVER]
        again = replace(deliveries[-1], manner=Manner.USUAL)
        return (*steps, HistoryStep(StepAction.PASS_TIME, manner=manner), again)

    return change


def _at_night(steps: Steps, _: int) -> Steps:
    """All webhooks are lost."""
    lost = (replace(s, action=StepAction.LOSE) if s.action in _DELIVER else s for s in steps)
    return (HistoryStep(StepAction.PASS_TIME, manner=Manner.NIGHT), *lost)


def _overlapping(steps: Steps, index: int) -> Steps | None:
    """Another event follows while the handler of this one waits for its read."""
    has_next = _index(steps[index + 1 :], _DELIVER) is not None
    return _in_manner(Manner.OVERLAPPING)(steps, index) if has_next else None


def _cancel_late(steps: Steps, _: int) -> Steps:
    return (*steps, HistoryStep(StepAction.CANCEL))


def _delayed(actions: Collection[StepAction] | None = None) -> Change:
    """The event arrives after the next step with one of these actions, or last."""

    def change(steps: Steps, index: int) -> Steps | None:
        rest = steps[index + 1 :]
        after = len(rest) - 1 if actions is None else _index(rest, actions)
        if after is None or after < 0:
            return None
        return (*steps[:index], *rest[: after + 1], steps[index], *rest[after + 1 :])

    return change


def _early(steps: Steps, index: int) -> Steps | None:
    early = HistoryStep(StepAction.START, steps[index].event, Manner.EARLY)
    return None if steps[0].manner else (early, *_replaced(steps, index)[1:])


def _lost(steps: Steps, index: int) -> Steps:
    return _replaced(steps, index, HistoryStep(StepAction.LOSE, steps[index].event))


def _repeated(steps: Steps, index: int) -> Steps:
    return _replaced(steps, index, replace(steps[index], manner=Manner.USUAL), steps[index])


def _in_manner(manner: Manner) -> Change:
    def change(steps: Steps, index: int) -> Steps | None:
        step = replace(steps[index], manner=manner)
        return _replaced(steps, index, step) if steps[index].manner is Manner.USUAL else None

    return change


def _together(steps: Steps, _: int) -> Steps | None:
    """No event arrives before the last one, and then all arrive at one moment."""
    deliveries = [step for step in steps if step.action in _DELIVER]
    if len(deliveries) < 2 or any(step.manner for step in deliveries):
        return None
    index = max(i for i, step in enumerate(steps) if step.action in _DELIVER)
    early = (replace(step, manner=Manner.TOGETHER) for step in deliveries[:-1])
    before = (step for step in steps[:index] if step.action not in _DELIVER)
    return (*before, *early, *steps[index:])


def _with_completed(manner: Manner) -> Change:
    """The step occurs while `payment.completed` is delivered; a job has no step yet."""

    def change(steps: Steps, index: int) -> Steps | None:
        steps = _replaced(steps, index) if steps[index].action in _RETURN else steps
        delivery = _index(steps, _DELIVER, COMPLETED)
        return None if delivery is None else _in_manner(manner)(steps, delivery)

    return change


class AnomalyKind(Struct, frozen=True, eq=False):
    """A kind of anomaly: `title` describes it, `{}` stands for the event.

    It changes the first step with one of the actions in `at`. `events` are those that it can
    concern; without any it concerns none. It fits the `outcomes`.
    """

    name: str
    title: str
    at: tuple[StepAction, ...]
    change: Change
    events: tuple[str, ...] = ("",)
    needs: Need = NOTHING
    outcomes: tuple[Outcome, ...] = tuple(Outcome)
    is_combined: bool = True
    """Whether a history has other anomalies beside it."""

    def problem(self, can: Capabilities) -> str:
        """Why the anomaly is left out for an application; empty where it is not."""
        return _IMPLIED.get(self.at, NOTHING)(can) or self.needs(can)


_IMPLIED: dict[tuple[StepAction, ...], Need] = {_DELIVER: WEBHOOK, _RETURN: PAGE}
_ALL = tuple(EVENT_TYPES.values())
_FINAL = (COMPLETED, FAILED, EXPIRED, REFUNDED)
_UNTIL_PAID = (CREATED, PROCESSING, COMPLETED)
# Nothing follows the refund.
_PRIOR = tuple(event for event in _ALL if event != REFUNDED)


def _deviation(name: str, manner: Manner, *events: str, needs: Need = NOTHING) -> AnomalyKind:
    """The start, or the delivery of one of these events, is not the usual one."""
    at = _DELIVER if events else _START
    # Histories that wait in real time are few: those of a customer who pays.
    outcomes = (Outcome.PAID,) if manner in WAITING else tuple(Outcome)
    return AnomalyKind(name, manner, at, _in_manner(manner), events or ("",), needs, outcomes)


def _forgery(manner: Manner, needs: Need = WEBHOOK) -> AnomalyKind:
    name, step = (
        manner.name.lower().replace("_", "-"),
        HistoryStep(StepAction.FORGE, COMPLETED, manner),
    )
    return AnomalyKind(name, manner, _RESULTS, _inserted(step), needs=needs)


def _encoding(name: str, manner: Manner, needs: Need = WEBHOOK) -> AnomalyKind:
    change = _inserted(HistoryStep(StepAction.ENCODE, manner=manner), offset=1)
    return AnomalyKind(name, manner, _START, change, needs=needs)


def _job(name: str, title: str, at: tuple[StepAction, ...], change: Change) -> AnomalyKind:
    return AnomalyKind(name, title, at, change, needs=JOB)


def _of_payer(
    name: str, title: str, at: tuple[StepAction, ...], change: Change, needs: Need = NOTHING
) -> AnomalyKind:
    """What a customer does beside paying once."""
    return AnomalyKind(name, title, at, change, needs=needs, outcomes=(Outcome.PAID,))


def _of_only_order(change: Change) -> Change:
    """The change adds the second order; it does not fit where another change has added it."""
    return lambda steps, at: None if any(step.order for step in steps) else change(steps, at)


def _order_again(steps: Steps, _: int) -> Steps:
    start, *others = (replace(step, order=1) for step in steps)
    return (*steps, replace(start, manner=Manner.SAME_CUSTOMER), *others)


def _two_orders(steps: Steps, index: int) -> Steps:
    start = replace(steps[index], manner=Manner.TWO_CUSTOMERS)
    pairs = ((step, replace(step, order=1)) for step in steps if step.action not in _START)
    return (start, *chain(*pairs))


def _many_orders(_: Steps, __: int) -> Steps:
    """The job must find all; no webhook arrives."""
    actions = (StepAction.START, *_SUBMIT, *_APPROVAL)
    return tuple(HistoryStep(a, order=n) for n in range(MANY_ORDERS) for a in actions)


_EXPIRY = "the checkout expires while the payment is processing"
_LATE_SUCCESS = "the payment completes after it failed or expired"
_JOB_RETURN = "the job runs while the customer's browser opens success_url"
_LATER = "the last event arrives again after an hour"
_MUCH_LATER = "the last event arrives again after three days"
_NIGHT = "all webhooks are lost at 22:30 UTC, half past one of the next day in Addis Ababa"
_UNPAID = "the customer opens success_url without paying"
_OUTAGE = "no webhook arrives until the last event, and then all arrive at one moment"
_EARLY_RETURN = "the customer opens success_url while the payment is processing"
_CANCEL = "the customer opens cancel_url before paying"
_LATE_CANCEL = "the customer opens cancel_url after paying"
_RUN_JOB = _inserted(HistoryStep(StepAction.SETTLE))
_RUN_AFTER = _inserted(HistoryStep(StepAction.SETTLE), offset=1)
_RUN_TWICE = _inserted(HistoryStep(StepAction.SETTLE, manner=Manner.JOB_TWICE), offset=1)
_RUN_WITH_RETURN = _inserted(
    HistoryStep(StepAction.SETTLE, manner=Manner.JOB_WITH_RETURN), offset=1
)
_CANCEL_BEFORE = _inserted(HistoryStep(StepAction.CANCEL))
_RETURN_FOREIGN = _inserted(HistoryStep(StepAction.RETURN, manner=Manner.FOREIGN))
_RETURN_BEFORE = _inserted(HistoryStep(StepAction.RETURN))
_ROTATE_AFTER = _inserted(HistoryStep(StepAction.ROTATE), offset=1)
_RETURN_AT_ONCE = _with_completed(Manner.WITH_RETURN)

_AGAIN_EARLY = _inserted(HistoryStep(StepAction.AGAIN, manner=Manner.SECOND_TAB, payment=1))
_CHANGE = _inserted(HistoryStep(StepAction.BETWEEN))
_TAMPERED = HistoryStep(StepAction.START, manner=Manner.TAMPERED, order=1)
_CHANGED = "the customer changes the order before paying"
_MANY = f"{MANY_ORDERS} orders are paid, all webhooks are lost, and the job runs"

ANOMALY_KINDS = (
    _of_payer("second-order", Manner.SAME_CUSTOMER, _START, _of_only_order(_order_again)),
    _of_payer("two-orders", Manner.TWO_CUSTOMERS, _START, _of_only_order(_two_orders), NAMED),
    _of_payer("two-tabs", "the customer pays in two tabs", _SUBMIT, _AGAIN_EARLY, AGAIN),
    _of_payer("changed-order", _CHANGED, _SUBMIT, _CHANGE, BETWEEN),
    _of_payer("tampered", Manner.TAMPERED, _SUBMIT, _of_only_order(_inserted(_TAMPERED)), TAMPER),
    replace(
        _of_payer("twelve-orders", _MANY, _APPROVAL, _many_orders, COMMON_JOB), is_combined=False
    ),
    AnomalyKind(
        "late-success",
        _LATE_SUCCESS,
        _FAILURES,
        _completed_late,
        outcomes=(Outcome.FAILED, Outcome.EXPIRED),
    ),
    AnomalyKind("expiry-while-processing", _EXPIRY, _SUBMIT, _expire_later),
    _deviation("create-500-before", Manner.ERROR_BEFORE),
    _deviation("create-500-after", Manner.ERROR_AFTER),
    _deviation("create-cut", Manner.CUT),
    _deviation("create-slow", Manner.SLOW_CREATE),
    _deviation("create-429", Manner.LIMITED),
    AnomalyKind("early", Manner.EARLY, _DELIVER, _early, (CREATED,)),
    AnomalyKind("delayed", "{} arrives after the next change", _DELIVER, _delayed(CHANGES), _PRIOR),
    AnomalyKind("swapped", "{} arrives after the next event", _DELIVER, _delayed(_DELIVER), _PRIOR),
    AnomalyKind("late", "{} arrives last", _DELIVER, _delayed(), _PRIOR),
    AnomalyKind("lost", StepAction.LOSE, _DELIVER, _lost, _ALL),
    AnomalyKind("twice", "{} is delivered twice in turn", _DELIVER, _repeated, _ALL),
    _deviation("at-once", Manner.AT_ONCE, *_ALL),
    _deviation("slow", Manner.SLOW, *_ALL),
    AnomalyKind("outage", _OUTAGE, _DELIVER, _together),
    _deviation("read-500", Manner.READ_ERROR, *_FINAL),
    _deviation("second-read-500", Manner.SECOND_READ_ERROR, *_FINAL),
    _deviation("read-429", Manner.READ_LIMITED, COMPLETED),
    _deviation("read-cut", Manner.READ_CUT, *_FINAL),
    _deviation("slow-read", Manner.SLOW_READ, COMPLETED),
    AnomalyKind(
        "overlapping",
        Manner.OVERLAPPING,
        _DELIVER,
        _overlapping,
        _UNTIL_PAID,
        outcomes=(Outcome.PAID,),
    ),
    _deviation("killed", Manner.KILLED, *_ALL, needs=DISK),
    _deviation("killed-again", Manner.KILLED_AGAIN, *_FINAL, needs=DISK),
    _deviation("killed-in-handler", Manner.KILLED_IN_HANDLER, *_FINAL, needs=DISK),
    AnomalyKind("rotation", StepAction.ROTATE, _START, _ROTATE_AFTER, needs=SIGNATURES),
    _encoding("bytes-pretty", Manner.PRETTY, JSON),
    _encoding("bytes-escaped", Manner.ESCAPED, JSON),
    _encoding("bytes-order", Manner.REVERSED),
    _encoding("amharic", Manner.AMHARIC),
    AnomalyKind("return-at-once", Manner.WITH_RETURN, _RETURN, _RETURN_AT_ONCE),
    _job("settle-at-once", Manner.WITH_SETTLE, _COMPLETIONS, _with_completed(Manner.WITH_SETTLE)),
    AnomalyKind("return-unpaid", _UNPAID, _FIRST_CHANGES, _RETURN_BEFORE, needs=PAGE),
    AnomalyKind("return-processing", _EARLY_RETURN, _ANSWERS, _RETURN_BEFORE, needs=PAGE),
    AnomalyKind("return-foreign", Manner.FOREIGN, _FIRST_CHANGES, _RETURN_FOREIGN, needs=PAGE),
    AnomalyKind("return-twice", "the customer opens success_url twice", _RETURN, _repeated),
    AnomalyKind("no-return", "the customer never opens success_url", _RETURN, _replaced),
    AnomalyKind("cancel-opened", _CANCEL, _FIRST_CHANGES, _CANCEL_BEFORE),
    AnomalyKind("cancel-opened-paid", _LATE_CANCEL, _COMPLETIONS, _cancel_late),
    _job("settle-unpaid", "the job runs before the customer pays", _FIRST_CHANGES, _RUN_JOB),
    _job("settle-processing", "the job runs while the payment is processing", _ANSWERS, _RUN_JOB),
    _job("settle-first", "the job runs before the event arrives", _RESULTS, _RUN_AFTER),
    _job("job-twice-at-once", "the job runs twice at once", _COMPLETIONS, _RUN_TWICE),
    _job("job-with-return", _JOB_RETURN, _COMPLETIONS, _RUN_WITH_RETURN),
    _forgery(Manner.FORGED, SIGNATURE),
    _forgery(Manner.STALE, TIMESTAMP),
    _forgery(Manner.UNSIGNED, SIGNATURE),
    _forgery(Manner.UNKNOWN_TYPE, TYPE),
    _forgery(Manner.OTHER_MODE, MODE),
    _forgery(Manner.OTHER_ORDER),
    _forgery(Manner.OTHER_AMOUNT, AMOUNT),
    _forgery(Manner.UNTRUE, UNSIGNED),
    AnomalyKind("later-1h", _LATER, _DELIVER, _later(Manner.AN_HOUR), needs=clock),
    AnomalyKind("later-3d", _MUCH_LATER, _DELIVER, _later(Manner.THREE_DAYS), needs=clock),
    AnomalyKind("night", _NIGHT, _APPROVAL, _at_night, needs=night_job),
)


def left_out(can: Capabilities) -> dict[str, list[str]]:
    """The anomalies that an application cannot have, by the reason."""
    problems: dict[str, list[str]] = {}
    for kind in ANOMALY_KINDS:
        if problem := kind.problem(can):
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
        can_occur = not self.kind.problem(can) and can.form.sends(self.event)
        return self.kind.change(steps, index) if can_occur and index is not None else None


ANOMALIES = tuple(Anomaly(kind, event) for kind in ANOMALY_KINDS for event in kind.events)
ANOMALY_BY_NAME = {anomaly.name: anomaly for anomaly in ANOMALIES}
