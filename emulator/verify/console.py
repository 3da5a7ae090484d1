"""How a comparison is told: the counts, the words of a verdict, and the lines of a terminal."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, zip_longest
from textwrap import wrap

from emulator.domain.clauses import SECTIONS, Basis
from emulator.verify.findings import Result, Verdict
from emulator.verify.running import Comparison

USUAL_WIDTH = 100
# Narrower, and the two columns of text stand below each other.
NARROWEST_ROW = 76

_INDENT = "  "
_VERDICT = 10
_NUMBER = 8
_GAP = "  "
_MARGIN = len(_INDENT) + _VERDICT + _NUMBER
# However narrow a terminal, so much stands in a line.
_LEAST_ROOM = 16
_ANSI = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    """Colours where they are wanted; `mark` goes before each escape sequence."""

    is_on: bool
    mark: str = ""

    def __call__(self, colour: str, text: str) -> str:
        if not self.is_on or not text:
            return text
        return f"{self.mark}\x1b[{_ANSI[colour]}m{text}{self.mark}\x1b[0m"


def verdict_word(result: Result) -> str:
    if result.is_accepted:
        return "accepted"
    return "DRIFT" if result.verdict is Verdict.DRIFT else result.verdict.value


def assumption(result: Result) -> str | None:
    """What we have assumed, where it is that which the service does in another way."""
    if result.verdict is not Verdict.DRIFT or result.basis is Basis.STATED:
        return None
    return result.clause.assumed or result.clause.here


def comparison_lines(comparison: Comparison, paint: Paint, width: int) -> list[str]:
    """Clause by clause, by the sections of the contract, and in the end what it comes to."""
    as_whom = comparison.key
    if comparison.other_key is not None:
        as_whom += f" and {comparison.other_key}"
    lines = [f"{comparison.base_url} beside the contract, as {as_whom}"]
    for section, results in groupby(comparison.results, lambda result: result.clause.section):
        lines += ["", paint("bold", f"{section}  {SECTIONS[section]}")]
        for result in results:
            lines += _result_lines(result, paint, width)
    if comparison.drifts:
        # Once more by themselves: among the others they are hard to find.
        lines += ["", paint("bold", "What drifts")]
        for result in comparison.drifts:
            lines += _lines(result, wrap(_seen(result), _room(width)), paint)
    return [*lines, "", summary_line(comparison)]


def _result_lines(result: Result, paint: Paint, width: int) -> Iterator[str]:
    """What the contract says, and beside it, or below where there is no room, what was seen."""
    room = _room(width)
    says, seen = result.clause.says, _seen(result)
    if width < NARROWEST_ROW:
        rows = [*wrap(says, room), *wrap(f"→ {seen}", room, subsequent_indent="  ")]
    else:
        left = (room - len(_GAP)) * 9 // 20
        pairs = zip_longest(wrap(says, left), wrap(seen, room - left - len(_GAP)), fillvalue="")
        rows = [f"{one:<{left}}{_GAP}{other}".rstrip() for one, other in pairs]
    return _lines(result, rows, paint)


def _lines(result: Result, rows: list[str], paint: Paint) -> Iterator[str]:
    word = verdict_word(result)
    head = f"{_INDENT}{paint(_colour(result), word)}{' ' * (_VERDICT - len(word))}"
    yield f"{head}{result.clause.number:<{_NUMBER}}{rows[0]}"
    for row in rows[1:]:
        yield " " * _MARGIN + row


def _room(width: int) -> int:
    return max(width - _MARGIN, _LEAST_ROOM)


def _seen(result: Result) -> str:
    assumed = assumption(result)
    return result.seen if assumed is None else f"{result.seen} (assumed here: {assumed})"


def _colour(result: Result) -> str:
    if not result.counts:
        return "green" if result.verdict is Verdict.HOLDS else "dim"
    return "red" if result.basis is Basis.STATED else "yellow"


def summary_line(comparison: Comparison) -> str:
    """The counts: of the clauses by their verdicts, and of what was asked of the service."""
    drifts = comparison.drifts
    assumed = sum(one.basis is Basis.ASSUMED for one in drifts)
    accepted = sum(one.is_accepted for one in drifts)
    notes = [f"{assumed} of what is assumed"] if assumed else []
    notes += [f"{accepted} accepted"] if accepted else []
    note = f" ({', '.join(notes)})" if notes else ""
    return (
        f"{len(comparison.results)} clauses: {comparison.count(Verdict.HOLDS)} hold,"
        f" {len(drifts)} drift{note},"
        f" {comparison.count(Verdict.UNSEEN)} unseen{_left_out_note(comparison)};"
        f" {comparison.requests} requests, {comparison.payments} payments created"
    )


def incompleteness(comparison: Comparison) -> str | None:
    """A line that says that a comparison is not complete, and why; None where it is."""
    if comparison.refusal is None:
        return None
    left_out = f"{comparison.left_out} of {len(comparison.results)} clauses"
    return (
        f"the comparison is not complete: because of the rate limit {left_out} were not looked at;"
        f" {comparison.refusal}"
    )


def _left_out_note(comparison: Comparison) -> str:
    """How much of the contract a rate limit has kept from being looked at."""
    if comparison.refusal is None:
        return ""
    return f" ({comparison.left_out} not looked at, since the service refused with 429: rate limit)"
