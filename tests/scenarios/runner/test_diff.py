"""Comparison of JSON values, and the rows that show their differences."""

from typing import Any

import pytest

from emulator.scenarios.runner.results import (
    MAX_COLUMN_WIDTH,
    Explanation,
    RowMark,
    is_same,
    side_by_side,
    text_of,
)


def marked(expected: Any, seen: Any) -> list[tuple[str, str, str]]:
    return [(row.mark.value, row.expected, row.seen) for row in side_by_side(expected, seen)]


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
    ("expected", "seen", "rows"),
    [
        ("completed", "failed", [("|", "completed", "failed")]),
        # A row for each entry, and for each member in alphabetical order.
        (["a", "b", "c"], ["a", "c"], [(" ", "a", "a"), ("<", "b", ""), (" ", "c", "c")]),
        (["a"], ["a", "d"], [(" ", "a", "a"), (">", "", "d")]),
        (
            {"b": "2", "a": "1"},
            {"a": "1", "b": 2},
            [(" ", 'a: "1"', 'a: "1"'), ("|", 'b: "2"', "b: 2")],
        ),
        # An explanation is never cut.
        ("completed", WORDS, [("|", "completed", f"({WORDS})")]),
        ([], ["created"], [(">", "", "created")]),
        (["created"], [], [("<", "created", "")]),
        ([], {}, [("|", "[]", "{}")]),
    ],
)
def test_values_are_side_by_side(expected: Any, seen: Any, rows: list[tuple[str, ...]]) -> None:
    assert marked(expected, seen) == rows


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


def test_equal_rows_far_from_a_difference_are_left_out() -> None:
    expected = [f"entry {number}" for number in range(20)]
    seen = [*expected[:10], "another", *expected[11:]]
    rows = marked(expected, seen)
    assert [row[0] for row in rows] == ["·", " ", " ", "|", " ", " ", "·"]
    assert rows[0][1] == "… 8 more that agree"
    assert rows[-1][2] == "… 7 more that agree"


def test_long_texts_are_cut_around_their_difference() -> None:
    [row] = side_by_side(
        "https://shop.example/" + "a" * 80 + "x" * 40, "https://shop.example/" + "a" * 80 + "y" * 40
    )
    assert row.mark is RowMark.CHANGED
    assert "ax" in row.expected
    assert "ay" in row.seen
    assert max(len(row.expected), len(row.seen)) <= MAX_COLUMN_WIDTH


def test_a_long_text_without_a_counterpart_is_cut_at_its_end() -> None:
    [row] = side_by_side(["https://" + "a" * 100], [])
    assert row.expected.startswith("https://")
    assert len(row.expected) == MAX_COLUMN_WIDTH
