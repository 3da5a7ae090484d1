"""Defines the steps of histories, and those of each outcome without an anomaly."""

from dataclasses import dataclass
from enum import StrEnum

from emulator.domain.payment import EVENT_TYPES, Status

CREATED, PROCESSING = EVENT_TYPES[Status.PENDING], EVENT_TYPES[Status.PROCESSING]
COMPLETED, REFUNDED = EVENT_TYPES[Status.COMPLETED], EVENT_TYPES[Status.REFUNDED]
FAILED, EXPIRED = EVENT_TYPES[Status.FAILED], EVENT_TYPES[Status.EXPIRED]


class Outcome(StrEnum):
    """What the customer does."""

    PAID = "paid"
    FAILED = "failed"
    EXPIRED = "expired"


class StepAction(StrEnum):
    """What happens in a step: to the payment, or to the merchant's application."""

    START = "start"
    ROTATE = "rotate"
    WAIT = "wait"
    SUBMIT = "submit"
    PASS_EXPIRY = "pass expiry"  # noqa: S105 - no password
    APPROVE = "approve"
    DECLINE = "decline"
    EXPIRE = "expire"
    COMPLETE = "complete"
    REFUND = "refund"
    DELIVER = "deliver"
    LOSE = "lose"
    FORGE = "forge"
    RETURN = "return"
    SETTLE = "settle"


CHANGES = {
    StepAction.SUBMIT: Status.PROCESSING,
    StepAction.APPROVE: Status.COMPLETED,
    StepAction.DECLINE: Status.FAILED,
    StepAction.EXPIRE: Status.EXPIRED,
    StepAction.COMPLETE: Status.COMPLETED,
    StepAction.REFUND: Status.REFUNDED,
}
"""The actions that change the payment, and the status that it then has."""

ACTION_TEXTS = {
    StepAction.ROTATE: "the webhook secret is replaced: webhooks have two signatures, newer first",
    StepAction.WAIT: "the customer waits until shortly before the expiry",
    StepAction.SUBMIT: "the customer submits a payment method",
    StepAction.PASS_EXPIRY: "the checkout expires",
    StepAction.APPROVE: "the customer approves the payment",
    StepAction.DECLINE: "the customer cancels the payment",
    StepAction.EXPIRE: "the payment expires",
    StepAction.COMPLETE: "the payment completes after all",
    StepAction.REFUND: "the payment is refunded",
    StepAction.RETURN: "the customer's browser opens success_url",
}
"""What happens in the steps that are described without another value."""


class Manner(StrEnum):
    """How a step deviates from the usual one."""

    USUAL = ""
    AT_ONCE = "twice at once"
    SLOW = "timed out"
    READ_ERROR = "first read fails"
    SECOND_READ_ERROR = "second read fails"
    SLOW_READ = "slow read"
    KILLED = "killed"
    WITH_RETURN = "together with the return"
    WITH_SETTLE = "together with the job"
    EARLY = "before the response"
    ERROR_BEFORE = "500 before commit"
    ERROR_AFTER = "500 after commit"
    LIMITED = "429"
    CUT = "cut"
    SLOW_CREATE = "slow create"
    FORGED = "forged"
    STALE = "stale"
    UNSIGNED = "unsigned"
    UNKNOWN_TYPE = "unknown type"
    OTHER_MODE = "other mode"
    OTHER_ORDER = "other order"
    OTHER_AMOUNT = "other amount"


MANNER_TEXTS = {
    Manner.AT_ONCE: "{} is delivered twice at once",
    Manner.SLOW: "the first attempt of {} times out and is repeated",
    Manner.READ_ERROR: "the first read of the payment by the handler of {} is answered 500",
    Manner.SECOND_READ_ERROR: "the second read of the payment by the handler of {} is answered 500",
    Manner.SLOW_READ: "the first read of the payment by the handler of {} takes 3 s",
    Manner.KILLED: "the application is killed when it has acknowledged {}, and started again",
    Manner.WITH_RETURN: f"{COMPLETED} is delivered while the customer's browser opens success_url",
    Manner.WITH_SETTLE: f"{COMPLETED} is delivered while the job runs",
    Manner.EARLY: "{} arrives before the response to create",
    Manner.ERROR_BEFORE: "create is answered 500 before the commit",
    Manner.ERROR_AFTER: "create is answered 500 after the commit",
    Manner.LIMITED: "create is answered 429, Retry-After: 1",
    Manner.CUT: "the response to create is lost",
    Manner.SLOW_CREATE: "the response to create takes 3 s",
    Manner.FORGED: f"{COMPLETED} arrives with a wrong signature",
    Manner.STALE: f"{COMPLETED} arrives, signed an hour ago",
    Manner.UNSIGNED: f"{COMPLETED} arrives without a signature",
    Manner.UNKNOWN_TYPE: "an event of an unknown type arrives",
    Manner.OTHER_MODE: f"{COMPLETED} of the other mode arrives",
    Manner.OTHER_ORDER: f"{COMPLETED} of another order's payment arrives",
    Manner.OTHER_AMOUNT: f"{COMPLETED} of a payment of another amount arrives",
}
"""What happens; `{}` stands for the event."""

READ_NUMBERS = {Manner.READ_ERROR: 1, Manner.SECOND_READ_ERROR: 2, Manner.SLOW_READ: 1}
"""Which read of the payment a fault concerns, of those while the event is handled."""


@dataclass(frozen=True, slots=True, order=True)
class HistoryStep:
    """A step of a history; `event` is the type of the event that is delivered."""

    action: StepAction
    event: str = ""
    manner: Manner = Manner.USUAL

    def text(self, start: str, job: str) -> str:
        """The step in words, with the requests that start an order and the job."""
        deviation = MANNER_TEXTS.get(self.manner, "").format(self.event)
        match self.action:
            case StepAction.START:
                line = f"the customer starts an order: {start}"
                return f"{line}; {deviation}" if deviation else line
            case StepAction.SETTLE:
                return f"the job runs: {job}"
            case StepAction.DELIVER:
                return deviation or f"{self.event} is delivered"
            case StepAction.LOSE:
                return f"{self.event} is lost"
            case StepAction.FORGE:
                return deviation
            case _:
                return ACTION_TEXTS[self.action]


Steps = tuple[HistoryStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an application has: webhooks, a page to which the customer returns, a job, a disk."""

    has_webhook: bool
    has_return: bool
    has_settle: bool
    is_durable: bool = False
    """Whether its process may be killed at any moment, and started again."""


def base_steps(outcome: Outcome, can: Capabilities) -> Steps:
    """The steps without an anomaly."""
    if outcome is Outcome.EXPIRED:
        middle = [HistoryStep(StepAction.EXPIRE), HistoryStep(StepAction.DELIVER, EXPIRED)]
    else:
        is_paid = outcome is Outcome.PAID
        middle = [
            HistoryStep(StepAction.SUBMIT),
            HistoryStep(StepAction.DELIVER, PROCESSING),
            HistoryStep(StepAction.APPROVE if is_paid else StepAction.DECLINE),
            HistoryStep(StepAction.DELIVER, COMPLETED if is_paid else FAILED),
        ]
    steps = [HistoryStep(StepAction.START), HistoryStep(StepAction.DELIVER, CREATED), *middle]
    if outcome is Outcome.PAID:
        steps.append(HistoryStep(StepAction.RETURN))
    missing = {StepAction.DELIVER} if not can.has_webhook else set()
    missing |= {StepAction.RETURN} if not can.has_return else set()
    return tuple(step for step in steps if step.action not in missing)
