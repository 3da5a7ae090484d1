"""The program uses no private name of another package, which any release may change."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.tools import modules

OWN = ("self", "cls", "emulator")
# Documented for every named tuple.
PUBLIC = {"_replace", "_asdict", "_fields"}
# The plugin loads this package under a name of its own.
ALLOWED = {"sys.modules[_PACKAGE]"}


def private_names(tree: ast.Module) -> Iterator[str]:
    """Private names of other packages: imported, read from their objects, or inherited."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported(node)
        elif isinstance(node, ast.ClassDef):
            yield from _inherited(node, _bases(tree, node))
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
            yield ast.unparse(node)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    package = getattr(node, "module", None) or ""
    if package.partition(".")[0] in OWN or getattr(node, "level", 0):
        return
    for name in (f"{package}.{alias.name}" for alias in node.names):
        if any(part.startswith("_") and part != "__future__" for part in name.split(".") if part):
            yield name


def _bases(tree: ast.Module, node: ast.ClassDef) -> list[str]:
    """The bases of a class that are neither of this module nor of another of ours."""
    own = {each.name for each in tree.body if isinstance(each, ast.ClassDef)}
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom) and (each.level or (each.module or "").startswith(OWN)):
            own |= {alias.name for alias in each.names}
    return [name for base in node.bases if (name := ast.unparse(base)).partition("[")[0] not in own]


def _inherited(node: ast.ClassDef, bases: list[str]) -> Iterator[str]:
    if not bases:
        return
    attributes = [each for each in ast.walk(node) if isinstance(each, ast.Attribute)]
    own = {each.attr for each in attributes if isinstance(each.ctx, ast.Store)}
    own |= {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef)}
    own |= {each.name for each in ast.walk(node) if isinstance(each, ast.AsyncFunctionDef)}
    own |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    own |= {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and each.value}
    for each in attributes:
        is_of_self = isinstance(each.value, ast.Name) and each.value.id in OWN
        if is_of_self and each.attr.startswith("_") and each.attr not in own | PUBLIC:
            yield f"{node.name}.{each.attr}"


@pytest.mark.deep
def test_no_module_uses_a_private_name_of_another_package() -> None:
    """`ruff` finds those that are read from objects: SLF001."""
    found = {
        name: names
        for name, path in modules()
        if (names := set(private_names(ast.parse(path.read_text("utf-8")))) - ALLOWED)
    }
    assert found == {}
    lines = [line for _, path in modules() for line in path.read_text("utf-8").splitlines()]
    assert [each for each in lines if "SLF001" in each and "of this module" not in each] == []


@pytest.mark.parametrize(
    "source",
    [
        "from uvicorn._types import Scope",
        "import uvicorn._compat",
        "sys.modules['uvicorn'] = object()",
        "class Own(aiosqlite.Connection):\n    def run(self):\n        self._tx.put(1)",
    ],
)
def test_each_kind_of_private_name_is_found(source: str) -> None:
    assert list(private_names(ast.parse(source)))
