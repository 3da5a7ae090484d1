"""Builds and signs the requests that carry webhooks, genuine or tampered with.

`_headers`, `sign` and `_key` know the form of a webhook, which is that of Standard Webhooks 1.0;
tampering is the same in each form. The receiver checks signatures with code of its own, which
would otherwise not notice an error here.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from emulator import __version__
from emulator.domain.webhooks import SECRET_PREFIX, Tamper, WebhookRequest

USER_AGENT = f"etb-payments-emulator/{__version__}"
# Receivers tolerate five minutes.
TOO_OLD_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The signed content: an event, and the time of this attempt to deliver it."""

    event_id: str
    timestamp_s: int
    body: bytes


def webhook_request(
    message: Message,
    *,
    url: str,
    secrets: Sequence[str],
    tamper: Tamper | None = None,
    other_body: bytes = b"",
) -> WebhookRequest:
    """Build a webhook that verifies with each secret, or with none when it is tampered with.

    The newest secret comes first. BODY: `other_body` is sent instead of the signed body.
    SIGNATURE: other secrets sign. TIMESTAMP: the timestamp is one hour older than the signed one,
    and so also too old. STALE: the signed timestamp is one hour old. UNSIGNED: no signature.
    """
    sent = message
    match tamper:
        case Tamper.BODY:
            sent = replace(message, body=other_body)
        case Tamper.SIGNATURE:
            secrets = [foreign_secret(secret) for secret in secrets]
        case Tamper.TIMESTAMP:
            sent = replace(message, timestamp_s=message.timestamp_s - TOO_OLD_S)
        case Tamper.STALE:
            sent = message = replace(message, timestamp_s=message.timestamp_s - TOO_OLD_S)
        case Tamper.UNSIGNED:
            secrets = ()
        case None:
            pass
    signatures = " ".join(sign(secret, message) for secret in secrets)
    return WebhookRequest(url=url, headers=_headers(sent, signatures), body=sent.body)


def _headers(sent: Message, signatures: str) -> tuple[tuple[str, str], ...]:
    headers = (
        ("content-type", "application/json"),
        ("user-agent", USER_AGENT),
        ("webhook-id", sent.event_id),
        ("webhook-timestamp", str(sent.timestamp_s)),
    )
    return (*headers, ("webhook-signature", signatures)) if signatures else headers


def sign(secret: str, message: Message) -> str:
    """Return `v1,` and the base64 of an HMAC-SHA256 over `id.timestamp.body`.

    The key is the base64-decoded secret, not its text.
    """
    signed = f"{message.event_id}.{message.timestamp_s}.".encode() + message.body
    digest = hmac.digest(_key(secret), signed, "sha256")
    return f"v1,{b64encode(digest).decode('ascii')}"


def foreign_secret(secret: str) -> str:
    """Derive another well-formed secret, always the same one."""
    key = sha256(b"foreign" + _key(secret)).digest()
    return SECRET_PREFIX + b64encode(key).decode("ascii")


def _key(secret: str) -> bytes:
    return b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
