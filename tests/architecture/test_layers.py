"""Packages import only from lower layers, and modules do not import each other in a cycle."""

import shutil
from pathlib import Path

import pytest

from tests.architecture.tools import PACKAGE, REPOSITORY, run_tool
from tests.tables import rows


def lint(directory: Path) -> tuple[int, str]:
    config = str(directory / "pyproject.toml")
    completed = run_tool("lint-imports", "--no-cache", "--config", config, cwd=directory)
    return completed.returncode, completed.stdout + completed.stderr


@pytest.mark.deep
def test_the_package_breaks_no_contract() -> None:
    code, output = lint(REPOSITORY)
    assert code == 0, output
    assert "0 broken" in output


SOURCES = {
    "import": "import {}\n",
    "for a type": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import {}\n",
    "in a function": "def late() -> None:\n    import {}\n",
}
# Of each kind: a module, the source that is added to it, and what the report says of it.
FORBIDDEN = {
    kind: (name, SOURCES[source], module)
    for kind, name, source, module in rows(__file__, "forbidden imports")
}
OTHERS = {
    "server/storage/events.py": SOURCES["for a type"].format(
        "emulator.server.storage.added_to_events"
    ),
    "server/storage/added_to_events.py": "import emulator.server.storage.events\n",
    "utils/__init__.py": "",
}


@pytest.mark.deep
def test_every_kind_of_forbidden_import_is_reported(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    package = tmp_path / "emulator"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "data"))
    added = {name: source.format(module) for name, source, module in FORBIDDEN.values()} | OTHERS
    for name, source in added.items():
        path = package / name
        path.parent.mkdir(exist_ok=True)
        path.write_text((path.read_text() if path.exists() else "") + source)
    code, output = lint(tmp_path)
    report = " ".join(output.split())
    assert code != 0
    for kind, (name, _, module) in FORBIDDEN.items():
        importer = "emulator." + name.removesuffix(".py").replace("/", ".")
        assert f"{importer} -> {module}" in report, kind
    assert "No cycles are allowed in emulator.server.storage." in report
    assert "utils" in report
