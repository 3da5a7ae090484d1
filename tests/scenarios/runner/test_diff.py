"""Comparison of JSON values, and the lines that show their differences."""

from typing import Any

import pytest

from emulator.scenarios.runner.results import Explanation, Mismatch, is_same, text_of
from emulator.scenarios.values import Json, Place

HERE = Place(line=1, column=1)


def diff(expected: Json, seen: Json) -> list[str]:
    return Mismatch(place=HERE, subject="events", expected=expected, seen=seen).diff


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ("completed", "completed"),
        (None, None),
        (["a", "b"], ["a", "b"]),
        ({"a": "1", "b": "2"}, {"b": "2", "a": "1"}),
    ],
)
def test_equal_values_are_equal(expected: Any, seen: Any) -> None:
    assert is_same(expected, seen)


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        (1, True),
        (1, 1.0),
        (1, "1"),
        (0, False),
        (None, ""),
        (None, "null"),
        ([], None),
        (["a", "b"], ["b", "a"]),
        ({"a": "1"}, {"a": "1", "b": "2"}),
        ("not there", Explanation("not there")),
    ],
)
def test_values_that_differ_in_json_are_different(expected: Any, seen: Any) -> None:
    assert not is_same(expected, seen)


WORDS = Explanation("no complete response: the response is incomplete")


@pytest.mark.parametrize(
    ("expected", "seen", "lines"),
    [
        ("completed", "failed", ["-completed", "+failed"]),
        # A line for each entry, and for each member in alphabetical order.
        (["a", "b", "c"], ["a", "c"], [" a", "-b", " c"]),
        (["a"], ["a", "d"], [" a", "+d"]),
        ({"b": "2", "a": "1"}, {"a": "1", "b": 2}, [' a: "1"', '-b: "2"', "+b: 2"]),
        ("completed", WORDS, ["-completed", f"+({WORDS})"]),
        ([], ["created"], ["+created"]),
        (["created"], [], ["-created"]),
        ([], {}, ["-[]", "+{}"]),
    ],
)
def test_the_diff_has_a_line_for_each_difference(
    expected: Any, seen: Any, lines: list[str]
) -> None:
    assert [line for line in diff(expected, seen) if line[0] != "@"] == lines


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("completed", "completed"),
        ("10", '"10"'),
        (10, "10"),
        ("true", '"true"'),
        (True, "true"),
        ("", '""'),
        (" padded ", '" padded "'),
        ("two\nlines", '"two\\nlines"'),
        (None, "null"),
        ("(sure)", '"(sure)"'),
        (Explanation("not there"), "(not there)"),
        ({"a": ["ብር"]}, '{"a": ["ብር"]}'),
    ],
)
def test_ambiguous_text_is_quoted(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_equal_entries_far_from_a_difference_are_left_out() -> None:
    expected = [f"entry {number}" for number in range(20)]
    lines = diff(expected, [*expected[:10], "another", *expected[11:]])
    assert lines[0] == "@@ -9,5 +9,5 @@"
    assert [line[0] for line in lines[1:]] == [" ", " ", "-", "+", " ", " "]
