"""The call that streams what happens in an account and mode, as server-sent events."""

import json
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from emulator import __version__
from emulator.control.calls import Call, operation
from emulator.engine.accounts.activity import (
    KINDS,
    MAX_EVENTS_PER_MESSAGE,
    MIN_INTERVAL_MS,
    StreamMessage,
)
from emulator.openapi.declarations import Resource, SuccessResponse

_EVENT_STREAM = "text/event-stream"
_RETRY_MS = 1_000


@operation(
    "GET /stream",
    {200: SuccessResponse("The stream.", "Stream", media_type=_EVENT_STREAM)},
    description="Streams what happens in the account and mode from now on, as server-sent events."
    " The first message, of the type `hello`, has the version of the emulator. The type of each"
    f" other message is what has changed: {', '.join(f'`{kind}`' for kind in KINDS)}. A message"
    f" `payments` has the `count` of new events and the newest {MAX_EVENTS_PER_MESSAGE} of them,"
    " newest first. The `id` of a message is an instant of the emulator's monotonic clock in"
    " milliseconds, at which the change had occurred: a page requested with the header"
    " `Emulator-Since: <id>` may have been rendered at any time since. There is at most one message"
    f" of each type in {MIN_INTERVAL_MS} ms. The stream ends for a client that does not read it,"
    " and when the account is deleted.",
)
async def stream(call: Call) -> Response:
    """Stream what happens."""
    messages = await call.engine.activity.listen(call.owner)
    return StreamingResponse(_encoded(messages), media_type=_EVENT_STREAM)


async def _encoded(messages: AsyncIterator[StreamMessage]) -> AsyncIterator[str]:
    hello = json.dumps({"version": __version__})
    yield f"retry: {_RETRY_MS}\nevent: hello\ndata: {hello}\n\n"
    async for message in messages:
        yield f"id: {message.at_ms}\nevent: {message.kind}\ndata: {message.data}\n\n"


STREAM = Resource(
    tag="Stream",
    description="What happens, as it happens.",
    operations=(stream,),
    schemas=lambda: {
        "Stream": {
            "description": "Server-sent events; a client reads each as an object.",
            "examples": ["event: clock\ndata: {}\n\n"],
        }
    },
)
