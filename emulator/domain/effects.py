"""What rules of scenarios cause: outcomes of submits, actions of pages, and faults of requests."""

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

    @property
    def starts_pending(self) -> bool:
        """Whether the first step replaces the change to processing."""
        first = self.steps[0] if self.steps else None
        return first is not None and replaces_submit(first)


def replaces_submit(step: Step) -> bool:
    """Whether a first step starts from pending."""
    return step.unusual and step.after_ms == 0 and step.status is not Status.PENDING


@dataclass(frozen=True, slots=True)
class Handset:
    """A person or the control API answers; without an answer it times out."""


Outcome = Scripted | Handset


class RedirectMoment(StrEnum):
    """When the page redirects: relative to the first attempts, or before the completion."""

    AFTER_WEBHOOK = "after_webhook"
    BEFORE_WEBHOOK = "before_webhook"
    BEFORE_COMPLETED = "before_completed"
    NEVER = "never"


class CancelEffect(StrEnum):
    """What the cancel button of the page does to a pending payment."""

    FAILS = "fails"
    STAYS_PENDING = "stays_pending"


# The real time for which the redirect waits for the attempts, or the attempts for the redirect.
MAX_REDIRECT_WAIT_MS = 15_000
DEFAULT_REDIRECT_DELAY_MS = 2_000


MAX_SUBMITS = 20


class CheckoutEffect(NamedTuple):
    """The effect of a checkout rule: one of `redirect`, `attempts` and `cancel`.

    `delay_ms` is from a redirect before the webhook to the first attempts, in real time, or from a
    redirect before the completion to the completion, by the account's clock. `attempts` is how
    often the customer may try to pay.
    """

    redirect: RedirectMoment | None = None
    delay_ms: int = DEFAULT_REDIRECT_DELAY_MS
    attempts: int | None = None
    cancel: CancelEffect | None = None


HANDSET_TIMEOUT_MS = 30_000


def answer_due_at(method: str | None, *, submitted_at: Instant, expires_at: Instant) -> Instant:
    """The deadline of an answer; at a bank at least until the checkout expires."""
    due_at = submitted_at + HANDSET_TIMEOUT_MS
    return max(due_at, expires_at) if method == BANK_TRANSFER else due_at


MIN_FAULT_STATUS = 400
MAX_FAULT_STATUS = 599
# The real time for which a response waits for a delivery.
MAX_RESPONSE_HOLD_MS = 5_000


class ApiRequest(StrEnum):
    """The contract's three requests (section 4)."""

    CREATE_PAYMENT = "create_payment"
    RETRIEVE_PAYMENT = "retrieve_payment"
    LIST_PAYMENTS = "list_payments"


class Point(StrEnum):
    """When a fault applies: before anything is done, or after everything is done."""

    BEFORE_COMMIT = "before_commit"
    AFTER_COMMIT = "after_commit"


class Cut(StrEnum):
    """Where the connection is closed."""

    BEFORE_RESPONSE = "before_response"
    IN_BODY = "in_body"


class GatewayBody(StrEnum):
    """The bodies of errors of gateways that need no text."""

    HTML = "html"
    EMPTY = "empty"


class RequestEffect(NamedTuple):
    """What happens to one request; the default is nothing.

    `until_delivery` holds the computed response until a delivery has been answered. `delay_ms` is
    wire time. `status` replaces the normal response by an error, with a `Retry-After` of
    `retry_after_s`. With `body`, a gateway in front of the service sends the error: a GatewayBody
    or a text. `cut` ends the response early.
    """

    until_delivery: bool = False
    delay_ms: int = 0
    status: int | None = None
    retry_after_s: int | None = None
    body: str | None = None
    cut: Cut | None = None
    point: Point = Point.BEFORE_COMMIT
