"""Writes a document as YAML that people can read; the same document is always the same text.

A short value is in flow style. A longer one has a line for each member or item.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

Json = Any

MAX_FLOW_LENGTH = 100
MAX_LINE_LENGTH = 2**30
# Other texts are in quotes; some parsers read `y` and `n` as Booleans.
_PLAIN = re.compile(r"(?![ynYN]$)[^\W\d_][\w./-]*(?: [\w./-]+)*|[0-9]+(?:ms|[smhd])")
# The writer in C is four times as fast; not every platform's wheel has it.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_TAG = "tag:yaml.org,2002:"
_TAGS = {type(None): "null", bool: "bool", int: "int", float: "float"}


def yaml_text(document: Mapping[str, Json]) -> str:
    """The document, with a blank line before each list."""
    # One invisible character is a reason to escape all characters that are not ASCII.
    is_printable = json.dumps(document, ensure_ascii=False).isprintable()
    parts = []
    for key, value in document.items():
        node = _node({key: value})
        for each in (node, *_items(node)):
            each.flow_style = False
        text = _serialized(node, is_printable=is_printable)
        parts.append(f"\n{text}" if isinstance(value, list) and value else text)
    return "".join(parts)


def line_of_yaml(key: str, value: Json) -> str:
    """A member of a document, in one line."""
    node = _node({key: value})
    [(_, content)] = node.value
    node.flow_style, content.flow_style = False, True
    return _serialized(node, is_printable=True).rstrip()


def _serialized(node: yaml.Node, *, is_printable: bool) -> str:
    text: str = yaml.serialize(
        node, Dumper=_DUMPER, width=MAX_LINE_LENGTH, allow_unicode=is_printable
    )
    return text


def _node(value: Json) -> Any:
    if isinstance(value, dict):
        members = [(_node(key), _node(inner)) for key, inner in value.items()]
        return yaml.MappingNode(f"{_TAG}map", members, flow_style=_is_short(value))
    if isinstance(value, list):
        items = [_node(item) for item in value]
        return yaml.SequenceNode(f"{_TAG}seq", items, flow_style=_is_short(value))
    if isinstance(value, str):
        style = None if _PLAIN.fullmatch(value) else '"'
        return yaml.ScalarNode(f"{_TAG}str", value, style=style)
    return yaml.ScalarNode(_TAG + _TAGS[type(value)], json.dumps(value))


def _is_short(value: Json) -> bool:
    return len(json.dumps(value, ensure_ascii=False)) <= MAX_FLOW_LENGTH


def _items(node: yaml.MappingNode) -> list[yaml.Node]:
    """The list that is the only member of a mapping, and the items of the list."""
    [(_, value)] = node.value
    return [value, *value.value] if isinstance(value, yaml.SequenceNode) else []
