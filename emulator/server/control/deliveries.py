"""The calls on deliveries to webhook endpoints, and on their pause."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from emulator.domain import errors
from emulator.domain.payment import PING, UNKNOWN_EVENT_TYPE
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, Attempt, DeliveryState, Tamper, Trigger
from emulator.server.api.bodies import unless_disconnected
from emulator.server.control import types
from emulator.server.control.calls import Call, query_of
from emulator.server.control.events import EVENT_OPERATIONS
from emulator.server.control.resources import Kind, operation, shown
from emulator.server.engine.delivery.deliveries import MAX_RESENT, DeliveryDetail
from emulator.server.engine.delivery.gates import MAX_PAUSE_MS, MAX_PAUSED_DELIVERIES
from emulator.server.openapi.declarations import JsonObject, Resource, doc, refers_to
from emulator.server.storage.deliveries import DeliveryFilter

_GivenEventType = Annotated[
    Any,
    doc("Only deliveries of events of this type."),
    refers_to("EventType"),
    types.text_parser(
        {name: name for name in EVENT_TYPES_IN_ORDER}.__getitem__,
        f"one of: {', '.join(EVENT_TYPES_IN_ORDER)}",
    ),
]
_TYPES = [*EVENT_TYPES_IN_ORDER, PING, UNKNOWN_EVENT_TYPE]
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
        doc("Only deliveries that failed, or whose last attempt failed.", type="boolean"),
        types.BOOLEAN_TEXT,
    ] = False


class DeliveryWaitQuery(Struct, frozen=True):
    event: _GivenEventType
    payment: Annotated[types.PaymentId | None, _OF_PAYMENT] = None
    endpoint: Annotated[types.EndpointId | None, _TO_ENDPOINT] = None
    timeout: types.Timeout = types.DEFAULT_TIMEOUT_S


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
    status: types.ResponseStatus
    response: WebhookResponseJson | None
    error: types.ErrorText
    cause: types.CauseText
    duration_ms: types.DurationMs


class DeliveryJson(Struct, frozen=True):
    """The delivery of one event to one endpoint."""

    id: Annotated[types.DeliveryId, doc("Its identifier, with the prefix `dlv_`.")]
    event: types.OfEvent
    type: Annotated[str, doc("The type of the event.", enum=_TYPES)]
    payment: Annotated[types.PaymentId | None, doc("The payment of the event; null for a ping.")]
    endpoint: types.OfEndpoint
    status: DeliveryState
    created_at: types.CreatedAt
    fault: Annotated[JsonObject, refers_to("WebhookThen")] | None
    next_attempt_at: Annotated[types.InstantText | None, doc("The instant of the next attempt.")]
    attempts: Annotated[list[DeliveryAttempt], doc("Oldest first.")]


class WaitedForDelivery(Struct, frozen=True):
    """The result of the wait."""

    reached: Annotated[bool, doc("Whether a response came, or no further attempt is made.")]
    delivery: Annotated[DeliveryJson | None, doc("The newest such delivery, or the newest match.")]


class ResendDeliveries(types.Body, frozen=True):
    """The endpoint whose failing deliveries are sent again."""

    endpoint: types.OfEndpoint


class ResentDeliveries(Struct, frozen=True):
    """The result of the attempts."""

    resent: Annotated[types.Count, doc("The number of deliveries that were sent again.")]
    answered: Annotated[types.Count, doc("How many of them got a status from 200 to 299.")]
    failed: Annotated[types.Count, doc("How many of them failed again.")]
    left: Annotated[types.Count, doc("The number of older failing deliveries, not sent again.")]


def delivery_filter(values: Mapping[str, str]) -> DeliveryFilter:
    """The filter of the query of a list. Raises UnknownParameter, InvalidField."""
    return _filter(query_of(values, DeliveryListQuery))


def _filter(query: Struct) -> DeliveryFilter:
    return msgspec.convert(query, DeliveryFilter, from_attributes=True)


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
    waiting = call.engine.webhooks.deliveries.wait(
        call.owner, _filter(query), timeout_ms=round(query.timeout * 1000)
    )
    reached, found = await unless_disconnected(call.request.receive, waiting)
    return WaitedForDelivery(reached, None if found is None else delivery_json(call, found))


@operation(
    "POST /deliveries/resend",
    "The result of the attempts.",
    errors.UnknownEndpoint,
    errors.UnknownDelivery,
    description=f"Sends the newest {MAX_RESENT} failing deliveries of an endpoint again, as"
    " `resend` does, the deliveries of one payment in turn, waits for the results and counts them."
    " `left` is the number of older ones; another call sends these after the others succeed.",
)
async def resend_failing_deliveries(call: Call, body: ResendDeliveries) -> ResentDeliveries:
    """Resend the failing deliveries of an endpoint."""
    deliveries = call.engine.webhooks.deliveries
    resent, left = await deliveries.resend_failing(call.owner, body.endpoint)
    answered = sum(each.attempts[-1].has_succeeded for each in resent)
    return ResentDeliveries(len(resent), answered, len(resent) - answered, left)


def delivery_json(_: Call, detail: DeliveryDetail) -> DeliveryJson:
    job, fault = detail.job, detail.job.delivery.fault
    return shown(
        DeliveryJson,
        job.delivery,
        id=detail.id,
        event=job.event_id,
        type=job.event_type,
        payment=job.payment_id,
        endpoint=detail.endpoint_id,
        status=job.delivery.state,
        fault=fault,
        next_attempt_at=job.delivery.due_at,
        attempts=[_attempt(detail, attempt) for attempt in detail.attempts],
    )


def _attempt(detail: DeliveryDetail, attempt: Attempt) -> DeliveryAttempt:
    body = detail.body_of(attempt).decode()
    return shown(
        DeliveryAttempt,
        attempt,
        tampered=attempt.tamper,
        request=shown(WebhookRequestJson, attempt, headers=_headers(attempt.headers), body=body),
        response=None
        if attempt.response_headers is None
        else WebhookResponseJson(
            headers=_headers(attempt.response_headers), body=attempt.response_body or ""
        ),
    )


def _headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by name; the values of a repeated header are joined, as RFC 9110 allows."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


class SetDeliveryPause(types.Body, frozen=True):
    """Whether deliveries wait."""

    paused: Annotated[bool, doc("True begins a pause, false ends it.")]


class DeliveryPause(Struct, frozen=True):
    """Whether deliveries wait."""

    paused: bool
    seconds_left: Annotated[
        Annotated[float, Meta(ge=0)] | None, doc("Of real time; null without a pause.")
    ]


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
)
async def set_delivery_pause(call: Call, body: SetDeliveryPause) -> DeliveryPause:
    """Pause deliveries."""
    webhooks = call.engine.webhooks
    if body.paused:
        await webhooks.deliveries.pause(call.owner)
    else:
        webhooks.dispatcher.resume(call.owner)
    return _pause(call)


def _pause(call: Call) -> DeliveryPause:
    left_ms = call.engine.webhooks.deliveries.pause_left_ms(call.owner)
    return DeliveryPause(left_ms is not None, None if left_ms is None else left_ms / 1000)


DELIVERY = Kind(
    noun="delivery",
    path="/deliveries/{delivery_id}",
    id=Annotated[types.DeliveryId, types.identifies("a delivery, or `latest`")],
    item=DeliveryJson,
    show=delivery_json,
    unknown=errors.UnknownDelivery,
)
DELIVERIES = Resource(
    tag="Events and deliveries",
    description="The events, and their deliveries to endpoints. Each attempt is stored with its"
    " request and its response or network error.",
    operations=(
        *EVENT_OPERATIONS,
        DELIVERY.list(
            lambda call, query, limit: call.engine.webhooks.deliveries.newest(
                call.owner, _filter(query), limit=limit
            ),
            "Lists the deliveries of the account and mode with all attempts, newest first.",
            errors.UnknownPayment,
            errors.UnknownEndpoint,
            query=DeliveryListQuery,
        ),
        wait_for_delivery,
        DELIVERY.get(
            lambda call, name: call.engine.webhooks.deliveries.get(call.owner, name),
            "Returns one delivery with all attempts.",
        ),
        DELIVERY.act(
            "resend",
            lambda call, name: call.engine.webhooks.deliveries.resend(call.owner, name),
            "Sends the event again, correctly signed and without the changes of a scenario, waits"
            " for the result and returns the delivery. The scheduled retries continue unless this"
            " attempt succeeds.",
            errors.UnknownEndpoint,
        ),
        resend_failing_deliveries,
    ),
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
    operations=(
        get_delivery_pause,
        set_delivery_pause,
        DELIVERY.act(
            "release",
            lambda call, name: call.engine.webhooks.deliveries.release(call.owner, name),
            "Makes the next scheduled attempt of a pending delivery now, even in a pause, waits for"
            " the result and returns the delivery. After a failure its schedule continues.",
            errors.DeliveryNotPending,
        ),
        DELIVERY.act(
            "drop",
            lambda call, name: call.engine.webhooks.deliveries.drop(call.owner, name),
            "Makes no further attempt of a pending delivery.",
            errors.DeliveryNotPending,
        ),
    ),
)
