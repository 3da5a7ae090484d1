"""How the instants of a payment are read: by what they say, not by how they are written."""

import re
from collections.abc import Mapping
from typing import Any

from emulator.domain.instants import Instant, format_instant, parse_timestamp

# ISO 8601 with a date and a time of day; the contract asks for no certain form of it.
_AS_OURS = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z", re.ASCII)


def instant(value: object) -> Instant | None:
    """Milliseconds since 1970, or None for what is no ISO 8601 timestamp."""
    if not isinstance(value, str) or "T" not in value.upper():
        return None
    try:
        return parse_timestamp(value).floor
    except ValueError:
        return None


def is_written_as_ours(value: object) -> bool:
    """UTC with milliseconds: `2026-01-01T00:00:00.000Z`."""
    return isinstance(value, str) and _AS_OURS.fullmatch(value) is not None


def seconds_between(payment: Mapping[str, Any]) -> float | None:
    """How long a payment can be paid; None where an instant is none."""
    created_at = instant(payment.get("created_at"))
    expires_at = instant(payment.get("expires_at"))
    if created_at is None or expires_at is None:
        return None
    return (expires_at - created_at) / 1_000


def moved(at: Instant, by_ms: int) -> str:
    """A timestamp so much later, or earlier."""
    return format_instant(at + by_ms)
