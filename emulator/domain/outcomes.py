"""The outcomes of a submitted method: scripted steps, or an answer on the phone or at the bank."""

from dataclasses import dataclass

from emulator.domain.instants import Instant
from emulator.domain.payment import Reason, Status
from emulator.domain.payment_methods import BANK_TRANSFER


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A scripted change, `after_ms` after the submit; at 0 in the same transaction."""

    status: Status
    after_ms: int = 0
    reason: Reason | None = None
    unusual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """The steps of a scenario. Without steps the payment stays in processing."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Handset:
    """A person or the control API answers; without an answer it times out."""


Outcome = Scripted | Handset

HANDSET_TIMEOUT_MS = 30_000


def answer_due_at(method: str | None, *, submitted_at: Instant, expires_at: Instant) -> Instant:
    """The deadline of an answer; at a bank at least until the checkout expires."""
    due_at = submitted_at + HANDSET_TIMEOUT_MS
    return max(due_at, expires_at) if method == BANK_TRANSFER else due_at
