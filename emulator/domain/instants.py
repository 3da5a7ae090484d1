"""How an instant is written: UTC with milliseconds, kept as integer milliseconds since 1970."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from emulator.domain.received import received

Instant = int
"""Milliseconds since 1970-01-01T00:00:00Z."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
DAY_MS = 86_400_000
FIRST_INSTANT: Instant = 0
# What is scheduled may lie ten years ahead of a clock, and must still be a date to be written.
LAST_INSTANT: Instant = (datetime(9989, 1, 1, tzinfo=UTC) - EPOCH) // MILLISECOND

# The extended and basic forms of ISO 8601, without the liberties of `fromisoformat`, which takes
# any character between date and time, and a fraction of an hour for one of a second.
_ISO_8601 = re.compile(
    r"[0-9]{4}-?[0-9W][0-9-]*"
    r"(?:[Tt][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2}(?:[.,][0-9]+)?)?)?(?P<offset>[Zz]|[+-][0-9:]+)?)?",
    re.ASCII,
)
# `fromisoformat` drops what is finer than a microsecond.
_FINER_THAN_READ = re.compile(r"[.,][0-9]{6}[0-9]*[1-9]", re.ASCII)
_BLANK_FOR_PLUS = re.compile(r"(.+[Tt][0-9:.,]+) ([0-9:]+)", re.ASCII)


@lru_cache(maxsize=1024)
def format_instant(instant: Instant) -> str:
    """Write an instant as the contract does: `2026-01-01T00:00:00.000Z`."""
    day, of_day_ms = divmod(instant, DAY_MS)
    seconds, milliseconds = divmod(of_day_ms, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{_date(day)}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z"


@lru_cache(maxsize=64)
def _date(day: int) -> str:
    return (EPOCH + timedelta(days=day)).date().isoformat()


class ParsedTimestamp:
    """A timestamp as read, and whether its writing had to be interpreted.

    `floor` and `ceiling` enclose a timestamp finer than a millisecond, so that an inclusive
    bound keeps its meaning.
    """

    __slots__ = ("ceiling", "floor", "is_loose")

    def __init__(self, *, floor: Instant, ceiling: Instant, is_loose: bool) -> None:
        self.floor = floor
        self.ceiling = ceiling
        self.is_loose = is_loose


def parse_timestamp(text: str) -> ParsedTimestamp:
    """Read an ISO 8601 timestamp.

    Without an offset it is UTC, a date alone is its midnight, a blank may stand where `+` was
    meant (an unescaped `+` in a query string); each of these is loose. Raises ValueError.
    """
    with_blank = _BLANK_FOR_PLUS.fullmatch(text)
    if with_blank is not None:
        text = f"{with_blank[1]}+{with_blank[2]}"
    match = _ISO_8601.fullmatch(text)
    if match is None:
        raise ValueError(f"{received(text)} is not an ISO 8601 timestamp")
    moment = datetime.fromisoformat(text.upper())
    is_loose = with_blank is not None or match["offset"] is None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since_epoch = moment - EPOCH
    floor = since_epoch // MILLISECOND
    is_whole = floor * MILLISECOND == since_epoch and not _FINER_THAN_READ.search(text)
    return ParsedTimestamp(floor=floor, ceiling=floor + (not is_whole), is_loose=is_loose)


def parse_instant(text: str) -> Instant:
    """Read a timestamp that a clock is set to. Raises ValueError, also outside 1970 to 9988."""
    instant = parse_timestamp(text).floor
    if not FIRST_INSTANT <= instant < LAST_INSTANT:
        raise ValueError(f"{received(text)} is not between the years 1970 and 9988")
    return instant
