"""Whose a request is: the Bearer key of its `Authorization` header (contract, section 5)."""

from emulator.domain.errors import InvalidApiKey, MissingApiKey


def bearer_key(authorization: bytes | None) -> str:
    """The key that a request carries. Raises MissingApiKey; InvalidApiKey when not ASCII."""
    if authorization is None:
        raise MissingApiKey
    scheme, _, key = authorization.partition(b" ")
    key = key.strip()
    if scheme.lower() != b"bearer" or not key:
        raise MissingApiKey
    if not key.isascii():
        raise InvalidApiKey("The API key is not well-formed: test_ or live_ and its word.")
    return key.decode("ascii")
