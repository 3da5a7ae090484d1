"""Reads tables of cases from the text file beside a test module, which has the module's name.

The name of a table follows an equals sign. Each further line has the JSON values of a case,
separated by commas, or of several cases where a case is one value. # begins a comment.
"""

import json
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any


def rows(module: str, name: str) -> list[tuple[Any, ...]]:
    """The cases of a table of the file `module`. Raises KeyError for an unknown name."""
    return _tables(Path(module).with_suffix(".txt"))[name]


def values(module: str, name: str) -> list[Any]:
    """As `rows`, where a case is one value."""
    return list(chain.from_iterable(rows(module, name)))


@cache
def _tables(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    tables: dict[str, list[tuple[Any, ...]]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            tables[line[2:]] = cases = []
        elif line and not line.startswith("#"):
            cases.append(tuple(json.loads(f"[{line}]")))
    assert all(tables.values()), f"{file} has an empty table"
    return tables
