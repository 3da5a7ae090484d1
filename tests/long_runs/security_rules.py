"""The rules of the threat model: each has a test, which fails when the rule is removed."""

import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.cli.processes import REPOSITORY, run_program
from tests.tables import rows

PAGES = ("SECURITY.md", "docs/explanation/security.md")
COPIED = ("emulator", "scenarios", "templates", "tests", "docs", "README.md", "pyproject.toml")


class Removal(NamedTuple):
    """A change of the source that removes the rule of a statement, and the test that notices it."""

    statement: str
    test: str
    file: str
    old: str
    new: str


# The beginning of a statement, its test, a file, a text in it, and the text without the rule.
REMOVALS = [Removal(*row) for row in rows(__file__, "removals")]
# Statements that are no rule of the program.
EXPLANATIONS = (
    "`--host 0.0.0.0` opens both ports",
    "The container image listens on",
    "The emulator uses plain HTTP",
    "`serve` sends requests only to",
    "`/_emulator/health`",
    "**A real `live_` key**",
    "A program that reaches the ports",
    "A file that `explore` reads",
    "**Addresses of checkout pages**",
    "**A response**",
    "**In the dashboard**",
)


_OTHER_SECTIONS = re.compile(
    r"^## (?:Out of scope|Next|Reporting|Supported).*?(?=^## |\Z)", re.MULTILINE | re.DOTALL
)
_EXAMPLES = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_STATEMENT = re.compile(
    r"^- (.*)|^\| (?!who |address |---)(.*) \|$|^(\*\*`.*|Control .*)", re.MULTILINE
)


def statements() -> list[str]:
    """The list entries, the rows of tables and the rules of both pages."""
    found: list[str] = []
    for page in PAGES:
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        for left_out in (_OTHER_SECTIONS, _EXAMPLES):
            text = left_out.sub("", text)
        found += _STATEMENT.findall(text)
    return ["".join(each) for each in found]


def not_noticed(removals: Iterable[Removal]) -> list[str]:
    """The removals that the named test does not notice. Each is made in a copy of the source."""
    with TemporaryDirectory() as directory:
        copy = Path(directory)
        for name in COPIED:
            source = REPOSITORY / name
            ignore = shutil.ignore_patterns("__pycache__", "node_modules", "*.png")
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=ignore)
            else:
                shutil.copy(source, copy / name)
        return [problem for removal in removals if (problem := _problem(copy, removal))]


def _problem(copy: Path, removal: Removal) -> str | None:
    file = copy / removal.file
    original = file.read_text(encoding="utf-8")
    if removal.old not in original:
        return f"{removal.file} has no {removal.old!r}"
    file.write_text(original.replace(removal.old, removal.new, 1), encoding="utf-8")
    try:
        name, _, test = removal.test.partition("::")
        selected = ("-k", test) if test else ()
        command = (sys.executable, "-m", "pytest", "-n", "0", "-qx", "-m", "")
        variables = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        run = run_program(*command, f"tests/{name}", *selected, directory=copy, variables=variables)
    finally:
        file.write_text(original, encoding="utf-8")
    # 1: a test failed; 2 and more: pytest itself did.
    has_failed = run.returncode == 1 and re.search(r"^\d+ failed", run.stdout, re.MULTILINE)
    return None if has_failed else f"{removal}: {run.returncode}\n{run.stdout[-2_000:]}"
