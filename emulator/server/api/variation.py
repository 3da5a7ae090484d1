"""Applies the variants of an account to its responses (`--vary`)."""

import json

from emulator.domain.instants import Instant
from emulator.domain.variant_effects import VariedMessage
from emulator.domain.variants import Variants
from emulator.server.api.exchange import COMMON_LINES, Exchange, Reply

_MEDIA_TYPE = b"application/json"
# The id of a payment begins with its ordinal.
_ORDINAL = slice(len(b"/v1/payments/pay_"), len(b"/v1/payments/pay_000000"))


def vary(
    exchange: Exchange, reply: Reply, variants: Variants, *, ordinal: int, now_ms: Instant
) -> bytes:
    """Change a reply; returns the lines of its common headers.

    `ordinal` is that of the response. A create call and its replays have the same variants.
    """
    if reply.is_dropped:
        return COMMON_LINES
    message = VariedMessage(
        value=json.loads(reply.body) if reply.body.startswith(b"{") else None,
        status=reply.status,
        headers=dict(reply.headers),
        is_replay=exchange.is_replay,
        now_ms=now_ms,
    )
    location = message.headers.get(b"location")
    if location is None:
        names = variants.vary(message, "response", ordinal)
    else:
        names = variants.vary(message, f"creation {location[_ORDINAL].decode()}")
    if not names:
        return COMMON_LINES
    exchange.variants = names
    reply.headers = [*message.headers.items(), (b"emulator-variant", ",".join(names).encode())]
    if message.value is not None:
        reply.body = message.body().encode()
    reply.sent_body, reply.status = reply.body, message.status
    reply.sent_status = message.status
    if reply.is_cut:
        reply.cut()
    return COMMON_LINES.replace(_MEDIA_TYPE, _MEDIA_TYPE + message.charset.encode())
