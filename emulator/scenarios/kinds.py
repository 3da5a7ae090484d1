"""Declares what a key of the scenario format can hold: how it is read, described and written.

A kind reads an entry as a value, or notes a problem and returns None. Its JSON Schema and the text
of the value in a file come from the same declaration.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any, Generic, TypeVar

from emulator.domain.durations import MAX_DURATION_MS, duration_text, parse_duration_ms
from emulator.files import ListNode, MapNode, ScalarKind, ScalarNode
from emulator.scenarios.duration_patterns import durations_up_to
from emulator.scenarios.entries import (
    Entry,
    boolean,
    decimal_number,
    hint_nearest,
    is_empty,
    listed,
    read_items,
    read_pairs,
    read_text,
    text_of,
    whole_number,
)
from emulator.scenarios.values import Json

JsonSchema = dict[str, Any]

MAX_DIGITS = 100
MAX_PATTERN_CHARACTERS = 500

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
_EXAMPLES = ("500ms", "2s", "30s", "5m", "3h")
# How to write a value of this kind, if it should not be text.
_JSON_HINTS = {
    ScalarKind.INTEGER: ", or write it in decimal digits",
    ScalarKind.FLOAT: ", or write it in decimal digits",
    ScalarKind.BOOLEAN: ", or write true or false",
}

T = TypeVar("T")
W = TypeVar("W", bound=str)


class Kind(ABC, Generic[T]):
    """The values that a key can hold."""

    @abstractmethod
    def read(self, entry: Entry) -> T | None:
        """The value, or None after noting what is wrong."""

    @abstractmethod
    def schema(self) -> JsonSchema:
        """The JSON Schema of the values, as an editor checks them."""

    def write(self, value: T) -> Json:
        """The value as JSON, which reads as the same value."""
        return value


class Text(Kind[str]):
    """Any text, or text of a pattern; `expected` describes the pattern in messages.

    `accepts` checks what the pattern cannot express. Without it, `examples` are also hints.
    """

    def __init__(
        self,
        pattern: re.Pattern[str] | None = None,
        *,
        expected: str = "",
        examples: Collection[str] = (),
        accepts: Callable[[str], bool] | None = None,
    ) -> None:
        self._pattern = pattern
        self.expected = expected
        self._examples = examples
        self._accepts = accepts

    def read(self, entry: Entry) -> str | None:
        text = read_text(entry)
        if text is None:
            return None
        is_of_form = self._pattern is None or self._pattern.fullmatch(text) is not None
        if is_of_form and (self._accepts is None or self._accepts(text)):
            return text
        entry.refuse(self.expected, "" if self._accepts else hint_nearest(text, self._examples))
        return None

    def schema(self) -> JsonSchema:
        schema: JsonSchema = {"type": "string"}
        if self._pattern is not None:
            schema["pattern"] = f"^{self._pattern.pattern}$"
        return {**schema, "examples": list(self._examples)} if self._examples else schema


def _is_pattern(text: str) -> bool:
    try:
        pattern = re.compile(text, re.MULTILINE)
    except (re.error, OverflowError, RecursionError):
        return False
    return len(text) <= MAX_PATTERN_CHARACTERS and not pattern.search("")


PATTERN = Text(
    expected=f"a regular expression of up to {MAX_PATTERN_CHARACTERS} characters that does not"
    " match an empty text",
    accepts=_is_pattern,
)


class Scalar(Kind[T]):
    """A scalar for which `parse` returns a value; `expected` describes those in messages."""

    def __init__(
        self, parse: Callable[[ScalarNode], T | None], expected: str, schema: JsonSchema
    ) -> None:
        self._parse = parse
        self._expected = expected
        self._schema = schema

    def read(self, entry: Entry) -> T | None:
        value = self._parse(entry.node) if isinstance(entry.node, ScalarNode) else None
        if value is None:
            entry.refuse(self._expected)
        return value

    def schema(self) -> JsonSchema:
        return self._schema


class Boolean(Kind[bool]):
    def read(self, entry: Entry) -> bool | None:
        value = boolean(entry.node)
        if value is None:
            entry.refuse("true or false", _unquoted(entry, "true", "false"))
        return value

    def schema(self) -> JsonSchema:
        return {"type": "boolean"}


class WholeNumber(Kind[int]):
    """A whole number within limits; `or_else` says in messages what else is accepted."""

    def __init__(self, *, at_least: int = 1, at_most: int, or_else: str = "") -> None:
        self.at_least = at_least
        self.at_most = at_most
        self._expected = f"a whole number from {at_least:,} to {at_most:,}{or_else}"

    def read(self, entry: Entry) -> int | None:
        number = whole_number(entry.node)
        if number is not None and self.at_least <= number <= self.at_most:
            return number
        digits = text_of(entry) or ""
        hint = _unquoted(entry, digits) if digits.isdecimal() else ""
        entry.refuse(self._expected, hint)
        return None

    def schema(self) -> JsonSchema:
        return {"type": "integer", "minimum": self.at_least, "maximum": self.at_most}


class Word(Kind[W]):
    """One of a closed set of words; messages and the schema list `offered`, if given."""

    def __init__(self, words: Iterable[W], *, offered: Iterable[W] = ()) -> None:
        self._words = {str(word): word for word in words}
        self.offered = [str(word) for word in offered] or list(self._words)

    def read(self, entry: Entry) -> W | None:
        text = text_of(entry)
        word = None if text is None else self._words.get(text)
        if word is None:
            hint = "" if text is None else hint_nearest(text, self.offered)
            entry.refuse(listed(self.offered, "or"), hint)
        return word

    def schema(self) -> JsonSchema:
        return {"enum": self.offered}

    def write(self, value: W) -> Json:
        return str(value)


class Duration(Kind[int]):
    """A span of time in milliseconds."""

    def __init__(
        self,
        *,
        at_least: int = 0,
        at_most: int = MAX_DURATION_MS,
        examples: Collection[str] = _EXAMPLES,
    ) -> None:
        self.at_least = at_least
        self.at_most = at_most
        self._examples = examples
        self._limits = f"from {duration_text(at_least)} to {duration_text(at_most)}"

    def read(self, entry: Entry) -> int | None:
        text = text_of(entry)
        if text is None:
            seconds = whole_number(entry.node)
            hint = f"; did you mean '{seconds}s'?" if seconds and seconds > 0 else ""
            entry.refuse("a duration such as 30s or 500ms", hint)
            return None
        try:
            duration_ms = parse_duration_ms(text)
        except ValueError as error:
            entry.note(f"{entry.label} must be a duration: {error}")
            return None
        if self.at_least <= duration_ms <= self.at_most:
            return duration_ms
        is_zero = duration_ms == 0 and self.at_least == 1
        accepted = "greater than zero" if is_zero else f"{self._limits} (got {text})"
        entry.note(f"{entry.label} must be {accepted}")
        return None

    def schema(self) -> JsonSchema:
        limits = range(self.at_least, self.at_most + 1)
        schema: JsonSchema = {
            "type": "string",
            "pattern": durations_up_to(self.at_most),
            "examples": [text for text in self._examples if parse_duration_ms(text) in limits],
        }
        if self.at_least:
            schema["not"] = {"pattern": durations_up_to(self.at_least - 1)}
        is_limited = self.at_most < MAX_DURATION_MS
        return {"title": f"duration {self._limits}", **schema} if is_limited else schema

    def write(self, value: int) -> Json:
        return duration_text(value)


def _unquoted(entry: Entry, *words: str) -> str:
    """The end of a message about a word that has quotes, or is written otherwise, or nothing."""
    if text_of(entry) in words:
        return "; write it without quotes"
    return hint_nearest(entry.node.text, words) if isinstance(entry.node, ScalarNode) else ""


class ListOf(Kind[tuple[T, ...]]):
    """A list of values of one kind; `item_label` is what messages call one (`{}`: its key)."""

    def __init__(
        self,
        kind: Kind[T],
        expected: str,
        item_label: str,
        *,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> None:
        self._kind = kind
        self._expected = expected
        self._item_label = item_label
        self._at_least = at_least
        self._at_most = at_most

    def read(self, entry: Entry) -> tuple[T, ...] | None:
        entries = read_items(entry, self._expected, self._item_label.format(entry.label))
        if entries is None:
            return None
        count = len(entries)
        if count < self._at_least or (self._at_most is not None and count > self._at_most):
            limits = f"{self._at_least} to {self._at_most:,}" if self._at_most else "one or more"
            entry.note(f"{entry.label} must have {limits} entries (got {count:,})")
            return None
        values = [self._kind.read(item) for item in entries]
        return tuple(value for value in values if value is not None)

    def schema(self) -> JsonSchema:
        limits = {"minItems": self._at_least or None, "maxItems": self._at_most}
        given = {name: limit for name, limit in limits.items() if limit}
        return {"type": "array", "items": self._kind.schema(), **given}

    def write(self, value: tuple[T, ...]) -> Json:
        return [self._kind.write(item) for item in value]


class PairsOf(Kind[tuple[tuple[str, T | None], ...]]):
    """A mapping of texts to values of one kind; the texts are of the kind `names`, if given."""

    def __init__(self, kind: Kind[T], names: Kind[str] | None = None) -> None:
        self._kind = kind
        self._names = names

    def read(self, entry: Entry) -> tuple[tuple[str, T | None], ...]:
        pairs = read_pairs(entry) or {}
        return tuple(
            (name, self._kind.read(value))
            for name, (key, value) in pairs.items()
            if self._names is None or self._names.read(key) is not None
        )

    def schema(self) -> JsonSchema:
        names = {} if self._names is None else {"propertyNames": self._names.schema()}
        return {"type": "object", **names, "additionalProperties": self._kind.schema()}

    def write(self, value: tuple[tuple[str, T | None], ...]) -> Json:
        return {name: each if each is None else self._kind.write(each) for name, each in value}


class OrNull(Kind[T]):
    """A value of another kind, or null."""

    def __init__(self, kind: Kind[T]) -> None:
        self._kind = kind

    def read(self, entry: Entry) -> T | None:
        return None if is_empty(entry) else self._kind.read(entry)

    def schema(self) -> JsonSchema:
        schema = self._kind.schema()
        if "enum" in schema:
            return {"enum": [*schema["enum"], None]}
        return {**schema, "type": [schema["type"], "null"]}


class JsonValue(Kind[Json]):
    """All that JSON can express, right or wrong; its names and texts are of these kinds."""

    def __init__(self, *, names: Text | None = None, texts: Text | None = None) -> None:
        self._names = names or Text()
        self._texts = texts or Text()

    def read(self, entry: Entry) -> Json:
        node = entry.node
        if isinstance(node, MapNode):
            pairs = read_pairs(entry) or {}
            return {self._names.read(key): self.read(value) for key, value in pairs.values()}
        if isinstance(node, ListNode):
            items = read_items(entry, "", f"an entry of {entry.label}") or []
            return [self.read(item) for item in items]
        if node.kind is ScalarKind.TEXT:
            return self._texts.read(entry)
        return None if node.kind is ScalarKind.NULL else _read_plain(entry, node)

    def schema(self) -> JsonSchema:
        return {}


def _read_plain(entry: Entry, node: ScalarNode) -> bool | int | float | None:
    """A scalar without quotes; YAML has notations that JSON and YAML 1.2 read otherwise."""
    is_number = node.kind in (ScalarKind.INTEGER, ScalarKind.FLOAT)
    if is_number and len(node.text) > MAX_DIGITS:
        entry.note(f"{entry.label} must not have more than {MAX_DIGITS} digits")
        return None
    if node.kind is ScalarKind.INTEGER and _INTEGER.fullmatch(node.text):
        return int(node.text)
    value = boolean(node) if node.kind is ScalarKind.BOOLEAN else decimal_number(node)
    if value is None:
        expected = "text, a number, true, false, null, a list or a mapping"
        entry.refuse(expected, f'; put it in quotes: "…"{_JSON_HINTS.get(node.kind, "")}')
    return value
