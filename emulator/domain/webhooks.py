"""Values of webhooks: their forms, endpoints, deliveries, attempts, and delivery faults.

A form is data: event types, body, headers and signature. A text of a form may contain placeholders
such as `{payment.id}`, which the sender replaces with values.
"""

import binascii
import re
from enum import StrEnum
from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.domain.message_text import copied_ends
from emulator.domain.payment import EVENTS, ORDER_TERMS, PAYMENT_MEMBERS

MAX_ENDPOINTS = 16
# The time, by the account's clock, for which the secret before a rotation still signs.
ROTATION_OVERLAP_MS = 24 * 3_600_000
# The real time for which a create response waits for a delivery that must come first.
MAX_HEAD_START_MS = 2_000
MAX_POSTPONED_MS = 60_000
# The real time of an attempt, from name resolution to the end of the response.
MAX_TIMEOUT_MS = 15_000

EVENT_TYPES_IN_ORDER = tuple(kind.type for kind in EVENTS)

SECRET_PREFIX = "whsec_"  # noqa: S105 - a public prefix
MIN_SECRET_BYTES = 24
MAX_SECRET_BYTES = 64
MAX_SECRET_CHARACTERS = 256

METADATA_PREFIX = "payment.metadata."
# Any name of the merchant's own may take the place of NAME.
METADATA_PLACEHOLDER = f"{METADATA_PREFIX}NAME"
PLACEHOLDER = re.compile(r"\{([a-z_.]+|payment\.metadata\.[^{}]+)\}")
EVENT_PLACEHOLDERS = ("event.id", "event.type", "event.timestamp", "event.mode")
# A header has no place for text that is not ASCII, and none for a mapping.
_NOT_IN_HEADERS = ("checkout_url", *ORDER_TERMS)
BODY_PLACEHOLDERS = (
    *("id", *EVENT_PLACEHOLDERS, "payment", *(f"payment.{name}" for name in PAYMENT_MEMBERS)),
    *("payment.amount_birr", METADATA_PLACEHOLDER),
)
CONTENT_PLACEHOLDERS = ("timestamp", "body", *BODY_PLACEHOLDERS)
HEADER_PLACEHOLDERS = (
    *("id", "timestamp", "signature", *EVENT_PLACEHOLDERS, "payment.amount_birr"),
    *(f"payment.{name}" for name in PAYMENT_MEMBERS if name not in _NOT_IN_HEADERS),
)
_NOT_VISIBLE = r"[^ -~]"
_AMOUNTS = frozenset({"body", "payment", "payment.amount", "payment.amount_birr"})


class Algorithm(StrEnum):
    """What computes a signature."""

    HMAC_SHA1 = "hmac-sha1"
    HMAC_SHA256 = "hmac-sha256"
    HMAC_SHA512 = "hmac-sha512"
    TOKEN = "token"  # noqa: S105 - a name
    """The secret itself is sent."""
    NONE = "none"

    @property
    def digest(self) -> str:
        return self.value.removeprefix("hmac-")


class SecretFormat(StrEnum):
    """How the text of a secret becomes a key."""

    BASE64 = "base64"
    """The text is `whsec_` and the base64 of the key."""
    HEX = "hex"
    TEXT = "text"
    """The key is the UTF-8 bytes of the whole text."""

    @property
    def expected(self) -> str:
        """The accepted texts, for a message."""
        low, high = MIN_SECRET_BYTES, MAX_SECRET_BYTES
        return {
            SecretFormat.BASE64: f"{SECRET_PREFIX} and the base64 of {low} to {high} bytes",
            SecretFormat.HEX: f"{low} to {high} bytes as hexadecimal digits",
            SecretFormat.TEXT: f"1 to {MAX_SECRET_CHARACTERS} characters",
        }[self]

    def accepts(self, text: str) -> bool:
        if copied_ends(text):
            return False
        if self is SecretFormat.TEXT:
            return 1 <= len(text) <= MAX_SECRET_CHARACTERS
        if self is SecretFormat.BASE64 and not text.startswith(SECRET_PREFIX):
            return False
        try:
            if self is SecretFormat.HEX:
                key = binascii.a2b_hex(text)
            else:
                key = binascii.a2b_base64(text.removeprefix(SECRET_PREFIX), strict_mode=True)
        except ValueError:
            return False
        return MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES


class Encoding(StrEnum):
    """How the bytes of a signature are written."""

    HEX = "hex"
    BASE64 = "base64"


class ContentType(StrEnum):
    """The media type of a body."""

    JSON = "application/json"
    FORM = "application/x-www-form-urlencoded"


class SignatureForm(NamedTuple):
    """How a webhook is signed.

    `content` is what is signed. `prefix` precedes each signature. `separator` joins the signatures
    of several secrets; without a separator, only the newest secret signs.
    """

    algorithm: Algorithm
    secret: SecretFormat = SecretFormat.TEXT
    content: str = "{body}"
    encoding: Encoding = Encoding.HEX
    prefix: str = ""
    separator: str = ""

    def secret_problem(self, secret: str) -> str | None:
        """What a secret must be, with the likely mistake; None where it fits."""
        expected = self.secret.expected
        is_sent = self.algorithm is Algorithm.TOKEN
        expected += ", all visible ASCII or blanks" if is_sent else ""
        is_accepted = self.secret.accepts(secret)
        if is_accepted and not (is_sent and re.search(_NOT_VISIBLE, secret)):
            return None
        return expected + copied_ends(secret)

    @property
    def signed(self) -> frozenset[str]:
        """The placeholders of what is signed; a token signs nothing."""
        if self.algorithm in {Algorithm.NONE, Algorithm.TOKEN}:
            return frozenset()
        return frozenset(PLACEHOLDER.findall(self.content))


class WebhookForm(NamedTuple):
    """The form of a webhook. `events` are our event types with the types that are sent.

    An event whose type is None is not sent. `body_json` is the body with placeholders, as JSON.
    """

    name: str
    signature: SignatureForm
    headers: tuple[tuple[str, str], ...] = ()
    events: tuple[tuple[str, str | None], ...] = ()
    content_type: ContentType = ContentType.JSON
    body_json: str = (
        '{"id":"{event.id}","object":"event","type":"{event.type}",'
        '"timestamp":"{event.timestamp}","mode":"{event.mode}","data":"{payment}"}'
    )

    @property
    def is_signed(self) -> bool:
        return self.signature.algorithm is not Algorithm.NONE

    @property
    def signs_timestamp(self) -> bool:
        return "timestamp" in self.signature.signed

    @property
    def signs_amount(self) -> bool:
        return not _AMOUNTS.isdisjoint(self.signature.signed)

    @property
    def shows_type(self) -> bool:
        """Whether a webhook has the type of its event."""
        texts = (self.body_json, *(text for _, text in self.headers))
        return any("{event.type}" in text for text in texts)

    def sends(self, event_type: str) -> bool:
        return self.type_of(event_type) is not None

    def type_of(self, event_type: str) -> str | None:
        """The type that is sent in place of ours; None when the event is not sent."""
        return dict(self.events).get(event_type, event_type)


STANDARD = WebhookForm(
    name="standard",
    signature=SignatureForm(
        algorithm=Algorithm.HMAC_SHA256,
        secret=SecretFormat.BASE64,
        content="{id}.{timestamp}.{body}",
        encoding=Encoding.BASE64,
        prefix="v1,",
        separator=" ",
    ),
    headers=(
        ("webhook-id", "{id}"),
        ("webhook-timestamp", "{timestamp}"),
        ("webhook-signature", "{signature}"),
    ),
)
"""Standard Webhooks 1.0. The file `standard.yaml` has the same form, which is not read at start."""


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


class Attempt(NamedTuple):
    """A stored delivery attempt, with the members of its result; `at` is by the account's clock."""

    number: int
    at: Instant
    trigger: Trigger
    tamper: Tamper | None
    url: str
    headers: tuple[tuple[str, str], ...]
    status: int | None
    response_headers: tuple[tuple[str, str], ...] | None
    response_body: str | None
    error: str | None
    cause: str | None
    duration_ms: float

    @property
    def has_succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status <= 299


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
