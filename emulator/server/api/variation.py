"""Applies the variants of an account to its responses (`--vary`)."""

import json

from emulator.domain.effects import Cut
from emulator.domain.instants import Instant
from emulator.domain.variant_effects import VariedMessage
from emulator.domain.variants import Variants
from emulator.server.api.exchange import JSON, Exchange, Reply

_CLOSES = "connection-close"
# The id of a payment begins with its ordinal.
_ORDINAL = slice(len(b"/v1/payments/pay_"), len(b"/v1/payments/pay_000000"))


def vary(
    exchange: Exchange, reply: Reply, variants: Variants, *, ordinal: int, now_ms: Instant
) -> None:
    """Change a reply, unless the client gets none or a gateway has written it.

    `ordinal` is the number of the response. A create call and its replays have the same variants.
    """
    if exchange.is_of_gateway or exchange.cut is Cut.BEFORE_RESPONSE:
        return
    message = VariedMessage(
        value=json.loads(reply.body) if reply.body.startswith(b"{") else None,
        status=reply.status,
        headers=dict(reply.headers[1:]),
        is_replay=exchange.is_replay,
        now_ms=now_ms,
    )
    location = message.headers.get(b"location")
    if location is None:
        names = variants.vary(message, "response", ordinal)
    else:
        names = variants.vary(message, f"creation {location[_ORDINAL].decode()}")
    if not names:
        return
    exchange.variants = names
    name, media_type = JSON
    reply.headers = [(name, media_type + message.charset.encode()), *message.headers.items()]
    reply.headers.append((b"emulator-variant", ",".join(names).encode()))
    if _CLOSES in names:
        reply.headers.append((b"connection", b"close"))
    if message.value is not None:
        reply.body = message.body().encode()
    reply.status = message.status
