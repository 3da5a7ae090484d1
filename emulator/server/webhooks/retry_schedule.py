"""Calculates when a failed delivery is attempted again, and after which attempt it ends."""

import re

from emulator.domain.instants import Instant
from emulator.domain.webhooks import AttemptResult, Profile, WebhookResponse

_SECOND = 1_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE

# The delay of each attempt after the previous one, or after the event.
DELAYS_MS = {
    Profile.DEFAULT: (0, _SECOND, 5 * _SECOND, 15 * _SECOND, _MINUTE),
    # The schedule that the specification of Standard Webhooks recommends.
    Profile.STANDARD: (
        0,
        5 * _SECOND,
        5 * _MINUTE,
        30 * _MINUTE,
        2 * _HOUR,
        5 * _HOUR,
        10 * _HOUR,
        14 * _HOUR,
        20 * _HOUR,
        24 * _HOUR,
    ),
}
# A longer `Retry-After` is shortened to this.
MAX_RETRY_AFTER_MS = 24 * _HOUR

_GONE = 410
_RETRY_AFTER_STATUSES = {429, 503}
_SECONDS = re.compile(r"[0-9]{1,18}", re.ASCII)


def delay_ms_after(
    profile: Profile, attempts: int, result: AttemptResult, *, wall_now_ms: Instant
) -> int | None:
    """The delay of the next attempt after a failed one; None when that was the last.

    `attempts` is the number of attempts so far. A `Retry-After` of a 429 or 503 can only delay the
    next one; a date in it is compared with the real time of the response, `wall_now_ms`.
    """
    delays_ms = DELAYS_MS[profile]
    if attempts >= len(delays_ms):
        return None
    retry_after_ms = _retry_after_ms(result.response, wall_now_ms)
    return max(delays_ms[attempts], min(retry_after_ms, MAX_RETRY_AFTER_MS))


def is_gone(result: AttemptResult) -> bool:
    """Whether the endpoint is gone and must be disabled (Standard Webhooks: status 410)."""
    return result.response is not None and result.response.status == _GONE


def _retry_after_ms(response: WebhookResponse | None, wall_now_ms: Instant) -> int:
    if response is None or response.status not in _RETRY_AFTER_STATUSES:
        return 0
    values = (value.strip() for name, value in response.headers if name.lower() == "retry-after")
    value = next(values, "")
    if _SECONDS.fullmatch(value):
        return int(value) * _SECOND
    at_ms = _http_date_ms(value)
    return 0 if at_ms is None else max(0, at_ms - wall_now_ms)


def _http_date_ms(text: str) -> Instant | None:
    from datetime import UTC
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(text)
        # "-0000" or no time zone; HTTP dates are in GMT.
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return int(at.timestamp()) * _SECOND
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
