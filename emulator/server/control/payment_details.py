"""A payment with its timeline, the causes of its changes, and what is scheduled."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from emulator.domain import errors
from emulator.domain.accounts import Mode
from emulator.domain.durations import span_text
from emulator.domain.effects import RedirectMoment
from emulator.domain.instants import Instant, format_instant
from emulator.domain.payment import Event, Payment, Reason, Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, METHODS
from emulator.domain.transitions import ATTEMPT, ComingAttempt, Timer, TimerKind
from emulator.server.control import types
from emulator.server.control.calls import Call
from emulator.server.control.resources import Kind, shown
from emulator.server.engine.payments.payment_history import PaymentDetail
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.wire import payment_json
from emulator.server.openapi.declarations import const, doc, ref, refers_to
from emulator.server.storage.events import (
    Action,
    Answered,
    Cancelled,
    Paid,
    PaymentAction,
    Transitioned,
)


class CauseKind(StrEnum):
    """Who or what changes a status."""

    REQUEST = "request"
    CUSTOMER = "customer"
    CONTROL = "control"
    SCENARIO = "scenario"
    SCHEDULE = "schedule"


class Cause(Struct, frozen=True):
    """What caused a change of the status.

    `by` is `request` for a call of `/v1`, `customer` for the checkout page, `control` for a call
    that acts as the customer or changes the status, `scenario` for an outcome that a rule
    determined, or `schedule` for an expiry and for a time-out without an answer.
    """

    by: CauseKind
    scenario: Annotated[str, doc("The scenario.", "telebirr-test-numbers")] | UnsetType = UNSET
    rule: Annotated[int, Meta(ge=1, description="The number of the rule.")] | UnsetType = UNSET
    request: Annotated[types.RequestId, doc("The request.")] | UnsetType = UNSET


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
    delivery: types.OfDelivery
    event_type: types.EventType


Scheduled = Annotated[Any, refers_to("Scheduled")]


class PaymentDetailJson(Struct, frozen=True):
    """A payment with the data that `/v1` does not return."""

    payment: types.PaymentText
    reason: Reason | None
    mode: Mode
    methods: Annotated[tuple[str, ...], doc("The offered methods, in order.", ["telebirr"])]
    phone: Annotated[str | None, doc("The phone that was submitted, as `+251…`.")]
    bank: Annotated[str | None, doc("The bank that was submitted.")]
    scenario: Annotated[str | None, doc("The scenario that was applied to this payment only.")]
    redirect: Annotated[
        RedirectMoment | None, doc("When its page redirects, if a checkout rule determined it.")
    ]
    timeline: Annotated[list[TimelineEntry], doc("The changes of its status, oldest first.")]
    actions: Annotated[list[CustomerAction], doc("What the customer did, oldest first.")]
    next: Annotated[Any, Meta(extra_json_schema={"anyOf": [ref("Scheduled"), {"type": "null"}]})]
    scheduled: Annotated[list[Scheduled], doc("The scheduled changes and attempts, soonest first.")]


def customer_actions(owner: Owner, detail: PaymentDetail) -> Iterator[CustomerAction]:
    """The actions of the customer, each with the first event that it caused."""
    submitted = ""
    for each in detail.actions:
        event = _first_event(detail, each)
        match each.detail:
            case Paid(method=submitted, phone=phone, bank=bank):
                account = phone or BANKS.get(bank or "", bank)
                text = f"pays with {_title(submitted)} {account or ''}".rstrip()
            case Answered(answer=answer):
                words = answer.replace("_", " ").replace("pin", "PIN")
                text = f"answers {_place(submitted)}: {words}"
            case Cancelled(fails=fails):
                text = "cancels on the page"
                event = event if fails else None
            case _:
                continue
        yield shown(CustomerAction, each, text=text, event=event and owner.event_id(event))


def _first_event(detail: PaymentDetail, action: Action) -> Event | None:
    """The first event of the payment that the action caused, or the next one."""
    return next((event for event in detail.timeline if event.position >= action.event), None)


def causes(detail: PaymentDetail) -> Iterator[tuple[Cause, str]]:
    """The cause of each event of the timeline, also in words."""
    actions: dict[int, tuple[PaymentAction, Instant]] = {}
    for each in detail.actions:
        done, caused = each.detail, _first_event(detail, each)
        # After a cancel that did not fail the payment, it stayed pending.
        if caused is not None and not (isinstance(done, Cancelled) and not done.fails):
            actions[caused.position] = done, each.at
    submitted: tuple[Paid, Instant] | None = None
    is_pending = False
    for event in detail.timeline:
        action, at = actions.get(event.position, (None, event.at))
        if isinstance(action, Paid):
            submitted = action, at
        if action is not None:
            by = CauseKind.CONTROL if action.by_control else CauseKind.CUSTOMER
            yield Cause(by), _action_text(action, submitted[0].method if submitted else "")
        elif event.is_creation:
            yield Cause(CauseKind.REQUEST, request=event.request_id or UNSET), "the shop created it"
        else:
            has_expired = is_pending and event.status is Status.EXPIRED
            is_step = submitted is not None and _has_step(*submitted, event)
            yield _scheduled_cause(
                detail, event, None if has_expired and not is_step else submitted
            )
        if event.is_failed_attempt or isinstance(action, Transitioned):
            submitted = None
        is_pending = event.status is Status.PENDING


def _has_step(paid: Paid, at: Instant, event: Event) -> bool:
    """Whether the outcome of a submit has this expiry as a step."""
    steps = paid.steps or ()
    return any((at + step.after_ms, step.status) == (event.at, event.status) for step in steps)


def _action_text(action: PaymentAction, method: str) -> str:
    match action:
        case Paid():
            return f"the customer submitted {_title(method)}"
        case Answered():
            return f"the customer answered {_place(method)}"
        case Cancelled():
            return "the customer cancelled on the page"
        case Transitioned():
            return "a call of the control API"


def _scheduled_cause(
    detail: PaymentDetail, event: Event, submitted: tuple[Paid, Instant] | None
) -> tuple[Cause, str]:
    """The cause of an event after which time or a rule decided."""
    schedule, payment = Cause(CauseKind.SCHEDULE), detail.payment
    if submitted is None and event.status is not Status.EXPIRED:
        return Cause(CauseKind.CUSTOMER), "the customer of another client"
    if submitted is None:
        return schedule, f"no payment within {span_text(payment.expires_at - payment.created_at)}"
    paid, at = submitted
    if paid.steps is None:
        return schedule, f"no answer for {span_text(event.at - at)}"
    scenario, rule = paid.scenario or UNSET, paid.number or UNSET
    text = f"scenario {scenario}, rule {rule}" if scenario else "a scenario"
    return Cause(CauseKind.SCENARIO, scenario=scenario, rule=rule), text


def _title(method: str) -> str:
    return METHODS[method].title if method in METHODS else method


def _place(method: str) -> str:
    return "at the bank" if method == BANK_TRANSFER else "on the phone"


def payment_text(_: Call, payment: Payment) -> types.PaymentText:
    return msgspec.Raw(payment_json(payment))


PAYMENT = Kind(
    noun="payment",
    path="/payments/{payment_id}",
    id=Annotated[types.PaymentId, types.identifies("a payment, or `latest`")],
    item="Payment",
    show=payment_text,
    unknown=errors.UnknownPayment,
)


@PAYMENT.operation("GET /payments/{payment_id}", response="The payment with its details.")
async def get_payment(call: Call, payment_id: str) -> PaymentDetailJson:
    """Retrieve a payment with its details.

    Returns a payment with the data that `/v1` does not return: the failure reason, the phone or
    bank, the scheduled changes, and the timeline, each of whose changes has a `cause`.
    """
    owner = call.owner
    detail = await call.engine.history.detail(owner, payment_id)
    payment = detail.payment
    scheduled = [_scheduled(due, payment.id) for due in detail.scheduled]
    scenario = owner.account.scenario_of(payment.position)
    return shown(
        PaymentDetailJson,
        payment,
        payment=payment_text(call, payment),
        mode=owner.mode,
        scenario=None if scenario is None else scenario.name,
        redirect=detail.redirect,
        timeline=[
            shown(
                TimelineEntry,
                event,
                id=owner.event_id(event),
                type=None if event.is_return else event.type,
                cause=cause,
                text=text,
            )
            for event, (cause, text) in zip(detail.timeline, causes(detail), strict=True)
        ],
        actions=[*customer_actions(owner, detail)],
        next=scheduled[0] if scheduled else None,
        scheduled=scheduled,
    )


def _scheduled(due: Timer | ComingAttempt, payment: str) -> ScheduledChange | ScheduledAttempt:
    at = format_instant(due.due_at)
    if isinstance(due, ComingAttempt):
        named = {"kind": ATTEMPT, "payment": payment, "delivery": due.delivery_id}
        return shown(ScheduledAttempt, due, at=at, **named)
    change = due.change
    return shown(
        ScheduledChange, due, at=at, payment=payment, status=change.to, reason=change.reason
    )
