"""The form of a webhook as data: event types, body, headers and signature.

A text of a form may contain placeholders such as `{payment.id}`. The sender replaces them with
values.
"""

import binascii
import re
from enum import StrEnum
from typing import NamedTuple

from emulator.domain.wire import PAYMENT_MEMBERS

SECRET_PREFIX = "whsec_"  # noqa: S105 - a public prefix
MIN_SECRET_BYTES = 24
MAX_SECRET_BYTES = 64
MAX_SECRET_CHARACTERS = 256

PLACEHOLDER = re.compile(r"\{([a-z_.]+)\}")
EVENT_PLACEHOLDERS = ("event.id", "event.type", "event.timestamp", "event.mode")
# A header has no place for text that is not ASCII, and none for a mapping.
_NOT_IN_HEADERS = ("success_url", "cancel_url", "checkout_url", "metadata")
BODY_PLACEHOLDERS = (
    "id", *EVENT_PLACEHOLDERS, "payment", *(f"payment.{name}" for name in PAYMENT_MEMBERS)
)  # fmt: skip
CONTENT_PLACEHOLDERS = ("id", "timestamp", "body")
HEADER_PLACEHOLDERS = (
    *("id", "timestamp", "signature", *EVENT_PLACEHOLDERS),
    *(f"payment.{name}" for name in PAYMENT_MEMBERS if name not in _NOT_IN_HEADERS),
)


class Algorithm(StrEnum):
    """What computes a signature."""

    HMAC_SHA1 = "hmac-sha1"
    HMAC_SHA256 = "hmac-sha256"
    HMAC_SHA512 = "hmac-sha512"
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
    of several secrets; without one, only the newest secret signs.
    """

    algorithm: Algorithm
    secret: SecretFormat = SecretFormat.TEXT
    content: str = "{body}"
    encoding: Encoding = Encoding.HEX
    prefix: str = ""
    separator: str = ""


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
        return self.is_signed and "{timestamp}" in self.signature.content

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
