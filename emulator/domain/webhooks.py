"""Values of webhooks: endpoints, deliveries, attempts, and delivery faults."""

from enum import StrEnum
from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.domain.payment import EVENT_TYPES
from emulator.domain.webhook_forms import STANDARD, WebhookForm

MAX_ENDPOINTS = 16
# The time, by the account's clock, for which the secret before a rotation still signs.
ROTATION_OVERLAP_MS = 24 * 3_600_000
# The real time for which a create response waits for a delivery that must come first.
MAX_HEAD_START_MS = 2_000
MAX_POSTPONED_MS = 60_000
# The real time of an attempt, from name resolution to the end of the response.
MAX_TIMEOUT_MS = 15_000

EVENT_TYPES_IN_ORDER = tuple(EVENT_TYPES.values())


class Profile(StrEnum):
    """The retry schedule of an endpoint."""

    DEFAULT = "default"
    STANDARD = "standard"


class Tamper(StrEnum):
    """What makes a message invalid: a part changed after signing, its age, or no signature."""

    BODY = "body"
    SIGNATURE = "signature"
    TIMESTAMP = "timestamp"
    STALE = "stale"
    UNSIGNED = "unsigned"


class DeliveryEffect(NamedTuple):
    """The effect of a fault on the deliveries of an event; the default is none.

    There are `copies` deliveries, `delay_ms` later, or each after its own of `delays_ms`.
    `concurrent`: their first attempts begin at the same moment. `timeout_ms`: the real time-out of
    each attempt. `drop`: none is attempted. `until_next_event`: after the payment's next event.
    `before_response`: before the response of the create call.
    """

    copies: int = 1
    concurrent: bool = False
    timeout_ms: int | None = None
    delay_ms: int = 0
    delays_ms: tuple[int, ...] = ()
    drop: bool = False
    until_next_event: bool = False
    before_response: bool = False
    tamper: Tamper | None = None


class RegisteredEndpoint(NamedTuple):
    """A webhook endpoint of an account and mode.

    `position` orders the endpoints of their owner. Until `old_secret_until`, `old_secret` signs
    together with `secret`.
    """

    position: int
    id: str
    url: str
    secret: str
    events: tuple[str, ...] = EVENT_TYPES_IN_ORDER
    profile: Profile = Profile.DEFAULT
    is_enabled: bool = True
    old_secret: str | None = None
    old_secret_until: Instant = 0
    form: WebhookForm = STANDARD

    def disabled(self) -> "RegisteredEndpoint":
        return self._replace(is_enabled=False)

    def as_new(self) -> "RegisteredEndpoint":
        """A copy with the defaults of a new endpoint, and its present secret and form."""
        return RegisteredEndpoint(
            position=self.position, id=self.id, url=self.url, secret=self.secret, form=self.form
        )

    def receives(self, event_type: str) -> bool:
        return self.is_enabled and event_type in self.events and self.form.sends(event_type)

    def secrets(self, now: Instant) -> tuple[str, ...]:
        """The secrets that sign, the newest first."""
        if self.old_secret is None or self.old_secret_until <= now:
            return (self.secret,)
        return (self.secret, self.old_secret)


class DeliveryState(StrEnum):
    """The state of the delivery of an event to an endpoint."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """The last attempt of the profile failed, or the endpoint responded 410."""
    DROPPED = "dropped"
    """Never attempted, by a rule of a scenario."""
    CANCELLED = "cancelled"
    """The endpoint was disabled or deleted before the delivery."""


class Trigger(StrEnum):
    """Why an attempt was made."""

    SCHEDULE = "schedule"
    RESEND = "resend"
    PING = "ping"


class WebhookRequest(NamedTuple):
    """A webhook request as it is sent."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class WebhookResponse(NamedTuple):
    """The response of an endpoint, with the stored part of its body."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


class AttemptResult(NamedTuple):
    """The result of an attempt: a response, or a network error and its likely cause.

    `duration_ms` is real time.
    """

    response: WebhookResponse | None
    error: str | None = None
    cause: str | None = None
    duration_ms: float = 0.0

    @property
    def has_succeeded(self) -> bool:
        return self.response is not None and 200 <= self.response.status <= 299


class Attempt(NamedTuple):
    """A stored delivery attempt; `at` is by the account's clock."""

    number: int
    at: Instant
    trigger: Trigger
    tamper: Tamper | None
    url: str
    headers: tuple[tuple[str, str], ...]
    result: AttemptResult


def tamper_problem(form: WebhookForm, tamper: Tamper) -> str | None:
    """Why a webhook of a form cannot be tampered with in a way, or None where it can."""
    if not form.is_signed:
        only_body = f"webhooks of the format '{form.name}' have no signature; use 'tamper: body'"
        return None if tamper is Tamper.BODY else only_body
    # Another body has another amount.
    possible = "body', 'signature" if form.signs_amount else "signature"
    use = f"use 'tamper: {possible}' or 'unsigned'"
    if tamper is Tamper.BODY and not form.signs_amount:
        return f"webhooks of the format '{form.name}' have no signed amount; {use}"
    if tamper in {Tamper.TIMESTAMP, Tamper.STALE} and not form.signs_timestamp:
        return f"webhooks of the format '{form.name}' have no signed timestamp; {use}"
    return None
