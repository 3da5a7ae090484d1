"""Compares the clocks of the merchant's servers with the clock of the account."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from email.utils import parsedate_to_datetime

from emulator.domain.instants import Instant, format_instant, parse_instant
from emulator.http import emulator_calls as calls
from emulator.tools.doctor.machine import ExaminedEmulator
from emulator.tools.doctor.report import DoctorFinding, note

# A `Date` header has no fraction, and servers update it about once a second.
MAX_DIFFERENCE_MS = 5_000
_ADVICE = (
    "A shop that compares times of the API with its own needs the account's clock: "
    "serve --clock-file FILE, and libfaketime in the shop."
)


async def account_instant(emulator: ExaminedEmulator) -> Instant | None:
    """The time of the account's clock; None without an account."""
    if not emulator.has_account:
        return None
    response = await replace(emulator.control, key=emulator.key).try_to_send(calls.CLOCK)
    now = response.member("now")
    return parse_instant(now) if isinstance(now, str) else None


def clock_findings(
    dates: Mapping[str, str], earliest: Instant | None, latest: Instant | None
) -> list[DoctorFinding]:
    """A note for each server whose `Date` is not in a period of the account's clock.

    `dates` are the headers by the URL.
    """
    if earliest is None or latest is None:
        return []
    findings = []
    for url, date in dates.items():
        instant = _instant_of(date)
        period = range(earliest - MAX_DIFFERENCE_MS, latest + MAX_DIFFERENCE_MS + 1)
        if instant is not None and instant not in period:
            text = (
                f"The clock of {url} differs from the account's clock: {format_instant(instant)}"
                f" in its Date header, {format_instant(latest)} in the account"
            )
            findings.append(note(text, _ADVICE))
    return findings


def _instant_of(date: str) -> Instant | None:
    """The instant of a `Date` header; None for another text."""
    try:
        parsed = parsedate_to_datetime(date)
    except ValueError:
        return None
    return int(parsed.replace(tzinfo=parsed.tzinfo or UTC).timestamp()) * 1000
