"""Explains why a text is not YAML, at the position of the mistake.

A parser notices many mistakes some lines later. Each rule looks for one kind of mistake near the
position of the parser; the first rule that finds one explains it. Rows and columns count from 0.
"""

import re
from contextlib import suppress
from itertools import takewhile

import yaml

Mistake = tuple[int, int, str]
"""Row, column and message."""

_DASHES = r" *(?:- +)*"
_KEY = r"""(?P<key>[A-Za-z_][\w-]*|"[^"]*"|'[^']*')"""
# What is wrong in any line, after `start`.
_WRONG_LINES = {
    r"(?P<start>)(?:<{7}|={7}|>{7})(?: |$)": "a merge conflict is left; keep one of its versions",
    r"(?P<start>)(?:```|%)": "a line must not begin like this",
    r"(?P<start> *)(?://|/\*)": "a comment must begin with #",
    r"(?P<start> *(?:- *)*)\t": "a tab must not indent a line; use blanks",
    r"(?P<start> *(?:- *)*)[^\S ]": "this character looks like a blank; use blanks",
    rf"(?P<start>{_DASHES}{_KEY}:)(?P<rest>[^\s/:].{{0,60}})": (
        "a blank must stand after the colon: '{key}: {rest}'"
    ),
    r"(?P<start> *-)(?P<rest>[A-Za-z{\[\"'].{0,60})": (
        "a blank must stand after the dash: '- {rest}'"
    ),
    rf"(?P<start>{_DASHES}{_KEY}) *=>? *(?P<rest>.{{0,60}})": (
        "a colon must stand after a key, not '=': '{key}: {rest}'"
    ),
}
_NO_COLON = rf"(?P<start>{_DASHES}{_KEY})(?P<rest>(?:[^:]|:\S)*)"
_TEXT_BLOCK = r".*[ :-][|>][-+0-9]* *(?:#.*)?"
_CLOSING = {"{": "}", "[": "]"}


class _Failure:
    """Where and why a parser stopped, and the tokens of the text up to the first malformed one."""

    def __init__(
        self,
        text: str,
        lines: list[str],
        error: yaml.MarkedYAMLError,
        loader: type[yaml.SafeLoader],
    ) -> None:
        mark = error.problem_mark or error.context_mark
        self.row, self.column = (mark.line, mark.column) if mark else (0, 0)
        start = error.context_mark or mark
        self.start = (start.line, start.column) if start else (0, 0)
        self.words = " ".join(f"{error.context or ''}: {error.problem}".split())
        self.lines = [*lines, ""]
        self.line = self.lines[self.row]
        self.character = self.line[self.column : self.column + 1]
        self.tokens: list[yaml.Token] = []
        with suppress(yaml.YAMLError, ValueError):
            self.tokens.extend(yaml.scan(text, Loader=loader))
        here = (self.row, self.column)
        self.tokens_before = list(takewhile(lambda token: _place(token) < here, self.tokens))
        self.is_keyless = "simple key" in self.words
        self.key_row = self.start[0] if self.is_keyless else self.row

    def row_above(self, row: int) -> int:
        """The nearest row above with more than a comment, or the first."""
        rows = range(row - 1, 0, -1)
        return next((each for each in rows if self.lines[each].split("#")[0].strip()), 0)


def explain(
    text: str, lines: list[str], error: yaml.MarkedYAMLError, loader: type[yaml.SafeLoader]
) -> Mistake:
    failure = _Failure(text, lines, error, loader)
    rules = (_wrong_line, _quote, _bracket, _character, _colon, _indentation)
    mistakes = (rule(failure) for rule in rules)
    unknown = (failure.row, failure.column, f"the file must be YAML{failure.words}")
    return next((mistake for mistake in mistakes if mistake is not None), unknown)


def _place(token: yaml.Token) -> tuple[int, int]:
    return token.start_mark.line, token.start_mark.column


def _wrong_line(failure: _Failure) -> Mistake | None:
    for row in sorted({failure.row_above(failure.key_row), failure.key_row, failure.row}):
        for pattern, message in _WRONG_LINES.items():
            match = re.match(pattern, failure.lines[row])
            if match is not None:
                return row, match.end("start"), message.format(**match.groupdict())
    return None


def _quote(failure: _Failure) -> Mistake | None:
    """A quote that is not closed, or closed too early; its text can end at a later quote."""
    scalars = [token for token in failure.tokens_before if isinstance(token, yaml.ScalarToken)]
    (row, column), quote = failure.start, ""
    if "quoted scalar" in failure.words:
        quote = failure.lines[row][column]
    elif scalars and scalars[-1].style in {"'", '"'} and "expected" in failure.words:
        end = scalars[-1].end_mark
        if end.line == failure.row and not failure.line[end.column : failure.column].strip():
            (row, column), quote = _place(scalars[-1]), str(scalars[-1].style)
    if "escape" in failure.words:
        message = "the escape is unknown; write \\\\ for a backslash, or put the text in '…'"
        return failure.row, failure.column - (failure.character != "\\"), message
    if not quote or (row == failure.row and failure.character in {*"'\"[]{},:"}):
        return None
    if row < failure.row:
        return row, column, f"this {quote} is not closed; write {quote} at the end of the text"
    if re.match(rf"{_KEY}: ", failure.line[failure.column :]):
        return None
    advice = "write ' twice inside '…'" if quote == "'" else 'write \\" inside "…"'
    message = f"the text ends at this quote, and more follows; {advice}"
    return row, scalars[-1].end_mark.column - 1, message


def _collections(tokens: list[yaml.Token]) -> list[yaml.Token]:
    """The tokens that begin a collection which does not end among these tokens."""
    opened: list[yaml.Token] = []
    for token in tokens:
        if token.id in {"}", "]", "<block end>"}:
            del opened[-1:]
        elif token.id in {"{", "[", "<block mapping start>", "<block sequence start>"}:
            opened.append(token)
    return opened


def _bracket(failure: _Failure) -> Mistake | None:
    here, character = (failure.row, failure.column), failure.character
    if "unexpected ':'" in failure.words:
        return failure.row, failure.column + 1, "a blank must stand after the colon"
    brackets = [token for token in _collections(failure.tokens_before) if token.id in _CLOSING]
    if "expected" not in failure.words or not (brackets or character in {"}", "]"}):
        return None
    if not brackets:
        return *here, f"no bracket is open that this {character} closes"
    row, column = _place(brackets[-1])
    closing = _CLOSING[brackets[-1].id]
    if character in {"}", "]"} and character != closing:
        is_awaited = any(_CLOSING[token.id] == character for token in brackets)
        opened = f"the {brackets[-1].id} in column {column + 1} of line {row + 1}"
        advice = f"write {closing} {'before it' if is_awaited else 'instead'}"
        return *here, f"this {character} does not close {opened}; {advice}"
    stays_open = (row, column) in map(_place, _collections(failure.tokens))
    if stays_open and (failure.row > row or character in {"", "#"}):
        return row, column, f"this {brackets[-1].id} is not closed; write {closing} at the end"
    if character in {",", "]", "}"}:
        return *here, f"a value is missing before this {character}"
    word = re.search(r"[^\s{\[,]+$", failure.line[: failure.column]) if character == ":" else None
    if word is not None and re.search(r"[{\[,:]\s*$", failure.line[: word.start()]):
        return _colon(failure)
    column = failure.column if word is None else word.start()
    entry = re.split(r"[\s:,\]}]", failure.line[column:])[0]
    return failure.row, column, f"a comma must stand before {entry[:60]}"


def _character(failure: _Failure) -> Mistake | None:
    """A character that begins something else than a text without quotes."""
    row, column = failure.row, failure.column
    if "sequence entries are not allowed" in failure.words:
        message = "a list in one line must be in brackets, such as [a, b]; a text in quotes"
        return row, column, message
    if re.search("an(chor| alias)|a tag|block scalar", failure.words):
        row, column = failure.start
    elif failure.character not in {*"%@`?"}:
        return None
    return row, column, f"a text that begins with {failure.lines[row][column]} must be in quotes"


def _colon(failure: _Failure) -> Mistake | None:
    """A line without a key, or with a second one."""
    value = re.match(rf".*?{_KEY}: +(?P<rest>\S.*)", failure.line)
    if value and failure.character == ":" and value.start("rest") <= failure.column:
        advice = "put a text in quotes, or a mapping in braces {…}"
        return failure.row, failure.column, f"a value must not contain ': '; {advice}"
    row = failure.key_row if failure.is_keyless else failure.row_above(failure.row)
    match = re.fullmatch(_NO_COLON, failure.lines[row])
    if match is None or not (failure.is_keyless or "mapping values" in failure.words):
        return None
    above = failure.row_above(row)
    if re.fullmatch(_TEXT_BLOCK, failure.lines[above]):
        return (
            row,
            0,
            f"the text that begins in line {above + 1} must be indented more than its key",
        )
    rest = match["rest"].strip()[:60]
    message = f"a colon must stand after the key: '{match['key']}: {rest}".rstrip() + "'"
    also = "; a text that goes on in this line must be indented" if rest else ""
    return row, match.end("start"), f"{message}{also}"


def _indentation(failure: _Failure) -> Mistake | None:
    """A line that begins in a column where no line above lets it begin."""
    column = len(failure.line) - len(failure.line.lstrip(" "))
    is_entry = failure.line[column:].startswith("- ")
    opened: dict[bool, dict[int, int]] = {True: {}, False: {}}
    for token in _collections(failure.tokens_before):
        row, begin = _place(token)
        opened[token.id == "<block sequence start>"][begin] = row
    if not re.search("block mapping|collection|mapping values", failure.words):
        return None
    if not is_entry and column in opened[True]:
        return failure.row, column, "'- ' must stand before each entry of a list"
    rows = opened[is_entry]
    if column in rows or not rows:
        return None
    nearest = min(rows, key=lambda each: (abs(each - column), -each))
    first = failure.lines[rows[nearest]][nearest:].split(" ")[0]
    message = (
        f"this line begins in column {column + 1}; it must begin in column {nearest + 1}, "
        f"below '{first[:60]}' of line {rows[nearest] + 1}"
    )
    return failure.row, column, message
