"""When a delivery is attempted again, and when it is given up."""

import re

from emulator.domain.instants import Instant
from emulator.domain.webhooks import AttemptResult, Profile, WebhookResponse

_SECOND = 1_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE

# How long after the attempt before, or after the event, each attempt is made.
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
# An endpoint may ask for patience, but not for being forgotten.
MAX_RETRY_AFTER_MS = 24 * _HOUR

_GONE = 410
_MAY_ASK_FOR_PATIENCE = {429, 503}
_SECONDS = re.compile(r"[0-9]{1,18}", re.ASCII)


def delay_ms_after(
    profile: Profile, attempts: int, result: AttemptResult, *, wall_now_ms: Instant
) -> int | None:
    """How long after a failed attempt the next one is made; None when it was the last.

    `attempts` are those made so far. A `Retry-After` of a 429 or 503 can put the next one off,
    never forward; a date in it is held against the real time of the answer, `wall_now_ms`.
    """
    delays_ms = DELAYS_MS[profile]
    if attempts >= len(delays_ms):
        return None
    asked_ms = _retry_after_ms(result.response, wall_now_ms)
    return max(delays_ms[attempts], min(asked_ms, MAX_RETRY_AFTER_MS))


def is_gone(result: AttemptResult) -> bool:
    """Whether the endpoint wants no webhooks any more (Standard Webhooks: 410)."""
    return result.response is not None and result.response.status == _GONE


def _retry_after_ms(response: WebhookResponse | None, wall_now_ms: Instant) -> int:
    if response is None or response.status not in _MAY_ASK_FOR_PATIENCE:
        return 0
    asked = next((value for name, value in response.headers if name.lower() == "retry-after"), "")
    asked = asked.strip()
    if _SECONDS.fullmatch(asked):
        return int(asked) * _SECOND
    at_ms = _http_date_ms(asked)
    return 0 if at_ms is None else max(0, at_ms - wall_now_ms)


def _http_date_ms(text: str) -> Instant | None:
    from datetime import UTC
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(text)
        # "-0000" or no zone at all; HTTP knows no other than GMT.
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return int(at.timestamp()) * _SECOND
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
