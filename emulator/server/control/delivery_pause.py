"""The calls on the pause of deliveries, and on deliveries that wait."""

from typing import Annotated

from msgspec import Meta, Struct

from emulator.domain import errors
from emulator.server.control import types
from emulator.server.control.calls import Call, operation
from emulator.server.control.deliveries import DeliveryJson, DeliveryPath, delivery_json
from emulator.server.engine.delivery.gates import MAX_PAUSE_MS, MAX_PAUSED_DELIVERIES
from emulator.server.openapi.declarations import Resource, doc


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

    Makes the next scheduled attempt of a pending delivery now, even in a pause, waits for the
    result and returns the delivery. After a failure its schedule continues.
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


DELIVERY_PAUSE = Resource(
    tag="Paused deliveries",
    description="Deliveries that wait, so that they can be released in any order, repeated or"
    " dropped.",
    operations=(get_delivery_pause, set_delivery_pause, release_delivery, drop_delivery),
)
