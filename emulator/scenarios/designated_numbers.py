"""The test phone numbers that scenarios name, by the outcome each leads to (contract, 4.4)."""

from collections.abc import Iterable, Sequence

from emulator.domain.accounts import Mode
from emulator.domain.instants import UNIT_MS
from emulator.domain.outcomes import Handset, Outcome, Step
from emulator.scenarios.values import Scenario

Numbers = dict[str, dict[str, str]]


def designated_numbers(scenarios: Iterable[Scenario], methods: Sequence[str]) -> Numbers:
    """By outcome, then by method: the first number of test mode that leads to it.

    Scenarios that are off, and methods other than these, are left out.
    """
    by_method: Numbers = {}
    for scenario in scenarios:
        for rule in scenario.outcomes if scenario.enabled else ():
            when = rule.when
            if when.mode is Mode.TEST and when.method and when.phone:
                by_method.setdefault(when.method, {}).setdefault(_text(rule.then), when.phone)
    numbers: Numbers = {}
    for method in methods:
        for outcome, phone in by_method.get(method, {}).items():
            numbers.setdefault(outcome, {})[method] = phone
    return numbers


def _text(outcome: Outcome) -> str:
    if isinstance(outcome, Handset):
        return "the handset asks"
    return ", then ".join(map(_step, outcome.steps)) or "stays in processing"


def _step(step: Step) -> str:
    reason = f": {step.reason}" if step.reason else ""
    after = f" after {duration_text(step.after_ms)}" if step.after_ms else ""
    return f"{step.status}{after}{reason}"


def duration_text(length_ms: int) -> str:
    """A duration as a scenario file has it, in the largest unit that divides it."""
    unit = max(
        (unit for unit in UNIT_MS if length_ms % UNIT_MS[unit] == 0), key=lambda unit: UNIT_MS[unit]
    )
    return f"{length_ms // UNIT_MS[unit]}{unit}"
