"""Lays out the drawings of the pages, which templates draw as SVG: transitions and attempts."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import log10
from statistics import median
from typing import Any, NamedTuple

from emulator.domain.payment import Status
from emulator.domain.transitions import TRANSITIONS, Edge

NODE_WIDTH = 104
NODE_HEIGHT = 34
COLUMN_WIDTH = 168
ROW_HEIGHT = 86
MARGIN = 12
_LEFT, _WIDTH, _HEIGHT = 84, 416, 150
# The axis of latency is logarithmic: 1 ms to 100 s.
_DECADES = 5
_TICKS = {0: "1 ms", 1: "10 ms", 2: "100 ms", 3: "1 s", 4: "10 s", 5: "100 s"}
_BAR_UNIT, _MAX_BAR_ATTEMPTS = 8, 8

Transition = tuple[str, str]


class Node(NamedTuple):
    """A status; `x` and `y` are its upper left corner."""

    status: str
    x: int
    y: int
    is_taken: bool


class Arrow(NamedTuple):
    """A transition; the label is at `label_x` and `label_y`."""

    source: str
    target: str
    path: str
    label: str
    label_x: int
    label_y: int
    is_taken: bool
    is_unusual: bool


class TransitionDiagram(NamedTuple):
    """The nodes and arrows, and the size of the drawing."""

    width: int
    height: int
    nodes: list[Node]
    arrows: list[Arrow]


def transition_diagram(labels: Mapping[Transition, str]) -> TransitionDiagram:
    """The diagram; transitions with a label and their statuses are highlighted."""
    places = _places()
    taken = {status for transition in labels for status in transition}
    nodes = [
        Node(status=status, x=x, y=y, is_taken=status in taken) for status, (x, y) in places.items()
    ]
    return TransitionDiagram(
        width=max(x for x, _ in places.values()) + NODE_WIDTH + MARGIN,
        height=max(y for _, y in places.values()) + NODE_HEIGHT + MARGIN,
        nodes=nodes,
        arrows=[
            _arrow(source.value, target.value, edge, labels)
            for (source, target), edge in TRANSITIONS.items()
            if edge is not Edge.SETTING or (source, target) in labels
        ],
    )


@cache
def _places() -> dict[str, tuple[int, int]]:
    """The corner of each status: its row is its distance from `pending`."""
    rows = {Status.PENDING: 0}
    for (source, target), edge in TRANSITIONS.items():
        if edge is Edge.ORDINARY:
            rows[target] = rows[source] + 1
    columns: dict[int, int] = {}
    places = {}
    for status, row in rows.items():
        column = columns[row] = columns.get(row, -1) + 1
        places[status.value] = (MARGIN + column * COLUMN_WIDTH, MARGIN + row * ROW_HEIGHT)
    return places


def _arrow(source: str, target: str, edge: Edge, labels: Mapping[Transition, str]) -> Arrow:
    (from_x, from_y), (to_x, to_y) = _places()[source], _places()[target]
    if from_y > to_y:
        # Beside the arrow in the other direction.
        start = (from_x + NODE_WIDTH * 3 // 4, from_y)
        end = (to_x + NODE_WIDTH * 3 // 4, to_y + NODE_HEIGHT)
    elif from_y == to_y:
        start = (from_x, from_y + NODE_HEIGHT // 2)
        end = (to_x + NODE_WIDTH, to_y + NODE_HEIGHT // 2)
    else:
        start = (from_x + NODE_WIDTH // 2, from_y + NODE_HEIGHT)
        end = (to_x + NODE_WIDTH // 2, to_y)
    return Arrow(
        source=source,
        target=target,
        path=f"M{start[0]} {start[1]} L{end[0]} {end[1]}",
        label=labels.get((source, target), ""),
        # Before the middle, where arrows cross.
        label_x=(2 * start[0] + end[0]) // 3,
        label_y=(2 * start[1] + end[1]) // 3,
        is_taken=(source, target) in labels,
        is_unusual=edge is Edge.UNUSUAL,
    )


class Dot(NamedTuple):
    """An attempt; `y` is its latency."""

    x: int
    y: int
    is_success: bool
    title: str


class AttemptBar(NamedTuple):
    """A delivery; the height is its number of attempts."""

    x: int
    y: int
    height: int
    title: str


class Plot(NamedTuple):
    """The attempts of the newest deliveries, oldest delivery first.

    `ticks` are positions of the axis of latency with their texts.
    """

    left: int
    width: int
    height: int
    base: int
    ticks: Sequence[tuple[int, str]]
    dots: Sequence[Dot]
    bars: Sequence[AttemptBar]
    summary: str


def delivery_plot(deliveries: Sequence[Mapping[str, Any]]) -> Plot | None:
    """The plot of deliveries, given newest first; None before the first attempt."""
    attempted = [delivery for delivery in reversed(deliveries) if delivery["attempts"]]
    if not attempted:
        return None
    step = _WIDTH / len(attempted)
    base = _HEIGHT + 16 + _BAR_UNIT * _MAX_BAR_ATTEMPTS
    dots, bars = [], []
    for index, delivery in enumerate(attempted):
        x = _LEFT + round((index + 0.5) * step)
        count = len(delivery["attempts"])
        height = _BAR_UNIT * min(count, _MAX_BAR_ATTEMPTS)
        title = f"{delivery['type']}: attempts {count}"
        bars.append(AttemptBar(x=x, y=base - height, height=height, title=title))
        dots += [_dot(x, delivery, attempt) for attempt in delivery["attempts"]]
    return Plot(
        left=_LEFT,
        width=_LEFT + _WIDTH,
        height=base + 24,
        base=base,
        ticks=[(_y(10**decade), text) for decade, text in _TICKS.items()],
        dots=dots,
        bars=bars,
        summary=_summary(attempted),
    )


def _dot(x: int, delivery: Mapping[str, Any], attempt: Mapping[str, Any]) -> Dot:
    result = attempt["status"] or attempt["error"]
    return Dot(
        x=x,
        y=_y(attempt["duration_ms"]),
        is_success=_is_success(attempt),
        title=f"{delivery['type']}, attempt {attempt['number']}: {result},"
        f" {attempt['duration_ms']:.0f} ms",
    )


def _y(duration_ms: float) -> int:
    decade = min(max(log10(max(duration_ms, 1)), 0), _DECADES)
    return _HEIGHT - round(decade * (_HEIGHT - 12) / _DECADES)


def _is_success(attempt: Mapping[str, Any]) -> bool:
    return attempt["status"] is not None and attempt["status"] // 100 == 2


def _summary(attempted: Sequence[Mapping[str, Any]]) -> str:
    attempts = [attempt for delivery in attempted for attempt in delivery["attempts"]]
    durations = [attempt["duration_ms"] for attempt in attempts]
    failed = sum(not _is_success(attempt) for attempt in attempts)
    return (
        f"Deliveries: {len(attempted)}. Attempts: {len(attempts)}, of which {failed} failed."
        f" Latency: median {median(durations):.0f} ms, maximum {max(durations):.0f} ms."
    )
