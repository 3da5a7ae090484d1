"""A payment with its timeline and its scheduled changes."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from emulator.domain import errors
from emulator.domain.accounts import Mode
from emulator.domain.effects import RedirectMoment
from emulator.domain.instants import format_instant
from emulator.domain.payment import Event, Payment, Reason, Status
from emulator.domain.transitions import ATTEMPT, ComingAttempt, Timer, TimerKind
from emulator.server.control import types
from emulator.server.control.calls import Call, operation
from emulator.server.control.payment_causes import Cause, causes, customer_actions
from emulator.server.control.resources import shown
from emulator.server.engine.payments.payment_history import PaymentDetail
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.wire import payment_json
from emulator.server.openapi.declarations import JsonObject, const, doc, ref, refers_to


class PaymentPath(Struct, frozen=True):
    payment_id: Annotated[types.PaymentId, types.identifies("a payment, or `latest`")]


class TimelineEntry(Struct, frozen=True):
    """A change of the status.

    A failed attempt to pay that was not the last has no event, but an identifier of its own. It has
    the status `pending`, its method and its reason.
    """

    id: Annotated[types.EventId, doc("The identifier of the event.")]
    at: types.At
    type: Annotated[types.EventType | None, doc("Null for a failed attempt.")]
    status: Status
    method: Annotated[str | None, doc("The method at that instant.")]
    reason: Reason | None
    cause: Cause
    text: Annotated[str, doc("The cause in words.", "no answer for 30 s")]


class CustomerAction(Struct, frozen=True):
    """An action of the customer."""

    at: types.At
    text: Annotated[str, doc("The action in words.", "answers on the phone: approve")]
    event: Annotated[types.EventId | None, doc("The first event that it caused; null if none.")]


class ScheduledChange(Struct, frozen=True):
    """A scheduled change of the status."""

    at: types.At
    kind: TimerKind
    payment: types.OfPayment
    status: Annotated[Status, Meta(examples=[Status.EXPIRED])]
    reason: Reason | None


class ScheduledAttempt(Struct, frozen=True):
    """A scheduled attempt to send an event."""

    at: types.At
    kind: Annotated[str, const(ATTEMPT)]
    payment: types.OfPayment
    delivery: Annotated[types.DeliveryId, doc("The identifier of the delivery.")]
    event_type: types.EventType


# A change or an attempt: msgspec generates no schema of a union whose tags vary.
Scheduled = Annotated[Any, refers_to("Scheduled")]


class PaymentDetailJson(Struct, frozen=True):
    """A payment with the data that `/v1` does not return."""

    payment: types.PaymentText
    reason: Reason | None
    mode: Mode
    methods: Annotated[
        tuple[str, ...], doc("The methods that the payment offers, in order.", ["telebirr"])
    ]
    phone: Annotated[str | None, doc("The phone that was submitted, as `+251…`.")]
    bank: Annotated[str | None, doc("The bank that was submitted.")]
    scenario: Annotated[str | None, doc("The scenario that was applied to this payment only.")]
    redirect: Annotated[
        RedirectMoment | None,
        doc("When its page redirects, where a checkout rule of a scenario has determined it."),
    ]
    timeline: Annotated[list[TimelineEntry], doc("The changes of its status, oldest first.")]
    actions: Annotated[list[CustomerAction], doc("What the customer did, oldest first.")]
    next: Annotated[Any, Meta(extra_json_schema={"anyOf": [ref("Scheduled"), {"type": "null"}]})]
    scheduled: Annotated[list[Scheduled], doc("The scheduled changes and attempts, soonest first.")]


@operation("GET /payments/{payment_id}", "The payment with its details.", errors.UnknownPayment)
async def get_payment(call: Call, path: PaymentPath) -> PaymentDetailJson:
    """Retrieve a payment with its details.

    Returns a payment with the data that `/v1` does not return: the failure reason, the phone or
    bank, the scheduled changes, and the timeline. Each change in `timeline` has
    `cause: {by, scenario?, rule?, request?}`; `by` is `request`, `customer`, `control`, `scenario`
    or `schedule`.
    """
    detail = await call.engine.history.detail(call.owner, path.payment_id)
    return _detail(call.owner, detail)


def payment_text(payment: Payment) -> types.PaymentText:
    return msgspec.Raw(payment_json(payment))


def _detail(owner: Owner, detail: PaymentDetail) -> PaymentDetailJson:
    payment = detail.payment
    scheduled = [_scheduled(due, payment) for due in detail.scheduled]
    return shown(
        PaymentDetailJson,
        payment,
        payment=payment_text(payment),
        mode=owner.mode,
        scenario=owner.account.scenario_name_of(payment.position),
        redirect=detail.redirect,
        timeline=[
            _timeline_entry(owner, event, *cause)
            for event, cause in zip(detail.timeline, causes(detail), strict=True)
        ],
        actions=[
            CustomerAction(at=format_instant(at), text=text, event=event and owner.event_id(event))
            for at, text, event in customer_actions(detail)
        ],
        next=scheduled[0] if scheduled else None,
        scheduled=scheduled,
    )


def _timeline_entry(owner: Owner, event: Event, cause: Cause, text: str) -> TimelineEntry:
    event_type = None if event.is_return else event.type
    return shown(
        TimelineEntry, event, id=owner.event_id(event), type=event_type, cause=cause, text=text
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


def detail_schemas() -> dict[str, JsonObject]:
    """The schema of a union whose tags vary, which msgspec does not generate."""
    changes = dict.fromkeys((kind.value for kind in TimerKind), "ScheduledChange")
    return {
        "Scheduled": {
            "description": "A scheduled change or attempt.",
            **types.one_of({**changes, ATTEMPT: "ScheduledAttempt"}),
        }
    }
