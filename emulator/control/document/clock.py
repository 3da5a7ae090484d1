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
from emulator.engine.timekeeper import LONGEST_ADVANCE_MS, MOST_EFFECTS

# What the engine calls an attempt among the effects, as the type of an event that it is none of.
_ATTEMPT_EFFECT = "webhook.attempt"
_GIVEN_INSTANT: Schema = {
    "type": "string",
    "format": "date-time",
    "description": "An ISO 8601 timestamp; one without an offset is read as UTC.",
}
_SETTLED = (
    f"False where a limit stopped it: {MOST_EFFECTS:,} effects, or"
    f" {LONGEST_ADVANCE_MS // 1_000} s of real time. The next call goes on."
)
_WAYS_SHOWN: dict[str, tuple[str, str, Schema]] = {
    "seconds": (
        "AdvanceBySeconds",
        "Advances by a span of time.",
        {
            "type": "number",
            "minimum": 0,
            "maximum": LAST_INSTANT // 1000,
            "description": "How far, with a fraction down to the millisecond; 0 settles what is"
            " due now.",
        },
    ),
    "until": (
        "AdvanceUntil",
        "Advances until an instant.",
        said(_GIVEN_INSTANT, "When to stop; not before the clock's present instant."),
    ),
    "to": (
        "AdvanceToNext",
        "Advances to the next thing that is due.",
        said(
            {"type": "string", "const": NEXT},
            "To the next thing that is due; where nothing is, nothing happens.",
        ),
    ),
}


def _way(name: str) -> Schema:
    _, description, way = _WAYS_SHOWN[name]
    return body_of(description, {name: way, "webhooks": ref("Background")}, required=[name])


_SCHEMAS = {
    "Background": said(
        words([BACKGROUND]), "Does not wait for webhooks: they are sent while it goes on."
    ),
    "Clock": answer_of(
        "An account's clock, and what is due next.",
        {
            "now": said(INSTANT, "What the clock shows."),
            "frozen": said(BOOLEAN, "Whether it stands still until it is moved."),
            "next": nullable(ref("Due")),
            "settled": said(
                {"type": "boolean", "const": False},
                "Only there where a limit stopped the clock on its way to what was asked for.",
            ),
        },
        optional=["settled"],
    ),
    "Due": answer_of(
        "The next thing that is going to happen by itself.",
        {
            "at": said(INSTANT, "When, on the account's clock."),
            "kind": said(words([*TimerKind, ATTEMPT]), "What it is."),
            "payment": said(TEXT, "The identifier of the payment that it happens to."),
        },
    ),
    "SetClock": body_of(
        "How the clock is to be; what is left out stays as it is.",
        {
            "now": said(_GIVEN_INSTANT, "Moves it forward, never back, and fires what falls due."),
            "frozen": said(BOOLEAN, "Freezes it, or lets it flow."),
        },
    ),
    **{name: _way(way) for way, (name, _, _) in _WAYS_SHOWN.items()},
    "AdvanceClock": {
        "description": "One way of saying how far.",
        "oneOf": [ref(_WAYS_SHOWN[way][0]) for way in WAYS],
    },
    "Advanced": answer_of(
        "Where the clock stands now, and what happened on the way.",
        {
            "now": said(INSTANT, "What the clock shows now."),
            "effects": {
                "type": "array",
                "items": ref("Effect"),
                "description": "In order of due time and then of creation.",
            },
            "settled": said(BOOLEAN, _SETTLED),
        },
    ),
    "Effect": {
        "description": "One thing that an advance made happen.",
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
        "A payment took on a status.",
        {
            "at": said(INSTANT, "When, on the account's clock."),
            "type": said(ref("EventType"), "The type of the event that tells of it."),
            "payment": said(TEXT, "The identifier of the payment."),
            "kind": said(ref("ChangeKind"), "What made it so."),
            "status": ref("PaymentStatus"),
            "reason": ref("Reason"),
        },
        optional=["reason"],
    ),
    "AttemptEffect": answer_of(
        "A webhook was sent, or could not be.",
        {
            "at": said(INSTANT, "When, on the account's clock."),
            "type": {"type": "string", "const": _ATTEMPT_EFFECT},
            "payment": said(TEXT, "The identifier of the payment that it tells of."),
            "kind": {"type": "string", "const": ATTEMPT},
            "event": said(TEXT, "The identifier of the event."),
            "event_type": ref("EventType"),
            "delivery": said(TEXT, "The identifier of the delivery."),
            "endpoint": said(TEXT, "The identifier of the endpoint."),
            "number": said(COUNT, "Which attempt of its delivery it was, from 1 on."),
            "response_status": said(
                nullable({"type": "integer"}), "The status of the response; null without one."
            ),
            "error": said(nullable(TEXT), "What went wrong, if anything did."),
            "delivery_status": said(ref("DeliveryStatus"), "How the delivery stood then."),
        },
    ),
}

_OPERATIONS = (
    Operation(
        method="get",
        path="/_emulator/clock",
        id="get_clock",
        summary="Read the clock",
        description="What the account's clock shows, and what is due next.",
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
        summary="Set, freeze or release the clock",
        description="Sets the clock forward, firing what falls due as an advance does, and freezes"
        " it or lets it flow. It never goes back; a reset and a snapshot do.",
        body=Body(description="How it is to be.", schema="SetClock", required=False),
        answers={200: Answer(description="The clock.", schema="Clock")},
        codes={400: ("invalid_clock",)},
    ),
    Operation(
        method="post",
        path="/_emulator/clock/advance",
        id="advance_clock",
        summary="Advance the clock",
        description="Moves the clock forward and fires all that falls due, each at its own instant,"
        " and returns when everything has settled, webhooks included.",
        body=Body(description="How far.", schema="AdvanceClock"),
        answers={200: Answer(description="What happened.", schema="Advanced")},
        codes={400: ("invalid_clock", "invalid_webhooks")},
    ),
)

SUBJECT = Subject(
    tag="Clock",
    description="Business time: expiry, outcomes, retries and timestamps go by the account's clock,"
    " which flows or is frozen, and can be moved forward.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
)
