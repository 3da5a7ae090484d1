"""The table of the program's dependencies, from pyproject.toml and the comments there."""

import re

from tests.docs.document import REPOSITORY
from tests.docs.markdown import table

_DEPENDENCY = re.compile(
    r'^    "(?P<name>[a-z0-9-]+)(?P<versions>[^;"]+)[^"]*", *# (?P<use>.+)$', re.MULTILINE
)


def dependencies_table() -> str:
    """Every dependency: its accepted versions, and what the program uses it for."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.partition("\ndependencies = [\n")[2].partition("\n]\n")[0]
    rows = [
        (f"`{match['name']}`", f"`{match['versions']}`", match["use"].partition(";")[0])
        for match in _DEPENDENCY.finditer(listed)
    ]
    assert len(rows) == len(listed.splitlines())
    return table(("package", "versions", "use"), rows)


TABLES = {("docs/guides/install.md", "dependencies"): dependencies_table}
