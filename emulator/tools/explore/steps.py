"""Defines the steps of histories, and those of each outcome without an anomaly."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from emulator.domain.payment import EVENT_TYPES, Status
from emulator.domain.webhook_forms import STANDARD, WebhookForm

CREATED, PROCESSING = EVENT_TYPES[Status.PENDING], EVENT_TYPES[Status.PROCESSING]
COMPLETED, REFUNDED = EVENT_TYPES[Status.COMPLETED], EVENT_TYPES[Status.REFUNDED]
FAILED, EXPIRED = EVENT_TYPES[Status.FAILED], EVENT_TYPES[Status.EXPIRED]


class Outcome(StrEnum):
    """What the customer does."""

    PAID = "paid"
    FAILED = "failed"
    EXPIRED = "expired"


class StepAction(StrEnum):
    """What happens in a step, in words; `{}` stands for the event."""

    START = "the customer starts an order: {start}"
    ROTATE = "the webhook secret is replaced: webhooks have two signatures, newer first"
    WAIT = "the customer waits until shortly before the expiry"
    SUBMIT = "the customer submits a payment method"
    PASS_EXPIRY = "the checkout expires"  # noqa: S105 - no password
    APPROVE = "the customer approves the payment"
    DECLINE = "the customer cancels the payment"
    EXPIRE = "the payment expires"
    COMPLETE = "the payment completes after all"
    REFUND = "the payment is refunded"
    DELIVER = "{} is delivered"
    LOSE = "{} is lost"
    FORGE = "a webhook arrives that the service has not sent"
    RETURN = "the customer's browser opens success_url"
    SETTLE = "the job runs: {job}"


CHANGES = {
    StepAction.SUBMIT: Status.PROCESSING,
    StepAction.APPROVE: Status.COMPLETED,
    StepAction.DECLINE: Status.FAILED,
    StepAction.EXPIRE: Status.EXPIRED,
    StepAction.COMPLETE: Status.COMPLETED,
    StepAction.REFUND: Status.REFUNDED,
}
"""The actions that change the payment, and the status that it then has."""


class Manner(StrEnum):
    """How a step deviates from the usual one, in words; `{}` stands for the event."""

    USUAL = ""
    AT_ONCE = "{} is delivered twice at once"
    SLOW = "the first attempt of {} times out and is repeated"
    READ_ERROR = "the first read of the payment by the handler of {} is answered 500"
    SECOND_READ_ERROR = "the second read of the payment by the handler of {} is answered 500"
    SLOW_READ = "the first read of the payment by the handler of {} takes 3 s"
    KILLED = "the application is killed when it has acknowledged {}, and started again"
    WITH_RETURN = f"{COMPLETED} is delivered while the customer's browser opens success_url"
    WITH_SETTLE = f"{COMPLETED} is delivered while the job runs"
    EARLY = "{} arrives before the response to create"
    ERROR_BEFORE = "create is answered 500 before the commit"
    ERROR_AFTER = "create is answered 500 after the commit"
    LIMITED = "create is answered 429, Retry-After: 1"
    CUT = "the response to create is lost"
    SLOW_CREATE = "the response to create takes 3 s"
    FORGED = f"{COMPLETED} arrives with a wrong signature"
    STALE = f"{COMPLETED} arrives, signed an hour ago"
    UNSIGNED = f"{COMPLETED} arrives without a signature"
    UNKNOWN_TYPE = "an event of an unknown type arrives"
    OTHER_MODE = f"{COMPLETED} of the other mode arrives"
    OTHER_ORDER = f"{COMPLETED} of another order's payment arrives"
    OTHER_AMOUNT = f"{COMPLETED} of a payment of another amount arrives"
    UNTRUE = f"{COMPLETED} arrives, although the payment is not completed"


WAITING = (Manner.LIMITED, Manner.SLOW_CREATE, Manner.SLOW_READ)
"""Those for which a step waits in real time, a second or more."""

SLOW_READ_MS = 3_000
CREATE_FAULTS: Mapping[Manner, Mapping[str, Any]] = {
    Manner.ERROR_BEFORE: {"status": 500, "point": "before_commit"},
    Manner.ERROR_AFTER: {"status": 500, "point": "after_commit"},
    Manner.LIMITED: {"status": 429, "retry_after": 1},
    Manner.SLOW_CREATE: {"latency": "3s", "point": "after_commit"},
    Manner.CUT: {"drop": True, "point": "after_commit"},
    Manner.EARLY: {"latency": "150ms", "point": "after_commit"},
}
READ_FAULTS: Mapping[Manner, tuple[int, Mapping[str, Any]]] = {
    Manner.READ_ERROR: (1, {"status": 500}),
    Manner.SECOND_READ_ERROR: (2, {"status": 500}),
    Manner.SLOW_READ: (1, {"latency": f"{SLOW_READ_MS}ms"}),
}
"""Which read a fault concerns, of those while the event is handled, and what happens to it."""


class HistoryStep(Struct, frozen=True, order=True):
    """A step of a history; `event` is the type of the event that is delivered."""

    action: StepAction
    event: str = ""
    manner: Manner = Manner.USUAL

    def text(self, start: str, job: str) -> str:
        """The step in words, with the requests that start an order and the job."""
        usual = self.action.format(self.event, start=start, job=job)
        deviation = self.manner.format(self.event)
        if self.action is StepAction.START and deviation:
            return f"{usual}; {deviation}"
        return str(deviation or usual)


Steps = tuple[HistoryStep, ...]


class Capabilities(Struct, frozen=True, kw_only=True):
    """What an application has: webhooks, a page to which the customer returns, a job, a disk.

    `form` is that of its webhooks.
    """

    has_webhook: bool
    has_return: bool
    has_settle: bool
    is_durable: bool = False
    """Whether its process may be killed at any moment, and started again."""
    form: WebhookForm = STANDARD


def base_steps(outcome: Outcome, can: Capabilities) -> Steps:
    """The steps without an anomaly."""
    actions = {
        Outcome.PAID: (StepAction.SUBMIT, StepAction.APPROVE),
        Outcome.FAILED: (StepAction.SUBMIT, StepAction.DECLINE),
        Outcome.EXPIRED: (StepAction.EXPIRE,),
    }
    steps = [HistoryStep(StepAction.START), HistoryStep(StepAction.DELIVER, CREATED)]
    for action in actions[outcome]:
        event = EVENT_TYPES[CHANGES[action]]
        steps += HistoryStep(action), HistoryStep(StepAction.DELIVER, event)
    if outcome is Outcome.PAID:
        steps.append(HistoryStep(StepAction.RETURN))
    has = {StepAction.DELIVER: can.has_webhook, StepAction.RETURN: can.has_return}
    return tuple(step for step in steps if has.get(step.action, True))
