"""The words for webhooks: endpoints, deliveries, attempts, and what can be made to go wrong."""

import binascii
from dataclasses import dataclass, replace
from enum import StrEnum

from emulator.domain.instants import Instant
from emulator.domain.payment import EVENT_TYPES

SECRET_PREFIX = "whsec_"  # noqa: S105 - what every secret begins with is no secret
SHORTEST_SECRET_BYTES = 24
MAX_SECRET_BYTES = 64
MAX_ENDPOINTS = 16
# How long the secret before a rotation goes on signing, by the account's clock.
ROTATION_OVERLAP_MS = 24 * 3_600_000
# What waits for a response that it must come before, in real time.
MAX_HEAD_START_MS = 2_000
MAX_HOLD_MS = 60_000

EVENT_TYPES_IN_ORDER = tuple(EVENT_TYPES.values())


class Profile(StrEnum):
    """How patiently an endpoint is retried."""

    DEFAULT = "default"
    STANDARD = "standard"


class Tamper(StrEnum):
    """What of a message was changed after it was signed."""

    BODY = "body"
    SIGNATURE = "signature"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryEffect:
    """What happens to the deliveries of an event that go wrong; the default is nothing.

    `copies` deliveries in all, `delay_ms` later. `drop`: none is attempted. `hold`: after the
    payment's next event. `before_response`: before the create call is answered.
    """

    copies: int = 1
    delay_ms: int = 0
    drop: bool = False
    hold: bool = False
    before_response: bool = False
    tamper: Tamper | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the events of one account and mode are sent.

    `position` orders the endpoints of their owner. `old_secret` still signs, beside `secret`,
    until `old_secret_until`.
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

    def disabled(self) -> "Endpoint":
        return replace(self, is_enabled=False)

    def as_new(self) -> "Endpoint":
        """With what an endpoint has unless it is told otherwise, and its present secret."""
        return Endpoint(position=self.position, id=self.id, url=self.url, secret=self.secret)

    def secrets(self, now: Instant) -> tuple[str, ...]:
        """The secrets that sign, the newest first."""
        if self.old_secret is None or self.old_secret_until <= now:
            return (self.secret,)
        return (self.secret, self.old_secret)


class DeliveryState(StrEnum):
    """How it stands with the sending of one event to one endpoint."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """Given up: the last attempt of the profile has failed, or the endpoint was gone (410)."""
    DROPPED = "dropped"
    """Never attempted, as a scenario said."""
    CANCELLED = "cancelled"
    """The endpoint was disabled or deleted before it was delivered."""


class Trigger(StrEnum):
    """Why an attempt was made."""

    SCHEDULE = "schedule"
    RESEND = "resend"
    PING = "ping"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """One webhook as it goes over the wire."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookResponse:
    """What an endpoint answered; of the body no more than is kept."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """How one attempt ended: a response, or the error of the network and its likely cause.

    `duration_ms` is wire time.
    """

    response: WebhookResponse | None
    error: str | None = None
    cause: str | None = None
    duration_ms: float = 0.0

    @property
    def has_succeeded(self) -> bool:
        return self.response is not None and 200 <= self.response.status <= 299


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try to deliver, as it is remembered; `at` is by the account's clock."""

    number: int
    at: Instant
    trigger: Trigger
    tamper: Tamper | None
    url: str
    headers: tuple[tuple[str, str], ...]
    result: AttemptResult


def is_webhook_secret(text: str) -> bool:
    """Whether it is `whsec_` and the base64 of 24 to 64 bytes (Standard Webhooks)."""
    if not text.startswith(SECRET_PREFIX):
        return False
    try:
        key = binascii.a2b_base64(text.removeprefix(SECRET_PREFIX), strict_mode=True)
    except ValueError:
        return False
    return SHORTEST_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES
