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
from emulator.domain.payment import Reason, Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, PHONE_METHODS
from emulator.domain.timers import ATTEMPT, TimerKind
from emulator.engine.payments.customer import PhoneAnswer
from emulator.scenarios.schema_parts import METHOD, PHONE

_METHOD = said(METHOD, "A payment method that the payment offers.")
_ABSENT = {"type": "null"}

SCHEMAS = {
    "PaymentStatus": said(words(Status), "The status of a payment."),
    "Reason": said(words(Reason), "The reason of a failure."),
    "Bank": said(words(BANKS), "A fictional bank."),
    "ChangeKind": said(words(TimerKind), "The cause of a scheduled change."),
    "CustomerAnswer": said(words(PhoneAnswer), "The answer of the customer."),
    "PayPayment": {
        **body_of(
            "A method, with its phone or bank.",
            {
                "method": _METHOD,
                "phone": said(
                    PHONE,
                    "The customer's phone number, in any form that the checkout page accepts:"
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
        "The answer of the customer.", {"answer": ref("CustomerAnswer")}, required=["answer"]
    ),
    "TransitionPayment": {
        **body_of(
            "The new status.",
            {
                "status": ref("PaymentStatus"),
                "method": said(
                    METHOD, "The method of a payment without one; by default the first offered."
                ),
                "reason": ref("Reason"),
                "unusual": said(
                    BOOLEAN,
                    "Allows a change that is rare with mobile money, such as a late success.",
                ),
            },
            required=["status"],
        ),
        "if": {**having(reason=TEXT), "required": ["reason"]},
        "then": having(status={"const": Status.FAILED.value}),
    },
    "PlaceScenario": body_of(
        "The name of the scenario.",
        {"name": said(SHORT_TEXT, "The name of a scenario of the account.")},
        required=["name"],
    ),
    "PaymentDetail": answer_of(
        "A payment with the data that `/v1` does not return.",
        {
            "payment": ref("Payment"),
            "reason": nullable(ref("Reason")),
            "mode": ref("Mode"),
            "phone": said(nullable(TEXT), "The phone that was submitted, as `+251…`."),
            "bank": said(nullable(TEXT), "The bank that was submitted."),
            "scenario": said(nullable(TEXT), "The scenario that was applied to this payment only."),
            "timeline": {
                "type": "array",
                "items": ref("TimelineEntry"),
                "description": "The changes of its status, oldest first.",
            },
            "next": nullable(ref("Scheduled")),
            "scheduled": {
                "type": "array",
                "items": ref("Scheduled"),
                "description": "The scheduled changes and attempts, soonest first.",
            },
        },
    ),
    "TimelineEntry": answer_of(
        "A change of the status.",
        {
            "id": said(TEXT, "The identifier of the event."),
            "at": said(INSTANT, "The instant, on the account's clock."),
            "type": ref("EventType"),
            "status": ref("PaymentStatus"),
            "method": said(nullable(TEXT), "The method at that instant."),
            "reason": nullable(ref("Reason")),
            "request": said(
                nullable(TEXT), "The `Request-Id` of the request that caused it; null without one."
            ),
        },
    ),
    "Scheduled": {
        "description": "A scheduled change or attempt.",
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
        "A scheduled change of the status.",
        {
            "at": said(INSTANT, "The instant, on the account's clock."),
            "kind": ref("ChangeKind"),
            "payment": said(TEXT, "The identifier of the payment."),
            "status": ref("PaymentStatus"),
            "reason": nullable(ref("Reason")),
        },
    ),
    "ScheduledAttempt": answer_of(
        "A scheduled attempt to send an event.",
        {
            "at": said(INSTANT, "The instant, on the account's clock."),
            "kind": {"type": "string", "const": ATTEMPT},
            "payment": said(TEXT, "The identifier of the payment."),
            "delivery": said(TEXT, "The identifier of the delivery."),
            "event_type": ref("EventType"),
        },
    ),
    "WaitedForPayment": answer_of(
        "The result of the wait.",
        {
            "reached": said(BOOLEAN, "Whether the payment has or had the status."),
            "payment": ref("Payment"),
        },
    ),
}
