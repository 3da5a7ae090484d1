"""The calls on events, and the stream of what happens in an account and mode."""

from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from emulator.domain import errors
from emulator.server.api.document import PaymentEvent
from emulator.server.control import types
from emulator.server.control.calls import Call
from emulator.server.control.resources import Kind, operation
from emulator.server.engine.accounts.activity import (
    KINDS,
    MAX_EVENTS_PER_MESSAGE,
    MIN_INTERVAL_MS,
    StreamMessage,
)
from emulator.server.openapi.declarations import Resource, SuccessResponse, doc

_EVENT_STREAM = "text/event-stream"
_RETRY_MS = 1_000


class EventListQuery(Struct, frozen=True):
    limit: types.Limit = types.DEFAULT_LIMIT
    before: Annotated[types.EventId | None, types.OLDER] = None


class StreamQuery(Struct, frozen=True):
    payment: Annotated[
        types.PaymentId | None,
        doc(
            "Of payments, requests and deliveries, only what concerns this payment, or the `latest`"
            " one. A message `payments` then has no data, and also stands for deliveries."
        ),
    ] = None


_EVENT = Kind(
    noun="event",
    path="/events/{event_id}",
    id=Annotated[types.EventId, types.identifies("an event")],
    item=PaymentEvent,
    show=lambda _, body: msgspec.Raw(body),
    unknown=errors.UnknownEvent,
)
EVENT_OPERATIONS = (
    _EVENT.list(
        lambda call, query, limit: call.engine.history.events(
            call.owner, limit=limit, before=query.before
        ),
        "Lists the events of the account and mode, newest first, in the form `standard`. The list"
        " includes events that no endpoint received.",
        query=EventListQuery,
    ),
    _EVENT.get(
        lambda call, name: call.engine.history.event(call.owner, name),
        "Returns one event, in the form `standard`.",
    ),
)


@operation(
    "GET /stream",
    {200: SuccessResponse("The stream.", "Stream", media_type=_EVENT_STREAM)},
    description="Streams what happens in the account and mode from now on, as server-sent events."
    " The first message, of the type `hello`, has the version of the emulator; its `id` differs"
    " after each change. The type of each other message is what has changed:"
    f" {', '.join(f'`{kind}`' for kind in KINDS)}. A message `payments` has the `count` of new"
    f" events and the newest {MAX_EVENTS_PER_MESSAGE} of them, newest first. Messages about the"
    " same changes have the same `id`. There is at most one message of each type in"
    f" {MIN_INTERVAL_MS} ms. The stream ends when the account is deleted.",
)
async def stream(call: Call, query: StreamQuery) -> Response:
    """Stream what happens."""
    messages = await call.engine.activity.listen(call.owner, query.payment)
    return StreamingResponse(_encoded(messages), media_type=_EVENT_STREAM)


async def _encoded(messages: AsyncIterator[StreamMessage]) -> AsyncIterator[str]:
    retry = f"retry: {_RETRY_MS}\n"
    async for message in messages:
        yield f"{retry}event: {message.kind}\ndata: {message.data}\nid: {message.id}\n\n"
        retry = ""


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
