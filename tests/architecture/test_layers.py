"""Packages import only from lower layers, and modules do not import each other in a cycle."""

import shutil
from pathlib import Path

import pytest

from tests.architecture.tools import PACKAGE, REPOSITORY, run_tool


def lint(directory: Path) -> tuple[int, str]:
    config = str(directory / "pyproject.toml")
    completed = run_tool("lint-imports", "--no-cache", "--config", config, cwd=directory)
    return completed.returncode, completed.stdout + completed.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, to add modules to."""
    directory = tmp_path_factory.mktemp("copy")
    shutil.copy(REPOSITORY / "pyproject.toml", directory)
    shutil.copytree(
        PACKAGE, directory / "emulator", ignore=shutil.ignore_patterns("__pycache__", "data")
    )
    return directory


def test_the_package_breaks_no_contract() -> None:
    code, output = lint(REPOSITORY)
    assert code == 0, output
    assert "0 broken" in output


TYPE_ONLY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import {}\n"
LATE = "def late() -> None:\n    import {}\n"
ADDED = {
    "domain/added.py": "import emulator.storage.batch\n",
    "storage/added.py": "import emulator.engine.engine\n",
    "api/added.py": "import emulator.control.app\n",
    "files.py": TYPE_ONLY.format("emulator.settings"),
    "engine/state/added.py": LATE.format("emulator.engine.delivery.outbox"),
    "engine/accounts/added.py": "import emulator.engine.recording.recorder\n",
    "storage/events.py": TYPE_ONLY.format("emulator.storage.added_to_events"),
    "storage/added_to_events.py": "import emulator.storage.events\n",
    "replay/added.py": "import emulator.webhooks.retry_schedule\n",
    "domain/with_library.py": "import sqlite3\n",
    "utils/__init__.py": "",
}


@pytest.fixture(scope="module")
def report(copy: Path) -> str:
    """The report on a copy that breaks every contract."""
    for name, source in ADDED.items():
        path = copy / "emulator" / name
        path.parent.mkdir(exist_ok=True)
        before = path.read_text() if path.exists() else ""
        path.write_text(before + source)
    code, output = lint(copy)
    assert code != 0
    return output


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param("emulator.domain.added -> emulator.storage.batch", id="upwards"),
        pytest.param("emulator.storage.added -> emulator.engine.engine", id="one layer upwards"),
        pytest.param("emulator.api.added -> emulator.control.app", id="within a layer"),
        pytest.param("emulator.files -> emulator.settings", id="for a type only"),
        pytest.param(
            "emulator.engine.state.added -> emulator.engine.delivery.outbox", id="in a function"
        ),
        pytest.param(
            "emulator.engine.accounts.added -> emulator.engine.recording.recorder",
            id="within a layer of the engine",
        ),
        pytest.param("No cycles are allowed in emulator.storage.", id="in a cycle"),
        pytest.param("emulator.replay.added -> emulator.webhooks.retry_schedule", id="by a client"),
        pytest.param("emulator.domain.with_library -> sqlite3", id="a library in the domain"),
        pytest.param("utils", id="a package without a layer"),
    ],
)
def test_a_forbidden_import_is_reported(broken: str, report: str) -> None:
    assert broken in report
