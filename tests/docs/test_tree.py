"""Files of the project: none names a directory or a package registry of one machine."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.document import REPOSITORY

# Composed, so that this file does not contain them.
DIRECTORIES = ("work", "root", "home/[a-z]+", "Users/[A-Za-z]+", "tmp/ve" + "nv")
PLACES = re.compile(rf"(?<![\w.…$}}>-])/(?:{'|'.join(DIRECTORIES)})/")
# A test of a directory that its user may not read needs the path of one.
MEANT = "/root/database"
REGISTRIES = re.compile(
    "|".join(
        [
            r"pypi\." + r"(?:org|python|io)",
            r"python" + r"hosted\.",
            r"index-" + r"url",
            r"find-" + r"links",
            r"\bregistry\." + r"[a-z]",
            r"arti" + r"factory",
            r"dev" + r"pi",
            r"trusted-" + r"host",
        ]
    ),
    re.IGNORECASE,
)
TOP_LEVEL = {
    *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "llms.txt"),
    *("Dockerfile", "action.yml", "pyproject.toml"),
    *("docs", "emulator", "scenarios", "templates", "tests"),
}


def _files() -> list[Path]:
    """The files under version control, and those that would be."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=REPOSITORY,
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no working copy of git, or there is no git")
    paths = [REPOSITORY / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_no_file_names_a_directory_or_a_registry_of_one_machine() -> None:
    found = []
    for path in _files():
        try:
            text = path.read_text(encoding="utf-8").replace(MEANT, "")
        except UnicodeDecodeError:
            continue
        matches = [*PLACES.finditer(text), *REGISTRIES.finditer(text)]
        found += [f"{path.relative_to(REPOSITORY)}: {match[0]}" for match in matches]
    assert found == []


LINES = {
    "cd /" + "work/main": True,
    "see /" + "root/notes": True,
    "exec /" + "tmp/ve" + "nv/bin/python": True,
    "https://shop.example/root/": False,
    "artifacts/root/": False,
    "/data/payments.db": False,
}


def test_places_are_recognised() -> None:
    assert {line: PLACES.search(line) is not None for line in LINES} == LINES


def test_the_top_level_has_the_expected_files() -> None:
    names = {path.relative_to(REPOSITORY).parts[0] for path in _files()}
    assert {name for name in names if not name.startswith(".")} == TOP_LEVEL


@pytest.mark.parametrize("path", ["SECURITY.md", "docs/guides/explore.md"])
def test_the_files_that_can_run_commands_are_named(path: str) -> None:
    text = " ".join((REPOSITORY / path).read_text(encoding="utf-8").split())
    assert re.search("`integration.yaml`,? (and|a) saved histor(y|ies)[^.]*commands", text)
