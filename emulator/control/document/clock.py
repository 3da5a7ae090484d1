"""What the document says of an account's clock, and of what an advance makes happen."""

from emulator.control.clock import BACKGROUND, NEXT, WAYS
from emulator.control.document.operations import Answer, Body, Link, Operation, Subject
from emulator.control.document.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    TEXT,
    Schema,
    answer_of,
    body_of,
    nullable,
    ref,
    said,
    words,
)
from emulator.domain.instants import LAST_INSTANT
from emulator.domain.timers import ATTEMPT, TimerKind
from emulator.engine.accounts.clock_service import MAX_ADVANCE_MS, MAX_EFFECTS

# What the engine calls an attempt among the effects, as the type of an event that it is none of.
_ATTEMPT_EFFECT = "webhook.attempt"
_GIVEN_INSTANT: Schema = {
    "type": "string",
    "format": "date-time",
    "description": "An ISO 8601 timestamp; without an offset it is in UTC.",
}
_SETTLED = (
    f"False if a limit stopped the advance: {MAX_EFFECTS:,} effects, or"
    f" {MAX_ADVANCE_MS // 1_000} s of real time. The next call continues."
)
_WAYS_SHOWN: dict[str, tuple[str, str, Schema]] = {
    "seconds": (
        "AdvanceBySeconds",
        "Advances by a span of time.",
        {
            "type": "number",
            "minimum": 0,
            "maximum": LAST_INSTANT // 1000,
            "description": "The seconds, with at most three decimals; 0 processes what is due now.",
        },
    ),
    "until": (
        "AdvanceUntil",
        "Advances until an instant.",
        said(_GIVEN_INSTANT, "The instant to stop at; not before the current instant."),
    ),
    "to": (
        "AdvanceToNext",
        "Advances to the next scheduled change or attempt.",
        said(
            {"type": "string", "const": NEXT},
            "To the next scheduled change or attempt; without one, the clock does not change.",
        ),
    ),
}


def _way(name: str) -> Schema:
    _, description, way = _WAYS_SHOWN[name]
    return body_of(description, {name: way, "webhooks": ref("Background")}, required=[name])


_SCHEMAS = {
    "Background": said(
        words([BACKGROUND]), "Does not wait for webhooks; they are sent in the background."
    ),
    "Clock": answer_of(
        "An account's clock and the next scheduled change or attempt.",
        {
            "now": said(INSTANT, "The current instant of the clock."),
            "frozen": said(BOOLEAN, "Whether the clock is frozen."),
            "next": nullable(ref("Due")),
            "settled": said(
                {"type": "boolean", "const": False},
                "Present only if a limit stopped the clock before the requested instant.",
            ),
        },
        optional=["settled"],
    ),
    "Due": answer_of(
        "The next scheduled change or attempt.",
        {
            "at": said(INSTANT, "The instant, on the account's clock."),
            "kind": said(words([*TimerKind, ATTEMPT]), "The kind of the change."),
            "payment": said(TEXT, "The identifier of the payment."),
        },
    ),
    "SetClock": body_of(
        "The new state of the clock; an omitted member does not change.",
        {
            "now": said(
                _GIVEN_INSTANT, "Sets the clock forward and processes everything that becomes due."
            ),
            "frozen": said(BOOLEAN, "Freezes or unfreezes the clock."),
        },
    ),
    **{name: _way(way) for way, (name, _, _) in _WAYS_SHOWN.items()},
    "AdvanceClock": {
        "description": "Exactly one of `seconds`, `until` and `to`.",
        "oneOf": [ref(_WAYS_SHOWN[way][0]) for way in WAYS],
    },
    "Advanced": answer_of(
        "The clock after the advance, and the effects.",
        {
            "now": said(INSTANT, "The current instant of the clock."),
            "effects": {
                "type": "array",
                "items": ref("Effect"),
                "description": "In order of due time and then of creation.",
            },
            "settled": said(BOOLEAN, _SETTLED),
        },
    ),
    "Effect": {
        "description": "One effect of an advance.",
        "oneOf": [ref("PaymentEffect"), ref("AttemptEffect")],
        "discriminator": {
            "propertyName": "kind",
            "mapping": {
                **{kind.value: "#/components/schemas/PaymentEffect" for kind in TimerKind},
                ATTEMPT: "#/components/schemas/AttemptEffect",
            },
        },
    },
    "PaymentEffect": answer_of(
        "The status of a payment changed.",
        {
            "at": said(INSTANT, "The instant, on the account's clock."),
            "type": said(ref("EventType"), "The type of the event."),
            "payment": said(TEXT, "The identifier of the payment."),
            "kind": said(ref("ChangeKind"), "The cause of the change."),
            "status": ref("PaymentStatus"),
            "reason": ref("Reason"),
        },
        optional=["reason"],
    ),
    "AttemptEffect": answer_of(
        "An attempt to send a webhook.",
        {
            "at": said(INSTANT, "The instant, on the account's clock."),
            "type": {"type": "string", "const": _ATTEMPT_EFFECT},
            "payment": said(TEXT, "The identifier of the payment of the event."),
            "kind": {"type": "string", "const": ATTEMPT},
            "event": said(TEXT, "The identifier of the event."),
            "event_type": ref("EventType"),
            "delivery": said(TEXT, "The identifier of the delivery."),
            "endpoint": said(TEXT, "The identifier of the endpoint."),
            "number": said(COUNT, "The number of the attempt in its delivery, from 1."),
            "response_status": said(
                nullable({"type": "integer"}),
                "The status of the response; null without a response.",
            ),
            "error": said(nullable(TEXT), "The error, if any."),
            "delivery_status": said(
                ref("DeliveryStatus"), "The status of the delivery after the attempt."
            ),
        },
    ),
}

_OPERATIONS = (
    Operation(
        method="get",
        path="/_emulator/clock",
        id="get_clock",
        summary="Retrieve the clock",
        description="Returns the account's clock and the next scheduled change or webhook attempt.",
        answers={
            200: Answer(
                description="The clock.",
                schema="Clock",
                links=(
                    Link(
                        to="get_payment", parameters={"payment_id": "$response.body#/next/payment"}
                    ),
                ),
            )
        },
    ),
    Operation(
        method="put",
        path="/_emulator/clock",
        id="set_clock",
        summary="Set, freeze or unfreeze the clock",
        description="Sets the clock forward, freezes it or unfreezes it. The emulator processes"
        " everything that becomes due, as in an advance. The clock never goes back, except by a"
        ' reset or a restored snapshot. The response contains `"settled": false` if a limit of'
        " the advance stopped the clock early.",
        body=Body(description="The new state of the clock.", schema="SetClock", required=False),
        answers={200: Answer(description="The clock.", schema="Clock")},
        codes={400: ("invalid_clock",)},
    ),
    Operation(
        method="post",
        path="/_emulator/clock/advance",
        id="advance_clock",
        summary="Advance the clock",
        description="Advances the clock by `seconds`, until the instant `until`, or, with"
        ' `{"to": "next"}`, to the next scheduled change or attempt. The emulator processes'
        " everything that becomes due, each at its own instant, and waits for the webhooks. With"
        ' `"webhooks": "background"` it does not wait for them. `settled` is false if a limit'
        " stopped the advance early.",
        body=Body(description="The distance.", schema="AdvanceClock"),
        answers={200: Answer(description="The clock and the effects.", schema="Advanced")},
        codes={400: ("invalid_clock", "invalid_webhooks")},
    ),
)

SUBJECT = Subject(
    tag="Clock",
    description="The account's clock determines timestamps, expiry, outcomes and retries."
    " It runs or is frozen, and can be set forward.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
)
