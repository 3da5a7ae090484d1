"""The escaping of control characters."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.message_text import escape_controls


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
        ("a\nb\tc\r", "a\\u000ab\\u0009c\\u000d"),
        ("\x00\x7f\x80\x9b\x9f", "\\u0000\\u007f\\u0080\\u009b\\u009f"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\u202e\u2066\u2069\u200e\u061c", "\\u202e\\u2066\\u2069\\u200e\\u061c"),
        ("ሰላም, ¡hola! 🙂\u200d~\xa0", "ሰላም, ¡hola! 🙂\u200d~\xa0"),
    ],
)  # fmt: skip
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


def test_characters_of_besides_remain() -> None:
    assert escape_controls("a\nb\x1b", besides="\n") == "a\nb\\u001b"


@given(st.text())
def test_inside_a_string_of_json_an_escape_is_the_same_character(text: str) -> None:
    written = json.dumps({"text": text}, ensure_ascii=False)
    assert json.loads(escape_controls(written)) == {"text": text}
