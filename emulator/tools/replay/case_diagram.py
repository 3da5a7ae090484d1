"""Draws a case as a sequence diagram: its steps, the changes of status and the webhooks.

The emulator returns the instant of an event, and several steps may be played at that instant. But
each kind of step causes its own kinds of events, in the order of the steps.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
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
    found = []
    number = 1
    for event in result.trace.events:
        number = _step_of(event, result.steps[number - 1 :], since=number)
        found.append((Moment(number, event.at), event))
    return found


def _step_of(event: TracedEvent, steps: Sequence[PlayedStep], *, since: int) -> int:
    """The number of the step that caused an event; the steps are those from `since` on."""
    # A clock never goes back, so that the steps are in the order of their instants.
    until = takewhile(lambda step: step.at <= event.at, steps)
    at_instant = [step for step in until if step.at == event.at]
    own = [step for step in at_instant if step.payment == event.payment and not step.is_refused]
    causes = [step for step in own if _causes(step, event)]
    if event.type != _CREATED:
        # The submission may itself complete the payment, or fail it.
        causes += [step for step in own if isinstance(step.step, values.Pay)]
    else:
        causes += [step for step in at_instant if _may_have_created(step)]
    if causes:
        return causes[0].number
    # No step at this instant caused it: it was due during an advance to a later instant.
    later = (step.number for step in steps if step.at >= event.at)
    return next(later, since + max(0, len(steps) - 1))


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


def _may_have_created(played: PlayedStep) -> bool:
    """Whether it is a create that may have worked although its response was lost or an error."""
    has_failed = played.is_refused and (played.status == 0 or played.status >= _SERVER_ERROR)
    return has_failed and isinstance(played.step, values.Create)


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
