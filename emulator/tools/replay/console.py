"""Prints the progress and the results of a replay, always in the order of the files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from emulator.domain.message_text import escape_controls
from emulator.reporting import Paint, counted, verdict_lines
from emulator.scenarios.runner.results import (
    Case,
    CaseResult,
    Failure,
    Mismatch,
    PlayedStep,
)
from emulator.tools.replay.coverage import Coverage

MAX_FAILURE_LINES = 40
# What was expected, and what was seen.
_DIFF_COLOURS = {"-": "red", "+": "green"}


def step_line(step: PlayedStep, paint: Paint) -> str:
    """The verdict, the text and the outcome."""
    line = _verdict_line(step.text, paint, has_passed=step.failure is None, indent=2)
    return line + paint("dim", f"  → {step.outcome}" if step.outcome else "")


def _verdict_line(row: str, paint: Paint, *, has_passed: bool, indent: int = 0) -> str:
    verdict = ("green", "ok") if has_passed else ("red", "FAILED")
    return verdict_lines(paint, verdict, [row], indent=indent, width=8)[0]


def step_lines(steps: Sequence[PlayedStep], paint: Paint) -> list[str]:
    return [step_line(step, paint) for step in steps]


def payment_lines(result: CaseResult, paint: Paint) -> list[str]:
    """The newest payments of a case, each with its name in the script."""
    lines = [""] if result.trace.payments else []
    for payment in result.trace.payments:
        name = result.name_of(payment.id)
        lines.append(paint("dim", f"  {name}: {payment.text}" if name else f"  {payment.text}"))
    return lines


def failure_lines(result: CaseResult, failure: Failure, paint: Paint) -> list[str]:
    """Why a case failed, in at most MAX_FAILURE_LINES lines."""
    source, mismatches = result.case.source, failure.mismatches
    place = mismatches[0].place if len(mismatches) == 1 else failure.place
    message = failure.message + " (- expected, + actual)" * bool(mismatches)
    lines = [escape_controls(f"  {source}:{place.line}:{place.column}: {message}")]
    for mismatch in mismatches:
        if len(mismatches) > 1:
            place = mismatch.place
            subject = f"  {source}:{place.line}:{place.column}: {mismatch.subject}"
            lines += ["", escape_controls(subject)]
        lines += _mismatch_lines(mismatch, paint)
    if len(lines) > MAX_FAILURE_LINES:
        left_out = len(lines) - MAX_FAILURE_LINES + 1
        lines[MAX_FAILURE_LINES - 1 :] = [f"  … {left_out} more lines"]
    return lines


def _mismatch_lines(mismatch: Mismatch, paint: Paint) -> Iterator[str]:
    for line in mismatch.diff:
        colour = _DIFF_COLOURS.get(line[0])
        shown = f"    {line}"
        yield paint(colour, shown) if colour else escape_controls(shown)
    if mismatch.note is not None:
        yield f"      {escape_controls(mismatch.note)}"


def summary_line(results: Sequence[CaseResult], skipped: int, not_ended: int = 0) -> str:
    failed = sum(not result.has_passed for result in results)
    steps = sum(len(result.steps) for result in results)
    line = (
        f"{counted(len(results), 'case')}: {len(results) - failed} passed, {failed} failed,"
        f" {counted(steps, 'step')}"
    )
    if skipped:
        line += f" ({counted(skipped, 'file')} without a script skipped)"
    if not_ended:
        line += f"; {counted(not_ended, 'case')} did not end"
    return line


def note_lines(results: Sequence[CaseResult]) -> list[str]:
    """Notes about kept accounts and about cases that are too large for a complete trace."""
    lines = []
    for result in results:
        if result.kept_account is not None:
            lines.append(f"The account {result.kept_account} of '{result.case.name}' was kept.")
        if result.trace.is_cut:
            lines.append(
                f"The trace of '{result.case.name}' has only the last 1,000 requests, events and"
                " webhooks; the coverage does not include earlier ones."
            )
    return lines


def coverage_lines(coverage: Coverage, paint: Paint) -> list[str]:
    """A table of everything that a run can exercise, with a check mark where it did."""
    title = f"Coverage: {coverage.count} of {coverage.total}, {coverage.percent_text}"
    lines = [paint("bold", title)]
    for group in coverage.groups:
        lines += ["", f"  {group.title} {group.count}/{len(group.names)}"]
        lines += (f"   {'✓' if name in group.exercised else ' '} {name}" for name in group.names)
    return lines


@dataclass(slots=True)
class Printer:
    """Prints cases while they are played; `results` has those that have ended.

    With `shows_steps` it prints a line for each step; otherwise a line for each case, and the
    steps of failed cases at the end, and `show` receives the progress.
    """

    write: Callable[[Iterable[str]], None]
    paint: Paint
    shows_steps: bool
    show: Callable[[str], None]
    results: list[CaseResult] = field(default_factory=list)
    _has_title: bool = False
    """Whether the title of the case that is played has been printed."""

    def step_played(self, case: Case, step: PlayedStep) -> None:
        if self.shows_steps:
            self._print_title(case)
            self._print(step_line(step, self.paint))
        else:
            self.show(f"{case.name}  step {step.number} of {len(case.scenario.script)}")

    def case_ended(self, result: CaseResult) -> None:
        if self.shows_steps:
            self._print_title(result.case)
            self._print(*payment_lines(result, self.paint))
            if result.failure is not None:
                self._print("", *failure_lines(result, result.failure, self.paint))
        else:
            self.show("")
            row = f"{result.case.name}  {counted(len(result.steps), 'step')}"
            self._print(_verdict_line(row, self.paint, has_passed=result.has_passed))
        self._has_title = False
        self.results.append(result)

    def print_failures(self) -> None:
        """Print the steps of failed cases unless each step has been printed."""
        if self.shows_steps:
            return
        for result in self.results:
            if result.failure is not None:
                lines = step_lines(result.steps, self.paint)
                lines += payment_lines(result, self.paint)
                self._print("", self._title(result.case), *lines, "")
                self._print(*failure_lines(result, result.failure, self.paint))

    def _print_title(self, case: Case) -> None:
        if not self._has_title:
            self._has_title = True
            self._print(*([""] if self.results else []), self._title(case))

    def _title(self, case: Case) -> str:
        return f"{self.paint('bold', case.name)}  {escape_controls(case.source)}"

    def _print(self, *lines: str) -> None:
        if lines:
            self.write(lines)
