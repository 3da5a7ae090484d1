"""Scenario files with one mistake each, derived from valid files."""

from collections.abc import Iterator
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
VALID = (
    *sorted(REPOSITORY.glob("scenarios/*.yaml")),
    *sorted(REPOSITORY.glob("tests/cases/*.yaml")),
)
REPLACEMENTS = (
    *("null", "true", "0", "-1", "1.5", "99999999999999999999", '""', "unknown", "[]", "[1]", "{}"),
    "{unknown: 1}",
)


def write_files(directory: Path) -> None:
    """Write the valid files, and a file for each mistake that none of the files before has."""
    seen: set[str] = set()
    for source in VALID:
        text = source.read_text(encoding="utf-8")
        (directory / source.name).write_text(text, encoding="utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        assert root is not None
        for name, changed in _mistakes(root, text, "file"):
            if name not in seen:
                seen.add(name)
                # A library refuses a second scenario of the same name.
                own = changed.replace(f"name: {source.stem}\n", f"name: m{len(seen)}\n", 1)
                (directory / f"{name}.yaml").write_text(own, encoding="utf-8")


def _mistakes(node: yaml.Node, text: str, place: str) -> Iterator[tuple[str, str]]:
    """The name of each mistake, and the text of the file that has it."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value[:1]:
            yield from _values(item, text, f"{place}-item")
            yield from _mistakes(item, text, place)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            member = f"{place}-{key.value}"
            yield f"{member}-key", _replaced(text, key, f"{key.value}_x")
            yield from _values(value, text, member)
            yield from _mistakes(value, text, key.value)


def _values(node: yaml.Node, text: str, place: str) -> Iterator[tuple[str, str]]:
    for number, replacement in enumerate(REPLACEMENTS):
        yield f"{place}-{number:02}", _replaced(text, node, replacement)


def _replaced(text: str, node: yaml.Node, replacement: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    rest = text[end:]
    # A block collection ends where the next line begins.
    break_line = "\n" if text[start:end].endswith("\n") or "\n" in text[start:end] else ""
    return text[:start] + replacement + break_line + rest
