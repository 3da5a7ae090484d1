"""Explains why a text is not YAML, at the line of the mistake.

PyYAML notices some mistakes lines after their position. Rows and columns count from 0.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import yaml

_INDENTATION = re.compile(r"[ -]*+(?=[^\S ])")
_GLUED = re.compile(r""" *+(?:- ++)*+(?:-(?=[A-Za-z{\["'])|["']?+[A-Za-z_][\w"'-]*+:(?=[^\s/:]))""")
_CLOSING = {"{": "}", "[": "]"}
_UNCLOSED_QUOTE = "this quote is not closed"


class _Failure(NamedTuple):
    """Where the parser stopped, why, and where that begins whose end it has not found.

    `last` is the parser's last event, `opened` the position of the innermost open collection.
    """

    words: str
    lines: list[str]
    mark: yaml.Mark
    start: yaml.Mark
    last: yaml.Event | None
    opened: tuple[int, int]

    @property
    def is_of_key(self) -> bool:
        """Whether a line looks like a key without a colon."""
        return "simple key" in self.words


def explain(
    text: str, error: yaml.MarkedYAMLError, last: yaml.Event | None, opened: tuple[int, int]
) -> tuple[int, int, str]:
    """The row, the column and the message of the mistake."""
    words = " ".join(f"{error.context or ''}: {error.problem}".removeprefix(": ").split())
    mark = error.problem_mark or yaml.Mark("", 0, 0, 0, "", 0)
    start = error.context_mark or mark
    failure = _Failure(words, [*text.splitlines(), ""], mark, start, last, opened)
    place = start if failure.is_of_key else mark
    row, column, hint = next(_hints(failure), (place.line, place.column, ""))
    return row, column, hint or f"the file must be YAML: {words}"


def _hints(failure: _Failure) -> Iterator[tuple[int, int, str]]:
    """The row, the column and the hint of each known mistake."""
    words, lines, mark, start, last, opened = failure
    until = start.line if failure.is_of_key else mark.line
    for row in range(max(0, until - 1), until + 1):
        if found := _INDENTATION.match(lines[row]):
            yield row, found.end(), "only blanks can indent a line, not a tab"
        if found := _GLUED.match(lines[row]):
            sign = "colon" if found[0].endswith(":") else "dash"
            yield row, found.end(), f"a blank must follow the {sign}"
    if "quoted scalar: found unexpected" in words:
        yield start.line, start.column, _UNCLOSED_QUOTE
    # A text whose quote is missing can end at the next quote, some lines later.
    if isinstance(last, yaml.ScalarEvent) and last.style in {"'", '"'} and last.start_mark:
        has_ended_here = last.end_mark is not None and last.end_mark.line == mark.line
        if has_ended_here and last.start_mark.line < mark.line:
            yield last.start_mark.line, last.start_mark.column, _UNCLOSED_QUOTE
    row, column = opened
    rest = "\n".join([lines[row][column:], *lines[row + 1 :]])
    sign = rest[:1]
    is_open = sign in _CLOSING and rest.count(sign) > rest.count(_CLOSING[sign])
    if "flow" in words and is_open:
        yield row, column, f"this {sign} is not closed"
    before = lines[mark.line][: mark.column]
    is_at_begin = "parsing a block" in words and not before.strip()
    if is_at_begin or ("mapping values" in words and ":" not in before):
        column = len(before) - len(before.lstrip(" "))
        yield mark.line, column, "this line must begin in the same column as its list or mapping"
    if "document start" in words and lines[0].startswith(" "):
        yield 0, 0, ""
