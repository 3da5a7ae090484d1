"""Files of the project: none names a directory or a package registry of one machine."""

import re
import subprocess
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


@pytest.mark.parametrize("forbidden", [PLACES, REGISTRIES], ids=["places", "registries"])
def test_no_file_names_a_place_of_one_machine(forbidden: re.Pattern[str]) -> None:
    found = []
    for path in _files():
        try:
            text = path.read_text(encoding="utf-8").replace(MEANT, "")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(REPOSITORY)}: {one[0]}" for one in forbidden.finditer(text)]
    assert found == []


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
