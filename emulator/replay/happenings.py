"""When things happened, and during which step: what a timeline is drawn from.

The emulator tells at which instant a payment changed, not which of the requests of that instant
changed it. But each kind of step brings about its own kinds of changes, in the order of both.
"""

from collections.abc import Sequence
from typing import NamedTuple

from emulator.domain.payment import Status, event_type
from emulator.replay.results import Event, PlayedStep, Result
from emulator.scenarios import steps

_SUBMITTED = event_type(Status.PROCESSING)
_CREATED = event_type(Status.PENDING)


class Moment(NamedTuple):
    """An instant during a step; moments are ordered as they were lived through."""

    step: int
    at: str


def moments_of(result: Result) -> list[tuple[Moment, Event]]:
    """Each event of a case with its moment, in their order."""
    found = []
    step = 0
    for event in result.trace.events:
        step = _cause(event, result.steps, after=step)
        found.append((Moment(step, event.at), event))
    return found


def _cause(event: Event, played: Sequence[PlayedStep], *, after: int) -> int:
    """The number of the step that made a payment change, not before that of the event before."""
    for step in played[max(after - 1, 0) :]:
        if step.at < event.at:
            continue
        if isinstance(step.step, steps.Advance) and _begin(step, played) < event.at:
            # The clock came by; what else happens at this instant happened when it was there.
            return step.number
        if step.at > event.at:
            break
        if _brings_about(step, event):
            return step.number
    return max(after, next((one.number for one in played if one.at >= event.at), len(played)))


def _begin(step: PlayedStep, played: Sequence[PlayedStep]) -> str:
    """What the clock showed before a step."""
    return played[step.number - 2].at if step.number > 1 else ""


def _brings_about(played: PlayedStep, event: Event) -> bool:
    match played.step:
        case steps.Create():
            # Without an answer it is not known which payment it made.
            return event.type == _CREATED and played.payment in (event.payment, None)
        case steps.Pay():
            return event.type != _CREATED and _is_about(played, event)
        case steps.Answer():
            return event.type not in (_CREATED, _SUBMITTED) and _is_about(played, event)
        case steps.Transition(status=status):
            return event.type == event_type(status) and _is_about(played, event)
        case _:
            return False


def _is_about(played: PlayedStep, event: Event) -> bool:
    return played.payment == event.payment and not played.is_refused
