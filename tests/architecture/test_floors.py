"""A room imports only from the floors below it, and every room has its floor."""

import shutil
from pathlib import Path

import pytest

from tests.architecture.tools import PACKAGE, REPOSITORY, run_tool


def lint(directory: Path) -> tuple[int, str]:
    config = str(directory / "pyproject.toml")
    ended = run_tool("lint-imports", "--no-cache", "--config", config, cwd=directory)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, to plant something in."""
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    shutil.copytree(
        PACKAGE, tmp_path / "emulator", ignore=shutil.ignore_patterns("__pycache__", "data")
    )
    return tmp_path


def test_the_floors_hold() -> None:
    code, output = lint(REPOSITORY)
    assert code == 0, output
    assert "0 broken" in output


def test_the_copy_alone_breaks_nothing(copy: Path) -> None:
    code, output = lint(copy)
    assert code == 0, output


@pytest.mark.parametrize(
    ("planted", "source", "found"),
    [
        ("domain/planted.py", "import emulator.storage.batch\n", "emulator.domain.planted"),
        ("storage/planted.py", "import emulator.engine.engine\n", "emulator.storage.planted"),
        ("api/planted.py", "import emulator.control.app\n", "emulator.api.planted"),
        (
            "engine/planted.py",
            "def late() -> None:\n    import emulator.api.app\n",
            "emulator.engine.planted",
        ),
        ("domain/planted.py", "import sqlite3\n", "emulator.domain.planted -> sqlite3"),
        ("utils/__init__.py", "", "utils"),
    ],
    ids=["upwards", "one floor up", "across", "late", "a library in the domain", "a new room"],
)
def test_what_breaks_them_is_found(planted: str, source: str, found: str, copy: Path) -> None:
    path = copy / "emulator" / planted
    path.parent.mkdir(exist_ok=True)
    path.write_text(source)
    code, output = lint(copy)
    assert code != 0
    assert found in output
