"""How a message is signed, so that a merchant knows who sent it: Standard Webhooks 1.0."""

import hmac
from base64 import b64decode, b64encode
from hashlib import sha256

from emulator.domain.webhooks import SECRET_PREFIX


def sign(secret: str, *, message_id: str, timestamp_s: int, body: bytes) -> str:
    """One signature, `v1,` and the base64 of an HMAC-SHA256 over `id.timestamp.body`.

    The key is what the base64 of the secret stands for, not its text.
    """
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    digest = hmac.digest(_key(secret), signed, "sha256")
    return f"v1,{b64encode(digest).decode('ascii')}"


def foreign_secret(secret: str) -> str:
    """A well-formed secret that is another one, always the same for the same secret."""
    key = sha256(b"foreign" + _key(secret)).digest()
    return SECRET_PREFIX + b64encode(key).decode("ascii")


def _key(secret: str) -> bytes:
    return b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
