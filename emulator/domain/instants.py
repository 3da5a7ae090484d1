"""Parses and formats instants (integer milliseconds since 1970) and clock settings."""

import re
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

Instant = int
"""Milliseconds since 1970-01-01T00:00:00Z."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
DAY_S = 86_400
DAY_MS = DAY_S * 1000
FIRST_INSTANT: Instant = 0
# A scheduled change can be ten years after the clock, and must still be a valid date.
LAST_INSTANT: Instant = (datetime(9989, 1, 1, tzinfo=UTC) - EPOCH) // MILLISECOND
# A system clock can be beyond it, and is then written as if it stood.
_LAST_DATE: Instant = (datetime(9999, 12, 31, tzinfo=UTC) - EPOCH) // MILLISECOND
# Rates of clocks are integers, in thousandths of real time, so that computations are exact.
REAL_RATE = 1_000
MAX_RATE = 100_000 * REAL_RATE
ACCEPTED_INSTANTS = "an ISO 8601 timestamp from 1970 to 9988, such as 2026-01-01T00:00:00Z"
ACCEPTED_CLOCKS = (
    "real, frozen, frozen@2026-01-01T00:00:00Z (1970 to 9988), or a rate from x0.001 to x100000"
)

# The extended and basic forms of ISO 8601: calendar, ordinal and week dates, with or without a time
# of day in whole hours, minutes or seconds; a fraction is one of a second.
# Compiled when needed, which is rare.
_ISO_8601 = (
    r"(?P<date>[0-9]{4}-?(?:[0-9]{2}-?[0-9]{2}|(?P<day_of_year>[0-9]{3})|W[0-9]{2}(?:-?[0-9])?))"
    r"(?:[Tt](?P<hour>[0-9]{2})(?P<rest>(?::?[0-9]{2}){0,2})(?:[.,](?P<fraction>[0-9]+))?"
    r"(?P<offset>[Zz]|[+-][0-9]{2}(?::?[0-5][0-9]){0,2})?)?"
)
_RATE = r"x([0-9]{1,6})(?:\.([0-9]{1,3}))?"
# The form in which nearly all are written, and which the standard library reads fast.
_USUAL = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{3})?"
    r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_BLANK_FOR_PLUS = r"(.+[Tt][0-9:.,]+) ([0-9:]+)"


class ClockKind(StrEnum):
    REAL = "real"
    FROZEN = "frozen"


class ClockSpec(NamedTuple):
    """The setting of a clock; frozen without an instant means frozen at the start."""

    kind: ClockKind = ClockKind.REAL
    instant: Instant | None = None
    rate_thousandths: int = REAL_RATE


def format_instant(instant: Instant) -> str:
    """Write an instant as the contract does: `2026-01-01T00:00:00.000Z`."""
    seconds, milliseconds = divmod(instant, 1000)
    return f"{_second(seconds)}.{milliseconds:03}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    day, of_day = divmod(seconds, DAY_MS // 1000)
    date = (EPOCH + timedelta(days=min(day, _LAST_DATE // DAY_MS))).date()
    return f"{date.isoformat()}T{(EPOCH + timedelta(seconds=of_day)).time().isoformat()}"


class ParsedTimestamp(NamedTuple):
    """A timestamp as read, and whether its writing had to be interpreted.

    `floor` and `ceiling` enclose a timestamp finer than a millisecond, so that an inclusive
    bound keeps its meaning.
    """

    floor: Instant
    ceiling: Instant
    is_loose: bool


def parse_timestamp(text: str) -> ParsedTimestamp:
    """Read an ISO 8601 timestamp.

    Without an offset it is UTC, a date alone is its midnight, a blank may stand where `+` was
    meant (an unescaped `+` in a query string). Each of these is loose, and so are the rare forms:
    an ordinal or a week date, a basic date beside an extended time, hour 24, a leap second, an
    offset with seconds. Raises ValueError.
    """
    try:
        return _parse_timestamp(text)
    except (ValueError, OverflowError):
        raise ValueError(f"expected {ACCEPTED_INSTANTS}") from None


def _parse_timestamp(text: str) -> ParsedTimestamp:
    if re.fullmatch(_USUAL, text):
        usual = (datetime.fromisoformat(text) - EPOCH) // MILLISECOND
        return ParsedTimestamp(usual, usual, is_loose=False)
    with_blank = re.fullmatch(_BLANK_FOR_PLUS, text)
    written = text if with_blank is None else "+".join(with_blank.groups())
    match = re.fullmatch(_ISO_8601, written, re.ASCII)
    if match is None:
        raise ValueError(text)
    day, time, rest, fraction, offset = match.group("date", "hour", "rest", "fraction", "offset")
    if match["day_of_year"]:
        day = _ordinal_day(int(day[:4]), int(match["day_of_year"]))
    if fraction and len(rest.replace(":", "")) < len("mmss"):
        raise ValueError(text)
    is_end_of_day, is_leap_second = time == "24", bool(rest) and rest[2:].endswith("60")
    if is_end_of_day and (rest + (fraction or "")).strip(":0"):
        raise ValueError(text)
    time = f"{'00' if is_end_of_day else time or '00'}{rest or ''}"
    time = f"{time[:-2]}59" if is_leap_second else time
    moment = datetime.fromisoformat(f"{day}T{time}{(offset or 'Z').upper()}")
    floor = (moment - EPOCH) // MILLISECOND + is_end_of_day * DAY_MS
    is_loose = (
        with_blank is not None
        or offset is None
        or len(offset.replace(":", "")) > len("+0300")
        or not re.fullmatch("[0-9]{4}-?[0-9]{2}-?[0-9]{2}", match["date"])
        or (bool(rest) and (":" in rest) is not ("-" in match["date"]))
        or is_end_of_day
        or is_leap_second
    )
    if is_leap_second:
        # It lies between the last millisecond that a clock here shows and the next midnight.
        if (floor + 1000) % DAY_MS:
            raise ValueError(text)
        return ParsedTimestamp(floor + 999, floor + 1000, is_loose)
    digits = (fraction or "").rstrip("0")
    floor += int(digits[:3].ljust(3, "0"))
    return ParsedTimestamp(floor, floor + (len(digits) > 3), is_loose)


def _ordinal_day(year: int, day_of_year: int) -> str:
    day = date(year, 1, 1) + timedelta(days=day_of_year - 1)
    if day.year != year:
        raise ValueError(day_of_year)
    return day.isoformat()


def parse_instant(text: str) -> Instant:
    """Read a timestamp that a clock is set to. Raises ValueError, also outside 1970 to 9988."""
    instant = parse_timestamp(text).floor
    if not FIRST_INSTANT <= instant < LAST_INSTANT:
        raise ValueError(f"expected {ACCEPTED_INSTANTS}")
    return instant


def parse_clock(text: str) -> ClockSpec:
    """Read `real`, `frozen`, `frozen@2026-01-01T00:00:00Z` or a rate such as `x60`.

    Raises ValueError for another format, outside 1970 to 9988, and for a rate outside its limits.
    """
    rate = re.fullmatch(_RATE, text)
    if rate is not None:
        rate_thousandths = int(rate[1] + (rate[2] or "").ljust(3, "0"))
        if not 0 < rate_thousandths <= MAX_RATE:
            raise ValueError(f"expected {ACCEPTED_CLOCKS}")
        return ClockSpec(rate_thousandths=rate_thousandths)
    word, at, timestamp = text.partition("@")
    if at and word == ClockKind.FROZEN:
        return ClockSpec(kind=ClockKind.FROZEN, instant=parse_instant(timestamp))
    if at or word not in {kind.value for kind in ClockKind}:
        raise ValueError(f"expected {ACCEPTED_CLOCKS}")
    return ClockSpec(kind=ClockKind(word))


def format_clock(spec: ClockSpec) -> str:
    """Write a clock so that `parse_clock` reads it back; whole seconds without `.000`."""
    if spec.rate_thousandths != REAL_RATE:
        return f"x{rate_number(spec.rate_thousandths)}"
    if spec.instant is None:
        return spec.kind.value
    return f"{spec.kind.value}@{format_instant(spec.instant).replace('.000Z', 'Z')}"


def rate_number(rate_thousandths: int) -> float:
    """A rate as a number for people and JSON: 60, 0.5."""
    whole, rest = divmod(rate_thousandths, REAL_RATE)
    return rate_thousandths / REAL_RATE if rest else whole
