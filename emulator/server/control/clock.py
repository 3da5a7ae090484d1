"""The calls on the clock of an account."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from emulator.domain.errors import InvalidField
from emulator.domain.instants import LAST_INSTANT, rate_number
from emulator.domain.payment import EVENT_TYPES, Reason, Status
from emulator.domain.transitions import ATTEMPT, TimerKind
from emulator.domain.webhooks import DeliveryState
from emulator.server.control import types
from emulator.server.control.calls import Call
from emulator.server.control.resources import operation, shown
from emulator.server.engine.accounts import clock_service
from emulator.server.openapi.declarations import (
    JsonObject,
    Resource,
    const,
    doc,
    parsed,
    refers_to,
)

_NEXT = "next"
_BACKGROUND = "background"
# The members of an advance: exactly one is given.
_DISTANCES = ("seconds", "until", "to")


class SetClock(types.Body, frozen=True):
    """The new state of the clock; an omitted member does not change."""

    now: Annotated[types.GivenInstant | None, doc("Sets the clock forward, as an advance.")] = None
    frozen: Annotated[
        types.ClockFlag | None, doc("Freezes the clock, or lets it run at its last rate.")
    ] = None
    rate: Annotated[
        types.GivenRate | None, doc("The speed relative to real time, with at most three decimals.")
    ] = None


_Seconds = Annotated[
    Any,
    doc(None, type="number", minimum=0, maximum=LAST_INSTANT // 1000),
    parsed(types.span_ms, kind=types.CLOCK),
]
_Next = Annotated[
    Any,
    doc(None, _NEXT, type="string", pattern=f"^{_NEXT}$"),
    types.text_parser({_NEXT: _NEXT}.__getitem__, f'"{_NEXT}"', kind=types.CLOCK),
]
_WAIT = "Leave it out to wait for the attempts."
_Background = Annotated[
    str,
    refers_to("Background"),
    types.text_parser({_BACKGROUND: _BACKGROUND}.__getitem__, f'"{_BACKGROUND}"', advice=_WAIT),
]


class AdvanceClock(types.Body, frozen=True):
    """Exactly one of `seconds`, `until` and `to`."""

    seconds: Annotated[
        _Seconds | None,
        doc("The seconds, with at most three decimals; 0 processes what is due now.", 1800),
    ] = None
    until: Annotated[types.GivenInstant | None, doc("The instant to stop at; not a past one.")] = (
        None
    )
    to: Annotated[
        _Next | None,
        doc("To the next scheduled change or attempt; if nothing is scheduled, the clock stays."),
    ] = None
    webhooks: _Background | None = None


class DueJson(Struct, frozen=True):
    """The next scheduled change or attempt."""

    at: types.At
    kind: Annotated[str, doc("The kind of the change.", enum=[*TimerKind, ATTEMPT])]
    payment: types.OfPayment


class ClockJson(Struct, frozen=True):
    """An account's clock and the next scheduled change or attempt."""

    now: Annotated[types.InstantText, doc("The current instant of the clock.")]
    frozen: Annotated[bool, doc("Whether the clock is frozen.")]
    rate: Annotated[float | None, doc("The speed relative to real time; null when frozen.", 1)]
    next: DueJson | None
    settled: (
        Annotated[bool, doc("Present only if a limit stopped the clock early."), const(False)]
        | UnsetType
    ) = UNSET


class PaymentEffect(Struct, frozen=True):
    """The status of a payment changed."""

    at: types.At
    type: Annotated[
        types.EventType | None, doc("Null for a failed attempt.", EVENT_TYPES[Status.EXPIRED])
    ]
    payment: types.OfPayment
    kind: Annotated[TimerKind, doc("The cause of the change.")]
    status: Annotated[Status, Meta(examples=[Status.EXPIRED])]
    reason: Reason | UnsetType = UNSET


class AttemptEffect(Struct, frozen=True):
    """An attempt to send a webhook."""

    at: types.At
    # What the engine writes for an attempt where a change has the type of its event.
    type: Annotated[str, const("webhook.attempt")]
    payment: Annotated[types.PaymentId, doc("The identifier of the payment of the event.")]
    kind: Annotated[str, const(ATTEMPT)]
    event: types.OfEvent
    event_type: types.EventType
    delivery: types.OfDelivery
    endpoint: types.OfEndpoint
    number: Annotated[types.Count, doc("The number of the attempt in its delivery, from 1.", 1)]
    response_status: types.ResponseStatus
    error: types.ErrorText
    delivery_status: Annotated[DeliveryState, doc("The status of the delivery after the attempt.")]


class AdvancedJson(Struct, frozen=True):
    """The clock after the advance, and the effects."""

    now: Annotated[types.InstantText, doc("The current instant of the clock.")]
    effects: Annotated[
        list[Annotated[msgspec.Raw, refers_to("Effect")]], doc("By due time, then by creation.")
    ]
    settled: Annotated[
        bool,
        doc(
            f"False if a limit stopped the advance: {clock_service.MAX_EFFECTS:,} effects, or"
            f" {clock_service.MAX_ADVANCE_MS // 1_000} s of real time. The next call continues."
        ),
    ]


@operation("GET /clock", "The clock.")
async def get_clock(call: Call) -> ClockJson:
    """Retrieve the clock.

    Returns the account's clock and the next scheduled change or webhook attempt.
    """
    return clock_json(await call.engine.clock_service.read(call.account))


@operation("PUT /clock", "The clock.")
async def set_clock(call: Call, body: SetClock) -> ClockJson:
    """Set, freeze or unfreeze the clock, or set its rate.

    Sets the clock forward, freezes it or lets it run, also faster than real time. The emulator
    processes everything that becomes due, as in an advance. The clock never goes back, except by a
    reset or a restored snapshot. The response contains `"settled": false` if a limit of the
    advance stopped the clock early.
    """
    service = call.engine.clock_service
    state = await service.set(
        call.account, now=body.now, frozen=body.frozen, rate_thousandths=body.rate
    )
    return clock_json(state)


@operation("POST /clock/advance", "The clock and the effects.")
async def advance_clock(call: Call, body: AdvanceClock) -> AdvancedJson:
    """Advance the clock.

    Advances the clock by `seconds`, until the instant `until`, or, with `{"to": "next"}`, to
    the next scheduled change or attempt. The emulator processes everything that becomes due,
    each at its own instant, and waits for the webhooks. With `"webhooks": "background"` it does
    not wait for them. `settled` is false if a limit stopped the advance early.
    """
    given = [name for name in _DISTANCES if getattr(body, name) is not None]
    if len(given) != 1:
        accepted, found = ", ".join(_DISTANCES), ", ".join(given) or "none"
        message = f"The body must have exactly one of: {accepted} (got {found})."
        raise InvalidField(given[-1] if given else _DISTANCES[0], message, kind=types.CLOCK)
    target = clock_service.Target(by_ms=body.seconds, until=body.until, waits=body.webhooks is None)
    advanced = await call.engine.clock_service.advance(call.account, target, param=given[0])
    effects = [msgspec.Raw(effect) for effect in advanced.effects]
    return shown(AdvancedJson, advanced, effects=effects, settled=advanced.is_settled)


def clock_json(state: clock_service.ClockState) -> ClockJson:
    return shown(
        ClockJson,
        state,
        frozen=state.is_frozen,
        rate=None if state.is_frozen else rate_number(state.rate_thousandths),
        next=None
        if state.next is None
        else shown(DueJson, state.next, payment=state.next.payment_id),
        settled=UNSET if state.is_settled else False,
    )


def _schemas() -> dict[str, JsonObject]:
    return {
        "AdvanceClock": {
            "examples": [{"seconds": 1800}],
            "oneOf": [
                {
                    "properties": {name: {"not": {"type": "null"}}},
                    "required": [name],
                    "additionalProperties": True,
                }
                for name in _DISTANCES
            ],
        },
        "Background": {
            "type": "string",
            "description": "Does not wait for webhooks; they are sent in the background.",
            "enum": [_BACKGROUND],
        },
        "Effect": types.change_or_attempt(
            "One effect of an advance.", "PaymentEffect", "AttemptEffect"
        ),
    }


CLOCKS = Resource(
    tag="Clock",
    description="The account's clock determines timestamps, expiry, outcomes and retries. It runs,"
    " at a rate of real time, or is frozen, and can be set forward.",
    operations=(get_clock, set_clock, advance_clock),
    types=(PaymentEffect, AttemptEffect),
    schemas=_schemas,
)
