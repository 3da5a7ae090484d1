"""Generates every id, token and secret; no other module draws random numbers.

A draw is a keyed hash of its kind and its ordinal. So the same seed, keys and requests give the
same bytes whatever else the program does, and the only state between draws is their count, which
the database stores.
"""

import os
from binascii import b2a_base64
from functools import lru_cache
from hashlib import blake2b

KEY_BYTES = 32
_LETTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BASE = len(_LETTERS)
# Any byte as one of 62 letters and digits: 5.95 bits each, 142 in an id.
_READABLE = bytes(_LETTERS[value % len(_LETTERS)] for value in range(256))
_ID_LENGTH = 24
_COUNT_LENGTH = 6
_TOKEN_SECRET_LENGTH = 26
_TOKEN_LENGTH = _COUNT_LENGTH + _TOKEN_SECRET_LENGTH
_DIGEST_LENGTH = _ID_LENGTH - _COUNT_LENGTH
_LONG_DIGEST_LENGTH = 40 - _COUNT_LENGTH
# The ids of half a million events, in 12 MiB.
_BLOCK, _MAX_BLOCKS = 1_024, 512


def stream_key(seed: int | None, *scope: str) -> bytes:
    """The key of one stream of draws; without a seed, a random one."""
    if seed is None:
        return os.urandom(KEY_BYTES)
    return blake2b("\0".join((str(seed), *scope)).encode(), digest_size=KEY_BYTES).digest()


def _draw(key: bytes, kind: bytes, ordinal: int, length: int) -> str:
    return _digest(key, kind, ordinal, length).translate(_READABLE).decode("ascii")


def _digest(key: bytes, kind: bytes, ordinal: int, length: int) -> bytes:
    return blake2b(ordinal.to_bytes(8, "big"), key=key, person=kind, digest_size=length).digest()


def checkout_token(key: bytes, ordinal: int) -> str:
    """The unguessable token in the address of the checkout of the ordinal-th payment.

    It begins with the ordinal, so that the index of payment ids grows at its end: an index that
    grows in random places costs a page of the log for each payment.
    """
    return _count(ordinal) + _draw(key, b"checkout", ordinal, _TOKEN_SECRET_LENGTH)


def payment_id(token: str) -> str:
    """The id of the payment whose checkout has this token.

    The id is a digest of the token, so that one index finds both, while an id, which merchants
    log and share, does not reveal the token. A longer token has a longer id.
    """
    length = _DIGEST_LENGTH if len(token) <= _TOKEN_LENGTH else _LONG_DIGEST_LENGTH
    digest = blake2b(token.encode(), person=b"payment", digest_size=length).digest()
    return f"pay_{token[:_COUNT_LENGTH]}{digest.translate(_READABLE).decode('ascii')}"


def _count(ordinal: int) -> str:
    """An ordinal in base 62, in the order of its characters; it starts over after 56 billion."""
    letters = bytearray(_COUNT_LENGTH)
    for place in range(_COUNT_LENGTH - 1, -1, -1):
        letters[place] = _LETTERS[ordinal % _BASE]
        ordinal //= _BASE
    return letters.decode("ascii")


def event_id(key: bytes, ordinal: int) -> str:
    return "evt_" + _draw(key, b"event", ordinal, _ID_LENGTH)


def event_ordinal(key: bytes, event: str, count: int) -> int | None:
    """The ordinal of the event with this id among the first `count`; the newest are faster."""
    wanted = event[4:].encode()
    for first in range((count - 1) // _BLOCK * _BLOCK, -1, -_BLOCK):
        at = _event_ids(key, first, min(first + _BLOCK, count)).find(wanted)
        ordinal = first + at // _ID_LENGTH
        # What was found may be a part of an id, or of two.
        if at >= 0 and event_id(key, ordinal) == event:
            return ordinal
    return None


@lru_cache(maxsize=_MAX_BLOCKS)
def _event_ids(key: bytes, first: int, end: int) -> bytes:
    """The ids of events, without their prefix."""
    digests = [_digest(key, b"event", ordinal, _ID_LENGTH) for ordinal in range(first, end)]
    return b"".join(digests).translate(_READABLE)


def ping_id(key: bytes, ordinal: int) -> str:
    """The event id of a ping, from the ordinal of its delivery."""
    return "evt_" + _draw(key, b"ping", ordinal, _ID_LENGTH)


def delivery_id(key: bytes, ordinal: int) -> str:
    """The id of a delivery; it begins with the ordinal, so that it is found without an index."""
    length = _ID_LENGTH - _COUNT_LENGTH
    return f"dlv_{_count(ordinal)}{_draw(key, b'delivery', ordinal, length)}"


def delivery_ordinal(key: bytes, delivery: str) -> int | None:
    """The ordinal of the delivery with this id, if the id is of this stream."""
    digits = delivery[4 : 4 + _COUNT_LENGTH].encode()
    if any(digit not in _LETTERS for digit in digits):
        return None
    ordinal = 0
    for digit in digits:
        ordinal = ordinal * _BASE + _LETTERS.index(digit)
    return ordinal if delivery_id(key, ordinal) == delivery else None


def endpoint_id(key: bytes, ordinal: int) -> str:
    return "we_" + _draw(key, b"endpoint", ordinal, _ID_LENGTH)


def webhook_secret(key: bytes, ordinal: int, *, is_hex: bool = False) -> str:
    """A signing secret of 32 bytes, as Standard Webhooks writes it, or in hexadecimal digits."""
    secret = blake2b(ordinal.to_bytes(8, "big"), key=key, person=b"secret", digest_size=KEY_BYTES)
    return _written_secret(secret.digest(), is_hex)


def webhook_secret_after(key: bytes, secret: str, *, is_hex: bool = False) -> str:
    """The secret that replaces another after a rotation."""
    digest = blake2b(secret.encode(), key=key, person=b"rotation", digest_size=KEY_BYTES).digest()
    return _written_secret(digest, is_hex)


def _written_secret(secret: bytes, is_hex: bool) -> str:
    return secret.hex() if is_hex else f"whsec_{b2a_base64(secret, newline=False).decode('ascii')}"


def request_id(key: bytes, ordinal: int) -> bytes:
    """The value of a `Request-Id` header."""
    return b"req_" + _digest(key, b"request", ordinal, _ID_LENGTH).translate(_READABLE)


def account_id(key: bytes, ordinal: int) -> str:
    return "acct_" + _draw(key, b"account", ordinal, 16)


def api_key(key: bytes, mode: str, ordinal: int) -> str:
    """A well-formed secret key of a new account."""
    return f"{mode}_{_draw(key, b'key_' + mode.encode(), ordinal, _ID_LENGTH)}"


def form_token(key: bytes, checkout: str) -> str:
    """The anti-CSRF token of one checkout's forms."""
    digest = blake2b(checkout.encode(), key=key, person=b"form", digest_size=_ID_LENGTH).digest()
    return digest.translate(_READABLE).decode("ascii")


def fault_id(key: bytes, ordinal: int) -> str:
    return "flt_" + _draw(key, b"fault", ordinal, _ID_LENGTH)


def chance(key: bytes, place: str, ordinal: int) -> float:
    """The ordinal-th random number of a place, at least 0 and less than 1."""
    scope = blake2b(place.encode(), digest_size=8).digest()
    draw = blake2b(scope + ordinal.to_bytes(8, "big"), key=key, person=b"chance", digest_size=7)
    return (int.from_bytes(draw.digest(), "big") >> 3) / (1 << 53)
