"""How a clock is asked for, at `--clock` and in the control API."""

import pytest

from emulator.domain.instants import ClockKind, ClockSpec, format_clock, parse_clock

NEW_YEAR = 1_767_225_600_000


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("real", ClockSpec(kind=ClockKind.REAL)),
        ("frozen", ClockSpec(kind=ClockKind.FROZEN)),
        ("frozen@2026-01-01T00:00:00Z", ClockSpec(kind=ClockKind.FROZEN, instant=NEW_YEAR)),
        (
            "frozen@2026-01-01T00:00:00.250Z",
            ClockSpec(kind=ClockKind.FROZEN, instant=NEW_YEAR + 250),
        ),
    ],
)
def test_a_clock_is_read_and_written_in_the_same_words(text: str, clock: ClockSpec) -> None:
    assert parse_clock(text) == clock
    assert format_clock(clock) == text


@pytest.mark.parametrize("text", ["frozen@2026-01-01", "frozen@2026-01-01T03:00:00+03:00"])
def test_an_instant_may_be_any_timestamp(text: str) -> None:
    assert parse_clock(text).instant == NEW_YEAR


@pytest.mark.parametrize(
    "text",
    ["", "REAL", "real@", "real@2026-01-01", "frozen@", "frozen@now", "frozen@1969-12-31", "@"],
)
def test_anything_else_is_no_clock(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_clock(text)
