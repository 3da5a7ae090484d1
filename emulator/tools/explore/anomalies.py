"""Declares the anomalies of histories: each changes a step, or does not fit the steps."""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from emulator.domain.payment import EVENT_TYPES
from emulator.domain.webhook_forms import WebhookForm
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

Change = Callable[[Steps, int], Steps | None]
"""Changes the step with an index, or returns None where the anomaly does not fit."""

_FIRST_CHANGES = (StepAction.WAIT, StepAction.SUBMIT, StepAction.EXPIRE)
_RESULTS = (StepAction.APPROVE, StepAction.DECLINE, StepAction.EXPIRE)
_ANSWERS = (StepAction.APPROVE, StepAction.DECLINE)
_COMPLETIONS = (StepAction.APPROVE, StepAction.COMPLETE)
_FAILURES = (StepAction.DECLINE, StepAction.EXPIRE)
_START, _SUBMIT = (StepAction.START,), (StepAction.SUBMIT,)
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


def _followed_by(action: StepAction) -> Change:
    """One more change of the payment in the end, and its event, if any event is delivered."""
    delivery = HistoryStep(StepAction.DELIVER, EVENT_TYPES[CHANGES[action]])

    def change(steps: Steps, _: int) -> Steps:
        has_webhook = _index(steps, _DELIVER) is not None
        return (*steps, HistoryStep(action), *[delivery] * has_webhook)

    return change


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


def _with_completed(manner: Manner) -> Change:
    """The step occurs while `payment.completed` is delivered; a job has no step yet."""

    def change(steps: Steps, index: int) -> Steps | None:
        steps = _replaced(steps, index) if steps[index].action in _RETURN else steps
        delivery = _index(steps, _DELIVER, COMPLETED)
        return None if delivery is None else _in_manner(manner)(steps, delivery)

    return change


class Need(NamedTuple):
    """What an application must have for an anomaly; `lack` is what its webhooks lack otherwise."""

    is_met: Callable[[Capabilities], bool]
    lack: str = ""


def _webhooks(fit: Callable[[WebhookForm], bool], lack: str = "") -> Need:
    return Need(lambda can: can.has_webhook and fit(can.form), lack)


def _has(form: WebhookForm, placeholder: str) -> bool:
    return any(placeholder in text for text in (form.body_json, *dict(form.headers).values()))


_NOTHING, _PAGE = Need(lambda _: True), Need(lambda can: can.has_return)
_JOB, _DISK = Need(lambda can: can.has_settle), Need(lambda can: can.is_durable)
_WEBHOOK, _UNSIGNED = _webhooks(lambda _: True), _webhooks(lambda form: not form.is_signed)
_SIGNATURE = _webhooks(lambda form: form.is_signed, "have no signature")
_SIGNATURES = _webhooks(
    lambda form: form.is_signed and form.signature.separator != "", "never have two signatures"
)
_TIMESTAMP = _webhooks(lambda form: form.signs_timestamp, "have no signed timestamp")
_TYPE = _webhooks(lambda form: _has(form, "{event.type}"), "do not contain the event's type")
_MODE = _webhooks(lambda form: _has(form, "{event.mode}"), "do not contain the event's mode")


class AnomalyKind(Struct, frozen=True, eq=False):
    """A kind of anomaly: `title` describes it, `{}` stands for the event.

    It changes the first step with one of the actions in `at`. `events` are those that it can
    concern; without any it concerns none.
    """

    name: str
    title: str
    at: tuple[StepAction, ...]
    change: Change
    events: tuple[str, ...] = ("",)
    needs: Need = _NOTHING


_ALL = tuple(EVENT_TYPES.values())
# Nothing follows the refund.
_PRIOR = tuple(event for event in _ALL if event != REFUNDED)


def _deviation(name: str, manner: Manner, *events: str, needs: Need = _NOTHING) -> AnomalyKind:
    """The start, or the delivery of one of these events, is not the usual one."""
    at = _DELIVER if events else _START
    return AnomalyKind(name, manner, at, _in_manner(manner), events or ("",), needs)


def _forgery(manner: Manner, needs: Need = _WEBHOOK) -> AnomalyKind:
    name, step = (
        manner.name.lower().replace("_", "-"),
        HistoryStep(StepAction.FORGE, COMPLETED, manner),
    )
    return AnomalyKind(name, manner, _RESULTS, _inserted(step), needs=needs)


def _job(name: str, title: str, at: tuple[StepAction, ...], change: Change) -> AnomalyKind:
    return AnomalyKind(name, title, at, change, needs=_JOB)


_EXPIRY = "the checkout expires while the payment is processing"
_LATE_SUCCESS = "the payment completes after it failed or expired"
_UNPAID = "the customer opens success_url without paying"
_RUN_JOB = _inserted(HistoryStep(StepAction.SETTLE))
_RUN_AFTER = _inserted(HistoryStep(StepAction.SETTLE), offset=1)
_RETURN_BEFORE = _inserted(HistoryStep(StepAction.RETURN))
_ROTATE_AFTER = _inserted(HistoryStep(StepAction.ROTATE), offset=1)
_RETURN_AT_ONCE = _with_completed(Manner.WITH_RETURN)

ANOMALY_KINDS = (
    AnomalyKind("late-success", _LATE_SUCCESS, _FAILURES, _followed_by(StepAction.COMPLETE)),
    AnomalyKind("refund", StepAction.REFUND, _COMPLETIONS, _followed_by(StepAction.REFUND)),
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
    _deviation("read-500", Manner.READ_ERROR, *_ALL),
    _deviation("second-read-500", Manner.SECOND_READ_ERROR, *_ALL),
    _deviation("slow-read", Manner.SLOW_READ, COMPLETED),
    _deviation("killed", Manner.KILLED, *_ALL, needs=_DISK),
    AnomalyKind("rotation", StepAction.ROTATE, _START, _ROTATE_AFTER, needs=_SIGNATURES),
    AnomalyKind("return-at-once", Manner.WITH_RETURN, _RETURN, _RETURN_AT_ONCE),
    _job("settle-at-once", Manner.WITH_SETTLE, _COMPLETIONS, _with_completed(Manner.WITH_SETTLE)),
    AnomalyKind("return-unpaid", _UNPAID, _FIRST_CHANGES, _RETURN_BEFORE, needs=_PAGE),
    AnomalyKind("return-twice", "the customer opens success_url twice", _RETURN, _repeated),
    AnomalyKind("no-return", "the customer never opens success_url", _RETURN, _replaced),
    _job("settle-unpaid", "the job runs before the customer pays", _FIRST_CHANGES, _RUN_JOB),
    _job("settle-processing", "the job runs while the payment is processing", _ANSWERS, _RUN_JOB),
    _job("settle-first", "the job runs before the event arrives", _RESULTS, _RUN_AFTER),
    _forgery(Manner.FORGED, _SIGNATURE),
    _forgery(Manner.STALE, _TIMESTAMP),
    _forgery(Manner.UNSIGNED, _SIGNATURE),
    _forgery(Manner.UNKNOWN_TYPE, _TYPE),
    _forgery(Manner.OTHER_MODE, _MODE),
    _forgery(Manner.OTHER_ORDER),
    _forgery(Manner.OTHER_AMOUNT),
    _forgery(Manner.UNTRUE, _UNSIGNED),
)


def left_out(can: Capabilities) -> Iterator[str]:
    """The anomalies that do not exist in the form of the webhooks, and why, in lines."""
    if not can.has_webhook:
        return
    for need in dict.fromkeys(kind.needs for kind in ANOMALY_KINDS if kind.needs.lack):
        if not need.is_met(can):
            names = ", ".join(kind.name for kind in ANOMALY_KINDS if kind.needs is need)
            yield f"left out: {names}; webhooks in the form {can.form.name} {need.lack}"
    if unsent := [event for event in _ALL if not can.form.sends(event)]:
        yield f"not sent in the form {can.form.name}: {', '.join(unsent)}"


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
        can_occur = self.kind.needs.is_met(can) and can.form.sends(self.event)
        return self.kind.change(steps, index) if can_occur and index is not None else None


ANOMALIES = tuple(Anomaly(kind, event) for kind in ANOMALY_KINDS for event in kind.events)
ANOMALY_BY_NAME = {anomaly.name: anomaly for anomaly in ANOMALIES}
