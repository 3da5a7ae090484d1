"""The calls on payments: the customer's actions, changes of the status, details and waiting."""

import re
from decimal import Decimal
from typing import Annotated, Any

from msgspec import Meta, Struct

from emulator.control.calls import Call, operation
from emulator.control.types import (
    Body,
    EventType,
    InstantText,
    PaymentText,
    ShortText,
    json_text,
    one_of,
)
from emulator.domain import errors
from emulator.domain.accounts import Mode
from emulator.domain.banks import BANKS
from emulator.domain.instants import format_instant
from emulator.domain.payment import BANK_TRANSFER, PHONE_METHODS, Event, Payment, Reason, Status
from emulator.domain.received import not_accepted
from emulator.domain.timers import ATTEMPT, ComingAttempt, Timer, TimerKind
from emulator.domain.transitions import Change
from emulator.domain.wire import payment_json
from emulator.engine.payments.customer import PhoneAnswer, Submission
from emulator.engine.payments.payment_history import PaymentDetail, event_id
from emulator.engine.state.account import Owner
from emulator.openapi.declarations import JsonObject, Resource, SuccessResponse, doc, ref
from emulator.scenarios.schema_parts import METHOD, PHONE

MAX_TIMEOUT_MS = 300_000

# As JSON writes a number; leading zeros are allowed.
_SECONDS = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,6})?", re.ASCII)


def _timeout_s(name: str, value: str) -> float:
    """A wait is real time: fractions of a millisecond are ignored."""
    if _SECONDS.fullmatch(value):
        seconds = Decimal(value)
        if 0 <= seconds <= MAX_TIMEOUT_MS // 1000:
            return int(seconds * 1000) / 1000
    raise not_accepted(name, value, f"a number of seconds from 0 to {MAX_TIMEOUT_MS // 1000}")


class PaymentPath(Struct, frozen=True):
    payment_id: Annotated[str, Meta(min_length=1, description="The identifier of a payment.")]


class PayPayment(Body, frozen=True):
    """A method, with its phone or bank."""

    method: Annotated[
        str, Meta(description="A payment method that the payment offers.", extra_json_schema=METHOD)
    ]
    phone: Annotated[
        Annotated[str, Meta(extra_json_schema=PHONE)] | None,
        doc(
            "The customer's phone number, in any form that the checkout page accepts: 9… is"
            " telebirr, 7… is M-Pesa."
        ),
    ] = None
    bank: Annotated[
        Annotated[str, Meta(extra_json_schema=ref("Bank"))] | None, doc("The customer's bank.")
    ] = None


class AnswerPayment(Body, frozen=True):
    """The answer of the customer."""

    answer: PhoneAnswer


class TransitionPayment(Body, frozen=True):
    """The new status."""

    status: Status
    method: Annotated[
        Annotated[str, Meta(extra_json_schema=METHOD)] | None,
        doc("The method of a payment without one; by default the first offered."),
    ] = None
    reason: Reason | None = None
    unusual: Annotated[
        bool | None, doc("Allows a change that is rare with mobile money, such as a late success.")
    ] = None


class PlaceScenario(Body, frozen=True):
    """The name of the scenario."""

    name: Annotated[ShortText, doc("The name of a scenario of the account.")]


class WaitQuery(Struct, frozen=True):
    status: Annotated[Status, doc("The status to wait for.")]
    timeout: Annotated[
        float,
        Meta(
            ge=0,
            le=MAX_TIMEOUT_MS // 1_000,
            description="The maximum wait in seconds of real time; 0 returns at once.",
            extra={"parse": _timeout_s},
        ),
    ] = 30


class TimelineEntry(Struct, frozen=True):
    """A change of the status."""

    id: Annotated[str, doc("The identifier of the event.")]
    at: Annotated[InstantText, doc("The instant, on the account's clock.")]
    type: EventType
    status: Status
    method: Annotated[str | None, doc("The method at that instant.")]
    reason: Reason | None


class ScheduledChange(Struct, frozen=True):
    """A scheduled change of the status."""

    at: Annotated[InstantText, doc("The instant, on the account's clock.")]
    kind: TimerKind
    payment: Annotated[str, doc("The identifier of the payment.")]
    status: Status
    reason: Reason | None


class ScheduledAttempt(Struct, frozen=True):
    """A scheduled attempt to send an event."""

    at: Annotated[InstantText, doc("The instant, on the account's clock.")]
    kind: Annotated[str, Meta(extra_json_schema={"const": ATTEMPT})]
    payment: Annotated[str, doc("The identifier of the payment.")]
    delivery: Annotated[str, doc("The identifier of the delivery.")]
    event_type: EventType


# A change or an attempt: msgspec generates no schema of a union whose tags vary.
Scheduled = Annotated[Any, Meta(extra_json_schema=ref("Scheduled"))]


class PaymentDetailJson(Struct, frozen=True):
    """A payment with the data that `/v1` does not return."""

    payment: PaymentText
    reason: Reason | None
    mode: Mode
    phone: Annotated[str | None, doc("The phone that was submitted, as `+251…`.")]
    bank: Annotated[str | None, doc("The bank that was submitted.")]
    scenario: Annotated[str | None, doc("The scenario that was applied to this payment only.")]
    timeline: Annotated[list[TimelineEntry], doc("The changes of its status, oldest first.")]
    next: Annotated[Any, Meta(extra_json_schema={"anyOf": [ref("Scheduled"), {"type": "null"}]})]
    scheduled: Annotated[list[Scheduled], doc("The scheduled changes and attempts, soonest first.")]


class WaitedForPayment(Struct, frozen=True):
    """The result of the wait."""

    reached: Annotated[bool, doc("Whether the payment has or had the status.")]
    payment: PaymentText


async def get_payment(call: Call, path: PaymentPath) -> PaymentDetailJson:
    """Retrieve a payment with its details.

    Returns a payment with the data that `/v1` does not return: the failure reason, the phone or
    bank, the timeline and the scheduled changes.
    """
    detail = await call.engine.history.detail(call.owner, path.payment_id)
    return _detail(call.owner, detail)


async def pay_payment(call: Call, path: PaymentPath, body: PayPayment) -> object:
    """Submit a payment method.

    Submits a method with a phone or a bank, as the customer does on the checkout page. A
    matching scenario decides the outcome. Without one, the payment waits for `answer`.
    """
    submission = Submission(method=body.method, phone=body.phone, bank=body.bank)
    return _json(await call.engine.customer.pay(call.owner, path.payment_id, submission))


async def answer_payment(call: Call, path: PaymentPath, body: AnswerPayment) -> object:
    """Answer as the customer.

    Answers the confirmation on the phone (`approve`, `wrong_pin`, `insufficient_balance`,
    `cancel`) or on the page of the bank (`approve`, `decline`, `insufficient_balance`,
    `cancel`). It returns 409 if no confirmation is pending, for example because a scenario
    decides the outcome.
    """
    return _json(await call.engine.customer.answer(call.owner, path.payment_id, body.answer))


async def cancel_payment(call: Call, path: PaymentPath) -> object:
    """Cancel on the checkout page.

    Does what the cancel button of the checkout page does: the page redirects the customer to
    `cancel_url` and the payment stays `pending`. It returns 409 after a method was submitted.
    """
    return _json(await call.engine.customer.cancel(call.owner, path.payment_id))


async def transition_payment(call: Call, path: PaymentPath, body: TransitionPayment) -> object:
    """Change the status of a payment.

    Makes any legal transition, including a refund and an early expiry. It cancels the changes
    that a scenario had scheduled.
    """
    change = Change(
        to=body.status, method=body.method, reason=body.reason, unusual=body.unusual or False
    )
    return _json(await call.engine.customer.transition(call.owner, path.payment_id, change))


async def place_scenario(call: Call, path: PaymentPath, body: PlaceScenario) -> object:
    """Apply a scenario to a payment.

    Applies a scenario to this payment only, with the highest precedence, even if the scenario
    is disabled.
    """
    return _json(await call.engine.scenarios.place(call.owner, path.payment_id, body.name))


async def wait_for_payment(call: Call, path: PaymentPath, query: WaitQuery) -> WaitedForPayment:
    """Wait for a status.

    Returns as soon as the payment has reached `status`, now or earlier, or after `timeout`
    seconds of real time. `reached` is false after a time-out.
    """
    reached, payment = await call.engine.history.wait(
        call.owner, path.payment_id, query.status, timeout_ms=round(query.timeout * 1000)
    )
    return WaitedForPayment(reached, _json(payment))


def _json(payment: Payment) -> PaymentText:
    return json_text(payment_json(payment))


def _detail(owner: Owner, detail: PaymentDetail) -> PaymentDetailJson:
    payment = detail.payment
    scheduled = [_scheduled(due, payment) for due in detail.scheduled]
    return PaymentDetailJson(
        payment=_json(payment),
        reason=payment.reason,
        mode=owner.mode,
        phone=payment.phone,
        bank=payment.bank,
        scenario=owner.account.rules.placed_on(owner, payment.position),
        timeline=[_timeline_entry(owner, event) for event in detail.timeline],
        next=scheduled[0] if scheduled else None,
        scheduled=scheduled,
    )


def _timeline_entry(owner: Owner, event: Event) -> TimelineEntry:
    return TimelineEntry(
        id=event_id(owner, event),
        at=format_instant(event.at),
        type=event.type,
        status=event.status,
        method=event.method,
        reason=event.reason,
    )


def _scheduled(due: Timer | ComingAttempt, payment: Payment) -> ScheduledChange | ScheduledAttempt:
    at = format_instant(due.due_at)
    if isinstance(due, ComingAttempt):
        return ScheduledAttempt(
            at=at,
            kind=ATTEMPT,
            payment=payment.id,
            delivery=due.delivery_id,
            event_type=due.event_type,
        )
    return ScheduledChange(
        at=at, kind=due.kind, payment=payment.id, status=due.change.to, reason=due.change.reason
    )


def _having(**members: JsonObject) -> JsonObject:
    """A condition on some members of a body, which may have others."""
    return {"properties": members, "additionalProperties": True}


def _schemas() -> dict[str, JsonObject]:
    text, absent = {"type": "string"}, {"type": "null"}
    changes = dict.fromkeys((kind.value for kind in TimerKind), "ScheduledChange")
    return {
        "Bank": {"type": "string", "description": "A fictional bank.", "enum": [*BANKS]},
        "PayPayment": {
            "allOf": [
                {
                    "if": _having(method={"enum": sorted(PHONE_METHODS)}),
                    "then": {**_having(phone=text, bank=absent), "required": ["phone"]},
                },
                {
                    "if": _having(method={"const": BANK_TRANSFER}),
                    "then": {**_having(bank=text, phone=absent), "required": ["bank"]},
                },
            ]
        },
        "TransitionPayment": {
            "if": {**_having(reason=text), "required": ["reason"]},
            "then": _having(status={"const": Status.FAILED.value}),
        },
        "Scheduled": {
            "description": "A scheduled change or attempt.",
            **one_of({**changes, ATTEMPT: "ScheduledAttempt"}),
        },
    }


_SAME_PAYMENT = {"payment_id": "$request.path.payment_id"}
_CHANGED_PAYMENT = {
    200: SuccessResponse(
        "The payment.",
        "Payment",
        links={
            "get_payment": _SAME_PAYMENT,
            "wait_for_payment": {**_SAME_PAYMENT, "status": "$response.body#/status"},
        },
    )
}

PAYMENTS = Resource(
    tag="Payments",
    description="Actions of the customer, changes of the status, and details that `/v1` does not"
    " return. Payments are created with `/v1`.",
    operations=(
        operation(
            "GET /payments/{payment_id}",
            get_payment,
            {
                200: SuccessResponse(
                    "The payment with its details.",
                    links={
                        "pay_payment": _SAME_PAYMENT,
                        "answer_payment": _SAME_PAYMENT,
                        "cancel_payment": _SAME_PAYMENT,
                        "transition_payment": _SAME_PAYMENT,
                        "list_deliveries": {"query.payment": "$request.path.payment_id"},
                    },
                )
            },
            errors=(errors.UnknownPayment,),
        ),
        operation(
            "POST /payments/{payment_id}/pay",
            pay_payment,
            _CHANGED_PAYMENT,
            body="The method, with a phone or a bank.",
            errors=(errors.UnknownPayment, errors.PaymentNotPayable),
        ),
        operation(
            "POST /payments/{payment_id}/answer",
            answer_payment,
            _CHANGED_PAYMENT,
            body="The answer of the customer.",
            errors=(errors.UnknownPayment, errors.IllegalTransition),
        ),
        operation(
            "POST /payments/{payment_id}/cancel",
            cancel_payment,
            _CHANGED_PAYMENT,
            errors=(errors.UnknownPayment, errors.IllegalTransition),
        ),
        operation(
            "POST /payments/{payment_id}/transition",
            transition_payment,
            _CHANGED_PAYMENT,
            body="The new status.",
            errors=(errors.UnknownPayment, errors.IllegalTransition),
        ),
        operation(
            "PUT /payments/{payment_id}/scenario",
            place_scenario,
            _CHANGED_PAYMENT,
            body="The name of the scenario.",
            errors=(errors.UnknownPayment, errors.UnknownScenario),
        ),
        operation(
            "GET /payments/{payment_id}/wait",
            wait_for_payment,
            {
                200: SuccessResponse(
                    "Whether the status was reached, and the payment.",
                    links={"get_payment": _SAME_PAYMENT},
                )
            },
            errors=(errors.UnknownPayment,),
        ),
    ),
    types=(ScheduledChange, ScheduledAttempt),
    schemas=_schemas,
)
