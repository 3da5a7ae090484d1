"""Lays out the timeline of a case: time from left to right, participants from top to bottom.

Time is not to scale. Each instant with an event has a column; within a column, later events are
further right.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from emulator.domain.durations import duration_text
from emulator.domain.instants import parse_instant
from emulator.domain.payment import STATUS_OF_EVENT
from emulator.scenarios import values
from emulator.tools.replay.event_attribution import Moment, moments_of
from emulator.tools.replay.results import (
    CaseResult,
    PlayedStep,
    TracedEvent,
    TracedWebhook,
    copy_texts,
)

SLOT_WIDTH = 82
COLUMN_GAP = 46
ROW_HEIGHT = 44
HEAD_HEIGHT = 34
MARGIN = 12
MAX_SLOTS = 120
MAX_PAYMENTS = 12
MAX_WEBHOOKS_PER_SLOT = 6

MERCHANT = "Merchant"
CUSTOMER = "Customer"
CONTROL_API = "Control API"
CLOCK = "Clock"
WEBHOOKS = "Webhooks"

_ROWS: dict[type, str] = {
    values.Create: MERCHANT,
    values.Retrieve: MERCHANT,
    values.List: MERCHANT,
    values.Pay: CUSTOMER,
    values.CustomerAnswer: CUSTOMER,
    values.Cancel: CUSTOMER,
    values.Transition: CONTROL_API,
    values.AddFault: CONTROL_API,
    values.AdvanceStep: CLOCK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The events of an instant; `since` is the time since the beginning."""

    x: int
    width: int
    since: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A box with a label, at `x`; `kind` is its CSS class, `title` the full description."""

    x: int
    width: int
    kind: str
    label: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """The shapes of a participant or a payment; `y` is the middle. The clock has arrows."""

    title: str
    y: int
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The layout in pixels; `left_out` describes what exceeds the limits."""

    width: int
    height: int
    columns: tuple[Column, ...]
    rows: tuple[TimelineRow, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slots:
    """The left edge of each moment."""

    edges: Mapping[Moment, int]
    columns: tuple[Column, ...]

    @property
    def end(self) -> int:
        return max((column.x + column.width for column in self.columns), default=MARGIN)


def build_timeline(result: CaseResult) -> Timeline | None:
    """The timeline of a case; None if it has no events."""
    events = moments_of(result)
    actions = [step for step in result.steps if type(step.step) in _ROWS]
    moments = sorted(
        {Moment(step.number, step.at) for step in actions}
        | {moment for moment, _ in events}
        | {Moment(webhook.step, webhook.at) for webhook in result.trace.webhooks}
    )
    if not moments:
        return None
    slots = _lay_out(
        moments[:MAX_SLOTS], _shape_counts(events, result.trace.webhooks), result.began_at
    )
    shown = dict.fromkeys(event.payment for moment, event in events if moment in slots.edges)
    titled_shapes = [
        *(
            (title, _action_shapes(actions, title, slots))
            for title in (MERCHANT, CUSTOMER, CONTROL_API)
        ),
        (CLOCK, _advance_shapes(result, slots)),
        *(
            (result.name_of(payment) or f"{payment[:12]}…", _status_shapes(payment, events, slots))
            for payment in list(shown)[:MAX_PAYMENTS]
        ),
        (WEBHOOKS, _webhook_shapes(result, slots)),
    ]
    rows = _placed((title, shapes) for title, shapes in titled_shapes if shapes)
    return Timeline(
        width=slots.end + MARGIN,
        height=HEAD_HEIGHT + ROW_HEIGHT * len(rows) + MARGIN,
        columns=slots.columns,
        rows=rows,
        left_out=_left_out(len(moments), len(shown)),
    )


def _shape_counts(
    events: Iterable[tuple[Moment, TracedEvent]], webhooks: Iterable[TracedWebhook]
) -> dict[Moment, int]:
    """The maximum number of shapes in a row, by moment."""
    changes = Counter((moment, event.payment) for moment, event in events)
    arrivals = Counter(Moment(webhook.step, webhook.at) for webhook in webhooks)
    shape_counts: dict[Moment, int] = {}
    for moment, count in [
        *((moment, count) for (moment, _), count in changes.items()),
        *((moment, min(count, MAX_WEBHOOKS_PER_SLOT + 1)) for moment, count in arrivals.items()),
    ]:
        shape_counts[moment] = max(shape_counts.get(moment, 1), count)
    return shape_counts


def _lay_out(
    moments: Sequence[Moment], shape_counts: Mapping[Moment, int], began_at: str
) -> _Slots:
    edges: dict[Moment, int] = {}
    columns = []
    x = MARGIN
    for at, group in groupby(moments, key=lambda moment: moment.at):
        begin = x
        for moment in group:
            edges[moment] = x
            x += SLOT_WIDTH * shape_counts.get(moment, 1)
        columns.append(Column(x=begin, width=x - begin, since=_since(began_at, at), at=at))
        x += COLUMN_GAP
    return _Slots(edges=edges, columns=tuple(columns))


def _since(began_at: str, at: str) -> str:
    try:
        return f"+{duration_text(parse_instant(at) - parse_instant(began_at))}"
    except ValueError:
        return at


def _action_shapes(actions: Iterable[PlayedStep], row_title: str, slots: _Slots) -> list[Shape]:
    shapes = []
    for step in actions:
        x = slots.edges.get(Moment(step.number, step.at))
        if x is None or _ROWS[type(step.step)] != row_title:
            continue
        kind = "failed" if step.failure else "refused" if step.is_refused else "act"
        title = f"{step.text} → {step.outcome}" if step.outcome else step.text
        label = step.text.partition(":")[0]
        shapes.append(Shape(x=x, width=SLOT_WIDTH, kind=kind, label=label, title=title))
    return shapes


def _advance_shapes(result: CaseResult, slots: _Slots) -> list[Shape]:
    """Arrows from the column before an advance to the column after it."""
    ends = {column.at: column.x + column.width for column in slots.columns}
    shapes = []
    before = result.began_at
    for step in result.steps:
        x = slots.edges.get(Moment(step.number, step.at))
        if isinstance(step.step, values.AdvanceStep) and x is not None:
            left = ends.get(before, MARGIN) if before != step.at else x
            right = x if before != step.at else x + SLOT_WIDTH
            label = step.text.partition(": ")[2].strip('"')
            shapes.append(
                Shape(x=left, width=right - left, kind="arrow", label=label, title=step.text)
            )
        before = step.at
    return shapes


def _status_shapes(
    payment: str, events: Iterable[tuple[Moment, TracedEvent]], slots: _Slots
) -> list[Shape]:
    """The statuses of a payment, each until the next one."""
    begins: list[tuple[int, TracedEvent]] = []
    latest, turn = None, 0
    for moment, event in events:
        if event.payment != payment or moment not in slots.edges:
            continue
        turn = turn + 1 if moment == latest else 0
        latest = moment
        begins.append((slots.edges[moment] + turn * SLOT_WIDTH, event))
    ends = [x for x, _ in begins[1:]] + [slots.end]
    return [
        Shape(
            x=x,
            width=end - x,
            kind=STATUS_OF_EVENT.get(event.type, "act"),
            label=STATUS_OF_EVENT.get(event.type, event.type),
            title=f"{event.type} at {event.at}" + (f": {event.reason}" if event.reason else ""),
        )
        for (x, event), end in zip(begins, ends, strict=True)
    ]


def _webhook_shapes(result: CaseResult, slots: _Slots) -> list[Shape]:
    shapes = []
    webhooks = result.trace.webhooks
    for moment, group in groupby(
        zip(webhooks, copy_texts(webhooks), strict=True),
        key=lambda pair: Moment(pair[0].step, pair[0].at),
    ):
        arrived = list(group)
        for turn, (webhook, copy) in enumerate(arrived[: MAX_WEBHOOKS_PER_SLOT + 1]):
            x = slots.edges.get(moment)
            if x is None:
                break
            left_out = len(arrived) - MAX_WEBHOOKS_PER_SLOT
            is_rest = turn == MAX_WEBHOOKS_PER_SLOT
            payment = webhook.payment and (result.name_of(webhook.payment) or webhook.payment)
            title = webhook.type + (f" of {payment}" if payment else "") + (copy and f", {copy}")
            title += f", {'valid' if webhook.is_genuine else 'invalid'} signature"
            shapes.append(
                Shape(
                    x=x + turn * SLOT_WIDTH,
                    width=SLOT_WIDTH,
                    kind="webhook" if webhook.is_genuine or is_rest else "forged",
                    label=f"+{left_out} more" if is_rest else webhook.type.removeprefix("payment."),
                    title=f"{left_out} more" if is_rest else title,
                )
            )
    return shapes


def _placed(titled_shapes: Iterable[tuple[str, Sequence[Shape]]]) -> tuple[TimelineRow, ...]:
    return tuple(
        TimelineRow(
            title=title,
            y=HEAD_HEIGHT + ROW_HEIGHT * position + ROW_HEIGHT // 2,
            shapes=tuple(shapes),
        )
        for position, (title, shapes) in enumerate(titled_shapes)
    )


def _left_out(moments: int, payments: int) -> tuple[str, ...]:
    sentences = []
    if moments > MAX_SLOTS:
        sentences.append(f"The first {MAX_SLOTS} of {moments} moments are drawn.")
    if payments > MAX_PAYMENTS:
        sentences.append(f"The first {MAX_PAYMENTS} of {payments} payments are drawn.")
    return tuple(sentences)
