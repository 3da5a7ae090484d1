"""The calls on deliveries to webhook endpoints: each delivery, and their pause."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from emulator.domain import errors
from emulator.domain.instants import format_instant
from emulator.domain.payment import STATUS_OF_EVENT
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, Attempt, DeliveryState, Tamper, Trigger
from emulator.domain.wire import PING, UNKNOWN_EVENT_TYPE
from emulator.http.disconnection import unless_disconnected
from emulator.server.control import types
from emulator.server.control.calls import Call, json_in_parts, operation
from emulator.server.control.events import EventJson, get_event, list_events
from emulator.server.engine.delivery.deliveries import DeliveryDetail
from emulator.server.engine.delivery.gates import MAX_PAUSE_MS, MAX_PAUSED_DELIVERIES
from emulator.server.openapi.declarations import Resource, doc, refers_to
from emulator.server.storage.deliveries import DeliveryFilter

# A page of the dashboard is one part: each part of a stream is computed on another thread.
DELIVERIES_A_PART = 25


# Read as the status of the payment at such an event.
_GivenEventType = Annotated[
    Any,
    doc("Only deliveries of events of this type."),
    refers_to("EventType"),
    types.text_parser(STATUS_OF_EVENT.__getitem__, f"one of: {', '.join(STATUS_OF_EVENT)}"),
]
_OF_PAYMENT = doc("Only deliveries of events of this payment, or of the `latest`.")
_TO_ENDPOINT = doc("Only deliveries to this endpoint, which may have been deleted.")


class DeliveryListQuery(Struct, frozen=True):
    limit: types.Limit = types.DEFAULT_LIMIT
    before: Annotated[types.DeliveryId | None, types.OLDER] = None
    event: _GivenEventType | None = None
    payment: Annotated[types.PaymentId | None, _OF_PAYMENT] = None
    endpoint: Annotated[types.EndpointId | None, _TO_ENDPOINT] = None
    status: Annotated[DeliveryState | None, doc("Only deliveries with this status.")] = None
    failing: Annotated[
        Any,
        doc(
            "Only deliveries that have failed, or whose last scheduled attempt failed.",
            type="boolean",
        ),
        types.BOOLEAN_TEXT,
    ] = False


class DeliveryWaitQuery(Struct, frozen=True):
    event: _GivenEventType
    payment: Annotated[types.PaymentId | None, _OF_PAYMENT] = None
    endpoint: Annotated[types.EndpointId | None, _TO_ENDPOINT] = None
    timeout: types.Timeout = types.DEFAULT_TIMEOUT_S


class DeliveryPath(Struct, frozen=True):
    delivery_id: Annotated[types.DeliveryId, types.identifies("a delivery, or `latest`")]


class WebhookRequestJson(Struct, frozen=True):
    """The request."""

    url: Annotated[str, doc("The URL of the request.", types.EXAMPLE_URL)]
    headers: types.Headers
    body: Annotated[str, doc("The body that was sent.", "{}")]


class WebhookResponseJson(Struct, frozen=True):
    """The response of the endpoint."""

    headers: types.Headers
    body: Annotated[str, doc("The stored part of the body.", "ok")]


class DeliveryAttempt(Struct, frozen=True):
    """One attempt to deliver."""

    number: Annotated[types.Count, doc("The number of the attempt, from 1.", 1)]
    at: Annotated[types.InstantText, doc("The start of the attempt, on the account's clock.")]
    trigger: Annotated[Trigger, doc("The reason for the attempt.")]
    tampered: Tamper | None
    request: WebhookRequestJson
    status: Annotated[int | None, doc("The status of the response; null without a response.")]
    response: WebhookResponseJson | None
    error: Annotated[str | None, doc("The error, if any.")]
    cause: Annotated[str | None, doc("The likely cause and a solution.")]
    duration_ms: types.DurationMs


class DeliveryJson(Struct, frozen=True):
    """The delivery of one event to one endpoint."""

    id: Annotated[types.DeliveryId, doc("Its identifier, with the prefix `dlv_`.")]
    event: Annotated[types.EventId, doc("The identifier of the event.")]
    type: Annotated[
        str, doc("The type of the event.", enum=[*EVENT_TYPES_IN_ORDER, PING, UNKNOWN_EVENT_TYPE])
    ]
    payment: Annotated[
        types.PaymentId | None, doc("The identifier of the payment of the event; null for a ping.")
    ]
    endpoint: Annotated[
        types.EndpointId, doc("The identifier of the endpoint, which may have been deleted.")
    ]
    status: DeliveryState
    created_at: Annotated[
        types.InstantText, doc("The instant of its creation, on the account's clock.")
    ]
    fault: Annotated[msgspec.Raw, refers_to("WebhookThen")] | None
    oddity: Annotated[
        Annotated[msgspec.Raw, refers_to("WebhookThen")] | None,
        doc("The former name of `fault`, for one release."),
    ]
    next_attempt_at: Annotated[
        types.InstantText | None, doc("The instant of the next attempt, on the account's clock.")
    ]
    attempts: Annotated[list[DeliveryAttempt], doc("Oldest first.")]


class DeliveryList(Struct, frozen=True):
    """The deliveries, newest first."""

    data: list[DeliveryJson]
    has_more: types.HasMore


class WaitedForDelivery(Struct, frozen=True):
    """The result of the wait."""

    reached: Annotated[
        bool, doc("Whether the endpoint has responded, or no further attempt is made.")
    ]
    delivery: Annotated[
        DeliveryJson | None,
        doc("The newest such delivery, otherwise the newest that matches; null without one."),
    ]


class SetDeliveryPause(types.Body, frozen=True):
    """Whether deliveries wait."""

    paused: Annotated[bool, doc("True begins a pause, false ends it.")]


class DeliveryPause(Struct, frozen=True):
    """Whether deliveries wait."""

    paused: bool
    seconds_left: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        doc("The real time until the pause ends; null without a pause."),
    ]


@operation(
    "GET /deliveries",
    "The deliveries.",
    errors.UnknownPayment,
    errors.UnknownEndpoint,
    content=DeliveryList,
)
async def list_deliveries(call: Call, query: DeliveryListQuery) -> Response:
    """List deliveries.

    Lists the deliveries of the account and mode with all attempts, newest first.
    """
    chosen = msgspec.convert(query, DeliveryFilter, from_attributes=True)
    deliveries = call.engine.webhooks.deliveries
    found = await deliveries.newest(call.owner, chosen, limit=query.limit + 1)
    parts = _parts(found[: query.limit], has_more=len(found) > query.limit)
    return json_in_parts(parts, is_small=min(len(found), query.limit) <= DELIVERIES_A_PART)


@operation(
    "GET /deliveries/wait",
    "Whether such a delivery is over, and the delivery.",
    errors.UnknownPayment,
    errors.UnknownEndpoint,
)
async def wait_for_delivery(call: Call, query: DeliveryWaitQuery) -> WaitedForDelivery:
    """Wait for a delivery.

    Returns as soon as an endpoint has responded to a matching delivery, now or earlier, or no
    further attempt is made, or after `timeout` seconds of real time. `reached` is false after a
    time-out. An attempt without a response, such as a refused connection, does not end the wait
    while a retry is scheduled.
    """
    chosen = msgspec.convert(query, DeliveryFilter, from_attributes=True)
    waiting = call.engine.webhooks.deliveries.wait(
        call.owner, chosen, timeout_ms=round(query.timeout * 1000)
    )
    reached, found = await unless_disconnected(call.request.receive, waiting)
    return WaitedForDelivery(reached, None if found is None else delivery_json(found))


@operation("GET /deliveries/{delivery_id}", "The delivery.", errors.UnknownDelivery)
async def get_delivery(call: Call, path: DeliveryPath) -> DeliveryJson:
    """Retrieve a delivery.

    Returns one delivery with all attempts.
    """
    return delivery_json(await call.engine.webhooks.deliveries.get(call.owner, path.delivery_id))


@operation(
    "POST /deliveries/{delivery_id}/resend",
    "The delivery.",
    errors.UnknownDelivery,
    errors.UnknownEndpoint,
)
async def resend_delivery(call: Call, path: DeliveryPath) -> DeliveryJson:
    """Resend a delivery.

    Sends the event again, correctly signed and without the changes of a scenario, waits for the
    result and returns the delivery. The scheduled retries continue unless this attempt
    succeeds.
    """
    deliveries = call.engine.webhooks.deliveries
    return delivery_json(await deliveries.resend(call.owner, path.delivery_id))


@operation("GET /deliveries/paused", "Whether deliveries wait.")
async def get_delivery_pause(call: Call) -> DeliveryPause:
    """Retrieve the pause of deliveries.

    Returns whether the deliveries of the account and mode wait.
    """
    return _pause(call)


@operation(
    "PUT /deliveries/paused",
    "Whether deliveries wait.",
    description="Begins or ends a pause of the account and mode. In a pause no scheduled attempt"
    " is made; `release`, `drop` and `resend` act on single deliveries. The pause ends, and all"
    f" that is due is sent, after {MAX_PAUSE_MS // 60_000} minutes of real time, with delivery"
    f" {MAX_PAUSED_DELIVERIES + 1} that is due, with an advance of the clock, a reset or the"
    " restore of a snapshot, and when the emulator restarts.",
    body="Whether deliveries wait.",
)
async def set_delivery_pause(call: Call, body: SetDeliveryPause) -> DeliveryPause:
    """Pause deliveries."""
    webhooks = call.engine.webhooks
    if body.paused:
        await webhooks.deliveries.pause(call.owner)
    else:
        webhooks.dispatcher.resume(call.owner)
    return _pause(call)


@operation(
    "POST /deliveries/{delivery_id}/release",
    "The delivery.",
    errors.UnknownDelivery,
    errors.DeliveryNotPending,
)
async def release_delivery(call: Call, path: DeliveryPath) -> DeliveryJson:
    """Release a delivery.

    Makes the next scheduled attempt of a pending delivery now, in a pause and without one, waits
    for the result and returns the delivery. After a failure its schedule continues.
    """
    deliveries = call.engine.webhooks.deliveries
    return delivery_json(await deliveries.release(call.owner, path.delivery_id))


@operation(
    "POST /deliveries/{delivery_id}/drop",
    "The delivery.",
    errors.UnknownDelivery,
    errors.DeliveryNotPending,
)
async def drop_delivery(call: Call, path: DeliveryPath) -> DeliveryJson:
    """Drop a delivery.

    Makes no further attempt of a pending delivery.
    """
    deliveries = call.engine.webhooks.deliveries
    return delivery_json(await deliveries.drop(call.owner, path.delivery_id))


def _pause(call: Call) -> DeliveryPause:
    left_ms = call.engine.webhooks.deliveries.pause_left_ms(call.owner)
    return DeliveryPause(left_ms is not None, None if left_ms is None else left_ms / 1000)


def _parts(details: Sequence[DeliveryDetail], *, has_more: bool) -> Iterator[bytes]:
    """The response in parts, since the stored responses of endpoints can be large."""
    yield b'{"data":['
    for start in range(0, len(details), DELIVERIES_A_PART):
        part = [delivery_json(detail) for detail in details[start : start + DELIVERIES_A_PART]]
        yield (b"," if start else b"") + msgspec.json.encode(part)[1:-1]
    yield b'],"has_more":%s}' % msgspec.json.encode(has_more)


def delivery_json(detail: DeliveryDetail) -> DeliveryJson:
    job = detail.job
    delivery = job.delivery
    fault = None if delivery.fault_json is None else types.json_text(delivery.fault_json)
    return DeliveryJson(
        id=detail.id,
        event=job.event_id,
        type=job.event_type,
        payment=job.payment_id,
        endpoint=detail.endpoint_id,
        status=delivery.state,
        created_at=format_instant(delivery.created_at),
        fault=fault,
        oddity=fault,
        next_attempt_at=None if delivery.due_at is None else format_instant(delivery.due_at),
        attempts=[_attempt(detail, attempt) for attempt in detail.attempts],
    )


def _attempt(detail: DeliveryDetail, attempt: Attempt) -> DeliveryAttempt:
    result = attempt.result
    response = result.response
    return DeliveryAttempt(
        number=attempt.number,
        at=format_instant(attempt.at),
        trigger=attempt.trigger,
        tampered=attempt.tamper,
        request=WebhookRequestJson(
            url=attempt.url,
            headers=_headers(attempt.headers),
            body=detail.body_of(attempt).decode(),
        ),
        status=None if response is None else response.status,
        response=(
            None
            if response is None
            else WebhookResponseJson(headers=_headers(response.headers), body=response.body)
        ),
        error=result.error,
        cause=result.cause,
        duration_ms=result.duration_ms,
    )


def _headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by name; the values of a repeated header are joined, as RFC 9110 allows."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


DELIVERIES = Resource(
    tag="Events and deliveries",
    description="The events, and their deliveries to endpoints. Each attempt is stored with its"
    " request and its response or network error.",
    operations=(
        list_events,
        get_event,
        list_deliveries,
        wait_for_delivery,
        get_delivery,
        resend_delivery,
    ),
    types=(EventJson,),
    schemas=lambda: {
        "EventType": {
            "type": "string",
            "description": "The type of an event.",
            "enum": [*EVENT_TYPES_IN_ORDER],
        }
    },
)
DELIVERY_PAUSE = Resource(
    tag="Paused deliveries",
    description="Deliveries that wait, so that they can be released in any order, repeated or"
    " dropped.",
    operations=(get_delivery_pause, set_delivery_pause, release_delivery, drop_delivery),
)
