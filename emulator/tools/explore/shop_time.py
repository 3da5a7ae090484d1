"""Moves the clock of the merchant's application, by libfaketime."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path

from msgspec import Struct

from emulator.domain.instants import DAY_MS, Instant
from emulator.http.response import HttpResponse
from emulator.tools.explore.steps import Manner

_LIBRARIES = ("lib*/faketime/libfaketimeMT.so.1", "lib/*/faketime/libfaketimeMT.so.1")
_HOUR_MS = 3_600_000
_HALF_PAST_TEN_MS = 22 * _HOUR_MS + _HOUR_MS // 2
# Servers make a date once a second; the requests take a moment.
MAX_DATE_LAG_MS = 2_000
MAX_DATE_DIFFERENCE_MS = 60_000


class ShopTime(Struct):
    """The file that the library of the application reads; it has the difference to real time."""

    library: Path
    file: Path
    ahead_ms: int = 0

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables of the application; its timers stay real."""
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_FMT": "%s",
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "NO_FAKE_STAT": "1",
        }

    def move(self, ahead_ms: int) -> None:
        """Set how far the clock is ahead of real time."""
        self.ahead_ms = ahead_ms
        written = self.file.with_suffix(".new")
        written.write_text(f"+{ahead_ms / 1000:.3f}\n", encoding="ascii")
        written.replace(self.file)


def faketime_library() -> Path | None:
    """The library for programs with threads, if it is installed."""
    found = (path for pattern in _LIBRARIES for path in Path("/usr").glob(pattern))
    return next(found, None)


def instant_after(manner: Manner, now: Instant) -> Instant:
    """The instant to which a step moves the clock."""
    match manner:
        case Manner.AN_HOUR:
            return now + _HOUR_MS
        case Manner.THREE_DAYS:
            return now + 3 * DAY_MS
        case _:
            return now + (_HALF_PAST_TEN_MS - now) % DAY_MS


def has_date(response: HttpResponse, now: Instant) -> bool:
    """Whether the `Date` header of a response has the instant `now`."""
    try:
        date = parsedate_to_datetime(response.header("date") or "")
    except ValueError:
        return False
    return abs(date.timestamp() * 1000 - now) < MAX_DATE_DIFFERENCE_MS
