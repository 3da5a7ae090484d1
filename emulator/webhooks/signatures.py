"""Signs messages as Standard Webhooks 1.0 specifies."""

import hmac
from base64 import b64decode, b64encode
from hashlib import sha256

from emulator.domain.webhooks import SECRET_PREFIX


def sign(secret: str, *, message_id: str, timestamp_s: int, body: bytes) -> str:
    """Return `v1,` and the base64 of an HMAC-SHA256 over `id.timestamp.body`.

    The key is the base64-decoded secret, not its text.
    """
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    digest = hmac.digest(_key(secret), signed, "sha256")
    return f"v1,{b64encode(digest).decode('ascii')}"


def foreign_secret(secret: str) -> str:
    """Derive another well-formed secret, always the same one."""
    key = sha256(b"foreign" + _key(secret)).digest()
    return SECRET_PREFIX + b64encode(key).decode("ascii")


def _key(secret: str) -> bytes:
    return b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
