"""Reads options from the YAML file of `--config`.

It reads the nodes of the YAML, because they have positions and duplicate keys, and leave `0200`
unchanged instead of converting it to 128.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeGuard

from emulator.domain.message_text import nearest_word
from emulator.domain.user_error import UserError
from emulator.files import ListNode, MapNode, Node, ScalarKind, ScalarNode
from emulator.files.yaml_tree import read_file_text, read_tree
from emulator.settings.option_types import Form
from emulator.settings.options import (
    MAX_SHOWN_CHARACTERS,
    OPTIONS,
    Option,
    OptionValue,
    option_named,
    show,
    wrong,
)

# In YAML an unquoted 2026-01-01 is a timestamp and 10.1 a number; both are accepted as texts.
_TEXTS = {ScalarKind.TEXT, ScalarKind.TIMESTAMP, ScalarKind.FLOAT}
_KINDS = {
    Form.TEXT: _TEXTS,
    Form.INTEGER: {ScalarKind.INTEGER},
    # In YAML an unquoted `off` is a Boolean, too.
    Form.TEXT_OR_INTEGER: _TEXTS | {ScalarKind.INTEGER, ScalarKind.BOOLEAN},
    Form.SWITCH: {ScalarKind.BOOLEAN},
    Form.NAMES: _TEXTS,
    Form.PATHS: _TEXTS,
}
_FILE_OPTIONS = tuple(option for option in OPTIONS if option.is_file_key)


def read_config_file(
    path: str, *, named_by: str, overridden: Collection[str]
) -> Mapping[str, OptionValue]:
    """The values of a file by the name of the option; a key without a value is ignored.

    `named_by` is the source of the path. The values of the options in `overridden` may be wrong.
    Raises UserError with every mistake of the file.
    """
    problems: list[str] = []

    def note(line: int, column: int, message: str) -> None:
        problems.append(f"{_shown(path)}:{line}:{column}: {message}")

    try:
        text = read_file_text(Path(path), note)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UserError(f"{named_by}: cannot read {path!r}: {reason}") from None
    root = None if text is None else read_tree(text, note, holds=None)
    if root is not None and not isinstance(root, MapNode):
        raise wrong(_place(path, root), _found(root), "a mapping from options to values")
    lines: dict[str, int] = {}
    given: dict[str, OptionValue] = {}
    for key, value in () if root is None or problems else root.pairs:
        try:
            option = _option(key, _place(path, key))
            if option.name in lines:
                repeated = f"{option.name} is given twice, first on line {lines[option.name]}"
                raise UserError(f"{_place(path, key)}: {repeated}")
            lines[option.name] = key.line
            if not (isinstance(value, ScalarNode) and value.kind is ScalarKind.NULL):
                where = f"{_place(path, value)}: {option.name}"
                texts = _texts(value, option, where, problems)
                given[option.name] = OptionValue(option=option, where=where, texts=texts)
                if option.name not in overridden:
                    given[option.name].read()
        except UserError as error:
            problems += error.lines
    if problems:
        raise UserError(*problems)
    return given


def _option(key: Node, place: str) -> Option:
    if not isinstance(key, ScalarNode):
        raise wrong(place, _found(key), "the name of an option")
    option = option_named(key.text, _FILE_OPTIONS)
    if option is None:
        unknown = key.text[:MAX_SHOWN_CHARACTERS]
        names = [option.name for option in _FILE_OPTIONS]
        nearest = nearest_word(unknown.lower().replace("_", "-"), names, similarity=0)
        raise UserError(f"{place}: unknown option {unknown!r}, the nearest is {nearest!r}")
    return option


def _texts(node: Node, option: Option, where: str, problems: list[str]) -> tuple[str, ...]:
    """The texts of a value; wrong entries of a list are noted as problems."""
    expected = option.type.expected
    if not option.is_repeatable:
        if not _is_of_form(node, option):
            raise wrong(where, _found(node, option), expected)
        return (node.text,)
    if not isinstance(node, ListNode):
        raise wrong(where, _found(node, option), f"a list, each entry {expected}")
    for other in node.items:
        if not _is_of_form(other, option):
            problems += wrong(where, f"{_found(other, option)} in the list", expected).lines
    return tuple(entry.text for entry in node.items if _is_of_form(entry, option))


def _is_of_form(node: Node, option: Option) -> TypeGuard[ScalarNode]:
    return isinstance(node, ScalarNode) and node.kind in _KINDS[option.type.form]


def _found(node: Node, option: Option | None = None) -> str:
    if not isinstance(node, ScalarNode):
        return "a mapping" if isinstance(node, MapNode) else "a list"
    if node.kind is ScalarKind.NULL:
        return "nothing"
    shown = repr(node.text[:MAX_SHOWN_CHARACTERS]) if option is None else show(node.text, option)
    return f"the text {shown}" if node.kind is ScalarKind.TEXT else shown.strip("'")


def _place(path: str, node: Node) -> str:
    return f"{_shown(path)}:{node.line}:{node.column}"


def _shown(path: str) -> str:
    """A path that may have a line break, because each message is one line."""
    return " ".join(path.splitlines())
