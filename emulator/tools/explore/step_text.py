"""Describes a step of a history in one line."""

from emulator.tools.explore.integration import Integration
from emulator.tools.explore.steps import HistoryStep, Manner, StepAction

_TEXTS = {
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
_CREATE = {
    Manner.ERROR_BEFORE: "; create is answered 500 before the commit",
    Manner.ERROR_AFTER: "; create is answered 500 after the commit",
    Manner.LIMITED: "; create is answered 429, Retry-After: 1",
    Manner.CUT: "; the response to create is lost",
    Manner.EARLY: "; payment.created arrives before the response to create",
}
_DELIVERY = {
    Manner.AT_ONCE: " is delivered twice at once",
    Manner.SLOW: ": an attempt times out and is repeated",
    Manner.WITH_RETURN: " is delivered while the customer's browser opens success_url",
    Manner.WITH_SETTLE: " is delivered while the job runs",
}
_FORGERIES = {
    Manner.FORGED: "payment.completed arrives with a wrong signature",
    Manner.STALE: "payment.completed arrives, signed an hour ago",
    Manner.UNSIGNED: "payment.completed arrives without a signature",
    Manner.UNKNOWN_TYPE: "an event of an unknown type arrives",
    Manner.OTHER_MODE: "payment.completed of the other mode arrives",
    Manner.OTHER_ORDER: "payment.completed of another order's payment arrives",
    Manner.OTHER_AMOUNT: "payment.completed of a payment of another amount arrives",
}


def step_text(step: HistoryStep, integration: Integration) -> str:
    """The step in words."""
    match step.action:
        case StepAction.START:
            line = integration.start.line
            return f"the customer starts an order: {line}{_CREATE.get(step.manner, '')}"
        case StepAction.SETTLE:
            line = "" if integration.settle is None else integration.settle.line
            return f"the job runs: {line}"
        case StepAction.DELIVER:
            return f"{step.event}{_DELIVERY.get(step.manner, ' is delivered')}"
        case StepAction.LOSE:
            return f"{step.event} is lost"
        case StepAction.FORGE:
            return _FORGERIES[step.manner]
        case _:
            return _TEXTS[step.action]
