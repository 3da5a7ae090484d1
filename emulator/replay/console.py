"""How a replay is told in lines of text: its steps, its failures, its coverage."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from emulator.replay.coverage import Coverage, Group
from emulator.replay.diff import Mark, Row
from emulator.replay.results import Failure, Mismatch, PlayedStep, Result
from emulator.reporting import Paint

MAX_FAILURE_LINES = 40
GROUPS_A_ROW = 2
# However narrow a terminal, so much of a step is told.
SHORTEST_STEP = 16

_GAP = "   "


class ShownSteps:
    """Which steps of a case are shown: of those repeated the first time, and that which failed."""

    def __init__(self) -> None:
        self._again: list[PlayedStep] = []

    def add(self, step: PlayedStep) -> list[PlayedStep]:
        """The steps to be shown now that this one was played."""
        if all(turn == 1 for turn in step.turns):
            return [step]
        if self._again and self._again[-1].turns != step.turns:
            self._again.clear()
        self._again.append(step)
        return self._again if step.failure is not None else []


def shown_steps(steps: Sequence[PlayedStep]) -> list[PlayedStep]:
    shown = ShownSteps()
    return [one for step in steps for one in shown.add(step)]


def step_line(step: PlayedStep, paint: Paint, width: int | None = None) -> str:
    """One line: what came of it, what it was, and which time if it was not the first.

    With a `width` a step that went well is cut to it.
    """
    word, colour = ("FAILED", "red") if step.failure else ("ok", "green")
    head = f"  {paint(colour, word)}{' ' * (8 - len(word))}{'  ' * len(step.turns)}"
    tail = (f"  → {step.outcome}" if step.outcome else "") + time_text(step)
    text = step.text
    if width is not None and step.failure is None:
        room = width - (2 + 8 + 2 * len(step.turns)) - len(tail)
        text = _cut(text, max(room, SHORTEST_STEP))
    return f"{head}{text}{paint('dim', tail)}"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def time_text(step: PlayedStep) -> str:
    """Which time a repeated step was played, where it is shown for another than the first."""
    if all(turn == 1 for turn in step.turns):
        return ""
    return f"  (time {', '.join(map(str, step.turns))})"


def step_lines(steps: Sequence[PlayedStep], paint: Paint, width: int | None = None) -> list[str]:
    return [step_line(step, paint, width) for step in shown_steps(steps)]


def case_line(result: Result, paint: Paint) -> str:
    count = len(result.steps)
    mark = paint("green", "ok    ") if result.has_passed else paint("red", "FAILED")
    return f"{mark}  {result.case.name}  {count} {'step' if count == 1 else 'steps'}"


def failure_lines(result: Result, failure: Failure, paint: Paint) -> list[str]:
    """Why a case has failed, in not too many lines."""
    source, mismatches = result.case.source, failure.mismatches
    place = mismatches[0].place if len(mismatches) == 1 else failure.place
    lines = [f"  {source}:{place.line}:{place.column}: {failure.message}"]
    for mismatch in mismatches:
        if len(mismatches) > 1:
            place = mismatch.place
            lines += ["", f"  {source}:{place.line}:{place.column}: {mismatch.subject}"]
        lines += _mismatch_lines(mismatch, paint)
    if len(lines) > MAX_FAILURE_LINES:
        left_out = len(lines) - MAX_FAILURE_LINES + 1
        lines[MAX_FAILURE_LINES - 1 :] = [f"  … {left_out} more lines"]
    return lines


def _mismatch_lines(mismatch: Mismatch, paint: Paint) -> Iterator[str]:
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


def note_lines(results: Sequence[Result]) -> list[str]:
    """What else there is to know of a case: its account that was kept, what it is too large for."""
    lines = []
    for result in results:
        if result.kept_account is not None:
            lines.append(f"The account {result.kept_account} of '{result.case.name}' was kept.")
        if result.trace.is_cut:
            lines.append(
                f"Of '{result.case.name}' the emulator tells the last 1,000 requests, events and"
                " webhooks: what was before does not count as covered."
            )
    return lines


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
