"""Lays out the table of transitions as a diagram, whose template draws it as SVG."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from emulator.domain.payment import Status
from emulator.domain.transitions import TRANSITIONS, Edge

NODE_WIDTH = 104
NODE_HEIGHT = 34
COLUMN_WIDTH = 168
ROW_HEIGHT = 86
MARGIN = 12

Transition = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A status; `x` and `y` are its upper left corner."""

    status: str
    x: int
    y: int
    is_taken: bool
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """A transition; the label is at `label_x` and `label_y`."""

    source: str
    target: str
    path: str
    label: str
    label_x: int
    label_y: int
    is_taken: bool
    is_unusual: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """The nodes and arrows, and the size of the drawing."""

    width: int
    height: int
    nodes: list[Node]
    arrows: list[Arrow]


def diagram(labels: Mapping[Transition, str], *, current: str | None = None) -> Diagram:
    """The diagram; transitions with a label, their statuses and the current one are highlighted."""
    places = _places()
    taken = {status for transition in labels for status in transition}
    nodes = [
        Node(status=status, x=x, y=y, is_taken=status in taken, is_current=status == current)
        for status, (x, y) in places.items()
    ]
    return Diagram(
        width=max(x for x, _ in places.values()) + NODE_WIDTH + MARGIN,
        height=max(y for _, y in places.values()) + NODE_HEIGHT + MARGIN,
        nodes=nodes,
        arrows=[
            _arrow(source.value, target.value, edge, labels)
            for (source, target), edge in TRANSITIONS.items()
        ],
    )


@cache
def _places() -> dict[str, tuple[int, int]]:
    """The corner of each status: its column is its distance from `pending`."""
    columns = {Status.PENDING: 0}
    for (source, target), edge in TRANSITIONS.items():
        if edge is Edge.ORDINARY:
            columns[target] = columns[source] + 1
    rows: dict[int, int] = {}
    places = {}
    for status, column in columns.items():
        row = rows[column] = rows.get(column, -1) + 1
        places[status.value] = (MARGIN + column * COLUMN_WIDTH, MARGIN + row * ROW_HEIGHT)
    return places


def _arrow(source: str, target: str, edge: Edge, labels: Mapping[Transition, str]) -> Arrow:
    (from_x, from_y), (to_x, to_y) = _places()[source], _places()[target]
    if from_x == to_x:
        start = (from_x + NODE_WIDTH // 2, from_y)
        end = (to_x + NODE_WIDTH // 2, to_y + NODE_HEIGHT)
    else:
        start = (from_x + NODE_WIDTH, from_y + NODE_HEIGHT // 2)
        end = (to_x, to_y + NODE_HEIGHT // 2)
    return Arrow(
        source=source,
        target=target,
        path=f"M{start[0]} {start[1]} L{end[0]} {end[1]}",
        label=labels.get((source, target), ""),
        label_x=(start[0] + end[0]) // 2,
        label_y=(start[1] + end[1]) // 2 - 6,
        is_taken=(source, target) in labels,
        is_unusual=edge is Edge.UNUSUAL,
    )
