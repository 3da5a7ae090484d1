"""What the customer's phone or bank is going to do after a method was submitted."""

from dataclasses import dataclass

from emulator.domain.instants import Instant
from emulator.domain.payment import Reason, Status
from emulator.domain.payment_methods import BANK_TRANSFER


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One scripted change, `after_ms` from the submit on; at 0 it commits with the submit."""

    status: Status
    after_ms: int = 0
    reason: Reason | None = None
    unusual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """The phone does what a scenario says. Without steps the payment stays in processing."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Handset:
    """A person or the control API answers; unanswered, it times out."""


Outcome = Scripted | Handset

HANDSET_TIMEOUT_MS = 30_000


def answer_due_at(method: str | None, *, submitted_at: Instant, expires_at: Instant) -> Instant:
    """Until when a person may answer: at a bank as long as the checkout is open, if not longer."""
    due_at = submitted_at + HANDSET_TIMEOUT_MS
    return max(due_at, expires_at) if method == BANK_TRANSFER else due_at
