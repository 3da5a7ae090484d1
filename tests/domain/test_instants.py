"""Timestamps, durations and clock settings."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from emulator.domain.durations import MAX_DURATION_MS, UNIT_MS, parse_duration_ms
from emulator.domain.instants import (
    EPOCH,
    FIRST_INSTANT,
    LAST_INSTANT,
    ClockKind,
    ClockSpec,
    format_clock,
    format_instant,
    parse_clock,
    parse_instant,
    parse_timestamp,
)
from tests.tables import rows, values

END_OF_9999 = (datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC) - EPOCH) // timedelta(
    milliseconds=1
)
INSTANTS = st.integers(FIRST_INSTANT, END_OF_9999)
OFFSETS = st.integers(-23 * 60 - 59, 23 * 60 + 59)


@pytest.mark.parametrize(("instant", "text"), rows(__file__, "instants"))
def test_an_instant_is_utc_with_milliseconds(instant: int, text: str) -> None:
    assert format_instant(instant) == text


@given(INSTANTS)
@example(FIRST_INSTANT)
@example(LAST_INSTANT - 1)
@example(END_OF_9999)
def test_a_formatted_instant_is_parsed_back(instant: int) -> None:
    text = format_instant(instant)
    assert len(text) == 24
    parsed = parse_timestamp(text)
    assert (parsed.floor, parsed.ceiling, parsed.is_loose) == (instant, instant, False)
    if instant < LAST_INSTANT:
        assert parse_instant(text) == instant


@given(INSTANTS, INSTANTS)
def test_the_order_of_texts_is_the_order_of_instants(one: int, other: int) -> None:
    assert (format_instant(one) < format_instant(other)) == (one < other)


@given(st.integers(FIRST_INSTANT + 10**8, END_OF_9999 - 10**8), OFFSETS)
def test_any_offset_names_the_same_instant(instant: int, offset_minutes: int) -> None:
    zone = timezone(timedelta(minutes=offset_minutes))
    moment = (EPOCH + timedelta(milliseconds=instant)).astimezone(zone)
    parsed = parse_timestamp(moment.isoformat(timespec="milliseconds"))
    assert parsed.floor == parsed.ceiling == instant
    assert not parsed.is_loose


@given(INSTANTS, st.from_regex(r"[0-9]{1,12}", fullmatch=True))
def test_a_finer_timestamp_lies_between_two_milliseconds(instant: int, digits: str) -> None:
    text = format_instant(instant).replace("Z", f"{digits}Z")
    parsed = parse_timestamp(text)
    assert parsed.floor == instant
    assert parsed.ceiling == instant + (int(digits) > 0)


@pytest.mark.parametrize(("text", "strict_text"), rows(__file__, "loose timestamps"))
def test_an_ambiguous_timestamp_is_loose(text: str, strict_text: str) -> None:
    """Without offset, date only, a blank where `+` was meant."""
    parsed = parse_timestamp(text)
    assert parsed.is_loose
    assert format_instant(parsed.floor) == strict_text
    assert parsed.floor == parsed.ceiling


@pytest.mark.parametrize("text", values(__file__, "forms of one instant"))
def test_iso_8601_in_its_forms_is_read(text: str) -> None:
    parsed = parse_timestamp(text)
    assert format_instant(parsed.floor) == "2026-01-01T00:00:00.000Z"
    assert not parsed.is_loose


@pytest.mark.parametrize(
    "text",
    [
        *values(__file__, "not a timestamp"),
        *("2026-01-01T00:00:00.5.5Z", "2026-01-01T00:00:00." + "9" * 5000 + "x"),
    ],
    ids=lambda text: text[:30],
)
def test_any_other_text_is_not_a_timestamp(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the message is the parser's
        parse_timestamp(text)


@pytest.mark.parametrize(
    "text",
    [
        *("2026-12-31T23:59:60Z", "2026-12-31T23:59:60.999Z", "2026-12-31T235960Z"),
        *("2027-01-01T02:59:60+03:00", "2026-365T23:59:60"),
    ],
)
def test_a_leap_second_lies_before_the_next_day(text: str) -> None:
    """An inclusive bound has the last millisecond of the day before, or the midnight after."""
    parsed = parse_timestamp(text)
    assert parsed.is_loose
    assert format_instant(parsed.floor) == "2026-12-31T23:59:59.999Z"
    assert format_instant(parsed.ceiling) == "2027-01-01T00:00:00.000Z"


@given(st.datetimes(timezones=st.timezones()))
def test_the_standard_library_reads_the_same(moment: datetime) -> None:
    text = moment.isoformat()
    parsed = parse_timestamp(text)
    assert parsed.floor == (moment - EPOCH) // timedelta(milliseconds=1)


@given(st.dates(), st.integers(0, 86_399))
def test_a_date_is_the_same_day_in_all_its_forms(day: date, second: int) -> None:
    at = format_instant(second * 1000).partition("T")[2]
    year, week, weekday = day.isocalendar()
    forms = [day.isoformat(), f"{day.year:04}-{day:%j}", f"{year:04}-W{week:02}-{weekday}"]
    if year < 10_000:
        assert len({parse_timestamp(f"{form}T{at}").floor for form in forms}) == 1


@given(st.text() | st.text("0123456789-:.,TWZ+ tz"))
def test_any_text_is_a_timestamp_or_a_refusal(text: str) -> None:
    try:
        parsed = parse_timestamp(text)
    except ValueError:
        return
    assert 0 <= parsed.ceiling - parsed.floor <= 1


@pytest.mark.parametrize("text", values(__file__, "instants outside the calendar"))
def test_a_clock_stays_within_its_calendar(text: str) -> None:
    with pytest.raises(ValueError, match="from 1970 to 9988"):
        parse_instant(text)


@pytest.mark.parametrize(("text", "ms"), rows(__file__, "durations"))
def test_a_number_and_a_unit_are_a_duration(text: str, ms: int) -> None:
    assert parse_duration_ms(text) == ms


DURATION_MISTAKES = {
    "is not a number and one of": [
        *("", "30", "s", "s30", "30 s", " 30s", "30s ", "30s\n", "30S", "30sec", "1w"),
        *("-1s", "+1s", "1,5s", ".5s", "1.s", "1e3s", "1h30m", "0x1s", "٣s", "1_0s"),
        *("inf", "nan s", "9" * 16 + "s"),
    ],
    "finer than a millisecond": ["0.5ms", "0.0001s", "0.00000001d", "1.0005s"],
    "longer than ten years": ["3651d", "315360001s", "999999999999999d"],
}


@pytest.mark.parametrize(("text", "written"), rows(__file__, "durations in another notation"))
def test_a_duration_in_another_notation_is_converted(text: str, written: str) -> None:
    with pytest.raises(ValueError, match=f"; write {written}$"):
        parse_duration_ms(text)


@pytest.mark.parametrize("text", ["P1M", "PT", "P", "1:2:3:4", "1m1x", "9999d9999d"])
def test_other_notations_have_no_conversion(text: str) -> None:
    with pytest.raises(ValueError, match=r"such as 30s$"):
        parse_duration_ms(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [(text, message) for message, texts in DURATION_MISTAKES.items() for text in texts],
)
def test_any_other_text_is_not_a_duration(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_duration_ms(text)


@given(ms=st.integers(0, MAX_DURATION_MS), unit=st.sampled_from(sorted(UNIT_MS)))
def test_every_whole_number_of_units_is_exact(ms: int, unit: str) -> None:
    count = ms // UNIT_MS[unit]
    assert parse_duration_ms(f"{count}{unit}") == count * UNIT_MS[unit]


@given(st.integers(0, MAX_DURATION_MS))
def test_seconds_with_three_places_are_exact(ms: int) -> None:
    assert parse_duration_ms(f"{ms // 1000}.{ms % 1000:03}s") == ms


NEW_YEAR = 1_767_225_600_000


@pytest.mark.parametrize(
    ("text", "kind", "instant"),
    [
        ("real", ClockKind.REAL, None),
        ("frozen", ClockKind.FROZEN, None),
        ("frozen@2026-01-01T00:00:00Z", ClockKind.FROZEN, NEW_YEAR),
        ("frozen@2026-01-01T00:00:00.250Z", ClockKind.FROZEN, NEW_YEAR + 250),
        ("frozen@2026-01-01", ClockKind.FROZEN, NEW_YEAR),
        ("frozen@2026-01-01T03:00:00+03:00", ClockKind.FROZEN, NEW_YEAR),
    ],
)
def test_a_clock_is_read_with_any_timestamp_and_written_in_the_same_words(
    text: str, kind: ClockKind, instant: int | None
) -> None:
    clock = ClockSpec(kind=kind, instant=instant)
    assert parse_clock(text) == clock
    if instant is None or "Z" in text:
        assert format_clock(clock) == text


@pytest.mark.parametrize(
    "text",
    ["", "REAL", "real@", "real@2026-01-01", "frozen@", "frozen@now", "frozen@1969-12-31", "@"],
)
def test_anything_else_is_no_clock(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_clock(text)
