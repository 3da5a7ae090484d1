"""What is going to happen by itself, and when."""

from dataclasses import dataclass
from enum import StrEnum

from emulator.domain.instants import Instant
from emulator.domain.transitions import Change


class TimerKind(StrEnum):
    EXPIRY = "expiry"
    OUTCOME = "outcome"
    HANDSET_TIMEOUT = "handset_timeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """A change of one payment that is due at an instant of its account's clock.

    `sequence` is its place in the order of creation, which decides between equal instants.
    """

    due_at: Instant
    sequence: int
    payment: int
    kind: TimerKind
    change: Change
