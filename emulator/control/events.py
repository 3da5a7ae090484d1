"""The calls on events."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from emulator.control.calls import Call, operation
from emulator.control.types import (
    DEFAULT_LIMIT,
    OLDER,
    EventId,
    EventType,
    HasMore,
    InstantText,
    Limit,
    PaymentText,
    json_text,
)
from emulator.domain import errors
from emulator.domain.accounts import Mode
from emulator.openapi.declarations import const, doc, refers_to


class EventListQuery(Struct, frozen=True):
    limit: Limit = DEFAULT_LIMIT
    before: Annotated[EventId | None, OLDER] = None


class EventPath(Struct, frozen=True):
    event_id: Annotated[EventId, Meta(min_length=1, description="The identifier of an event.")]


class EventJson(Struct, frozen=True):
    """An event, with the payment at that instant."""

    id: Annotated[EventId, doc("Its identifier, with the prefix `evt_`; the header `webhook-id`.")]
    object: Annotated[str, const("event")]
    type: EventType
    timestamp: Annotated[InstantText, doc("The instant of the event, on the account's clock.")]
    mode: Mode
    data: PaymentText


class EventList(Struct, frozen=True):
    """The events, newest first."""

    data: list[Annotated[msgspec.Raw, refers_to("Event")]]
    has_more: HasMore


@operation(
    "GET /events",
    "The events.",
    links={"get_payment": {"payment_id": "$response.body#/data/0/data/id"}},
)
async def list_events(call: Call, query: EventListQuery) -> EventList:
    """List events.

    Lists the events of the account and mode, newest first, as they are sent. The list includes
    events that no endpoint received.
    """
    limit = query.limit
    found = await call.engine.history.events(call.owner, limit=limit + 1, before=query.before)
    return EventList([json_text(body) for body in found[:limit]], has_more=len(found) > limit)


@operation("GET /events/{event_id}", "The event.", errors.UnknownEvent, content="Event")
async def get_event(call: Call, path: EventPath) -> object:
    """Retrieve an event.

    Returns one event, as it is sent.
    """
    return json_text(await call.engine.history.event(call.owner, path.event_id))
