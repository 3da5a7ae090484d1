"""Draws a case as a sequence diagram: its steps, the changes of status and the webhooks.

The emulator returns the instant of an event, and several steps may be played at that instant. But
each kind of step causes its own kinds of events, in the order of the steps.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from emulator.diagrams import CUSTOMER, MIDDLE, SHOP, Diagram, Line, Mark, sequence
from emulator.domain.instants import Instant, parse_instant
from emulator.domain.payment import EVENT_TYPES, STATUS_OF_EVENT, Status
from emulator.scenarios import values
from emulator.scenarios.runner.results import CaseResult, PlayedStep, TracedEvent, copy_texts

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


# The lane of who takes a step; the service itself is in the middle.
_SENDERS: dict[type, int] = {
    values.Create: SHOP,
    values.Retrieve: SHOP,
    values.List: SHOP,
    values.Pay: CUSTOMER,
    values.CustomerAnswer: CUSTOMER,
    values.Cancel: CUSTOMER,
    values.Transition: MIDDLE,
    values.AddFault: MIDDLE,
    values.AdvanceStep: MIDDLE,
}

# The number of the step, the instant, and the order of a step, its events and its webhooks.
_Place = tuple[int, str, int]


def case_diagram(result: CaseResult) -> Diagram | None:
    """The diagram of a case; None if it has no events."""
    placed = [*_step_lines(result), *_status_lines(result), *_webhook_lines(result)]
    lines = [line for _, line in sorted(placed, key=lambda pair: pair[0])]
    return sequence(_merged(lines)) if lines else None


def _step_lines(result: CaseResult) -> Iterator[tuple[_Place, Line]]:
    before = result.began_at
    for step in result.steps:
        # An advance begins at the instant of the step before, and its events follow.
        at = before if isinstance(step.step, values.AdvanceStep) else step.at
        before = step.at
        if type(step.step) not in _SENDERS:
            continue
        line = Line(
            text=f"`{step.text}`",
            at=_instant(at),
            source=_SENDERS[type(step.step)],
            note=step.outcome,
            is_failed=step.is_refused or step.failure is not None,
        )
        yield (step.number, "", 0), line


def _status_lines(result: CaseResult) -> Iterator[tuple[_Place, Line]]:
    moments = moments_of(result)
    has_several = len({event.payment for _, event in moments}) > 1
    for moment, event in moments:
        words = [_name(result, event.payment)] if has_several else []
        words += [f"`{event.reason}`"] if event.reason else []
        line = Line(
            text=", ".join(words), at=_instant(event.at), status=STATUS_OF_EVENT.get(event.type, "")
        )
        yield (moment.step, event.at, 1), line


def _webhook_lines(result: CaseResult) -> Iterator[tuple[_Place, Line]]:
    webhooks = result.trace.webhooks
    has_several = len({webhook.payment for webhook in webhooks}) > 1
    for webhook, copy in zip(webhooks, copy_texts(webhooks), strict=True):
        of = f" of {_name(result, webhook.payment)}" if webhook.payment and has_several else ""
        line = Line(
            text=f"`{webhook.type}`{of}",
            at=_instant(webhook.at),
            target=SHOP,
            marks=(Mark("genuine" if webhook.is_genuine else "forged", not webhook.is_genuine),),
            is_failed=not webhook.is_genuine,
            note="copies" if copy else "",
        )
        yield (webhook.step, webhook.at, 2), line


def _name(result: CaseResult, payment: str) -> str:
    return result.name_of(payment) or f"{payment[:12]}…"


def _instant(text: str) -> Instant | None:
    with suppress(ValueError):
        return parse_instant(text)
    return None


def _merged(lines: Iterable[Line]) -> list[Line]:
    """The lines; equal webhooks in turn are one, with a mark each."""
    merged: list[Line] = []
    for line in lines:
        before = merged[-1] if merged else None
        if before is not None and line.marks and replace(before, marks=line.marks) == line:
            merged[-1] = replace(before, marks=[*before.marks, *line.marks])
        else:
            merged.append(line)
    return merged
