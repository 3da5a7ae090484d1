"""Whether what was seen is what was expected, and both side by side where it is not."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest

from emulator.scenarios.steps import Json

WIDEST_COLUMN = 48
# Of a list, so many entries that agree are shown before and after one that does not.
_CONTEXT = 2
# Of a long text, so much before its first difference.
_LEAD = 16


class Words(str):
    """What was seen where there is no value to see: told in words, in brackets."""

    __slots__ = ()


class Mark(StrEnum):
    """How a line of the one side stands to that of the other, as `diff --side-by-side` says it."""

    SAME = " "
    CHANGED = "|"
    MISSING = "<"
    UNEXPECTED = ">"
    LEFT_OUT = "·"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of what was expected and of what was seen; one of them may have none."""

    mark: Mark
    expected: str = ""
    seen: str = ""


def is_same(expected: Json, seen: Json) -> bool:
    """Whether two values are the same as JSON: 1, 1.0 and true are three, members have no order."""
    if isinstance(seen, Words):
        return False
    return _canonical(expected) == _canonical(seen)


def side_by_side(expected: Json, seen: Json) -> tuple[Row, ...]:
    """Two values that are not the same, one line for an entry of a list or a member."""
    left, right = _lines(expected), _lines(seen)
    if not (left or right):  # an empty list is no empty object
        left, right = [text_of(expected)], [text_of(seen)]
    rows: list[Row] = []
    for kind, a, b, c, d in SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
        if kind == "equal":
            rows += [Row(mark=Mark.SAME, expected=line, seen=line) for line in left[a:b]]
        else:
            rows += _differing(left[a:b], right[c:d])
    return tuple(_without_much_agreement(rows))


def text_of(value: Json) -> str:
    """A value in one line: texts without quotes unless they would be taken for something else."""
    if isinstance(value, Words):
        return f"({value})"
    if isinstance(value, str) and not _is_ambiguous(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _is_ambiguous(text: str) -> bool:
    if text != text.strip() or not text.isprintable() or not text or text.startswith(("(", '"')):
        return True
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _lines(value: Json) -> list[str]:
    if isinstance(value, list):
        return [text_of(entry) for entry in value]
    if isinstance(value, dict):
        return [f"{name}: {text_of(value[name])}" for name in sorted(value)]
    if isinstance(value, Words):
        return [Words(text_of(value))]
    return [text_of(value)]


def _differing(left: Sequence[str], right: Sequence[str]) -> Iterator[Row]:
    for expected, seen in zip_longest(left, right):
        if expected is None:
            yield Row(mark=Mark.UNEXPECTED, seen=_from_difference(seen, ""))
        elif seen is None:
            yield Row(mark=Mark.MISSING, expected=_from_difference(expected, ""))
        else:
            yield Row(
                mark=Mark.CHANGED,
                expected=_from_difference(expected, seen),
                seen=_from_difference(seen, expected),
            )


def _from_difference(text: str, other: str) -> str:
    """A value that is too wide, from shortly before where it differs from the other one."""
    if len(text) <= WIDEST_COLUMN or isinstance(text, Words):
        return text
    same = next(
        (at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two),
        min(len(text), len(other)),
    )
    start = min(max(0, same - _LEAD), len(text) - WIDEST_COLUMN)
    shown = text[start : start + WIDEST_COLUMN]
    if start:
        shown = f"…{shown[1:]}"
    return shown if start + WIDEST_COLUMN >= len(text) else f"{shown[:-1]}…"


def _without_much_agreement(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows that differ and those around them."""
    differing = [at for at, row in enumerate(rows) if row.mark is not Mark.SAME]
    left_out = 0
    for at, row in enumerate(rows):
        if any(abs(at - other) <= _CONTEXT for other in differing):
            if left_out:
                yield _left_out(left_out)
            left_out = 0
            yield row
        else:
            left_out += 1
    if left_out:
        yield _left_out(left_out)


def _left_out(count: int) -> Row:
    told = f"… {count} more that {'agrees' if count == 1 else 'agree'}"
    return Row(mark=Mark.LEFT_OUT, expected=told, seen=told)
