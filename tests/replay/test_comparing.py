"""Expected and seen: when they are the same, and how they look beside each other."""

from typing import Any

import pytest

from emulator.replay.diff import WIDEST_COLUMN, Mark, Words, is_same, side_by_side, text_of


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
def test_the_same_is_the_same(expected: Any, seen: Any) -> None:
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
        ("not there", Words("not there")),
    ],
)
def test_what_json_tells_apart_is_told_apart(expected: Any, seen: Any) -> None:
    assert not is_same(expected, seen)


def test_one_value_is_one_line() -> None:
    assert marked("completed", "failed") == [("|", "completed", "failed")]


def test_a_list_has_a_line_for_each_entry_and_a_mark_where_they_differ() -> None:
    assert marked(["created", "processing", "completed"], ["created", "completed", "refunded"]) == [
        (" ", "created", "created"),
        ("<", "processing", ""),
        (" ", "completed", "completed"),
        (">", "", "refunded"),
    ]


def test_what_is_told_in_words_is_never_cut() -> None:
    words = Words("no whole answer: the connection was cut in the middle of the answer")
    assert marked("completed", words) == [("|", "completed", f"({words})")]


def test_nothing_beside_something_is_a_list_without_lines() -> None:
    assert marked([], ["created"]) == [(">", "", "created")]
    assert marked(["created"], []) == [("<", "created", "")]


def test_two_kinds_of_nothing_are_told_apart() -> None:
    assert marked([], {}) == [("|", "[]", "{}")]


def test_an_object_has_a_line_for_each_member_in_alphabetical_order() -> None:
    assert marked({"b": "2", "a": "1"}, {"a": "1", "b": 2}) == [
        (" ", 'a: "1"', 'a: "1"'),
        ("|", 'b: "2"', "b: 2"),
    ]


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
        (Words("not there"), "(not there)"),
        ({"a": ["ብር"]}, '{"a": ["ብር"]}'),
    ],
)
def test_what_could_be_taken_for_something_else_is_in_quotes(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_of_much_that_agrees_only_what_is_near_a_difference_is_shown() -> None:
    expected = [f"entry {number}" for number in range(20)]
    seen = [*expected[:10], "another", *expected[11:]]
    rows = marked(expected, seen)
    assert [row[0] for row in rows] == ["·", " ", " ", "|", " ", " ", "·"]
    assert rows[0][1] == "… 8 more that agree"
    assert rows[-1][2] == "… 7 more that agree"


def test_long_texts_are_shown_where_they_differ() -> None:
    [row] = side_by_side(
        "https://shop.example/" + "a" * 80 + "x" * 40, "https://shop.example/" + "a" * 80 + "y" * 40
    )
    assert row.mark is Mark.CHANGED
    assert "ax" in row.expected
    assert "ay" in row.seen
    assert max(len(row.expected), len(row.seen)) <= WIDEST_COLUMN


def test_a_long_text_beside_nothing_is_shown_from_its_begin() -> None:
    [row] = side_by_side(["https://" + "a" * 100], [])
    assert row.expected.startswith("https://")
    assert len(row.expected) == WIDEST_COLUMN
