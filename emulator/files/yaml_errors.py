"""Explains why a text is not YAML, at the position of the mistake.

PyYAML notices some mistakes after their position. Rows and columns count from 0.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import yaml

Mistakes = Iterator[tuple[int, int, str]]
"""Row, column and hint of each; without a hint, the message is PyYAML's message."""

_INDENTATION = re.compile(r"[ -]*+(?=[^\S ])")
_GLUED = re.compile(r""" *+(?:- ++)*+(?:-(?=[A-Za-z{\["'])|["']?+[A-Za-z_][\w"'-]*+:(?=[^\s/:]))""")
_KEY = re.compile(r"""["'\w-]*+""")
_BLOCK_OF_TEXT = re.compile(r".*[ :-][|>][-+0-9]*+ *+(?:#.*)?")
_AT_CONTEXT = re.compile("an(?:chor| alias)|a tag|block scalar")
_CLOSING = {"{": "}", "[": "]"}
_UNCLOSED_QUOTE = "this quote is not closed"


class _Failure(NamedTuple):
    """Why and where the parser stopped, with the parts of the line before and after."""

    words: str
    lines: list[str]
    row: int
    before: str
    after: str
    context: tuple[int, int]
    opened: tuple[int, int]
    last: yaml.Event | None


def explain(
    text: str, error: yaml.MarkedYAMLError, last: yaml.Event | None, opened: tuple[int, int]
) -> tuple[int, int, str]:
    """The row, the column and the message of the mistake.

    `last` is the parser's last event, `opened` the position of the innermost open collection.
    """
    words = " ".join(f"{error.context or ''}: {error.problem}".removeprefix(": ").split())
    mark = error.problem_mark or yaml.Mark("", 0, 0, 0, "", 0)
    start = error.context_mark or mark
    lines = [*text.splitlines(), ""]
    before, after = lines[mark.line][: mark.column], lines[mark.line][mark.column :]
    context = start.line, start.column
    failure = _Failure(words, lines, mark.line, before, after, context, opened, last)
    mistakes = chain.from_iterable(
        rule(failure) for rule in (_blanks, _quotes, _brackets, _texts_and_keys)
    )
    row, column, hint = next(mistakes, (mark.line, mark.column, ""))
    return row, column, hint or f"the file must be YAML: {words}"


def _blanks(failure: _Failure) -> Mistakes:
    row = failure.context[0] if "simple key" in failure.words else failure.row
    for each in range(max(0, row - 1), row + 1):
        if found := _INDENTATION.match(failure.lines[each]):
            yield each, found.end(), "only blanks can indent a line, not a tab"
        if found := _GLUED.match(failure.lines[each]):
            sign = "colon" if found[0].endswith(":") else "dash"
            yield each, found.end(), f"a blank must follow the {sign}"


def _quotes(failure: _Failure) -> Mistakes:
    """A text whose quote is missing can end at the next quote, some lines later."""
    if "escape character" in failure.words:
        yield failure.row, (failure.before + failure.after[:1]).rfind("\\"), ""
    if "quoted scalar: found unexpected" in failure.words:
        yield *failure.context, _UNCLOSED_QUOTE
    last = failure.last
    if isinstance(last, yaml.ScalarEvent) and last.style in {"'", '"'}:
        start, end = last.start_mark, last.end_mark
        if start and end and start.line < end.line == failure.row:
            yield start.line, start.column, _UNCLOSED_QUOTE


def _brackets(failure: _Failure) -> Mistakes:
    if "flow" not in failure.words or failure.after[:1] in {"}", "]", ","}:
        return
    row, column = failure.opened
    rest = "\n".join([failure.lines[row][column:], *failure.lines[row + 1 :]])
    sign = rest[:1]
    if sign in _CLOSING and rest.count(sign) > rest.count(_CLOSING[sign]):
        yield row, column, f"this {sign} is not closed"
    if failure.after[:1] == ":":
        yield failure.row, failure.before.rfind(" ") + 1, ""


def _texts_and_keys(failure: _Failure) -> Mistakes:
    if _AT_CONTEXT.search(failure.words):
        yield *failure.context, ""
    row, lines, before = failure.context[0], failure.lines, failure.before.rstrip()
    if "simple key" in failure.words:
        key = _KEY.match(lines[row], failure.context[1])
        is_text = _BLOCK_OF_TEXT.fullmatch(lines[row - 1])
        yield row, 0 if is_text or not key else key.end(), ""
    if "document start" in failure.words and lines[0].startswith(" "):
        yield 0, 0, ""
    is_block = "parsing a block" in failure.words
    if is_block and before[-1:] in set("]}'\"") and failure.after[:1] not in {"}", "]"}:
        yield failure.row, len(before) - 1, ""
    if (is_block and not before) or ("mapping values" in failure.words and ":" not in before):
        column = len(failure.before) - len(failure.before.lstrip(" "))
        yield failure.row, column, "this line must begin in the same column as its list or mapping"
