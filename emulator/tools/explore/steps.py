"""Defines the steps of histories, and the steps of each outcome without an anomaly."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from emulator.domain.payment import EVENT_TYPES, Status
from emulator.domain.webhooks import STANDARD, WebhookForm

CREATED, PROCESSING = EVENT_TYPES[Status.PENDING], EVENT_TYPES[Status.PROCESSING]
COMPLETED, REFUNDED = EVENT_TYPES[Status.COMPLETED], EVENT_TYPES[Status.REFUNDED]
FAILED, EXPIRED = EVENT_TYPES[Status.FAILED], EVENT_TYPES[Status.EXPIRED]


class Outcome(StrEnum):
    """What the customer does."""

    PAID = "paid"
    FAILED = "failed"
    EXPIRED = "expired"
    REFUNDED = "refunded"
    PAID_AGAIN = "failed-then-paid"
    REVERSED = "reversed"
    EXPIRED_PROCESSING = "expired-processing"


class StepAction(StrEnum):
    """What happens in a step, in words; `{}` stands for the event."""

    START = "the customer starts an order: {start}"
    BETWEEN = "the customer changes the order: {between}"
    AGAIN = "the customer pays the order again: {again}"
    ROTATE = "the webhook secret is replaced: webhooks have two signatures, newer first"
    ENCODE = "webhooks have other bytes"
    WAIT = "the customer waits until shortly before the expiry"
    SUBMIT = "the customer submits a payment method"
    PASS_TIME = "time passes"  # noqa: S105 - no password
    PASS_EXPIRY = "the checkout expires"  # noqa: S105 - no password
    APPROVE = "the customer approves the payment"
    DECLINE = "the customer cancels the payment"
    EXPIRE = "the payment expires"
    COMPLETE = "the payment completes after all"
    REFUND = "the payment is refunded"
    REVERSE = "the completed payment is reversed"
    TIME_OUT = "the payment expires while it is processing"
    DELIVER = "{} is delivered"
    LOSE = "{} is lost"
    FORGE = "a webhook arrives that the service has not sent"
    RETURN = "the customer's browser opens success_url"
    CANCEL = "the customer's browser opens cancel_url"
    SETTLE = "the job runs: {job}"


CHANGES = {
    StepAction.SUBMIT: Status.PROCESSING,
    StepAction.APPROVE: Status.COMPLETED,
    StepAction.DECLINE: Status.FAILED,
    StepAction.EXPIRE: Status.EXPIRED,
    StepAction.COMPLETE: Status.COMPLETED,
    StepAction.REFUND: Status.REFUNDED,
    StepAction.REVERSE: Status.FAILED,
    StepAction.TIME_OUT: Status.EXPIRED,
}
"""The actions that change the payment, and the status that it then has."""


class Manner(StrEnum):
    """How a step deviates from the usual one, in words; `{}` stands for the event."""

    USUAL = ""
    AT_ONCE = "{} is delivered twice at once"
    SLOW = "the first attempt of {} times out and is repeated"
    READ_ERROR = "the first read of the payment by the handler of {} is answered 500"
    SECOND_READ_ERROR = "the second read of the payment by the handler of {} is answered 500"
    READ_LIMITED = "the first read of the payment by the handler of {} is answered 429"
    READ_CUT = "the first read of the payment by the handler of {} has no response"
    READ_UNKNOWN = "the first read of the payment by the handler of {} is answered 404"
    SLOW_READ = "the first read of the payment by the handler of {} takes 3 s"
    OVERLAPPING = "the handler of {} reads the payment; the response follows the next event"
    TOGETHER = "{} arrives only with the last event, at the same moment"
    KILLED = "the application acknowledges {}, is killed, and starts again"
    KILLED_AGAIN = "the application acknowledges {}, is killed, and gets this event again"
    KILLED_IN_HANDLER = "the application is killed while its handler of {} reads the payment"
    WITH_RETURN = f"{COMPLETED} is delivered while the customer's browser opens success_url"
    WITH_SETTLE = f"{COMPLETED} is delivered while the job runs"
    JOB_TWICE = "the job runs twice at once: {job}"
    JOB_WITH_RETURN = "the job runs while the customer's browser opens success_url: {job}"
    FOREIGN = "the customer opens success_url with another customer's completed payment"
    PRETTY = "webhooks have line breaks and blanks in their JSON"
    ESCAPED = "webhooks have escaped slashes and letters in their JSON"
    REVERSED = "webhooks have their members in another order"
    AMHARIC = "webhooks have an additional member in Amharic letters"
    AN_HOUR = "an hour passes"
    THREE_DAYS = "three days pass"
    NIGHT = "it is 22:30 UTC, half past one of the next day in Addis Ababa"
    SAME_CUSTOMER = "the same customer starts a second, equal order"
    OPEN_ORDER = "the same customer starts a second, equal order before paying the first"
    TWO_CUSTOMERS = "another customer starts an order at the same moment"
    TAMPERED = "a dishonest customer changes the request"
    SECOND_TAB = "the customer opens the payment once more in a second tab: {again}"
    EARLY = "{} arrives before the response to create"
    ERROR_BEFORE = "create is answered 500 before the commit"
    ERROR_AFTER = "create is answered 500 after the commit"
    LIMITED = "create is answered 429, Retry-After: 1"
    CUT = "the response to create is lost"
    SLOW_CREATE = "the response to create takes 3 s"
    FORGED = f"{COMPLETED} arrives with a wrong signature"
    STALE = f"{COMPLETED} arrives, signed an hour ago"
    UNSIGNED = f"{COMPLETED} arrives without a signature"
    MALFORMED = f"{COMPLETED} arrives with signatures that are too short"
    FORGED_ORDER = f"forgeries of {COMPLETED} have this order's data and another order's payment"
    UNKNOWN_TYPE = "an event of an unknown type arrives"
    OTHER_MODE = f"{COMPLETED} of the other mode arrives"
    OTHER_ORDER = f"{COMPLETED} of another order's payment arrives"
    OTHER_AMOUNT = f"{COMPLETED} of a payment of another amount arrives"
    UNTRUE = f"{COMPLETED} arrives, although the payment is not completed"


KILLS = (Manner.KILLED, Manner.KILLED_AGAIN, Manner.KILLED_IN_HANDLER)
READ_WAITS_MS = {Manner.SLOW_READ: 3_000, Manner.READ_LIMITED: 1_000, Manner.OVERLAPPING: 2_000}
"""How much later the application has read the payment."""

WAITING = (Manner.LIMITED, Manner.SLOW_CREATE, *READ_WAITS_MS)
"""Manners for which a step waits in real time, a second or more."""

SIMULTANEOUS = (
    Manner.AT_ONCE,
    Manner.SLOW,
    Manner.TOGETHER,
    Manner.WITH_RETURN,
    Manner.WITH_SETTLE,
    Manner.JOB_TWICE,
    Manner.JOB_WITH_RETURN,
    Manner.OVERLAPPING,
)
"""Manners with requests at the same moment, which may end in another way each time."""


CREATE_FAULTS: Mapping[Manner, Mapping[str, Any]] = {
    Manner.ERROR_BEFORE: {"status": 500, "point": "before_commit"},
    Manner.ERROR_AFTER: {"status": 500, "point": "after_commit"},
    Manner.LIMITED: {"status": 429, "retry_after": 1},
    Manner.SLOW_CREATE: {"latency": "3s", "point": "after_commit"},
    Manner.CUT: {"drop": True, "point": "after_commit"},
    Manner.EARLY: {"latency": "500ms", "point": "after_commit"},
}
# The response has the status of the moment at which the application reads the payment.
LATE_RESPONSE = {"latency": f"{READ_WAITS_MS[Manner.OVERLAPPING]}ms", "point": "after_commit"}
READ_FAULTS: Mapping[Manner, tuple[int, Mapping[str, Any]]] = {
    Manner.READ_ERROR: (1, {"status": 500}),
    Manner.SECOND_READ_ERROR: (2, {"status": 500}),
    Manner.READ_LIMITED: (1, {"status": 429, "retry_after": 1}),
    Manner.READ_CUT: (1, {"drop": True}),
    Manner.READ_UNKNOWN: (1, {"status": 404}),
    Manner.OVERLAPPING: (1, LATE_RESPONSE),
    Manner.KILLED_IN_HANDLER: (1, LATE_RESPONSE),
    Manner.SLOW_READ: (1, {"latency": f"{READ_WAITS_MS[Manner.SLOW_READ]}ms"}),
}
"""Which read a fault concerns, of those while the event is handled, and what happens to it."""


REPEATING = (*READ_FAULTS, *KILLS, Manner.AT_ONCE, Manner.SLOW, Manner.WITH_SETTLE)
"""Manners with which the application handles an event more than once, or runs its job."""


class HistoryStep(Struct, frozen=True, order=True):
    """A step of a history; `event` is the type of the event that is delivered.

    It concerns an order of the history, and a payment of this order, by numbers from 0.
    """

    action: StepAction
    event: str = ""
    manner: Manner = Manner.USUAL
    order: int = 0
    payment: int = 0

    def text(self, lines: Mapping[str, str]) -> str:
        """The step in words, with the requests of the file: `start`, `job` and others."""
        usual = self.action.format(self.event, **lines)
        deviation = self.manner.format(self.event, **lines)
        number = f" (order {self.order + 1})" if self.order else ""
        number += f" (payment {self.payment + 1})" if self.payment else ""
        if self.action is StepAction.START and deviation:
            return f"{usual}; {deviation}{number}"
        return f"{deviation or usual}{number}"


Steps = tuple[HistoryStep, ...]


class Capabilities(Struct, frozen=True):
    """What an application has: the `keys` of its file, and the form of its webhooks.

    `no_clock` is why its clock cannot be moved, if it cannot.
    """

    keys: frozenset[str]
    form: WebhookForm = STANDARD
    no_clock: str = ""


_PAY = (StepAction.SUBMIT, StepAction.APPROVE)
_FAIL = (StepAction.SUBMIT, StepAction.DECLINE)
_ACTIONS = {
    Outcome.PAID: (*_PAY, StepAction.RETURN),
    Outcome.FAILED: _FAIL,
    Outcome.EXPIRED: (StepAction.EXPIRE,),
    Outcome.REFUNDED: (*_PAY, StepAction.RETURN, StepAction.REFUND),
    Outcome.PAID_AGAIN: (*_FAIL, StepAction.AGAIN, *_PAY, StepAction.RETURN),
    Outcome.REVERSED: (*_PAY, StepAction.RETURN, StepAction.REVERSE),
    Outcome.EXPIRED_PROCESSING: (StepAction.SUBMIT, StepAction.TIME_OUT),
}
_UNUSUAL = (Outcome.REVERSED, Outcome.EXPIRED_PROCESSING)


def outcomes(can: Capabilities) -> list[Outcome]:
    """The outcomes that an application can have."""
    left_out = [Outcome.PAID_AGAIN] * ("again" not in can.keys)
    left_out += [*_UNUSUAL] * ("unusual" not in can.keys)
    return [outcome for outcome in Outcome if outcome not in left_out]


def base_steps(outcome: Outcome, can: Capabilities) -> Steps:
    """The steps without an anomaly."""
    steps, payment = [], 0
    for action in (StepAction.START, *_ACTIONS[outcome]):
        payment += action is StepAction.AGAIN
        steps.append(HistoryStep(action, payment=payment))
        if action in (StepAction.START, StepAction.AGAIN):
            steps.append(HistoryStep(StepAction.DELIVER, CREATED, payment=payment))
        elif action in CHANGES:
            event = EVENT_TYPES[CHANGES[action]]
            steps.append(HistoryStep(StepAction.DELIVER, event, payment=payment))
    needed = {StepAction.DELIVER: {"webhook"}, StepAction.RETURN: {"return"}}
    return tuple(step for step in steps if needed.get(step.action, set()) <= can.keys)
