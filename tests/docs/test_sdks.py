"""What the documents show of generated clients is what `tests/interop/sdks` generates and runs."""

import re

import pytest

from tests.docs.document import text_of
from tests.interop.sdks.programs import EMULATOR, GENERATE, HERE

PAGE = "docs/guides/generated-clients.md"
LANGUAGES = {
    "usage.py": "python",
    "usage.ts": "ts",
    "usage_control.ts": "ts",
    "usage.php": "php",
    "usage.rb": "ruby",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(PAGE), re.MULTILINE | re.DOTALL)


def shown(language: str) -> list[str]:
    """The paragraphs of the chapter's blocks in a language."""
    return [
        paragraph.strip("\n") for block in blocks(language) for paragraph in block.split("\n\n")
    ]


def programs(language: str) -> list[str]:
    return [
        (HERE / name).read_text(encoding="utf-8")
        for name, written_in in LANGUAGES.items()
        if written_in == language
    ]


@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
def test_all_that_is_shown_stands_in_a_program_that_is_run(language: str) -> None:
    assert shown(language)
    for paragraph in shown(language):
        assert any(f"\n{paragraph}\n" in program for program in programs(language)), paragraph


def test_every_client_that_is_called_is_made_in_the_same_block() -> None:
    called = [set(re.findall(r"\bawait (\w+)\.", block)) for block in blocks("ts")]
    assert any(called)
    for block, names in zip(blocks("ts"), called, strict=True):
        assert names <= set(re.findall(r"\bconst (\w+) = createClient\b", block))


@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
def test_the_one_line_that_points_at_localhost_is_shown(language: str) -> None:
    program = programs(language)[0]
    [line] = [line for line in program.splitlines() if EMULATOR in line]
    assert any(line in paragraph for paragraph in shown(language))


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_the_commands_shown_are_those_that_are_run(name: str) -> None:
    assert GENERATE[name] in "\n".join(shown("sh")).splitlines()
