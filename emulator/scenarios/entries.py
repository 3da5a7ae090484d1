"""Reading one node as what it should be: a number, a word, a duration, a mapping with known keys.

Each reader notes what it expected and returns None when it finds something else, so that reading
goes on and every mistake of a file is found; a file with a note is refused in the end.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from emulator.domain.instants import parse_duration_ms
from emulator.scenarios.nodes import Kind, ListNode, MapNode, Node, ScalarNode
from emulator.scenarios.problems import Notes, hint_nearest

_WHOLE_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,20})", re.ASCII)
_DECIMAL_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_MAX_LABEL_CHARACTERS = 64
_BOOLEANS = {"true": True, "false": False}

T = TypeVar("T")
Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A node, the name that messages call it by, and where mistakes are noted."""

    node: Node
    label: str
    notes: Notes

    def note(self, message: str) -> None:
        self.notes.add(self.node.line, self.node.column, message)

    def refuse(self, expected: str, hint: str = "") -> None:
        """Note that this should have been something else."""
        self.note(f"{self.label} must be {expected}, not {_described(self.node)}{hint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """A mapping whose keys are known words; what was wrong with them is noted already."""

    entry: Entry
    known: dict[str, Entry]

    @property
    def has_stray_keys(self) -> bool:
        """Whether there are keys beside the known ones."""
        node = self.entry.node
        return isinstance(node, MapNode) and len(node.pairs) > len(self.known)

    def get(self, key: str, read: Callable[[Entry], T]) -> T | None:
        """The member as `read` understands it; None when it is absent or wrong."""
        found = self.known.get(key)
        return None if found is None else read(found)

    def need(self, key: str, read: Callable[[Entry], T], advice: str) -> T | None:
        """As `get`, but a missing member is a mistake."""
        if key not in self.known:
            self.entry.note(f"{self.entry.label} must have '{key}': {advice}")
        return self.get(key, read)


def read_members(entry: Entry, keys: Collection[str]) -> Members | None:
    """A mapping of known keys."""
    pairs = read_pairs(entry)
    if pairs is None:
        return None
    known = {}
    for key, (key_entry, value) in pairs.items():
        if key in keys:
            known[key] = value
        else:
            note_unknown_key(entry, key_entry, key, keys)
    return Members(entry=entry, known=known)


def note_unknown_key(
    entry: Entry,
    key_entry: Entry,
    key: str,
    keys: Collection[str],
    *,
    offered: Collection[str] = (),
) -> None:
    """Note a key that is none of `keys`, with the nearest, or those that make sense here."""
    hint = ""
    if not entry.notes.are_many:
        hint = hint_nearest(key, keys) or f"; it can have {listed(offered or keys, 'and')}"
    key_entry.note(f"{entry.label} has no key {key!r}{hint}")


def read_pairs(entry: Entry) -> dict[str, tuple[Entry, Entry]] | None:
    """A mapping of any keys, each given once, with the entries of key and value."""
    if not isinstance(entry.node, MapNode):
        entry.refuse("a mapping")
        return None
    pairs: dict[str, tuple[Entry, Entry]] = {}
    for key_node, value_node in entry.node.pairs:
        key_entry = Entry(node=key_node, label=f"a key of {entry.label}", notes=entry.notes)
        if isinstance(key_node, ScalarNode) and key_node.kind is Kind.MERGE:
            key_entry.note("merge keys (<<) are not understood here; write the keys out")
            continue
        key = read_text(key_entry)
        if key is None:
            continue
        if key in pairs:
            key_entry.note(f"{key!r} must be given once in {entry.label}")
            continue
        pairs[key] = (key_entry, Entry(node=value_node, label=_label(key), notes=entry.notes))
    return pairs


def _label(key: str) -> str:
    """A key as messages call its value by: metadata may have keys that would spoil a message."""
    if key.isprintable() and 0 < len(key) <= _MAX_LABEL_CHARACTERS:
        return key
    return repr(f"{key[:_MAX_LABEL_CHARACTERS]}…" if len(key) > _MAX_LABEL_CHARACTERS else key)


def read_items(entry: Entry, expected: str, item_label: str) -> list[Entry] | None:
    if not isinstance(entry.node, ListNode):
        entry.refuse(expected)
        return None
    return [Entry(node=node, label=item_label, notes=entry.notes) for node in entry.node.items]


def read_text(entry: Entry) -> str | None:
    node = entry.node
    if isinstance(node, ScalarNode) and node.kind is Kind.TEXT:
        return node.text
    is_word = isinstance(node, ScalarNode) and node.kind is not Kind.NULL
    entry.refuse("text", '; put it in quotes: "…"' if is_word else "")
    return None


def read_boolean(entry: Entry) -> bool | None:
    found = boolean(entry.node)
    if found is None:
        entry.refuse("true or false")
    return found


def boolean(node: Node) -> bool | None:
    """YAML 1.1 takes `yes` and `on` too, where YAML 1.2, and so an editor, sees text."""
    if not isinstance(node, ScalarNode) or node.kind is not Kind.BOOLEAN:
        return None
    return _BOOLEANS.get(node.text.lower())


def read_whole_number(entry: Entry, *, at_least: int = 1, at_most: int) -> int | None:
    number = whole_number(entry.node)
    if number is not None and at_least <= number <= at_most:
        return number
    entry.refuse(f"a whole number from {at_least:,} to {at_most:,}")
    return None


def whole_number(node: Node) -> int | None:
    """The number, written in decimal digits alone; other notations surprise somebody."""
    if not isinstance(node, ScalarNode) or node.kind is not Kind.INTEGER:
        return None
    return int(node.text) if _WHOLE_NUMBER.fullmatch(node.text) else None


def decimal_number(node: Node) -> float | None:
    """The number, written with a decimal point or, as JSON does now and then, an exponent."""
    if not isinstance(node, ScalarNode) or node.kind is not Kind.FLOAT:
        return None
    number = float(node.text) if _DECIMAL_NUMBER.fullmatch(node.text) else math.inf
    return number if math.isfinite(number) else None


def is_empty(entry: Entry) -> bool:
    """Whether nothing is said: null, or a key with nothing behind it."""
    return isinstance(entry.node, ScalarNode) and entry.node.kind is Kind.NULL


def is_text(entry: Entry) -> bool:
    return isinstance(entry.node, ScalarNode) and entry.node.kind is Kind.TEXT


def read_duration_ms(entry: Entry) -> int | None:
    node = entry.node
    if isinstance(node, ScalarNode) and node.kind is Kind.TEXT:
        try:
            return parse_duration_ms(node.text)
        except ValueError as error:
            entry.note(f"{entry.label} must be a duration: {error}")
            return None
    entry.refuse("a duration such as 30s or 500ms")
    return None


def read_positive_duration_ms(entry: Entry) -> int | None:
    duration_ms = read_duration_ms(entry)
    if duration_ms == 0:
        entry.note(f"{entry.label} must be longer than nothing")
        return None
    return duration_ms


def read_word(entry: Entry, words: type[Word]) -> Word | None:
    """One of a closed set of words."""
    found = read_listed(entry, [word.value for word in words])
    return None if found is None else words(found)


def read_listed(
    entry: Entry, words: Collection[str], *, offered: Collection[str] = ()
) -> str | None:
    """One of `words`; the message offers them, or those of them that make sense here."""
    node = entry.node
    if not isinstance(node, ScalarNode) or node.kind is not Kind.TEXT:
        entry.refuse(listed(offered or words, "or"))
        return None
    if node.text not in words:
        entry.refuse(listed(offered or words, "or"), hint_nearest(node.text, offered or words))
        return None
    return node.text


def listed(words: Iterable[str], conjunction: str) -> str:
    """`a, b or c`."""
    *rest, last = words
    return f"{', '.join(rest)} {conjunction} {last}" if rest else last


def _described(node: Node) -> str:
    match node:
        case MapNode():
            return "a mapping"
        case ListNode():
            return "a list"
        case ScalarNode(kind=Kind.NULL):
            return "empty"
        case ScalarNode(kind=Kind.TEXT):
            return repr(node.text)
        case ScalarNode():
            return node.text
