"""How a replay is told in lines of text: its steps, its failures, its coverage."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from emulator.replay.comparing import Mark, Row
from emulator.replay.coverage import Coverage, Group
from emulator.replay.results import Failure, Mismatch, PlayedStep, Result

MOST_FAILURE_LINES = 40
GROUPS_A_ROW = 2

_GAP = "   "
_ANSI = {"red": "31", "green": "32", "dim": "2", "bold": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    """Colours where they are wanted."""

    is_on: bool

    def __call__(self, colour: str, text: str) -> str:
        return f"\x1b[{_ANSI[colour]}m{text}\x1b[0m" if self.is_on and text else text


class StepLines:
    """The steps of one case as lines: of what is repeated the first time, and that which failed."""

    def __init__(self, paint: Paint) -> None:
        self._paint = paint
        self._again: list[PlayedStep] = []

    def add(self, step: PlayedStep) -> list[str]:
        """The lines that a step adds."""
        if all(turn == 1 for turn in step.turns):
            return [self._line(step)]
        if self._again and self._again[-1].turns != step.turns:
            self._again.clear()
        self._again.append(step)
        if step.failure is None:
            return []
        times = ", ".join(map(str, step.turns))
        indent = "  " * len(step.turns)
        return [f"          {indent}(time {times})", *map(self._line, self._again)]

    def _line(self, step: PlayedStep) -> str:
        mark = self._paint("red", "FAILED") if step.failure else self._paint("green", "ok")
        blanks = " " * (8 - (len("FAILED") if step.failure else len("ok")))
        outcome = self._paint("dim", f"  → {step.outcome}") if step.outcome else ""
        return f"  {mark}{blanks}{'  ' * len(step.turns)}{step.text}{outcome}"


def step_lines(steps: Sequence[PlayedStep], paint: Paint) -> list[str]:
    told = StepLines(paint)
    return [line for step in steps for line in told.add(step)]


def case_line(result: Result, paint: Paint) -> str:
    count = len(result.steps)
    mark = paint("green", "ok    ") if result.has_passed else paint("red", "FAILED")
    return f"{mark}  {result.case.name}  {count} {'step' if count == 1 else 'steps'}"


def failure_lines(result: Result, failure: Failure, paint: Paint) -> list[str]:
    """Why a case has failed, in not too many lines."""
    source = result.case.source
    lines = [f"  {source}:{failure.place.line}:{failure.place.column}: {failure.message}"]
    for mismatch in failure.mismatches:
        lines += ["", *_mismatch_lines(source, mismatch, paint)]
    if len(lines) > MOST_FAILURE_LINES:
        left_out = len(lines) - MOST_FAILURE_LINES + 1
        lines[MOST_FAILURE_LINES - 1 :] = [f"  … {left_out} more lines"]
    return lines


def _mismatch_lines(source: str, mismatch: Mismatch, paint: Paint) -> Iterator[str]:
    place = mismatch.place
    yield f"  {source}:{place.line}:{place.column}: {mismatch.subject}"
    titles = Row(mark=Mark.SAME, expected="expected", seen="seen")
    width = max(len(row.expected) for row in (titles, *mismatch.rows))
    yield paint("bold", _row_line(titles, width))
    for row in mismatch.rows:
        line = _row_line(row, width)
        yield line if row.mark in (Mark.SAME, Mark.LEFT_OUT) else paint("red", line)
    if mismatch.note is not None:
        yield f"      {mismatch.note}"


def _row_line(row: Row, width: int) -> str:
    return f"    {row.mark} {row.expected:<{width}}{_GAP}{row.seen}".rstrip()


def summary_line(results: Sequence[Result], skipped: int) -> str:
    failed = sum(not result.has_passed for result in results)
    steps = sum(len(result.steps) for result in results)
    told = [
        _counted(len(results), "case") + ":",
        f"{len(results) - failed} passed,",
        f"{failed} failed,",
        _counted(steps, "step"),
    ]
    if skipped:
        told.append(f"({_counted(skipped, 'file')} without a script skipped)")
    return " ".join(told)


def kept_lines(results: Sequence[Result]) -> list[str]:
    """Which accounts were left in a running emulator, for a look at what went wrong."""
    return [
        f"The account {result.kept_account} of '{result.case.name}' was kept."
        for result in results
        if result.kept_account is not None
    ]


def _counted(count: int, what: str) -> str:
    return f"{count} {what if count == 1 else f'{what}s'}"


def coverage_lines(coverage: Coverage, paint: Paint) -> list[str]:
    """A table of all that could be exercised, with a check mark at what was."""
    title = f"Coverage: {coverage.count} of {coverage.total}, {coverage.percent_text}"
    lines = [paint("bold", title)]
    width = max(len(name) for group in coverage.groups for name in group.names) + 2
    for start in range(0, len(coverage.groups), GROUPS_A_ROW):
        columns = [_group_lines(group) for group in coverage.groups[start : start + GROUPS_A_ROW]]
        lines.append("")
        lines += [
            _GAP.join(("", *(f"{cell:<{width}}" for cell in cells))).rstrip()
            for cells in zip_longest(*columns, fillvalue="")
        ]
    return lines


def _group_lines(group: Group) -> list[str]:
    marked = [f"{'✓' if name in group.exercised else ' '} {name}" for name in group.names]
    return [f"  {group.title} {group.count}/{len(group.names)}", *marked]
