"""Collects the tests that the marker `clause` assigns to clauses of the contract."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_REPOSITORY = Path(__file__).parents[1]
_MARKER = "pytest.mark.clause"


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
            numbers = tuple(
                ast.literal_eval(argument)
                for decorator in node.decorator_list
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == _MARKER
                for argument in decorator.args
            )
            if numbers:
                yield MarkedTest(path, node.name, numbers)
