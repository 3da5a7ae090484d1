"""Determines during which step each event of a case occurred.

The emulator returns the instant of an event, and several steps may be played at that instant. But
each kind of step causes its own kinds of events, in the order of the steps.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from emulator.domain.payment import EVENT_TYPES, Status
from emulator.scenarios import values
from emulator.scenarios.runner.results import CaseResult, PlayedStep, TracedEvent

_SUBMITTED = EVENT_TYPES[Status.PROCESSING]
_CREATED = EVENT_TYPES[Status.PENDING]
_SERVER_ERROR = 500


class Moment(NamedTuple):
    """An instant during a step; moments are in chronological order."""

    step: int
    at: str


def moments_of(result: CaseResult) -> list[tuple[Moment, TracedEvent]]:
    """Each event of a case with its moment, in their order."""
    causes = _Attribution(result.steps)
    found = []
    number = 1
    for event in result.trace.events:
        number = causes.find(event, since=number)
        found.append((Moment(number, event.at), event))
    return found


class _Attribution:
    """Finds the step that caused an event, without a search of all steps."""

    def __init__(self, played: Sequence[PlayedStep]) -> None:
        # A clock never goes back, so the instants are in order, as the numbers are.
        self._instants = [step.at for step in played]
        self._of_payment: dict[str, list[PlayedStep]] = defaultdict(list)
        self._unanswered: list[PlayedStep] = []
        for step in played:
            if step.payment is not None and not step.is_refused:
                self._of_payment[step.payment].append(step)
            elif _may_have_worked(step):
                self._unanswered.append(step)

    def find(self, event: TracedEvent, *, since: int) -> int:
        """The number of the step, at least `since`, the number of the event before."""
        own = self._of_payment[event.payment]
        searches: tuple[tuple[_Causes, list[PlayedStep]], ...] = (
            (_causes, own),
            (_causes_at_once, own),
            (_causes_unanswered, self._unanswered),
        )
        for causes, candidates in searches:
            for step in _at(event, candidates, since):
                if causes(step, event):
                    return step.number
        # No step at this instant caused it: it was due during an advance to a later instant.
        arrived = bisect_left(self._instants, event.at) + 1
        return max(since, min(arrived, len(self._instants)))


def _at(event: TracedEvent, candidates: Sequence[PlayedStep], since: int) -> Iterable[PlayedStep]:
    first = bisect_left(candidates, since, key=lambda step: step.number)
    for step in candidates[first:]:
        if step.at > event.at:
            return
        if step.at == event.at:
            yield step


_Causes = Callable[[PlayedStep, TracedEvent], bool]


def _causes(played: PlayedStep, event: TracedEvent) -> bool:
    match played.step:
        case values.Create():
            return event.type == _CREATED and not played.is_replay
        case values.Pay():
            return event.type == _SUBMITTED
        case values.CustomerAnswer():
            return event.type not in (_CREATED, _SUBMITTED)
        case values.Transition(status=status):
            return event.type == EVENT_TYPES[status]
        case _:
            return False


def _causes_at_once(played: PlayedStep, event: TracedEvent) -> bool:
    """Whether it is a payment that the submit itself completed or failed."""
    return isinstance(played.step, values.Pay) and event.type != _CREATED


def _causes_unanswered(played: PlayedStep, event: TracedEvent) -> bool:
    return isinstance(played.step, values.Create) and event.type == _CREATED


def _may_have_worked(played: PlayedStep) -> bool:
    """Whether it may have created a payment although the response was lost or an error."""
    return played.is_refused and (played.status == 0 or played.status >= _SERVER_ERROR)
