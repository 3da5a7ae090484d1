"""The JSON Schemas of what is sent and answered about one payment."""

from emulator.control.document.shapes import (
    BOOLEAN,
    INSTANT,
    SHORT_TEXT,
    TEXT,
    answer_of,
    body_of,
    having,
    nullable,
    ref,
    said,
    words,
)
from emulator.domain.banks import BANKS
from emulator.domain.payment import BANK_TRANSFER, PHONE_METHODS, Reason, Status
from emulator.domain.timers import ATTEMPT, TimerKind
from emulator.engine.customer import Answer
from emulator.scenarios.schema_parts import METHOD, PHONE

_METHOD = said(METHOD, "A payment method that the payment offers.")
_ABSENT = {"type": "null"}

SCHEMAS = {
    "PaymentStatus": said(words(Status), "What state a payment is in."),
    "Reason": said(words(Reason), "Why a payment failed."),
    "Bank": said(words(BANKS), "A fictional bank."),
    "ChangeKind": said(words(TimerKind), "What makes a payment take on a status by itself."),
    "CustomerAnswer": said(words(Answer), "What the customer answers."),
    "PayPayment": {
        **body_of(
            "A method, with the phone or the bank that it takes.",
            {
                "method": _METHOD,
                "phone": said(
                    PHONE,
                    "The customer's phone number, in any form that a customer may write it in:"
                    " 9… is telebirr, 7… is M-Pesa.",
                ),
                "bank": said(ref("Bank"), "The customer's bank."),
            },
            required=["method"],
        ),
        "allOf": [
            {
                "if": having(method={"enum": sorted(PHONE_METHODS)}),
                "then": {**having(phone=TEXT, bank=_ABSENT), "required": ["phone"]},
            },
            {
                "if": having(method={"const": BANK_TRANSFER}),
                "then": {**having(bank=TEXT, phone=_ABSENT), "required": ["bank"]},
            },
        ],
    },
    "AnswerPayment": body_of(
        "What the customer answers.", {"answer": ref("CustomerAnswer")}, required=["answer"]
    ),
    "TransitionPayment": {
        **body_of(
            "The status to take on, and how.",
            {
                "status": ref("PaymentStatus"),
                "method": said(
                    METHOD, "The method, where it has none yet; by default the first offered."
                ),
                "reason": ref("Reason"),
                "unusual": said(
                    BOOLEAN,
                    "Says that a change which mobile money shows only now and then is meant, such"
                    " as a late success.",
                ),
            },
            required=["status"],
        ),
        "if": {**having(reason=TEXT), "required": ["reason"]},
        "then": having(status={"const": Status.FAILED.value}),
    },
    "PlaceScenario": body_of(
        "Which scenario.",
        {"name": said(SHORT_TEXT, "The name of a scenario of the account.")},
        required=["name"],
    ),
    "PaymentDetail": answer_of(
        "A payment with what the contract does not show of it.",
        {
            "payment": ref("Payment"),
            "reason": nullable(ref("Reason")),
            "mode": ref("Mode"),
            "phone": said(nullable(TEXT), "The phone that was submitted, as `+251…`."),
            "bank": said(nullable(TEXT), "The bank that was chosen."),
            "scenario": said(nullable(TEXT), "The scenario that was put on this payment."),
            "timeline": {
                "type": "array",
                "items": ref("TimelineEntry"),
                "description": "Each status that it has taken on, oldest first.",
            },
            "next": nullable(ref("Scheduled")),
            "scheduled": {
                "type": "array",
                "items": ref("Scheduled"),
                "description": "What is going to happen to it by itself, soonest first.",
            },
        },
    ),
    "TimelineEntry": answer_of(
        "A status that the payment took on.",
        {
            "id": said(TEXT, "The identifier of the event that tells of it."),
            "at": said(INSTANT, "When, on the account's clock."),
            "type": ref("EventType"),
            "status": ref("PaymentStatus"),
            "method": said(nullable(TEXT), "The method that it had then."),
            "reason": nullable(ref("Reason")),
        },
    ),
    "Scheduled": {
        "description": "Something that is going to happen by itself.",
        "oneOf": [ref("ScheduledChange"), ref("ScheduledAttempt")],
        "discriminator": {
            "propertyName": "kind",
            "mapping": {
                **{kind.value: "#/components/schemas/ScheduledChange" for kind in TimerKind},
                ATTEMPT: "#/components/schemas/ScheduledAttempt",
            },
        },
    },
    "ScheduledChange": answer_of(
        "The payment is going to take on a status.",
        {
            "at": said(INSTANT, "When, on the account's clock."),
            "kind": ref("ChangeKind"),
            "payment": said(TEXT, "The identifier of the payment."),
            "status": ref("PaymentStatus"),
            "reason": nullable(ref("Reason")),
        },
    ),
    "ScheduledAttempt": answer_of(
        "An event of the payment is going to be sent.",
        {
            "at": said(INSTANT, "When, on the account's clock."),
            "kind": {"type": "string", "const": ATTEMPT},
            "payment": said(TEXT, "The identifier of the payment."),
            "delivery": said(TEXT, "The identifier of the delivery."),
            "event_type": ref("EventType"),
        },
    ),
    "WaitedForPayment": answer_of(
        "What the wait has come to.",
        {
            "reached": said(BOOLEAN, "Whether the payment has, or has had, the status."),
            "payment": ref("Payment"),
        },
    ),
}
