"""Describes a step of a history in one line."""

from emulator.tools.explore.integration import Integration
from emulator.tools.explore.steps import MANNER_TEXTS, HistoryStep, StepAction

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


def step_text(step: HistoryStep, integration: Integration) -> str:
    """The step in words."""
    deviation = MANNER_TEXTS.get(step.manner, "").format(step.event)
    match step.action:
        case StepAction.START:
            line = f"the customer starts an order: {integration.start.line}"
            return f"{line}; {deviation}" if deviation else line
        case StepAction.SETTLE:
            line = "" if integration.settle is None else integration.settle.line
            return f"the job runs: {line}"
        case StepAction.DELIVER:
            return deviation or f"{step.event} is delivered"
        case StepAction.LOSE:
            return f"{step.event} is lost"
        case StepAction.FORGE:
            return deviation
        case _:
            return _TEXTS[step.action]
