"""Packages import only from lower layers, and modules do not import each other in a cycle."""

import shutil
from pathlib import Path

from tests.architecture.tools import PACKAGE, REPOSITORY, run_tool


def lint(directory: Path) -> tuple[int, str]:
    config = str(directory / "pyproject.toml")
    completed = run_tool("lint-imports", "--no-cache", "--config", config, cwd=directory)
    return completed.returncode, completed.stdout + completed.stderr


def test_the_package_breaks_no_contract() -> None:
    code, output = lint(REPOSITORY)
    assert code == 0, output
    assert "0 broken" in output


TYPE_ONLY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import {}\n"
LATE = "def late() -> None:\n    import {}\n"
# A module, the source that is added to it, and what the report says of it.
FORBIDDEN = {
    "upwards": ("domain/added.py", "import {}\n", "emulator.server.storage.batch"),
    "one layer upwards": (
        "server/storage/added.py",
        "import {}\n",
        "emulator.server.engine.engine",
    ),
    "within a layer": ("server/api/added.py", "import {}\n", "emulator.server.control.app"),
    "for a type only": ("files/yaml_nodes.py", TYPE_ONLY, "emulator.settings"),
    "in a function": (
        "server/engine/state/added.py",
        LATE,
        "emulator.server.engine.delivery.outbox",
    ),
    "within a layer of the engine": (
        *("server/engine/accounts/added.py", "import {}\n"),
        "emulator.server.engine.recording.recorder",
    ),
    "by a tool": ("tools/replay/added.py", "import {}\n", "emulator.server.webhooks.sender"),
    "by another tool": ("tools/doctor/added.py", "import {}\n", "emulator.tools.replay.diff"),
    "a library in the domain": ("domain/with_library.py", "import {}\n", "sqlite3"),
}
OTHERS = {
    "server/storage/events.py": TYPE_ONLY.format("emulator.server.storage.added_to_events"),
    "server/storage/added_to_events.py": "import emulator.server.storage.events\n",
    "utils/__init__.py": "",
}


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
