"""Describes a step of a history in one line."""

from emulator.tools.explore.integration import Integration
from emulator.tools.explore.steps import ACTION_TEXTS, MANNER_TEXTS, HistoryStep, StepAction


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
            return ACTION_TEXTS[step.action]
