"""Reads options from the YAML file of `--config`.

It reads the nodes of the YAML, because they have positions and duplicate keys, and leave `0200`
unchanged instead of converting it to 128.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

import yaml
from yaml.composer import Composer

from emulator.domain.nearest_word import nearest_word
from emulator.files import MAX_FILE_BYTES, MAX_NESTING, MAX_NODES, open_regular
from emulator.settings.option_types import Form
from emulator.settings.options import (
    MAX_SHOWN_CHARACTERS,
    OPTIONS,
    Option,
    OptionValue,
    SettingsError,
    option_named,
    show,
    wrong,
)

_STANDARD = "tag:yaml.org,2002:"
_NULL = f"{_STANDARD}null"
_TEXT = f"{_STANDARD}str"
_MAPPING = f"{_STANDARD}map"
_LIST = f"{_STANDARD}seq"
# In YAML an unquoted 2026-01-01 is a timestamp and 10.1 a number; both are accepted as texts.
_TEXTS = {_TEXT, f"{_STANDARD}timestamp", f"{_STANDARD}float"}

_TAGS = {
    Form.TEXT: _TEXTS,
    Form.INTEGER: {f"{_STANDARD}int"},
    Form.SWITCH: {f"{_STANDARD}bool"},
    Form.NAMES: {_LIST},
    Form.PATHS: {_LIST},
}
_FOUND = {_MAPPING: "a mapping", _LIST: "a list", _NULL: "nothing"}
_FILE_OPTIONS = tuple(option for option in OPTIONS if option.is_file_key)
# The parser in C is ten times as fast; not every platform's wheel includes it.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_config_file(
    path: str, *, named_by: str, overridden: Collection[str]
) -> Mapping[str, OptionValue]:
    """The values of a file by the name of the option; a key without a value is ignored.

    `named_by` is the source of the path. The values of the options in `overridden` may be wrong.
    Raises SettingsError with every mistake of the file.
    """
    root = _compose(_read_text(path, named_by), path)
    if root is None:
        return {}
    place = _place(path, root)
    if root.tag != _MAPPING:
        raise wrong(place, _found(root), "a mapping from options to values")
    lines: dict[str, int] = {}
    given: dict[str, OptionValue] = {}
    problems: list[str] = []
    for key, value in root.value:
        try:
            option = _option(key, _place(path, key))
            if option.name in lines:
                repeated = f"{option.name} is given twice, first on line {lines[option.name]}"
                raise SettingsError(f"{_place(path, key)}: {repeated}")
            lines[option.name] = key.start_mark.line + 1
            if value.tag != _NULL:
                where = f"{_place(path, value)}: {option.name}"
                texts = _texts(value, option, where, problems)
                given[option.name] = OptionValue(option=option, where=where, texts=texts)
                if option.name not in overridden:
                    given[option.name].read()
        except SettingsError as error:
            problems += error.lines
    if problems:
        raise SettingsError(*problems)
    return given


def _read_text(path: str, named_by: str) -> str:
    try:
        with open_regular(Path(path)) as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SettingsError(f"{named_by}: cannot read {path!r}: {reason}") from None
    if len(content) > MAX_FILE_BYTES:
        raise SettingsError(f"{path}: larger than {MAX_FILE_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8-sig")
        byte = f"the byte 0x{error.object[error.start]:02x}"
        raise wrong(_place_after(path, before), byte, "UTF-8") from None


def _compose(text: str, path: str) -> yaml.Node | None:
    unprintable = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if unprintable is not None:
        place = _place_after(path, text[: unprintable.start()])
        raise SettingsError(f"{place}: not YAML: special characters are not allowed")
    try:
        root = compose(text)
    except yaml.MarkedYAMLError as error:
        mark, message = error.problem_mark, error.problem
        row, column = (0, 0) if mark is None else (mark.line, mark.column)
        if not isinstance(error, LimitExceeded):
            from emulator.yaml_errors import explain

            row, column, message = explain(text, error)
        raise SettingsError(f"{path}:{row + 1}:{column + 1}: {message}") from None
    # ValueError: the parser in Python raises that of `int` and `chr` for invalid escapes.
    except (yaml.YAMLError, ValueError):
        raise SettingsError(f"{path}: not YAML") from None
    return root


def _option(key: yaml.Node, place: str) -> Option:
    if not isinstance(key.value, str):
        raise wrong(place, _found(key), "the name of an option")
    option = option_named(key.value, _FILE_OPTIONS)
    if option is None:
        unknown = key.value[:MAX_SHOWN_CHARACTERS]
        names = [option.name for option in _FILE_OPTIONS]
        nearest = nearest_word(unknown.lower().replace("_", "-"), names, similarity=0)
        raise SettingsError(f"{place}: unknown option {unknown!r}, the nearest is {nearest!r}")
    return option


def _texts(node: yaml.Node, option: Option, where: str, problems: list[str]) -> tuple[str, ...]:
    """The texts of a value; wrong entries of a list are noted as problems."""
    if node.tag not in _TAGS[option.type.form]:
        several = "a list, each entry " if option.is_repeatable else ""
        raise wrong(where, _found(node, option), several + option.type.expected)
    if not option.is_repeatable:
        return (node.value,)
    others = [entry for entry in node.value if entry.tag not in _TEXTS]
    for other in others:
        found = f"{_found(other, option)} in the list"
        problems += wrong(where, found, option.type.expected).lines
    return tuple(entry.value for entry in node.value if entry not in others)


def _found(node: yaml.Node, option: Option | None = None) -> str:
    if node.tag in _FOUND:
        return _FOUND[node.tag]
    if not node.tag.startswith(_STANDARD) or not isinstance(node.value, str):
        return f"a value with the tag {node.tag}"
    shown = repr(node.value[:MAX_SHOWN_CHARACTERS]) if option is None else show(node.value, option)
    return f"the text {shown}" if node.tag == _TEXT else shown.strip("'")


def _place(path: str, node: yaml.Node) -> str:
    return f"{path}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _place_after(path: str, before: str) -> str:
    lines = before.split("\n")
    return f"{path}:{len(lines)}:{len(lines[-1]) + 1}"


class _Limited(Composer, _LOADER):  # type: ignore[misc, valid-type]
    """A composer in Python over the events of the fast parser; it stops at the first limit."""

    def __init__(self, text: str) -> None:
        _LOADER.__init__(self, text)
        Composer.__init__(self)
        self._depth = 0
        self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._stop(f"the file must not have more than {MAX_NODES:,} nodes")
        if not self.check_event(yaml.SequenceStartEvent, yaml.MappingStartEvent):
            return super().compose_node(parent, index)
        if self._depth == MAX_NESTING:
            self._stop(f"nesting must not go deeper than {MAX_NESTING} levels")
        self._depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def _stop(self, problem: str) -> None:
        raise LimitExceeded(problem=problem, problem_mark=self.peek_event().start_mark)


class LimitExceeded(yaml.MarkedYAMLError):
    """The document is YAML so far, but too large."""


def compose(text: str) -> yaml.Node | None:
    """The root node; None for an empty text. Raises yaml.YAMLError, ValueError."""
    loader = _Limited(text)
    try:
        node: yaml.Node | None = loader.get_single_node()
        return node
    finally:
        loader.dispose()
