"""Draws a failed history as a sequence diagram, with the handlers of the shop as bars."""

import re

from msgspec.structs import replace

from emulator.diagrams import MIDDLE, Diagram, Line, Mark, TimedLine, sequence, with_bars
from emulator.domain.payment import Status
from emulator.tools.explore.exploration import HistoryFailure
from emulator.tools.explore.judgement import Observation, TracedStep, VerdictId, state_text
from emulator.tools.explore.steps import CHANGES, Manner, StepAction

CUSTOMER, SHOP = 1, 3
PARTIES = ("Customer", "Payments service", "Your shop")
# Who acts, and on whom; other steps are texts.
_SENDERS = {
    StepAction.START: (CUSTOMER, SHOP),
    StepAction.RETURN: (CUSTOMER, SHOP),
    StepAction.SETTLE: (MIDDLE, SHOP),
    StepAction.SUBMIT: (CUSTOMER, MIDDLE),
    StepAction.APPROVE: (CUSTOMER, MIDDLE),
    StepAction.DECLINE: (CUSTOMER, MIDDLE),
    StepAction.LOSE: (MIDDLE, SHOP),
}


def failure_diagram(failure: HistoryFailure) -> Diagram:
    """The diagram; times are those since the begin of the history."""
    observation, verdict = failure.observation, failure.verdict
    begin = observation.trace[0].span[0]
    parts = [part for step in observation.trace for part in _step_parts(step, begin)]
    for span in observation.sent:
        result = Mark(span.response.text, not span.response.is_success)
        line = Line(text=f"`{span.title}`", at=span.began_ms - begin, target=SHOP)
        parts.append(TimedLine(line, span.ended_ms - begin, result))
    lines = with_bars(parts)
    for sample in observation.samples:
        number = _last_line(lines, observation, sample.step)
        # A webhook that is never acknowledged is not a failure of the order.
        is_failed = sample.step == verdict.step and verdict.id is not VerdictId.NEVER_ACKNOWLEDGED
        lines[number] = replace(lines[number], state=Mark(state_text(sample), is_failed))
    number = _last_line(lines, observation, verdict.step)
    lines[number + 1 : number + 1] = [
        Line(text=f"expected: {verdict.expected}"),
        Line(text=f"seen: {verdict.seen}", is_failed=True),
    ]
    title = f"Order {observation.order}"
    return sequence(PARTIES, lines, state_title=title, has_instants=False)


def _step_parts(traced: TracedStep, begin: float) -> list[Line | TimedLine]:
    step, (began_ms, ended_ms) = traced.step, traced.span
    # Its webhook says the same.
    if step.action is StepAction.DELIVER and step.manner is Manner.USUAL:
        return []
    source, target = _SENDERS.get(step.action, (MIDDLE, MIDDLE))
    at = began_ms - begin
    is_lost = step.action is StepAction.LOSE
    line = Line(text=traced.text, at=at, source=source, target=target, is_failed=is_lost)
    if target == SHOP and not is_lost:
        # The rest names the order and its payment.
        result = re.split("[,;]", traced.result)[0]
        return [TimedLine(line, ended_ms - begin, Mark(result, not result.startswith(("2", "3"))))]
    status = CHANGES.get(step.action)
    if status is None:
        return [line]
    changed = Line(text="", at=ended_ms - begin, status=Status(status))
    return [replace(changed, text=traced.text)] if source == target else [line, changed]


def _last_line(lines: list[Line], observation: Observation, step: int) -> int:
    """The index of the last line of a step, from 1; those without a time belong to the one before.

    The retries of webhooks at the end belong to the last step.
    """
    if step >= len(observation.trace):
        return len(lines) - 1
    until = observation.trace[max(step, 1) - 1].span[1] - observation.trace[0].span[0]
    return max(number for number, line in enumerate(lines) if (line.at or 0) <= until)
