"""The project that the tutorial builds, the first screen of the README, and the pictures."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.processes import run_program
from tests.docs.document import README, REPOSITORY, sections_of, text_of
from tests.docs.live import write_files
from tests.docs.pictures import DIGESTS, file_digest, pictures

TUTORIAL = "docs/tutorial.md"


@pytest.mark.deep
def test_pytest_without_arguments_collects_the_tests_of_the_project_alone(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    write_files(sections_of(TUTORIAL)[0].files, project, {})
    [install] = re.findall(r"^pip install pytest (\S+)$", text_of(TUTORIAL), re.MULTILINE)
    copy = project / install
    ignored = shutil.ignore_patterns(".*", "__pycache__", "node_modules")
    for directory in ("emulator", "tests"):
        shutil.copytree(REPOSITORY / directory, copy / directory, ignore=ignored)
    shutil.copy(REPOSITORY / "pyproject.toml", copy)
    ran = run_program(sys.executable, "-m", "pytest", "--collect-only", "-q", directory=project)
    collected = {line.partition("::")[0] for line in ran.stdout.splitlines() if "::" in line}
    assert collected == {path.name for path in project.glob("test_*.py")}, ran.stdout
    assert ran.returncode == 0


def test_the_number_of_steps_is_stated() -> None:
    numbers = re.findall(r"^### Step (\d+)\.", text_of(TUTORIAL), re.MULTILINE)
    assert numbers == list("123456789")
    assert "nine steps" in text_of(TUTORIAL)


def test_the_first_screen_of_the_readme_names_explore() -> None:
    first_screen, _, _ = text_of(README).partition("\n## ")
    assert "payments-emulator explore" in first_screen
    assert "docs/guides/explore.md" in first_screen


async def test_the_pictures_show_the_present_pages() -> None:
    recorded = json.loads(DIGESTS.read_text(encoding="utf-8"))
    async with pictures() as shown:
        present = {
            name: {"shows": await picture.digest(), "file": file_digest(name)}
            for name, picture in shown.items()
        }
    assert present == recorded, "make them again: python -m tests.docs.pictures"
