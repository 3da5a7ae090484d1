"""Lays out sequence diagrams as plain values; `templates/sequence.html` draws them as text.

A diagram has the lanes `PARTIES`, which lines name by 1, 2 and 3. Lines are in the order of time.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from string import ascii_uppercase
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from emulator.domain.durations import span_text
from emulator.domain.instants import format_instant

SHOP, MIDDLE, CUSTOMER = 1, 2, 3
PARTIES = ("Your shop", "Payments service", "Customer")
"""The lanes of all diagrams."""
# A longer pause between two lines is a line of its own.
MIN_GAP_MS = 5_000
MAX_LINES = 300


class Mark(Struct, frozen=True):
    """A result on a line, such as a status code."""

    text: str
    is_failed: bool = False


def counted_marks(marks: Iterable[Mark]) -> list[tuple[Mark, int]]:
    """The marks, equal neighbours once with their number."""
    return [(mark, len(list(equal))) for mark, equal in groupby(marks)]


class Line(Struct, frozen=True, kw_only=True):
    """An arrow from one lane to another; with one lane, a status or a text on the middle lane.

    In `text`, code is between backquotes. A line with an `id` can be unfolded. `status` is a
    payment's status, `note` less important than the text, and `state` is shown beside the lanes. A
    bar lies on the target lane from the line that `begins` it to the line that `ends` it, which may
    be the same; see `with_bars`. `item` is for the template.
    """

    id: str = ""
    text: str = ""
    at: float | None = None
    source: int = MIDDLE
    target: int = MIDDLE
    status: str = ""
    marks: Sequence[Mark] = ()
    note: str = ""
    state: Mark | None = None
    is_failed: bool = False
    is_scheduled: bool = False
    begins: str | None = None
    ends: str | None = None
    item: Any = None

    @property
    def counted_marks(self) -> list[tuple[Mark, int]]:
        """The marks, equal neighbours once with their number."""
        return counted_marks(self.marks)

    @property
    def css(self) -> str:
        """The classes of its element."""
        low, high = sorted((self.source, self.target))
        direction = "right" if self.target > self.source else "left"
        classes = [f"arrow {direction} lanes-{low}-{high}" if low < high else "on-lane"]
        classes += ["failed"] * self.is_failed + ["scheduled"] * self.is_scheduled
        return " ".join(classes)


class Bar(Struct, frozen=True):
    """A part of a bar beside a line: its lane, and its place on the lane, from 1."""

    lane: int
    place: int
    is_first: bool = False

    @property
    def letter(self) -> str:
        """What distinguishes the bar from those that overlap it."""
        return ascii_uppercase[(self.place - 1) % len(ascii_uppercase)]


class DrawnLine(Struct, frozen=True, kw_only=True):
    """A line with the pause before it, the time since the first line, and the bars beside it.

    `since` is empty if the line before has the same time, `own` is the bar that the line begins or
    ends, and `is_whole` says that the line does both.
    """

    line: Line
    gap: str
    since: str
    instant: str
    bars: Sequence[Bar]
    own: Bar | None
    is_whole: bool


class Diagram(Struct, frozen=True, kw_only=True):
    """What the template draws; `state_title` is the title of the states beside the lanes."""

    lines: Sequence[DrawnLine]
    left_out: str
    state_title: str
    has_bars: bool
    lanes: tuple[str, str, str] = PARTIES


class TimedLine(Struct, frozen=True):
    """A request as the line of its begin, when it ended, and its result."""

    line: Line
    until: float
    result: Mark


def with_bars(parts: Iterable[Line | TimedLine]) -> list[Line]:
    """The lines in the order of time. Each line must have a time.

    A request is a bar between two lines, or of one line where nothing else happens during it.
    """
    every = list(parts)
    moments = [(_begin(part).at or 0, False, number) for number, part in enumerate(every)]
    moments += [
        (part.until, True, number)
        for number, part in enumerate(every)
        if isinstance(part, TimedLine)
    ]
    moments.sort()
    lines: list[Line] = []
    running: set[int] = set()
    for index, (at, is_end, number) in enumerate(moments):
        part = every[number]
        if not isinstance(part, TimedLine):
            lines.append(part)
            continue
        line, result = part.line, part.result
        spent = f"after {span_text(part.until - (line.at or 0))}".replace(" ", "\u00a0")
        ended = {"marks": (result,), "note": spent, "is_failed": result.is_failed}
        if not is_end and not running and moments[index + 1][1:] == (True, number):
            lines.append(replace(line, **ended, begins=str(number), ends=str(number)))
        elif not is_end:
            running.add(number)
            lines.append(replace(line, begins=str(number)))
        elif number in running:
            running.remove(number)
            lanes = {"source": line.target, "target": line.source}
            lines.append(replace(line, at=at, **lanes, **ended, ends=str(number)))
    return lines


def _begin(part: Line | TimedLine) -> Line:
    return part.line if isinstance(part, TimedLine) else part


def sequence(
    lines: Iterable[Line],
    *,
    state_title: str = "",
    has_instants: bool = True,
) -> Diagram:
    """Lay out lines; without instants, their times are milliseconds since any moment."""
    every = list(lines)
    drawn: list[DrawnLine] = []
    bars: dict[str, Bar] = {}
    shown = ""
    began = before = next((line.at for line in every if line.at is not None), 0)
    for line in every[:MAX_LINES]:
        at = before if line.at is None else line.at
        since = f"+{span_text(at - began)}"
        is_later = at - before >= MIN_GAP_MS
        beside = list(bars.values())
        bars = {name: Bar(bar.lane, bar.place) for name, bar in bars.items()}
        drawn.append(
            DrawnLine(
                line=line,
                gap=f"{span_text(at - before)} later" if is_later else "",
                since=since if since != shown else "",
                instant=format_instant(int(at)) if has_instants else "",
                bars=beside,
                own=_own_bar(line, bars),
                is_whole=line.begins is not None and line.begins == line.ends,
            )
        )
        before, shown = at, since
    left_out = f"The first {MAX_LINES} of {len(every)} lines are drawn."
    return Diagram(
        lines=drawn,
        left_out=left_out if len(every) > MAX_LINES else "",
        state_title=state_title,
        has_bars=any(line.begins is not None for line in every),
    )


def _own_bar(line: Line, bars: dict[str, Bar]) -> Bar | None:
    """The bar that a line begins or ends; adds it to those that go on, or removes it."""
    if line.begins is None:
        return None if line.ends is None else bars.pop(line.ends, None)
    used = {bar.place for bar in bars.values()}
    place = next(each for each in range(1, len(bars) + 2) if each not in used)
    bar = Bar(line.target, place, is_first=True)
    if line.begins != line.ends:
        bars[line.begins] = bar
    return bar
