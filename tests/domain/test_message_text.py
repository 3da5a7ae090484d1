"""Received values in error messages (clause 7.3), and the escaping of control characters."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.message_text import (
    MAX_SHOWN_LENGTH,
    WrittenNumber,
    counted_runs,
    escape_controls,
    received,
)
from tests.tables import rows

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.text("live_test\x00\x1b\u202e"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (99, "99"),
        (-(2**70), str(-(2**70))),
        ("", '""'),
        ("USD", '"USD"'),
        ("ብር", '"ብር"'),
        ('"\\', '"\\"\\\\"'),
        (WrittenNumber("150.00"), "150.00"),
        (WrittenNumber("1e3"), "1e3"),
        (Decimal("0.5"), "0.5"),
        ([], "[]"),
        ({}, "{}"),
        ([1, "a", [None]], '[1, "a", [null]]'),
        ({"a": WrittenNumber("1.5"), "b": {}}, '{"a": 1.5, "b": {}}'),
        ("two\nlines\x1b[31m\x7f\x9f", '"two\\nlines\\u001b[31m\\u007f\\u009f"'),
        ("\u202eevil\u2028\ufeff\U000e0001", '"\\u202eevil\\u2028\\ufeff\\udb40\\udc01"'),
        ("live_abcdefghijklmnop", '"live_ab…nop"'),
        ("key test_0123456789abcdef", '"key test_01…def"'),
        ({"live_abcdefghijklmnop": 1}, '{"live_ab…nop": 1}'),
        ("x" * 100, '"' + "x" * 62 + "…"),
        (["x"] * 100_000, '["x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x…'),
        (WrittenNumber("1." + "0" * 5000), "1." + "0" * 61 + "…"),
        ("a" * 40 + "live_" + "b" * 100, '"' + "a" * 40 + 'live_bb…bbb"'),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_a_value_is_shown_as_short_json(value: Any, shown: str) -> None:
    assert received(value) == shown


@given(JSON)
def test_any_value_is_shown_in_few_printable_characters(value: Any) -> None:
    shown = received(value)
    assert 1 <= len(shown) <= MAX_SHOWN_LENGTH
    assert shown.isprintable()


@pytest.mark.parametrize(("text", "shown"), rows(__file__, "control characters"))
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


def test_characters_of_besides_remain() -> None:
    assert escape_controls("a\nb\x1b", besides="\n") == "a\nb\\u001b"


@given(st.text())
def test_inside_a_string_of_json_an_escape_is_the_same_character(text: str) -> None:
    written = json.dumps({"text": text}, ensure_ascii=False)
    assert json.loads(escape_controls(written)) == {"text": text}


def test_equal_neighbours_are_one_with_their_number() -> None:
    assert counted_runs(["500", "400", "400", "500"]) == "500, 400 (2 times), 500"
