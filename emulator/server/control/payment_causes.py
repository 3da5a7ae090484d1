"""Describes what a payment's customer did, and why the payment took on each status."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from emulator.domain.durations import span_text
from emulator.domain.instants import Instant
from emulator.domain.payment import Event, Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, METHODS
from emulator.server.control import types
from emulator.server.engine.payments.customer import (
    Answered,
    Cancelled,
    Paid,
    PaymentAction,
    PerformedAction,
    Transitioned,
)
from emulator.server.engine.payments.payment_history import PaymentDetail
from emulator.server.openapi.declarations import doc


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
    rule: (
        Annotated[int, Meta(ge=1, description="The rule; the first has the number 1.")] | UnsetType
    ) = UNSET
    request: Annotated[types.RequestId, doc("The request.")] | UnsetType = UNSET


def customer_actions(detail: PaymentDetail) -> Iterator[tuple[Instant, str, Event | None]]:
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
        yield each.at, text, event


def _first_event(detail: PaymentDetail, action: PerformedAction) -> Event | None:
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
        elif event.status is Status.PENDING and not event.is_return:
            yield Cause(CauseKind.REQUEST, request=event.request_id or UNSET), "the shop created it"
        else:
            has_expired = is_pending and event.status is Status.EXPIRED
            is_step = submitted is not None and _has_step(*submitted, event)
            cause = _scheduled_cause(
                detail, event, None if has_expired and not is_step else submitted
            )
            yield cause
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
