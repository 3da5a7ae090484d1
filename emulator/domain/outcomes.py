"""The outcomes of a submitted method: scripted steps, or an answer on the phone or at the bank."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.domain.payment import Reason, Status
from emulator.domain.payment_methods import BANK_TRANSFER


class Step(NamedTuple):
    """A scripted change, `after_ms` after the submit; at 0 in the same transaction."""

    status: Status
    after_ms: int = 0
    reason: Reason | None = None
    unusual: bool = False


class Scripted(NamedTuple):
    """The steps of a scenario. Without steps the payment stays in processing."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Handset:
    """A person or the control API answers; without an answer it times out."""


Outcome = Scripted | Handset


class RedirectMoment(StrEnum):
    """When the page of a completed payment redirects, relative to the event's first attempts."""

    AFTER_WEBHOOK = "after_webhook"
    BEFORE_WEBHOOK = "before_webhook"
    NEVER = "never"


# The real time for which the redirect waits for the attempts, or the attempts for the redirect.
MAX_REDIRECT_WAIT_MS = 15_000
DEFAULT_REDIRECT_DELAY_MS = 2_000


class Redirect(NamedTuple):
    """When the page redirects; `delay_ms` is from a redirect before the webhook to the attempts."""

    moment: RedirectMoment
    delay_ms: int = DEFAULT_REDIRECT_DELAY_MS


HANDSET_TIMEOUT_MS = 30_000


def answer_due_at(method: str | None, *, submitted_at: Instant, expires_at: Instant) -> Instant:
    """The deadline of an answer; at a bank at least until the checkout expires."""
    due_at = submitted_at + HANDSET_TIMEOUT_MS
    return max(due_at, expires_at) if method == BANK_TRANSFER else due_at
