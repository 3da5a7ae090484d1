"""What no file of the project may say: where on some machine it was made, and from what host."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.document import REPOSITORY

# Written so that this file does not say them either.
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
            r"registry\." + r"[a-z]",
            r"arti" + r"factory",
            r"dev" + r"pi",
            r"trusted-" + r"host",
        ]
    ),
    re.IGNORECASE,
)
TOP_LEVEL = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Dockerfile",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "docs",
    "emulator",
    "llms.txt",
    "pyproject.toml",
    "scenarios",
    "templates",
    "tests",
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


def _lines() -> Iterator[tuple[str, str]]:
    """Every line of every text file, and where it is."""
    for path in _files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            yield f"{path.relative_to(REPOSITORY)}:{number}", line


@pytest.mark.parametrize("forbidden", [PLACES, REGISTRIES], ids=["places", "registries"])
def test_no_file_names_a_place_that_only_some_machine_has(forbidden: re.Pattern[str]) -> None:
    assert [
        f"{where}: {line}" for where, line in _lines() if forbidden.search(line.replace(MEANT, ""))
    ] == []


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("cd /" + "work/main", True),
        ("see /" + "root/notes", True),
        ("exec /" + "tmp/ve" + "nv/bin/python", True),
        ("https://shop.example/root/", False),
        ("artifacts/root/", False),
        ("/data/payments.db", False),
    ],
)
def test_places_are_recognised(line: str, is_found: bool) -> None:
    assert (PLACES.search(line) is not None) is is_found


def test_the_top_level_holds_what_it_should() -> None:
    names = {path.relative_to(REPOSITORY).parts[0] for path in _files()}
    assert {name for name in names if not name.startswith(".")} == TOP_LEVEL
