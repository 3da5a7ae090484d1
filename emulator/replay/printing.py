"""What a run prints while it goes on, and at its end: always in the order of the files."""

from collections.abc import Callable, Sequence

from emulator.replay.console import (
    ShownSteps,
    case_line,
    failure_lines,
    step_line,
    step_lines,
)
from emulator.replay.results import Case, PlayedStep, Result
from emulator.reporting import Paint
from emulator.scenarios.steps import Repeat, Step

_ERASE = "\r\x1b[K"


class Printer:
    """Tells of the cases one after the other, whichever is played when.

    With `shows_steps` each step has a line; else a case has one, and failures follow in the end.
    On a terminal, which is `width` wide, the line of a case changes while it is played, and long
    lines are cut, but for that of a step that failed.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        write: Callable[[str], None],
        paint: Paint,
        *,
        shows_steps: bool,
        width: int | None = None,
    ) -> None:
        self._cases = cases
        self._write = write
        self._paint = paint
        self._erase = paint.mark + _ERASE
        self._shows_steps = shows_steps
        self._width = width
        self._next = 0
        self._has_begun = False
        self._shown = {case.name: ShownSteps() for case in cases}
        self._held: dict[str, list[str]] = {case.name: [] for case in cases}
        self._ended: dict[str, Result] = {}
        self._totals = {case.name: steps_played(case.scenario.script) for case in cases}

    def step_played(self, case: Case, step: PlayedStep) -> None:
        is_first = self._cases[self._next].name == case.name
        if self._shows_steps:
            shown = self._shown[case.name].add(step)
            self._held[case.name] += [step_line(one, self._paint, self._width) for one in shown]
            if is_first:
                self._print_held(case)
        elif self._width is not None and is_first:
            line = f"        {case.name}  step {step.number} of {self._totals[case.name]}"
            self._write(self._erase + line[: self._width - 1])

    def case_ended(self, result: Result) -> None:
        self._ended[result.case.name] = result
        while self._next < len(self._cases):
            case = self._cases[self._next]
            ended = self._ended.get(case.name)
            if ended is None:
                return
            self._print_ended(case, ended)
            self._has_begun = False
            self._next += 1

    def print_failures(self) -> None:
        """Tell of the cases that failed, with their steps, where that was not told yet."""
        if self._shows_steps:
            return
        for case in self._cases:
            result = self._ended[case.name]
            if result.failure is not None:
                lines = step_lines(result.steps, self._paint, self._width)
                self._print("", self._title(case), *lines, "")
                self._print(*failure_lines(result, result.failure, self._paint))

    def _print_ended(self, case: Case, result: Result) -> None:
        if not self._shows_steps:
            erase = "" if self._width is None else self._erase
            self._print(erase + case_line(result, self._paint))
            return
        self._print_held(case)
        if result.failure is not None:
            self._print("", *failure_lines(result, result.failure, self._paint))

    def _print_held(self, case: Case) -> None:
        """Print what was held back while cases before this one were played."""
        if not self._has_begun:
            self._has_begun = True
            self._print(*([""] if self._next else []), self._title(case))
        held = self._held[case.name]
        self._print(*held)
        held.clear()

    def _title(self, case: Case) -> str:
        return f"{self._paint('bold', case.name)}  {case.source}"

    def _print(self, *lines: str) -> None:
        self._write("".join(f"{line}\n" for line in lines))


def steps_played(script: Sequence[Step]) -> int:
    """How many steps are played if none fails, those that repeat others counted too."""
    return sum(
        1 + step.times * steps_played(step.steps) if isinstance(step, Repeat) else 1
        for step in script
    )
