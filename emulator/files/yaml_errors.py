"""Explains why a text is not YAML, at the position of the mistake.

A parser notices many mistakes some lines later. Each rule looks for one kind of mistake near the
position of the parser; the first mistake that is found explains it. Rows and columns count from 0.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, takewhile

import yaml

Mistakes = Iterator[tuple[int, int, str]]
"""Row, column and message of each."""

# Possessive, as each repetition that another one could take over: a line can be long.
_KEY = r"""(?P<key>[A-Za-z_][\w-]*+|"[^"]*"|'[^']*')"""
_START = rf"(?P<start> *(?:- +)*{_KEY}"
# What is wrong in any line, from the end of `start` on.
_WRONG_LINES = {
    r"(?P<start>)(?:<{7}|={7}|>{7})(?: |$)": "a merge conflict is left; keep one of its versions",
    r"(?P<start>)(?:```|%)": "a line must not begin like this",
    r"(?P<start>(?:.*[ ,])?)(?://|/\*)": "a comment must begin with #",
    r"(?P<start> *(?:- *)*)\t": "a tab must not indent a line; use blanks",
    r"(?P<start> *(?:- *)*)[^\S ]": "this character looks like a blank; use blanks",
    r"(?P<start> *-)(?P<rest>[A-Za-z{\[\"'].{,60})": "a blank must follow the dash: '- {rest}'",
    _START + r":)(?P<rest>[^\s/:].{,60})": "a blank must follow the colon: '{key}: {rest}'",
    _START + r") *=>? *(?P<rest>.{,60})": "a colon must follow a key, not '=': '{key}: {rest}'",
}
_CLOSING = {"{": "}", "[": "]"}
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Failure:
    """Where and why a parser stopped, and the tokens of the text up to the first malformed one."""

    def __init__(self, text: str, error: yaml.MarkedYAMLError) -> None:
        mark = error.problem_mark or yaml.Mark("", 0, 0, 0, "", 0)
        start = error.context_mark or mark
        self.row, self.column = self.here = mark.line, mark.column
        self.start = start.line, start.column
        self.words = " ".join(f"{error.context or ''}: {error.problem}".split())
        self.lines = [*text.splitlines(), ""]
        self.line = self.lines[self.row]
        self.character = self.line[self.column : self.column + 1]
        self.tokens: list[yaml.Token] = []
        with suppress(yaml.YAMLError, ValueError):
            self.tokens.extend(yaml.scan(text, Loader=_LOADER))
        self.before = list(takewhile(lambda token: _place(token) < self.here, self.tokens))
        # The parser has then searched for the colon of a key that begins at `start`.
        self.is_keyless = "simple key" in self.words
        self.key_row = self.start[0] if self.is_keyless else self.row

    def row_above(self, row: int) -> int:
        """The nearest row above with more than a comment, or the first."""
        rows = range(row - 1, 0, -1)
        return next((each for each in rows if self.lines[each].split("#")[0].strip()), 0)


def explain(text: str, error: yaml.MarkedYAMLError) -> tuple[int, int, str]:
    """The row, the column and the message of the mistake."""
    failure = _Failure(text, error)
    rules = (_wrong_lines, _quotes, _brackets, _characters, _colons, _indentation)
    message = f"the file must be YAML: {error.problem}"
    if "another document" in failure.words:
        message = "there must be one document in a file, not several"
    mistakes = chain.from_iterable(rule(failure) for rule in rules)
    return next(mistakes, (*failure.here, message))


def _place(token: yaml.Token) -> tuple[int, int]:
    return token.start_mark.line, token.start_mark.column


def _wrong_lines(failure: _Failure) -> Mistakes:
    for row in sorted({failure.row_above(failure.key_row), failure.key_row, failure.row}):
        for pattern, message in _WRONG_LINES.items():
            match = re.match(pattern, failure.lines[row])
            if match is not None:
                yield row, match.end("start"), message.format(**match.groupdict())


def _quotes(failure: _Failure) -> Mistakes:
    """A text whose quote is missing can end at the next quote, some lines later."""
    if "escape" in failure.words:
        message = "the escape is unknown; write \\\\ for a backslash, or put the text in '…'"
        yield failure.row, failure.column - (failure.character != "\\"), message
    place, end = failure.start, failure.column
    texts = [token for token in failure.before if isinstance(token, yaml.ScalarToken)]
    if "quoted scalar" not in failure.words:
        if not texts or texts[-1].style not in {"'", '"'} or "expected" not in failure.words:
            return
        place, end = _place(texts[-1]), texts[-1].end_mark.column
        if texts[-1].end_mark.line < failure.row or failure.line[end : failure.column].strip():
            return
    quote = failure.lines[place[0]][place[1]]
    if place[0] < failure.row:
        yield *place, f"this {quote} is not closed; write {quote} at the end of the text"
    elif re.match(rf"[^'\"\[\]{{}},:](?!{_KEY}: )", failure.line[failure.column :]):
        advice = "write ' twice inside '…'" if quote == "'" else 'write \\" inside "…"'
        yield failure.row, end - 1, f"the text ends at this quote, and more follows; {advice}"


def _opened(tokens: Iterable[yaml.Token]) -> list[tuple[int, int, str]]:
    """The places and signs of the tokens that open what these tokens do not close."""
    opened: list[tuple[int, int, str]] = []
    for token in tokens:
        sign = str(getattr(token, "id", ""))
        if sign in {"}", "]", "<block end>"}:
            del opened[-1:]
        elif sign in {"{", "[", "<block mapping start>", "<block sequence start>"}:
            opened.append((*_place(token), sign))
    return opened


def _brackets(failure: _Failure) -> Mistakes:
    character = failure.character
    brackets = [each for each in _opened(failure.before) if each[2] in _CLOSING]
    if "unexpected ':'" in failure.words:
        yield failure.row, failure.column + 1, "a blank must follow the colon"
    if "expected" not in failure.words:
        return
    before = failure.line[: failure.column]
    closed = re.search(r"[}\]](?=\s*$)", before)
    if not brackets and closed and character not in {"", "}", "]"}:
        message = f"nothing must follow this {closed[0]}; a text must be in quotes"
        yield failure.row, closed.start(), message
    if not brackets and character in {"}", "]"}:
        yield *failure.here, f"no bracket is open that this {character} closes"
    if not brackets:
        return
    row, column, sign = brackets[-1]
    closing = _CLOSING[sign]
    if character in {"}", "]"} and character != closing:
        is_awaited = any(_CLOSING[each[2]] == character for each in brackets)
        advice = f"write {closing} {'before it' if is_awaited else 'instead'}"
        opened = f"the {sign} in column {column + 1} of line {row + 1}"
        yield *failure.here, f"this {character} does not close {opened}; {advice}"
    if brackets[-1] in _opened(failure.tokens) and (failure.row > row or character in {"", "#"}):
        yield row, column, f"this {sign} is not closed; write {closing} at the end"
    if character in {",", "]", "}"}:
        yield *failure.here, f"a value is missing before this {character}"
    # The colon of a key shows that a comma is missing before the key, or else is the mistake.
    word = re.search(r"(?<![^\s{\[,])[^\s{\[,]++$", before) if character == ":" else None
    if word is None or not re.search(r"[{\[,:]\s*$", before[: word.start()]):
        column = failure.column if word is None else word.start()
        entry = re.split(r"[\s:,\]}]", failure.line[column:])[0]
        yield failure.row, column, f"a comma must precede {entry[:60]}"


def _characters(failure: _Failure) -> Mistakes:
    row, column = failure.here
    if "sequence entries are not allowed" in failure.words:
        message = "a list in one line must be in brackets, such as [a, b]; a text in quotes"
        yield row, column, message
    if re.search("an(chor| alias)|a tag|block scalar", failure.words):
        row, column = failure.start
    elif failure.character not in {*"%@`?>|"}:
        return
    yield row, column, f"a text that begins with {failure.lines[row][column]} must be in quotes"


def _colons(failure: _Failure) -> Mistakes:
    """A line with a second key, or without one."""
    value = re.search(r"""(?:(?<![\w-])[\w-]++|"[^"]*"|'[^']*'): +(?=\S)""", failure.line)
    if value and failure.character == ":" and value.end() <= failure.column:
        advice = "put a text in quotes, or a mapping in braces {…}"
        yield *failure.here, f"a value must not contain ': '; {advice}"
    row = failure.key_row if failure.is_keyless else failure.row_above(failure.row)
    match = re.fullmatch(_START + r")(?P<rest>(?:[^:]|:\S)*+)", failure.lines[row])
    if match is None or not (failure.is_keyless or "mapping values" in failure.words):
        return
    above = failure.row_above(row)
    if re.fullmatch(r".*[ :-][|>][-+0-9]* *(?:#.*)?", failure.lines[above]):
        yield row, 0, f"the text that begins in line {above + 1} must be indented more than its key"
    pair = f"{match['key']}: {match['rest'].strip()[:60]}".rstrip()
    also = "; a text that goes on in this line must be indented" if match["rest"].strip() else ""
    yield row, match.end("start"), f"a colon must follow the key: '{pair}'{also}"


def _indentation(failure: _Failure) -> Mistakes:
    """A line that begins in a column where no line above lets it begin."""
    if "document start" in failure.words:
        row = next(row for row, line in enumerate(failure.lines) if re.match(" *[^ #-]", line))
        if failure.lines[row].startswith(" "):
            yield row, 0, f"this line must begin in the same column as line {failure.row + 1}"
        yield *failure.here, "the document ends above; delete this line"
    column = len(failure.line) - len(failure.line.lstrip(" "))
    is_entry = failure.line[column:].startswith("- ")
    opened = _opened(failure.before)
    lists = {begin: row for row, begin, sign in opened if sign == "<block sequence start>"}
    rows = lists if is_entry else {begin: row for row, begin, _ in opened if begin not in lists}
    if column in rows or not re.search("mapping|collection", failure.words):
        return
    if not rows:
        yield failure.row, column, "no list can begin here"
    nearest = min(rows, key=lambda each: (abs(each - column), -each))
    if column in lists:
        advice = f"a key of the entry above must begin in column {max(rows) + 1}"
        yield failure.row, column, f"'- ' must precede an entry of a list; {advice}"
    first = failure.lines[rows[nearest]][nearest:].split(" ")[0]
    message = f"this line begins in column {column + 1}; it must begin in column {nearest + 1}"
    yield failure.row, column, f"{message}, below '{first[:60]}' of line {rows[nearest] + 1}"
