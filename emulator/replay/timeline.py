"""A case as a picture: what happened from left to right, who did it from top to bottom.

Time is not to scale. Each instant at which something happened has a column, however long nothing
happened in between, and in a column what came later stands further right.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from emulator.domain.durations import duration_text
from emulator.domain.instants import parse_instant
from emulator.domain.payment import EVENT_TYPES
from emulator.replay.event_attribution import Moment, moments_of
from emulator.replay.results import Event, PlayedStep, Result, Webhook
from emulator.scenarios import steps

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
BY_HAND = "By hand"
CLOCK = "Clock"
WEBHOOKS = "Webhooks"

_LANES: dict[type, str] = {
    steps.Create: MERCHANT,
    steps.Retrieve: MERCHANT,
    steps.List: MERCHANT,
    steps.Pay: CUSTOMER,
    steps.CustomerAnswer: CUSTOMER,
    steps.Cancel: CUSTOMER,
    steps.Transition: BY_HAND,
    steps.AddFault: BY_HAND,
    steps.Advance: CLOCK,
}
STATUS_OF_TYPE = {event_type: status.value for status, event_type in EVENT_TYPES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """An instant: how long after the beginning, and which."""

    x: int
    width: int
    since: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A label in a box, from `x` on; `kind` is the class of its look, `title` tells it in full."""

    x: int
    width: int
    kind: str
    label: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A row of the picture; its middle is at `y`. Of its shapes some are arrows: the clock's."""

    title: str
    y: int
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """All of it, in units of a pixel; `left_out` tells, in words, what there was no room for."""

    width: int
    height: int
    columns: tuple[Column, ...]
    lanes: tuple[Lane, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slots:
    """Where each moment stands: its left edge and how much room it has."""

    edges: Mapping[Moment, int]
    widths: Mapping[Moment, int]
    columns: tuple[Column, ...]

    @property
    def end(self) -> int:
        return max((column.x + column.width for column in self.columns), default=MARGIN)


def draw(result: Result) -> Drawing | None:
    """The picture of a case; None where nothing happened in it."""
    events = moments_of(result)
    acts = [step for step in result.steps if type(step.step) in _LANES]
    moments = sorted(
        {Moment(step.number, step.at) for step in acts}
        | {moment for moment, _ in events}
        | {Moment(webhook.step, webhook.at) for webhook in result.trace.webhooks}
    )
    if not moments:
        return None
    slots = _lay_out(moments[:MAX_SLOTS], _demands(events, result.trace.webhooks), result.began_at)
    shown = dict.fromkeys(event.payment for moment, event in events if moment in slots.edges)
    rows = [
        *((title, _acts(acts, title, slots)) for title in (MERCHANT, CUSTOMER, BY_HAND)),
        (CLOCK, _advances(result, slots)),
        *(
            (_payment_title(result, payment), _life(payment, events, slots))
            for payment in list(shown)[:MAX_PAYMENTS]
        ),
        (WEBHOOKS, _webhooks(result.trace.webhooks, slots)),
    ]
    lanes = _stacked((title, shapes) for title, shapes in rows if shapes)
    return Drawing(
        width=slots.end + MARGIN,
        height=HEAD_HEIGHT + ROW_HEIGHT * len(lanes) + MARGIN,
        columns=slots.columns,
        lanes=lanes,
        left_out=_left_out(len(moments), len(shown)),
    )


def _demands(
    events: Iterable[tuple[Moment, Event]], webhooks: Iterable[Webhook]
) -> dict[Moment, int]:
    """How many shapes have to stand beside each other at a moment."""
    changes = Counter((moment, event.payment) for moment, event in events)
    arrivals = Counter(Moment(webhook.step, webhook.at) for webhook in webhooks)
    demands: dict[Moment, int] = {}
    for moment, count in [
        *((moment, count) for (moment, _), count in changes.items()),
        *((moment, min(count, MAX_WEBHOOKS_PER_SLOT + 1)) for moment, count in arrivals.items()),
    ]:
        demands[moment] = max(demands.get(moment, 1), count)
    return demands


def _lay_out(moments: Sequence[Moment], demands: Mapping[Moment, int], began_at: str) -> _Slots:
    edges: dict[Moment, int] = {}
    widths: dict[Moment, int] = {}
    columns = []
    x = MARGIN
    for at, group in groupby(moments, key=lambda moment: moment.at):
        begin = x
        for moment in group:
            edges[moment], widths[moment] = x, SLOT_WIDTH * demands.get(moment, 1)
            x += widths[moment]
        columns.append(Column(x=begin, width=x - begin, since=_since(began_at, at), at=at))
        x += COLUMN_GAP
    return _Slots(edges=edges, widths=widths, columns=tuple(columns))


def _since(began_at: str, at: str) -> str:
    try:
        return f"+{duration_text(parse_instant(at) - parse_instant(began_at))}"
    except ValueError:
        return at


def _acts(acts: Iterable[PlayedStep], title: str, slots: _Slots) -> list[Shape]:
    shapes = []
    for step in acts:
        x = slots.edges.get(Moment(step.number, step.at))
        if x is None or _LANES[type(step.step)] != title:
            continue
        kind = "failed" if step.failure else "refused" if step.is_refused else "act"
        told = f"{step.text} → {step.outcome}" if step.outcome else step.text
        label = step.text.partition(":")[0]
        shapes.append(Shape(x=x, width=SLOT_WIDTH, kind=kind, label=label, title=told))
    return shapes


def _advances(result: Result, slots: _Slots) -> list[Shape]:
    """From the end of the column that the clock left to the column in which it arrived."""
    ends = {column.at: column.x + column.width for column in slots.columns}
    shapes = []
    before = result.began_at
    for step in result.steps:
        x = slots.edges.get(Moment(step.number, step.at))
        if isinstance(step.step, steps.Advance) and x is not None:
            left = ends.get(before, MARGIN) if before != step.at else x
            right = x if before != step.at else x + SLOT_WIDTH
            label = step.text.partition(": ")[2].strip('"')
            shapes.append(
                Shape(x=left, width=right - left, kind="arrow", label=label, title=step.text)
            )
        before = step.at
    return shapes


def _life(payment: str, events: Iterable[tuple[Moment, Event]], slots: _Slots) -> list[Shape]:
    """The statuses of a payment, each as long as it had it."""
    begins: list[tuple[int, Event]] = []
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
            kind=STATUS_OF_TYPE.get(event.type, "act"),
            label=STATUS_OF_TYPE.get(event.type, event.type),
            title=f"{event.type} at {event.at}" + (f": {event.reason}" if event.reason else ""),
        )
        for (x, event), end in zip(begins, ends, strict=True)
    ]


def _webhooks(webhooks: Iterable[Webhook], slots: _Slots) -> list[Shape]:
    shapes = []
    for moment, group in groupby(webhooks, key=lambda webhook: Moment(webhook.step, webhook.at)):
        arrived = list(group)
        for turn, webhook in enumerate(arrived[: MAX_WEBHOOKS_PER_SLOT + 1]):
            x = slots.edges.get(moment)
            if x is None:
                break
            left_out = len(arrived) - MAX_WEBHOOKS_PER_SLOT
            is_rest = turn == MAX_WEBHOOKS_PER_SLOT
            told = f"{webhook.type}, signature {'right' if webhook.is_genuine else 'wrong'}"
            shapes.append(
                Shape(
                    x=x + turn * SLOT_WIDTH,
                    width=SLOT_WIDTH,
                    kind="webhook" if webhook.is_genuine or is_rest else "forged",
                    label=f"+{left_out} more" if is_rest else webhook.type.removeprefix("payment."),
                    title=f"{left_out} more" if is_rest else told,
                )
            )
    return shapes


def _stacked(rows: Iterable[tuple[str, Sequence[Shape]]]) -> tuple[Lane, ...]:
    return tuple(
        Lane(
            title=title,
            y=HEAD_HEIGHT + ROW_HEIGHT * position + ROW_HEIGHT // 2,
            shapes=tuple(shapes),
        )
        for position, (title, shapes) in enumerate(rows)
    )


def _payment_title(result: Result, payment: str) -> str:
    names = [name for name, known in result.names.items() if known == payment]
    return names[-1] if names else f"{payment[:12]}…"


def _left_out(moments: int, payments: int) -> tuple[str, ...]:
    told = []
    if moments > MAX_SLOTS:
        told.append(f"The first {MAX_SLOTS} of {moments} moments are drawn.")
    if payments > MAX_PAYMENTS:
        told.append(f"The first {MAX_PAYMENTS} of {payments} payments are drawn.")
    return tuple(told)
