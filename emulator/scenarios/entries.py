"""Reads YAML nodes as mappings, lists and scalars, and notes their problems.

Each function notes what it expected and returns None where it finds something else, so that
reading goes on and all mistakes of a file are found. A file with a note is refused in the end.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from msgspec import Struct

from emulator.domain.message_text import escape_controls, nearest_word
from emulator.domain.payment import Status, status_advice
from emulator.domain.user_error import UserError
from emulator.domain.webhooks import WebhookForm
from emulator.files import ListNode, MapNode, Node, ScalarKind, ScalarNode

_WHOLE_NUMBER = r"[-+]?(?:0|[1-9][0-9]{0,20})"
_DECIMAL_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_MAX_LABEL_CHARACTERS = 64
_BOOLEANS = {"true": True, "false": False}
_MAX_MESSAGE_CHARACTERS = 300
# The search for the nearest word takes as long as reading a hundred lines.
MAX_WITH_HINTS = 200
MAX_IN_ONE_LINE = 10


class Problem(Struct, frozen=True, kw_only=True):
    """One problem; line and column count from 1.

    `path` leads to the value that has the problem, or to the mapping whose key has it; it is empty
    for the document itself.
    """

    source: str
    line: int = 1
    column: int = 1
    message: str
    path: str = ""

    @property
    def section(self) -> str | None:
        """The key of the outermost mapping; None for the document itself."""
        return re.split(r"[.\[]", self.path)[0] or None

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}: {self.message}"


class ScenarioError(UserError):
    """One or several scenario files are invalid; `problems` has every problem."""

    has_places = True

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(*map(str, self.problems))

    @classmethod
    def at(cls, source: object, message: str, line: int = 1, column: int = 1) -> "ScenarioError":
        """The error of one problem."""
        return cls([Problem(source=str(source), line=line, column=column, message=message)])


@contextmanager
def noted(problems: list[Problem]) -> Iterator[None]:
    """Collect the problems in the block, which a ScenarioError ends."""
    try:
        yield
    except ScenarioError as error:
        problems += error.problems


def in_one_line(messages: Sequence[str]) -> str:
    """The first messages, and the number of the others."""
    more = len(messages) - MAX_IN_ONE_LINE
    shown = "; ".join(messages[:MAX_IN_ONE_LINE])
    return f"{shown}; and {more} more" if more > 0 else shown


class Notes:
    """The problems of one file so far."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._problems: list[Problem] = []

    @property
    def are_many(self) -> bool:
        """Whether there are too many problems for further hints."""
        return len(self._problems) >= MAX_WITH_HINTS

    def add(self, line: int, column: int, message: str, path: str = "") -> None:
        """Add a problem; its message becomes one line, whatever the file has."""
        message = escape_controls(message)
        if len(message) > _MAX_MESSAGE_CHARACTERS:
            message = f"{message[: _MAX_MESSAGE_CHARACTERS - 1]}…"
        self._problems.append(
            Problem(source=self._source, line=line, column=column, message=message, path=path)
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """In the order of the file."""
        return tuple(sorted(self._problems, key=lambda problem: (problem.line, problem.column)))


# Words of other services, and of the language.
_SYNONYMS = {
    "completed": "succeeded success successful paid approved captured settled done",
    "failed": "declined rejected error failure timeout timed_out",
    "insufficient_balance": "insufficient_funds no_funds not_enough_money low_balance",
    "user_cancelled": "cancelled canceled cancel aborted",
    "timeout": "timed_out time_out no_answer expired",
    "bank_declined": "declined rejected",
    "provider_error": "error internal_error",
    "decline": "reject refuse",
    "create_payment": "post create",
    "retrieve_payment": "get retrieve fetch read",
    "list_payments": "list",
    "true": "yes on",
    "false": "no off",
    "test": "sandbox",
    "live": "production prod",
}


def hint_nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message with the nearest known word, or nothing."""
    words = list(known)
    prefix, dot, last = word.lower().rpartition(".")
    last = last.replace(" ", "_").replace("-", "_")
    advice = status_advice(last) if f"{prefix}{dot}{Status.FAILED}" in words else ""
    if advice:
        return f"; {advice[0].lower()}{advice[1:-1]}"
    meant = (f"{prefix}{dot}{each}" for each in _SYNONYMS if last in _SYNONYMS[each].split())
    nearest = next(filter(words.__contains__, meant), None) or nearest_word(word.lower(), words)
    return "" if nearest is None else f"; did you mean '{nearest}'?"


class FileContext(Notes):
    """The problems of one file, and the state of its script up to the step that is being read.

    Its webhook faults must be possible in each of `forms`. `names` are the payments that steps can
    use; a later payment of a name replaces the earlier one.
    """

    def __init__(self, source: str, forms: Collection[WebhookForm] = ()) -> None:
        super().__init__(source)
        self.forms = forms
        self.names: set[str] = set()

    def add_names_of(self, node: Node) -> None:
        """Add the names that a step would have given if it could be read."""
        for key, value in node.pairs if isinstance(node, MapNode) else ():
            if isinstance(key, ScalarNode) and key.text == "as" and isinstance(value, ScalarNode):
                self.names.add(value.text)


class Entry(NamedTuple):
    """A node, the name that messages call it by, the file that it is in, and its path there."""

    node: Node
    label: str
    context: FileContext
    path: str = ""

    def note(self, message: str) -> None:
        self.context.add(self.node.line, self.node.column, message, self.path)

    def refuse(self, expected: str, hint: str = "") -> None:
        """Note that this should have been something else."""
        hint = _spelling_hint(self.node) or hint
        self.note(f"{self.label} must be {expected}, not {_described(self.node)}{hint}")

    def child(self, key: str) -> "Entry":
        """The value of a key of this mapping; the mapping itself where it has no such key."""
        for key_node, value in self.node.pairs if isinstance(self.node, MapNode) else ():
            if isinstance(key_node, ScalarNode) and key_node.text == key:
                return Entry(value, key, self.context, f"{self.path}.{key}".lstrip("."))
        return self


Pairs = dict[str, tuple[Entry, Entry]]
"""The entries of each key and its value."""


def read_pairs(entry: Entry) -> Pairs | None:
    """A mapping of any keys, each given once."""
    if not isinstance(entry.node, MapNode):
        items = entry.node.items if isinstance(entry.node, ListNode) else ()
        has_keys = any(isinstance(item, MapNode) for item in items)
        entry.refuse("a mapping", "; write its keys without '- '" if has_keys else "")
        return None
    pairs: Pairs = {}
    key_label = f"a key of {entry.label}"
    for key_node, value_node in entry.node.pairs:
        key_entry = Entry(key_node, key_label, entry.context, entry.path)
        if isinstance(key_node, ScalarNode) and key_node.kind is ScalarKind.MERGE:
            key_entry.note("merge keys (<<) are not supported; write the keys out")
            continue
        key = read_text(key_entry)
        if key is None:
            continue
        if key in pairs:
            first = pairs[key][0].node
            # The first key on another line means a forgotten dash.
            is_new = first.column > 1 and first.line < key_node.line and key == next(iter(pairs))
            message = f"{key!r} must be given once in {entry.label} (first in line {first.line})"
            key_entry.note(message + ("; begin a new entry with '- '" if is_new else ""))
            continue
        label = _label(key)
        value = Entry(value_node, label, entry.context, f"{entry.path}.{label}".lstrip("."))
        pairs[key] = (key_entry, value)
    return pairs


def _label(key: str) -> str:
    """A key as messages call its value by: metadata may have keys that would spoil a message."""
    if key.isprintable() and 0 < len(key) <= _MAX_LABEL_CHARACTERS:
        return key
    return repr(f"{key[:_MAX_LABEL_CHARACTERS]}…" if len(key) > _MAX_LABEL_CHARACTERS else key)


def with_others_in(entry: Entry, key: str, known: Collection[str]) -> Entry:
    """The mapping, whose unknown members that are mappings are moved into its member `key`.

    A name that resembles a known one stays, so that it is noted as a mistake.
    """
    node = entry.node
    if not isinstance(node, MapNode):
        return entry
    others: list[tuple[Node, Node]] = []
    rest: list[tuple[Node, Node]] = []
    for name, value in node.pairs:
        text = name.text if isinstance(name, ScalarNode) else ""
        if text == key and isinstance(value, MapNode):
            others += value.pairs
        elif isinstance(value, MapNode) and text not in known and not hint_nearest(text, known):
            others.append((name, value))
        else:
            rest.append((name, value))
    if not others:
        return entry
    line, column, *_ = others[0][0]
    holder = ScalarNode(line, column, key, ScalarKind.TEXT), MapNode(line, column, tuple(others))
    return entry._replace(node=node._replace(pairs=(*rest, holder)))


def note_unknown_key(entry: Entry, key_entry: Entry, key: str, keys: Collection[str]) -> None:
    """Note a key that is none of `keys`, with the nearest, or all of them."""
    hint = ""
    if not entry.context.are_many:
        word = re.split("[ =]", key)[0]
        hint = f"; a colon must follow '{word}'" if word != key and word in keys else ""
        hint = hint or _spelling_hint(key_entry.node) or hint_nearest(key, keys)
        hint = hint or f"; it can have {listed(keys, 'and')}"
    key_entry.note(f"{entry.label} has no key {key!r}{hint}")


def read_items(entry: Entry, expected: str, item_label: str) -> list[Entry] | None:
    if not isinstance(entry.node, ListNode):
        is_map = isinstance(entry.node, MapNode)
        entry.refuse(expected, "; begin each entry with '- '" if is_map else "")
        return None
    return [
        Entry(node, item_label, entry.context, f"{entry.path}[{index}]")
        for index, node in enumerate(entry.node.items)
    ]


def read_text(entry: Entry, expected: str = "text") -> str | None:
    node = entry.node
    if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT:
        return node.text
    if not isinstance(node, ScalarNode) or node.kind is ScalarKind.NULL:
        entry.refuse(expected)
        return None
    kind = "octal number" if re.fullmatch("0[0-7_]+", node.text) else node.kind.name.lower()
    text = node.text[:_MAX_LABEL_CHARACTERS]
    entry.note(f'{entry.label} must be text, not the {kind} {text}; put it in quotes: "{text}"')
    return None


def _spelling_hint(node: Node) -> str:
    """What is wrong with the characters of a text, or nothing."""
    text = node.text if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT else ""
    glued = re.fullmatch(r"([a-z_]+):([^\s:/].{0,60})", text)
    if glued is not None:
        return f"; a blank must follow the colon: '{glued[1]}: {glued[2]}'"
    if re.search("[“”„‘’\u00a0\u202f\u3000]", text):
        return "; use straight quotes and usual blanks"
    return f"; remove the '{text[-1]}' at its end" if text[-1:] in {",", ";"} else ""


def text_of(entry: Entry) -> str | None:
    """The text, if it is one."""
    node = entry.node
    return node.text if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT else None


def is_empty(entry: Entry) -> bool:
    """Whether it is null, or a key with nothing behind it."""
    return isinstance(entry.node, ScalarNode) and entry.node.kind is ScalarKind.NULL


def boolean(node: Node) -> bool | None:
    """YAML 1.1 accepts `yes` and `on` too, where YAML 1.2, and so an editor, sees text."""
    if not isinstance(node, ScalarNode) or node.kind is not ScalarKind.BOOLEAN:
        return None
    return _BOOLEANS.get(node.text.lower())


def whole_number(node: Node) -> int | None:
    """The number, if it is written in decimal digits alone: other notations surprise readers."""
    if not isinstance(node, ScalarNode) or node.kind is not ScalarKind.INTEGER:
        return None
    return int(node.text) if re.fullmatch(_WHOLE_NUMBER, node.text) else None


def decimal_number(node: Node) -> float | None:
    """The number, if it is written with a decimal point or, as some JSON is, an exponent."""
    if not isinstance(node, ScalarNode) or node.kind is not ScalarKind.FLOAT:
        return None
    number = float(node.text) if re.fullmatch(_DECIMAL_NUMBER, node.text) else math.inf
    return number if math.isfinite(number) else None


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
        case ScalarNode(kind=ScalarKind.NULL):
            return "empty"
        case ScalarNode(kind=ScalarKind.TEXT):
            return repr(node.text)
        case ScalarNode():
            return node.text
