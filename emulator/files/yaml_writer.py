"""Writes a document as YAML that people can read and every parser reads the same.

A value that fits into a line is written in flow style. A longer one has a line for each member or
item.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

Json = Any

WIDEST_LINE = 100
# The longest key that a parser accepts without a `?` before it.
MAX_SIMPLE_KEY_LENGTH = 128

_WORDS = re.compile(r"[^\W\d_][\w./-]*(?: [\w./-]+)*")
_DURATION = re.compile(r"[0-9]+(?:ms|s|m|h|d)", re.ASCII)
# The words that YAML 1.1 reads as another type, although the patterns above match them.
_NOT_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}


def yaml_text(document: Mapping[str, Json]) -> str:
    """The document, with a blank line before each list."""
    lines: list[str] = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            lines += ["", f"{_scalar(key)}:"]
            for item in value:
                lines += _item(item, 2)
        else:
            lines += _member(key, value, 0)
    return "\n".join(lines) + "\n"


def _item(item: Json, indent: int) -> Iterator[str]:
    """An item of a list in block style; the first member of a mapping follows its dash."""
    dash = f"{' ' * indent}- "
    if not isinstance(item, dict) or not item:
        yield dash + _flow(item)
        return
    for key, value in item.items():
        for line in _member(key, value, indent + 2):
            yield dash + line[indent + 2 :]
            dash = " " * (indent + 2)


def _member(key: str, value: Json, indent: int) -> Iterator[str]:
    """A member of a mapping in block style, its value in flow style if that fits."""
    margin, key_text = " " * indent, _scalar(key)
    if len(key_text) > MAX_SIMPLE_KEY_LENGTH:
        yield f"{margin}? {key_text}"
        head = f"{margin}:"
    else:
        head = f"{margin}{key_text}:"
    line = f"{head} {_flow(value)}"
    if len(line) <= WIDEST_LINE or not isinstance(value, dict | list) or not value:
        yield line
    elif isinstance(value, dict):
        yield head
        for name, inner in value.items():
            yield from _member(name, inner, indent + 2)
    elif any(isinstance(item, dict) for item in value):
        yield head
        for item in value:
            yield from _one_line_item(item, indent + 2)
    else:
        yield from _wrapped(head, [_flow(item) for item in value], indent + 2)


def _one_line_item(item: Json, indent: int) -> Iterator[str]:
    line = f"{' ' * indent}- {_flow(item)}"
    if len(line) <= WIDEST_LINE:
        yield line
    else:
        yield from _item(item, indent)


def _wrapped(head: str, items: list[str], indent: int) -> Iterator[str]:
    """A list in flow style, over several lines."""
    line, is_first = f"{head} [", True
    for position, item in enumerate(items, start=1):
        piece = item + ("]" if position == len(items) else ",")
        if not is_first and len(line) + len(piece) + 1 > WIDEST_LINE:
            yield line
            line, is_first = " " * indent, True
        line += piece if is_first else f" {piece}"
        is_first = False
    yield line


def _flow(value: Json) -> str:
    if isinstance(value, dict):
        members = (f"{_scalar(key)}: {_flow(inner)}" for key, inner in value.items())
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return _scalar(value)


def _scalar(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    if _DURATION.fullmatch(value) or (_WORDS.fullmatch(value) and value.lower() not in _NOT_TEXT):
        return str(value)
    return f'"{"".join(map(_escaped, value))}"'


def _escaped(character: str) -> str:
    """Escapes a character that would end the text, break the line or be invisible."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    point = ord(character)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
