"""Holds what was observed of one history: its steps, the order's states, the webhooks."""

from dataclasses import dataclass, field

from emulator.explore.histories import History
from emulator.explore.service import ServiceEvent
from emulator.explore.steps import HistoryStep
from emulator.scenarios.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The order after a step, and the status of its payment then."""

    step: int
    payment_status: str
    is_paid: bool
    is_closed: bool
    fulfilled: int
    state: Json

    @property
    def summary(self) -> tuple[bool, bool, int]:
        """What a forged webhook must not change."""
        return self.is_paid, self.is_closed, self.fulfilled


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgedWebhook:
    """A webhook that is not genuine, and the order before and after it."""

    step: int
    before: Sample
    after: Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedStep:
    """An executed step: what happened, in words, and its result."""

    text: str
    result: str = ""


@dataclass(slots=True)
class Unacknowledged:
    """A genuine delivery without a 2xx so far; `step` is that of its first attempt."""

    event: ServiceEvent
    step: int
    results: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One run of a history.

    `could_know` holds the statuses of the payment that the application could know of: by an
    acknowledged webhook, by its job, or by a request that it sent to the service.
    """

    history: History
    trace: tuple[TracedStep, ...]
    samples: tuple[Sample, ...]
    forged: tuple[ForgedWebhook, ...]
    unacknowledged: tuple[Unacknowledged, ...]
    live_payments: tuple[str, ...]
    could_know: frozenset[str]
    order: str
    payment: str
    checkout_url: str
    reading_steps: frozenset[HistoryStep] = frozenset()
    """The steps during which the application sent requests to the service, if that was observed."""

    @property
    def final(self) -> Sample:
        """The order at the end."""
        return self.samples[-1]
