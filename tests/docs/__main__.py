"""`python -m tests.docs` writes the generated tables of the documents.

`python -m tests.docs modules` prints the packages and modules, with the purpose of each.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.docs.document import REPOSITORY
from tests.docs.generated import regenerate
from tests.docs.markdown import table

PACKAGE = REPOSITORY / "emulator"


def module_table() -> str:
    """A row for each package, followed by the rows of its modules."""
    packages = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))
    return table(("module", "purpose"), [row for path in packages for row in _rows(path)])


def _rows(package: Path) -> Iterator[tuple[str, str]]:
    name = package.relative_to(REPOSITORY).as_posix()
    yield f"**{name}**", _purpose(package / "__init__.py")
    for module in sorted(package.glob("*.py")):
        if module.stem != "__init__":
            yield f"`{module.stem}`", _purpose(module)


def _purpose(module: Path) -> str:
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    assert text is not None, module
    return " ".join(text.partition("\n\n")[0].split())


if sys.argv[1:] == ["modules"]:
    sys.stdout.write(module_table())
else:
    regenerate()
