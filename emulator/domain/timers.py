"""Scheduled changes of payments and scheduled delivery attempts."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.domain.transitions import Change

DueKey = tuple[Instant, int]
"""The due instant, and the place in the order of creation among equal instants."""

LAST_SEQUENCE = 1 << 62
# The kind of a scheduled delivery attempt in the list of due timers.
ATTEMPT = "webhook_attempt"


class TimerKind(StrEnum):
    EXPIRY = "expiry"
    OUTCOME = "outcome"
    HANDSET_TIMEOUT = "handset_timeout"


class Timer(NamedTuple):
    """A change of a payment, due at an instant of its account's clock.

    `sequence` is its place in the order of creation, and orders equal instants.
    """

    due_at: Instant
    sequence: int
    payment: int
    kind: TimerKind
    change: Change


class Due(NamedTuple):
    """The next due timer or delivery attempt, for display."""

    at: Instant
    kind: str
    payment_id: str


class ComingAttempt(NamedTuple):
    """A scheduled attempt to deliver an event of a payment."""

    due_at: Instant
    sequence: int
    delivery_id: str
    event_type: str


def is_asked(scheduled: Iterable[Timer]) -> bool:
    """Whether an answer on the phone or at the bank is pending, according to the timers."""
    return any(timer.kind is TimerKind.HANDSET_TIMEOUT for timer in scheduled)
