"""What a webhook looks like on the wire, to the byte, and how one is spoilt on purpose."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from emulator import __version__
from emulator.domain.webhooks import Tamper, WebhookRequest
from emulator.webhooks.signing import foreign_secret, sign

USER_AGENT = f"etb-payments-emulator/{__version__}"
# Far beyond the five minutes that receivers tolerate.
TAMPERED_AGE_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is signed: the event, and when this attempt to deliver it is made."""

    event_id: str
    timestamp_s: int
    body: bytes


def request(
    message: Message,
    *,
    url: str,
    secrets: Sequence[str],
    tamper: Tamper | None = None,
    other_body: bytes = b"",
) -> WebhookRequest:
    """A webhook that verifies with each of the secrets, or with none when it is tampered with.

    Of the secrets the newest comes first. BODY: `other_body` is sent, the message's was signed.
    SIGNATURE: someone else signed. TIMESTAMP: it says that it is an hour older than was signed,
    so it is also too old.
    """
    sent = message
    match tamper:
        case Tamper.BODY:
            sent = replace(message, body=other_body)
        case Tamper.SIGNATURE:
            secrets = [foreign_secret(secret) for secret in secrets]
        case Tamper.TIMESTAMP:
            sent = replace(message, timestamp_s=message.timestamp_s - TAMPERED_AGE_S)
        case None:
            pass
    headers = (
        ("content-type", "application/json"),
        ("user-agent", USER_AGENT),
        ("webhook-id", sent.event_id),
        ("webhook-timestamp", str(sent.timestamp_s)),
        ("webhook-signature", _signatures(message, secrets)),
    )
    return WebhookRequest(url=url, headers=headers, body=sent.body)


def _signatures(message: Message, secrets: Sequence[str]) -> str:
    return " ".join(
        sign(
            secret,
            message_id=message.event_id,
            timestamp_s=message.timestamp_s,
            body=message.body,
        )
        for secret in secrets
    )
