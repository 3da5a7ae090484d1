"""Collects the tests that the marker `clause` assigns to clauses of the contract."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from emulator.server.api.parameters import CREATE, LIST

_REPOSITORY = Path(__file__).parents[1]
_MARKER = "pytest.mark.clause"
# The decorators of tests that run for each row of a table, and prove the clauses of the row.
_ROWS = {"each(CREATE.rows)": CREATE.rows, "each(LIST.rows)": LIST.rows}


@dataclass(frozen=True, slots=True)
class MarkedTest:
    """A test with the marker; `path` is relative to the repository."""

    path: str
    name: str
    numbers: tuple[str, ...]


@cache
def clause_tests() -> Mapping[str, Sequence[MarkedTest]]:
    """The tests of each clause by its number, in the order of files; no test is imported."""
    tests: defaultdict[str, list[MarkedTest]] = defaultdict(list)
    for path in sorted((_REPOSITORY / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if f"@{_MARKER}(" in text:
            for test in marked_tests(text, path.relative_to(_REPOSITORY).as_posix()):
                for number in test.numbers:
                    tests[number].append(test)
    return tests


def marked_tests(text: str, path: str) -> Iterator[MarkedTest]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            numbers = tuple(dict.fromkeys(_numbers(node.decorator_list)))
            if numbers:
                yield MarkedTest(path, node.name, numbers)


def _numbers(decorators: Sequence[ast.expr]) -> Iterator[str]:
    for decorator in decorators:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == _MARKER:
            yield from map(ast.literal_eval, decorator.args)
        for row in _ROWS.get(ast.unparse(decorator), ()):
            yield from row.clauses
