"""What is going to happen by itself, and when."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.domain.transitions import Change

DueKey = tuple[Instant, int]
"""When something is due, and its place in the order of creation between equal instants."""

LAST_SEQUENCE = 1 << 62
# The kind under which a coming attempt to deliver is listed among what is due.
ATTEMPT = "webhook_attempt"


class TimerKind(StrEnum):
    EXPIRY = "expiry"
    OUTCOME = "outcome"
    HANDSET_TIMEOUT = "handset_timeout"


class Timer(NamedTuple):
    """A change of one payment that is due at an instant of its account's clock.

    `sequence` is its place in the order of creation, which decides between equal instants.
    """

    due_at: Instant
    sequence: int
    payment: int
    kind: TimerKind
    change: Change


class Due(NamedTuple):
    """The next thing to happen, for whoever wants to know: a timer, or a webhook's attempt."""

    at: Instant
    kind: str
    payment_id: str


class ComingAttempt(NamedTuple):
    """An attempt to deliver an event of a payment, due like a timer."""

    due_at: Instant
    sequence: int
    delivery_id: str
    event_type: str


def is_asked(scheduled: Iterable[Timer]) -> bool:
    """Whether somebody is asked, on the phone or at the bank: all that is scheduled tells."""
    return any(timer.kind is TimerKind.HANDSET_TIMEOUT for timer in scheduled)
