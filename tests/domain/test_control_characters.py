"""The escaping of control characters."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.message_text import escape_controls
from tests.tables import rows


@pytest.mark.parametrize(
    ("text", "shown"),
    rows(__file__, "control characters")
)  # fmt: skip
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


def test_characters_of_besides_remain() -> None:
    assert escape_controls("a\nb\x1b", besides="\n") == "a\nb\\u001b"


@given(st.text())
def test_inside_a_string_of_json_an_escape_is_the_same_character(text: str) -> None:
    written = json.dumps({"text": text}, ensure_ascii=False)
    assert json.loads(escape_controls(written)) == {"text": text}
