"""Spans of time as scenarios and clocks write them (design 7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.instants import MAX_DURATION_MS, UNIT_MS, parse_duration_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0s", 0),
        ("1ms", 1),
        ("30s", 30_000),
        ("1.5s", 1_500),
        ("0.001s", 1),
        ("1.0000s", 1_000),
        ("5m", 300_000),
        ("0.5m", 30_000),
        ("24h", 86_400_000),
        ("1.5h", 5_400_000),
        ("7d", 604_800_000),
        ("3650d", MAX_DURATION_MS),
        ("007s", 7_000),
    ],
)
def test_a_number_and_a_unit_are_a_duration(text: str, ms: int) -> None:
    assert parse_duration_ms(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "30",
        "s",
        "s30",
        "30 s",
        " 30s",
        "30s ",
        "30S",
        "30sec",
        "-1s",
        "+1s",
        "1,5s",
        ".5s",
        "1.s",
        "1e3s",
        "1h30m",
        "0x1s",
        "٣s",
        "30s\n",
        "1_0s",
        "inf",
        "nan s",
        "1w",
        "9" * 16 + "s",
    ],
)
def test_all_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number and one of"):
        parse_duration_ms(text)


@pytest.mark.parametrize("text", ["0.5ms", "0.0001s", "0.00000001d", "1.0005s"])
def test_what_is_finer_than_a_millisecond_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="finer than a millisecond"):
        parse_duration_ms(text)


@pytest.mark.parametrize("text", ["3651d", "315360001s", "999999999999999d"])
def test_what_is_longer_than_ten_years_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="longer than ten years"):
        parse_duration_ms(text)


@given(ms=st.integers(0, MAX_DURATION_MS), unit=st.sampled_from(sorted(UNIT_MS)))
def test_every_whole_number_of_units_is_exact(ms: int, unit: str) -> None:
    count = ms // UNIT_MS[unit]
    assert parse_duration_ms(f"{count}{unit}") == count * UNIT_MS[unit]


@given(st.integers(0, MAX_DURATION_MS))
def test_seconds_with_three_places_are_exact(ms: int) -> None:
    assert parse_duration_ms(f"{ms // 1000}.{ms % 1000:03}s") == ms
