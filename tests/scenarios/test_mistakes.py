"""`mistakes.txt` has a mistake in each section, with ‸ before it.

A text without `version` is what follows the first two lines of a file.
"""

import re
from pathlib import Path

import pytest
import yaml

from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.files.yaml_tree import read_tree
from emulator.scenarios.entries import Notes
from tests.cli.processes import run

TYPES = f"{', '.join(EVENT_TYPES_IN_ORDER[:-1])} or {EVENT_TYPES_IN_ORDER[-1]}"
HEAD = "version: 1\nname: case\n"
SECTIONS = re.findall(
    r"^\[(.+)\]\n((?:.*\n)+?)-> (.+)$",
    Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def text_and_place(section: str) -> tuple[str, str]:
    """The text without the mark, and the line and column of the mark."""
    head = "" if "version: 1" in section else HEAD
    before, _, after = f"{head}{section}".partition("‸")
    line = before.count("\n") + 1
    return before + after, f"{line}:{len(before.rpartition(chr(10))[2]) + 1}"


@pytest.mark.parametrize("line", ["{}: b", "{} : {{", "a: [b {} : "])
def test_a_mistake_in_a_long_line_is_explained_at_once(line: str) -> None:
    # A quadratic search would take an hour.
    text = HEAD + line.format("a" * 240_000)
    notes = Notes("file")
    assert read_tree(text, notes.add) is None
    assert len(notes.problems) == 1


def test_check_explains_each_mistake_at_its_position(tmp_path: Path) -> None:
    expected = {}
    for number, (title, section, message) in enumerate(SECTIONS):
        text, place = text_and_place(section)
        name = f"{number:02}.yaml"
        (tmp_path / name).write_text(text.replace("name: case", f"name: case-{number}"))
        text = message.replace("{types of events}", TYPES)
        expected[title] = f"{tmp_path / name}:{place}: {text}"
    completed = run("check", str(tmp_path))
    assert completed.stdout.splitlines() == list(expected.values())
    assert completed.returncode == 2


@pytest.mark.parametrize("section", [section for _, section, _ in SECTIONS])
def test_both_parsers_lead_to_the_same_line_and_hint(section: str) -> None:
    text, _ = text_and_place(section)
    problems = []
    for loader in (yaml.SafeLoader, yaml.CSafeLoader):
        notes = Notes("file")
        read_tree(text, notes.add, loader=loader)
        # Without a hint, the message and the column are those of the parser.
        found = [(each.line, re.sub("(YAML): .*", r"\1", each.message)) for each in notes.problems]
        problems.append(found)
    assert problems[0] == problems[1]
