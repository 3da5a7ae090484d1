"""When things happened, and during which step: what a timeline is drawn from.

The emulator tells at which instant a payment changed, not which of the steps of that instant
changed it. But each kind of step brings about its own kinds of changes, in the order of both.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from emulator.domain.payment import Status, event_type
from emulator.replay.results import Event, PlayedStep, Result
from emulator.scenarios import steps

_SUBMITTED = event_type(Status.PROCESSING)
_CREATED = event_type(Status.PENDING)
_SERVER_ERROR = 500


class Moment(NamedTuple):
    """An instant during a step; moments are ordered as they were lived through."""

    step: int
    at: str


def moments_of(result: Result) -> list[tuple[Moment, Event]]:
    """Each event of a case with its moment, in their order."""
    causes = _Causes(result.steps)
    found = []
    number = 1
    for event in result.trace.events:
        number = causes.find(event, since=number)
        found.append((Moment(number, event.at), event))
    return found


class _Causes:
    """Which step made a payment change; it is found without a look at all the others."""

    def __init__(self, played: Sequence[PlayedStep]) -> None:
        # A clock never goes back, so the instants are in order, as the numbers are.
        self._instants = [step.at for step in played]
        self._of_payment: dict[str, list[PlayedStep]] = defaultdict(list)
        self._lost: list[PlayedStep] = []
        for step in played:
            if step.payment is not None and not step.is_refused:
                self._of_payment[step.payment].append(step)
            elif _may_have_worked(step):
                self._lost.append(step)

    def find(self, event: Event, *, since: int) -> int:
        """The number of the step, not before that of the event before."""
        own = self._of_payment[event.payment]
        searches: tuple[tuple[_BringsAbout, list[PlayedStep]], ...] = (
            (_brings_about, own),
            (_brings_about_at_once, own),
            (_brings_about_unheard, self._lost),
        )
        for brings_about, candidates in searches:
            for step in _at(event, candidates, since):
                if brings_about(step, event):
                    return step.number
        # Nobody asked for it at this instant: the clock came by, on the way to where it arrived.
        arrived = bisect_left(self._instants, event.at) + 1
        return max(since, min(arrived, len(self._instants)))


def _at(event: Event, candidates: Sequence[PlayedStep], since: int) -> Iterable[PlayedStep]:
    first = bisect_left(candidates, since, key=lambda step: step.number)
    for step in candidates[first:]:
        if step.at > event.at:
            return
        if step.at == event.at:
            yield step


_BringsAbout = Callable[[PlayedStep, Event], bool]


def _brings_about(played: PlayedStep, event: Event) -> bool:
    match played.step:
        case steps.Create():
            return event.type == _CREATED and not played.is_replay
        case steps.Pay():
            return event.type == _SUBMITTED
        case steps.CustomerAnswer():
            return event.type not in (_CREATED, _SUBMITTED)
        case steps.Transition(status=status):
            return event.type == event_type(status)
        case _:
            return False


def _brings_about_at_once(played: PlayedStep, event: Event) -> bool:
    """Whether it is the submit, where nothing that came later has decided how it went."""
    return isinstance(played.step, steps.Pay) and event.type != _CREATED


def _brings_about_unheard(played: PlayedStep, event: Event) -> bool:
    return isinstance(played.step, steps.Create) and event.type == _CREATED


def _may_have_worked(played: PlayedStep) -> bool:
    """Whether it may have made a payment that it does not know of."""
    return played.is_refused and (played.status == 0 or played.status >= _SERVER_ERROR)
