"""Values that a script sends or expects as they are: all that JSON can say, right or wrong."""

import re

from emulator.scenarios.entries import Entry, boolean, decimal_number, read_pairs
from emulator.scenarios.nodes import Kind, ListNode, MapNode, ScalarNode
from emulator.scenarios.steps import Json
from emulator.scenarios.vocabulary import MAX_DIGITS

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
# What else than text may have been meant.
_HINTS = {
    Kind.INTEGER: ", or write it in decimal digits",
    Kind.FLOAT: ", or write it in decimal digits",
    Kind.BOOLEAN: ", or write true or false",
}


def read_json(entry: Entry) -> Json:
    """The value as JSON has it; None, too, after noting why it is none."""
    node = entry.node
    if isinstance(node, MapNode):
        return {key: read_json(value) for key, (_, value) in (read_pairs(entry) or {}).items()}
    if isinstance(node, ListNode):
        label = f"an entry of {entry.label}"
        return [read_json(Entry(node=item, label=label, notes=entry.notes)) for item in node.items]
    if node.kind is Kind.TEXT:
        return node.text
    return None if node.kind is Kind.NULL else _read_plain(entry, node)


def _read_plain(entry: Entry, node: ScalarNode) -> bool | int | float | None:
    """A scalar without quotes; YAML has many a notation that JSON, or YAML 1.2, reads otherwise."""
    is_number = node.kind in (Kind.INTEGER, Kind.FLOAT)
    if is_number and len(node.text) > MAX_DIGITS:
        entry.note(f"{entry.label} must not have more than {MAX_DIGITS} digits")
        return None
    if node.kind is Kind.INTEGER and _INTEGER.fullmatch(node.text):
        return int(node.text)
    value = boolean(node) if node.kind is Kind.BOOLEAN else decimal_number(node)
    if value is None:
        expected = "text, a number, true, false, null, a list or a mapping"
        entry.refuse(expected, f'; put it in quotes: "…"{_HINTS.get(node.kind, "")}')
    return value
