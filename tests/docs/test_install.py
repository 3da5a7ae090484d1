"""The ways to start the emulator agree with each other, and each placeholder is explained once."""

import re
import tomllib
from pathlib import Path

import pytest

from emulator.cli.output import PROGRAM
from tests.docs.document import README, REPOSITORY, command_after, pages, part, text_of
from tests.docs.generated.action import action

PAGE = "docs/guides/install.md"
PLACEHOLDERS = ("REPOSITORY", "your-organisation", "images.shop.example")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HELPERS = [
    path
    for path in (REPOSITORY / "emulator/cli/helper").iterdir()
    if path.is_file() and path.suffix != ".py"
]


def run_lines(name: str) -> str:
    """The script of a step of the action."""
    [script] = [step["run"] for step in action()["runs"]["steps"] if step["name"].startswith(name)]
    return str(script)


def test_the_action_and_the_readme_start_the_program_of_the_package_in_the_same_way() -> None:
    assert PROJECT["scripts"] == {PROGRAM: "emulator.cli:main"}
    install, start = run_lines("Install"), run_lines("Start")
    for text in (command_after("start command"), install):
        assert "-m venv " in text
        assert "pip" in text
        assert "install --quiet " in text
        assert f"/bin/{PROGRAM}" in text
    assert command_after("start command").endswith(f"/bin/{PROGRAM} serve\n")
    assert "-m emulator serve " in start
    assert "--ready-file " in start
    assert f"{PROGRAM} serve --ready-file " in text_of("docs/guides/ci.md")


@pytest.mark.parametrize("helper", HELPERS, ids=lambda path: path.suffix)
def test_a_helper_starts_the_same_program_and_names_the_same_package(helper: Path) -> None:
    text = helper.read_text(encoding="utf-8")
    # The variable, and its default in the same statement or the next one.
    variable = r"PAYMENTS_EMULATOR_COMMAND\W"
    assert re.search(rf"""{variable}.*\n?.*\n?.*['"]{PROGRAM}['"]""", text)
    for word in ("serve", "--port", "--checkout-port", "--ready-file"):
        assert re.search(rf"""['"]{word}['"]""", text), word
    assert f"install {PROJECT['name']}" in text


def test_the_readme_alone_names_the_oldest_python() -> None:
    version = PROJECT["requires-python"].removeprefix(">=")
    named = [re.findall(r"Python\W* (\d\.\d+)", text_of(page)) for page in (README, PAGE)]
    assert named == [[version], []]


def test_each_address_starts_the_same_program() -> None:
    lines = re.findall(r"^(?:uvx|pipx|pip) .*$", part(PAGE, "From an address"), re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["uvx", "pipx", "pip"]
    assert all("git+REPOSITORY" in line for line in lines)
    assert all(line.endswith(f"{PROGRAM} serve") for line in lines[:2])


def test_each_placeholder_is_explained_once_and_linked_where_it_is_used() -> None:
    explained = part(PAGE, "Placeholders")
    for word in PLACEHOLDERS:
        assert explained.count(f"| `{word}") == 1
    for page in pages():
        is_used = any(re.search(rf"\b{word}\b", text_of(page)) for word in PLACEHOLDERS)
        if is_used and page != PAGE:
            assert "install.md#placeholders" in text_of(page), page
