"""What a result is, when its gate holds, and how table and exit code follow from the rows."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Exit(IntEnum):
    """The exit codes of the command."""

    PASSED = 0
    MISSED = 1
    INCONCLUSIVE = 3


class Verdict(StrEnum):
    """What one row says about its gate."""

    HOLDS = "holds"
    MISSED = "MISSED"
    REPORTED = "reported"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The band in which the median must lie, its ends included."""

    at_least: float | None = None
    at_most: float | None = None

    def admits(self, value: float) -> bool:
        """Whether the value lies in the band."""
        if self.at_least is not None and value < self.at_least:
            return False
        return self.at_most is None or value <= self.at_most

    def __str__(self) -> str:
        if self.at_least is not None and self.at_most is not None:
            return f"{self.at_least:.2f}–{self.at_most:.2f}"
        return f">= {self.at_least:.2f}" if self.at_least is not None else f"<= {self.at_most:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure: a value per pair (a ratio, unless `unit` says otherwise), and what is behind it.

    `gate` None means that the row is only reported. A row that `is_control` judges the run and not
    the emulator: outside its gate, no other row means anything. `absolute` is for the reader.
    """

    measure: str
    values: tuple[float, ...]
    gate: Gate | None = None
    absolute: str = ""
    unit: str = ""
    is_control: bool = False

    @property
    def median(self) -> float:
        """The median over the pairs; what the gate is held against."""
        return statistics.median(self.values)

    def verdict(self, *, is_conclusive: bool) -> Verdict:
        """What the row says; a noisy run never says that a gate holds."""
        if self.gate is None:
            return Verdict.REPORTED
        if not is_conclusive:
            return Verdict.INCONCLUSIVE
        return Verdict.HOLDS if self.gate.admits(self.median) else Verdict.MISSED


def is_conclusive(rows: Sequence[Row]) -> bool:
    """Whether every control row is inside its band."""
    return all(row.gate is None or row.gate.admits(row.median) for row in rows if row.is_control)


def exit_code(rows: Sequence[Row]) -> Exit:
    """The one code of the run; being inconclusive, or empty, beats what any gate says."""
    if not rows or not is_conclusive(rows):
        return Exit.INCONCLUSIVE
    missed = any(row.verdict(is_conclusive=True) is Verdict.MISSED for row in rows)
    return Exit.MISSED if missed else Exit.PASSED


def table(rows: Sequence[Row]) -> str:
    """The rows as text, one line each, columns aligned."""
    conclusive = is_conclusive(rows)
    cells = [("measure", "median", "min–max", "gate", "verdict", "absolute")]
    for row in rows:
        gate = "" if row.gate is None else f"{row.gate}{row.unit}"
        cells.append(
            (
                row.measure,
                f"{row.median:.2f}{row.unit}",
                f"{min(row.values):.2f}–{max(row.values):.2f}",
                gate,
                row.verdict(is_conclusive=conclusive).value,
                row.absolute,
            )
        )
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def summary(rows: Sequence[Row]) -> str:
    """The sentence under the table."""
    if not rows:
        return "Nothing was measured."
    match exit_code(rows):
        case Exit.INCONCLUSIVE:
            outside = [r.measure for r in rows if r.is_control and not is_conclusive([r])]
            return f"INCONCLUSIVE: {', '.join(outside)}; repeat on a quiet machine."
        case Exit.MISSED:
            missed = [r.measure for r in rows if r.verdict(is_conclusive=True) is Verdict.MISSED]
            return f"MISSED: {', '.join(missed)}."
        case Exit.PASSED:
            return "All gates hold."
