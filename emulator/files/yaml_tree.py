"""Parses YAML to nodes; constructs no objects.

The tree is built from the parser's events rather than by `yaml.compose`, so that nesting and
aliases meet a limit before they cost anything, and nothing here recurses.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path

import yaml
from msgspec import Struct, field
from yaml.reader import Reader
from yaml.resolver import Resolver

from emulator.files import (
    MAX_FILE_BYTES,
    MAX_NESTING,
    MAX_NODES,
    ListNode,
    MapNode,
    Node,
    ScalarKind,
    ScalarNode,
    open_regular,
)
from emulator.files.yaml_errors import explain

Loader = type[yaml.SafeLoader] | type[yaml.CSafeLoader]
# The parser in C is ten times as fast; not every platform's wheel has it.
LOADER: Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Note = Callable[[int, int, str], None]
"""Takes the line, the column and the message of a problem; both count from 1."""

_RESOLVER = Resolver()
_EXPONENT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?[eE][-+]?[0-9]+", re.ASCII)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# The parser in C may count levels before it returns their events, and the one in Python never does.
_OWN_DEPTH = "maximum nesting depth"
_KINDS = {kind.value: kind for kind in ScalarKind}


def read_tree(
    text: str, note: Note, *, holds: str | None = "a scenario", loader: Loader = LOADER
) -> Node | None:
    """The document of a text, or None after noting why there is none.

    Without `holds`, a text may be empty. After smaller problems, such as a tag or a second
    document, reading goes on.
    """
    text = text.removeprefix("\ufeff")
    # Characters first: counting the bytes of more of them than bytes are allowed is wasted.
    if max(len(text), len(text.encode("utf-8", "replace"))) > MAX_FILE_BYTES:
        note(1, 1, f"the file must not be larger than {MAX_FILE_BYTES // 1024} KiB")
        return None
    # The parsers check this too, with different messages.
    unprintable = Reader.NON_PRINTABLE.search(text)
    if unprintable is not None:
        before = f"{text[: unprintable.start()]}.".splitlines()
        message = f"the character {unprintable[0]!a} is not allowed in a file"
        note(len(before), len(before[-1]), message)
        return None
    builder = _Builder(text, note)
    event: yaml.Event | None = None
    try:
        for event in _events(text, loader):
            line, column = _start(event)
            if isinstance(event, yaml.DocumentStartEvent) and builder.root is not None:
                message = "there must be one document in a file, not several"
                note(line, column, f"{message}; move this one to a file of its own")
                break
            builder.take(event, line, column)
    except yaml.MarkedYAMLError as error:
        row, column, message = explain(text, error, event, builder.opened)
        note(row + 1, column + 1, message)
        return None
    except _Stop as stop:
        note(*stop.args)
        return None
    if builder.root is None and holds:
        note(1, 1, f"the file must contain {holds}, but it is empty")
    return builder.root


def read_file_text(file: Path, note: Note) -> str | None:
    """The text of a file, or None after noting where it is not UTF-8.

    Raises OSError, and ValueError for a path with a null character.
    """
    with open_regular(file) as opened:
        # One byte more than the limit shows that the file is too large.
        content = opened.read(MAX_FILE_BYTES + 1)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(content) > MAX_FILE_BYTES:
            return content.decode("utf-8", "replace")  # cut within a character
        before, wrong = content[: error.start].decode(), content[error.start]
    if content[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        note(1, 1, "the file is UTF-16; save it as UTF-8")
    else:
        message = f"the byte 0x{wrong:02x} here is not UTF-8; save the file as UTF-8"
        note(before.count("\n") + 1, len(before) - before.rfind("\n"), message)
    return None


class _Stop(Exception):
    """The line, the column and the message of a problem after which reading does not go on."""


class _Open(Struct, kw_only=True):
    """A collection before its end."""

    line: int
    column: int
    is_map: bool
    anchor: str | None
    children: list[Node] = field(default_factory=list)
    size: int = 1
    height: int = 1


class _Builder:
    """Builds nodes from events; `size` counts the nodes of an alias each time."""

    def __init__(self, text: str, note: Note) -> None:
        self._text = text
        self._has_escapes = "\\" in text
        self._note = note
        self._open: list[_Open] = []
        # The node of each, its size and its height.
        self._anchors: dict[str, tuple[Node, int, int]] = {}
        # The same keys and words are in every rule.
        self._plain_kinds: dict[str, ScalarKind] = {}
        self._size = 0
        self.root: Node | None = None

    @property
    def opened(self) -> tuple[int, int]:
        """The row and the column of the innermost open collection, which count from 0."""
        return (self._open[-1].line - 1, self._open[-1].column - 1) if self._open else (0, 0)

    def take(self, event: yaml.Event, line: int, column: int) -> None:
        tag = getattr(event, "tag", None)
        if isinstance(event, yaml.ScalarEvent) and event.anchor and not event.value:
            self._note(line, column, f"an anchor must have a value{_quote('&')}")
        if tag:
            self._note(line, column, f"tags are not supported: {tag!r}{_quote('!')}")
        if isinstance(event, yaml.ScalarEvent):
            self._size += 1
            self._add(self._scalar(event, line, column), anchor=event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._repeat(event.anchor or "", line, column)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event, line, column)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end()

    def _scalar(self, event: yaml.ScalarEvent, line: int, column: int) -> ScalarNode:
        # Only the parser in Python accepts this escape, and no file or database would store it.
        if self._has_escapes and _SURROGATE.search(event.value):
            raise _Stop(line, column, "half a surrogate pair is not a character")
        # A style means quotes or a block; the others have been noted, also when they are empty.
        is_text = event.style or event.tag or (event.anchor and not event.value)
        kind = ScalarKind.TEXT if is_text else self._plain_kind(event.value)
        return ScalarNode(line=line, column=column, text=event.value, kind=kind)

    def _plain_kind(self, text: str) -> ScalarKind:
        kind = self._plain_kinds.get(text)
        if kind is None:
            plain = (True, False)
            kind = _KINDS[_RESOLVER.resolve(yaml.ScalarNode, text, plain)]  # type: ignore[no-untyped-call]
            if kind is ScalarKind.TEXT and _EXPONENT.fullmatch(text) and self._is_json:
                kind = ScalarKind.FLOAT
            self._plain_kinds[text] = kind
        return kind

    @cached_property
    def _is_json(self) -> bool:
        """Whether the text is JSON, where 1e5 is a number; to YAML 1.1 it is text."""
        try:
            json.loads(self._text, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            return False
        return True

    def _begin(self, event: yaml.CollectionStartEvent, line: int, column: int) -> None:
        self._check_depth(1, line, column)
        self._size += 1
        is_map = isinstance(event, yaml.MappingStartEvent)
        self._open.append(_Open(line=line, column=column, is_map=is_map, anchor=event.anchor))

    def _end(self) -> None:
        done = self._open.pop()
        node: Node
        if done.is_map:
            pairs = tuple(pairwise(done.children))[::2]
            node = MapNode(line=done.line, column=done.column, pairs=pairs)
        else:
            node = ListNode(line=done.line, column=done.column, items=tuple(done.children))
        self._add(node, anchor=done.anchor, size=done.size, height=done.height)

    def _repeat(self, anchor: str, line: int, column: int) -> None:
        anchored = self._anchors.get(anchor)
        if anchored is None:
            message = f"the alias '*{anchor}' has no anchor before it{_quote('*')}"
            raise _Stop(line, column, message)
        node, size, height = anchored
        self._check_depth(height, line, column)
        self._size += size
        self._add(node, anchor=None, size=size, height=height)

    def _add(self, node: Node, *, anchor: str | None, size: int = 1, height: int = 0) -> None:
        if anchor is not None:
            self._anchors[anchor] = (node, size, height)
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        parent.children.append(node)
        parent.size += size
        parent.height = max(parent.height, height + 1)
        if self._size > MAX_NODES:
            message = f"the file must not have more than {MAX_NODES:,} nodes"
            raise _Stop(node.line, node.column, message)

    def _check_depth(self, height: int, line: int, column: int) -> None:
        if len(self._open) + height > MAX_NESTING:
            raise _Stop(line, column, f"nesting must not go deeper than {MAX_NESTING} levels")


def _quote(sign: str) -> str:
    return f"; a text that begins with {sign} must be in quotes"


def _events(text: str, loader: Loader) -> Iterator[yaml.Event]:
    """The parser's events. Raises yaml.MarkedYAMLError, and _Stop for an error without position."""
    count = 0
    try:
        for count, event in enumerate(yaml.parse(text, Loader=loader), 1):  # noqa: B007
            yield event
    except yaml.MarkedYAMLError as error:
        if loader is not yaml.SafeLoader and _OWN_DEPTH in str(error.problem):
            yield from islice(_events(text, yaml.SafeLoader), count, None)
            return
        raise
    # ValueError: the parser in Python passes on what `int` and `chr` say of absurd escapes.
    except (yaml.YAMLError, ValueError) as error:
        raise _Stop(1, 1, "the file must be YAML, and cannot be read as such") from error


def _start(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
