"""Explains why a text is not YAML, at the position of the mistake.

A parser notices many mistakes some lines later. Each rule looks for one kind of mistake near the
position of the parser; the first rule that finds one explains it. Rows and columns count from 0.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property

import yaml

Mistake = tuple[int, int, str]
"""Row, column and message."""

_MAX_SHOWN_CHARACTERS = 60
_CLOSING = {"{": "}", "[": "]"}
_DASHES = r" *(?:- +)*"
_KEY = r"""(?P<key>[A-Za-z_][\w-]*|"[^"]*"|'[^']*')"""
# Each pattern is wrong in any line; the position is the end of the group `start`.
_WRONG_LINES = [
    (re.compile(pattern), message)
    for pattern, message in (
        (
            r"(?P<start>)(?:<{7}|={7}|>{7})(?: |$)",
            "this line is left from a merge conflict; keep one version and delete such lines",
        ),
        (r"(?P<start>)%", "a line must not begin with %; put a text that does in quotes"),
        (r"(?P<start>)```", "the characters ``` are no part of a scenario; delete the line"),
        (r"(?P<start> *)(?://|/\*)", "a comment must begin with #"),
        (r"(?P<start> *(?:- *)*)\t", "a tab must not indent a line; use blanks"),
        (
            r"(?P<start> *(?:- *)*)[^\S ]",
            "this character looks like a blank and is none; use blanks",
        ),
        (
            rf"(?P<start>{_DASHES}{_KEY}:)(?P<rest>[^\s/:].*)",
            "a blank must stand after the colon: '{key}: {rest}'",
        ),
        (
            r"(?P<start> *-)(?P<rest>[A-Za-z{\[\"'].*)",
            "a blank must stand after the dash: '- {rest}'",
        ),
        (
            rf"(?P<start>{_DASHES}{_KEY}) *=>? *(?P<rest>.*)",
            "a colon must stand after a key, not '=': '{key}: {rest}'",
        ),
    )
]
_NO_COLON = re.compile(rf"(?P<start>{_DASHES}{_KEY})(?P<rest>(?:[^:]|:\S)*)")
_TEXT_BLOCK = re.compile(r".*[ :-][|>][-+0-9]* *(?:#.*)?")


class Failure:
    """A text, and where and why its parser stopped."""

    def __init__(self, text: str, lines: list[str], error: yaml.MarkedYAMLError) -> None:
        self._text = text
        self.problem = " ".join(str(error.problem or error.context).split())
        self.words = f"{error.context or ''}: {self.problem}"
        mark = error.problem_mark or error.context_mark
        start = error.context_mark or mark
        self.lines = [*lines, ""]
        self.row, self.column = (mark.line, mark.column) if mark else (0, 0)
        self.start = (start.line, start.column) if start else (0, 0)

    @property
    def line(self) -> str:
        return self.lines[self.row]

    @property
    def character(self) -> str:
        """Where the parser stopped; empty at the end of a line."""
        return self.line[self.column : self.column + 1]

    def row_before(self, row: int) -> int:
        """The row of the nearest line above with more than a comment, or -1."""
        filled = (r for r in range(row - 1, -1, -1) if self.lines[r].split("#")[0].strip())
        return next(filled, -1)

    @cached_property
    def tokens(self) -> list[yaml.Token]:
        """The tokens of the text up to the first that is wrong in itself."""
        tokens: list[yaml.Token] = []
        with suppress(yaml.YAMLError, ValueError):
            tokens.extend(yaml.scan(self._text, Loader=yaml.SafeLoader))
        return tokens

    @property
    def tokens_before(self) -> Iterator[yaml.Token]:
        here = (self.row, self.column)
        return (t for t in self.tokens if (t.start_mark.line, t.start_mark.column) < here)


def explain(text: str, lines: list[str], error: yaml.MarkedYAMLError) -> Mistake:
    failure = Failure(text, lines, error)
    for rule in _RULES:
        mistake = rule(failure)
        if mistake is not None:
            return mistake
    return failure.row, failure.column, f"the file must be YAML: {failure.problem}"


def _wrong_line(failure: Failure) -> Mistake | None:
    start_row = failure.start[0] if "simple key" in failure.words else failure.row
    rows = sorted({max(failure.row_before(start_row), 0), start_row, failure.row})
    for row in rows:
        for pattern, message in _WRONG_LINES:
            match = pattern.match(failure.lines[row])
            if match is not None:
                shown = {name: _shown(part) for name, part in match.groupdict().items()}
                return row, match.end("start"), message.format(**shown)
    return None


def _quote(failure: Failure) -> Mistake | None:
    """A quote that is not closed, or closed too early; its text can end at a later quote."""
    row, column = failure.start
    if "quoted scalar" in failure.words and "escape" not in failure.words:
        return _unclosed_quote(row, column, failure)
    scalars = (t for t in failure.tokens_before if isinstance(t, yaml.ScalarToken))
    quoted = [scalar for scalar in scalars if scalar.style in {"'", '"'}]
    if not quoted or "expected" not in failure.words:
        return None
    start, end = quoted[-1].start_mark, quoted[-1].end_mark
    if end.line != failure.row or failure.line[end.column : failure.column].strip():
        return None
    if start.line < end.line:
        return _unclosed_quote(start.line, start.column, failure)
    if failure.character in {"", *"'\"[]{},:"} or _is_key(failure):
        return None
    advice = "write ' twice inside '…'" if quoted[-1].style == "'" else 'write \\" inside "…"'
    return end.line, end.column - 1, f"the text ends at this quote, and more follows; {advice}"


def _unclosed_quote(row: int, column: int, failure: Failure) -> Mistake:
    quote = failure.lines[row][column : column + 1]
    return row, column, f"this {quote} is not closed; write {quote} at the end of the text"


def _is_key(failure: Failure) -> bool:
    return re.match(rf"{_KEY}: ", failure.line[failure.column :]) is not None


def _bracket(failure: Failure) -> Mistake | None:
    if "unexpected ':'" in failure.words:
        return failure.row, failure.column + 1, "a blank must stand after the colon"
    if "expected" not in failure.words:
        return None
    brackets = _open_brackets(failure.tokens_before)
    character = failure.character
    if not brackets:
        if character in {"}", "]"}:
            return failure.row, failure.column, f"no bracket is open that this {character} closes"
        return None
    row, column = brackets[-1]
    bracket = failure.lines[row][column]
    closing = _CLOSING[bracket]
    if character in {"}", "]"} and character != closing:
        is_awaited = any(_CLOSING[failure.lines[r][c]] == character for r, c in brackets)
        advice = f"write {closing} {'before it' if is_awaited else 'instead'}"
        opened = f"the {bracket} in column {column + 1} of line {row + 1}"
        return failure.row, failure.column, f"this {character} does not close {opened}; {advice}"
    if (row, column) in _open_brackets(failure.tokens) and (
        failure.row > row or character in {"", "#"}
    ):
        return row, column, f"this {bracket} is not closed; write {closing} at the end"
    if character in {",", "]", "}"}:
        return failure.row, failure.column, f"a value is missing before this {character}"
    return _missing_comma(failure)


def _open_brackets(tokens: Iterator[yaml.Token] | list[yaml.Token]) -> list[tuple[int, int]]:
    """The positions of the brackets that these tokens open and do not close."""
    opened: list[tuple[int, int]] = []
    for token in tokens:
        if isinstance(token, yaml.FlowMappingStartToken | yaml.FlowSequenceStartToken):
            opened.append((token.start_mark.line, token.start_mark.column))
        elif isinstance(token, yaml.FlowMappingEndToken | yaml.FlowSequenceEndToken) and opened:
            opened.pop()
    return opened


def _missing_comma(failure: Failure) -> Mistake | None:
    column = failure.column
    if failure.character == ":":
        before = failure.line[:column]
        word = re.search(r"[^\s{\[,]+$", before)
        if word is None or re.search(r"[{\[,:]\s*$", before[: word.start()]):
            return _second_colon(failure)
        column = word.start()
    entry = _shown(re.split(r"[\s:,\]}]", failure.line[column:])[0])
    return failure.row, column, f"a comma must stand before {entry}"


def _character(failure: Failure) -> Mistake | None:
    """A character that no text without quotes can begin with."""
    row, column = failure.row, failure.column
    if re.search("an(chor| alias)|a tag|block scalar", failure.words):
        row, column = failure.start
    elif failure.character not in {*"%@`?"}:
        return None
    character = failure.lines[row][column : column + 1]
    return row, column, f"a text that begins with {character} must be in quotes"


def _escape(failure: Failure) -> Mistake | None:
    if "escape" not in failure.words:
        return None
    column = failure.column - (failure.character != "\\")
    advice = "write \\\\ for a backslash, or put the text in '…'"
    return failure.row, column, f'"…" has no escape {failure.line[column : column + 2]}; {advice}'


def _inline_list(failure: Failure) -> Mistake | None:
    if "sequence entries are not allowed" not in failure.words:
        return None
    message = "a list in one line must be in brackets, such as [a, b]; a text in quotes"
    return failure.row, failure.column, message


def _missing_colon(failure: Failure) -> Mistake | None:
    """A line without a key, of which the parser expected one."""
    row = failure.start[0] if "simple key" in failure.words else failure.row_before(failure.row)
    match = _NO_COLON.fullmatch(failure.lines[row]) if row >= 0 else None
    if match is None or not re.search("simple key|mapping values", failure.words):
        return None
    above = failure.row_before(row)
    if above >= 0 and _TEXT_BLOCK.fullmatch(failure.lines[above]):
        return (
            row,
            0,
            f"the text that begins in line {above + 1} must be indented more than its key",
        )
    key, rest = match["key"], _shown(match["rest"].strip())
    colon = f"a colon must stand after the key: '{key}:{' ' if rest else ''}{rest}'"
    also = "; a text that goes on in this line must be indented" if rest else ""
    return row, match.end("start"), f"{colon}{also}"


def _second_colon(failure: Failure) -> Mistake | None:
    if failure.character != ":":
        return None
    value = re.match(rf".*?{_KEY}: +(?P<rest>\S.*)", failure.line)
    if value is None or value.start("rest") > failure.column:
        return None
    message = "a value must not contain ': '; put a text in quotes, or a mapping in braces {…}"
    return failure.row, failure.column, message


def _indentation(failure: Failure) -> Mistake | None:
    """A line that begins in a column where no line above lets it begin."""
    line = failure.line
    column = len(line) - len(line.lstrip(" "))
    if not line.strip() or not re.search("mapping|collection", failure.words):
        return None
    is_entry = line[column:].startswith("- ")
    if not is_entry and column in _columns(failure, is_entry=True):
        return failure.row, column, "'- ' must stand before each entry of a list"
    columns = _columns(failure, is_entry=is_entry)
    if column not in columns:
        if not columns:
            return failure.row, column, "'-' begins an entry of a list, but no list begins above"
        nearest = min(columns, key=lambda each: (abs(each - column), -each))
        other = columns[nearest]
        message = (
            f"this line begins in column {column + 1}; it must begin in column {nearest + 1}, "
            f"below {_shown(failure.lines[other][nearest:].split(' ')[0])!r} of line {other + 1}"
        )
        return failure.row, column, message
    return None


def _columns(failure: Failure, *, is_entry: bool) -> dict[int, int]:
    """The columns in which entries of lists, or keys, can begin here, each with its last row."""
    begun: dict[int, tuple[int, bool]] = {}
    for row, line in enumerate(failure.lines[: failure.row]):
        match = re.match(_DASHES, line)
        rest = line[match.end() :] if match is not None else ""
        if match is None or not rest or rest.startswith("#"):
            continue
        dashes = [column for column in range(match.end()) if line[column] == "-"]
        first = [*dashes, match.end()][0]
        begun = {column: each for column, each in begun.items() if column < first}
        begun |= dict.fromkeys(dashes, (row, True))
        begun[match.end()] = (row, False)
    return {column: row for column, (row, is_dash) in begun.items() if is_dash is is_entry}


def _shown(part: str) -> str:
    short = part.strip()
    return short if len(short) <= _MAX_SHOWN_CHARACTERS else f"{short[:_MAX_SHOWN_CHARACTERS]}…"


_RULES: tuple[Callable[[Failure], Mistake | None], ...] = (
    _wrong_line,
    _quote,
    _bracket,
    _escape,
    _character,
    _inline_list,
    _second_colon,
    _missing_colon,
    _indentation,
)
