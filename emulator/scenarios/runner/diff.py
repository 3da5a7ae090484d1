"""Compares an expected and an actual JSON value, side by side where they differ."""

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest

from msgspec import Struct

from emulator.scenarios.values import Json

MAX_COLUMN_WIDTH = 48
# The number of equal entries that are shown before and after a difference.
_CONTEXT = 2
# The number of characters that are shown before the first difference of a long text.
_LEAD = 16


class Explanation(str):
    """Why there is no value; shown in parentheses."""

    __slots__ = ()


class RowMark(StrEnum):
    """The relation of the two sides of a row, in the notation of `diff --side-by-side`."""

    SAME = " "
    CHANGED = "|"
    MISSING = "<"
    UNEXPECTED = ">"
    LEFT_OUT = "·"


class Row(Struct, frozen=True, kw_only=True):
    """An expected and an actual line; one of them may be missing."""

    mark: RowMark
    expected: str = ""
    seen: str = ""


def is_same(expected: Json, seen: Json) -> bool:
    """Whether two JSON values are equal: 1, 1.0 and true differ, members have no order."""
    if isinstance(seen, Explanation):
        return False
    return _canonical(expected) == _canonical(seen)


def side_by_side(expected: Json, seen: Json) -> tuple[Row, ...]:
    """The rows of two different values, one for each list entry or member."""
    left, right = _lines(expected), _lines(seen)
    if not (left or right):  # an empty list beside an empty object
        left, right = [text_of(expected)], [text_of(seen)]
    rows: list[Row] = []
    for kind, a, b, c, d in SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
        if kind == "equal":
            rows += [Row(mark=RowMark.SAME, expected=line, seen=line) for line in left[a:b]]
        else:
            rows += _differing(left[a:b], right[c:d])
    return tuple(_near_differences(rows))


def text_of(value: Json) -> str:
    """A value in one line; text has quotes only if it would be ambiguous without them."""
    if isinstance(value, Explanation):
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
    if isinstance(value, Explanation):
        return [Explanation(text_of(value))]
    return [text_of(value)]


def _differing(left: Sequence[str], right: Sequence[str]) -> Iterator[Row]:
    for expected, seen in zip_longest(left, right):
        if expected is None:
            yield Row(mark=RowMark.UNEXPECTED, seen=_from_difference(seen, ""))
        elif seen is None:
            yield Row(mark=RowMark.MISSING, expected=_from_difference(expected, ""))
        else:
            yield Row(
                mark=RowMark.CHANGED,
                expected=_from_difference(expected, seen),
                seen=_from_difference(seen, expected),
            )


def _from_difference(text: str, other: str) -> str:
    """The part of a wide value around its first difference from the other value."""
    if len(text) <= MAX_COLUMN_WIDTH or isinstance(text, Explanation):
        return text
    same = next(
        (at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two),
        min(len(text), len(other)),
    )
    start = min(max(0, same - _LEAD), len(text) - MAX_COLUMN_WIDTH)
    shown = text[start : start + MAX_COLUMN_WIDTH]
    if start:
        shown = f"…{shown[1:]}"
    return shown if start + MAX_COLUMN_WIDTH >= len(text) else f"{shown[:-1]}…"


def _near_differences(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows that differ, and the rows near them."""
    differing = [at for at, row in enumerate(rows) if row.mark is not RowMark.SAME]
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
    text = f"… {count} more that {'agrees' if count == 1 else 'agree'}"
    return Row(mark=RowMark.LEFT_OUT, expected=text, seen=text)
