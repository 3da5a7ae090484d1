"""Describes in words what a payment's customer did, and why the payment took on each status."""

from collections.abc import Iterator

from emulator.domain.durations import span_text
from emulator.domain.instants import Instant
from emulator.domain.payment import Event, Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, METHODS
from emulator.server.engine.payments.customer import (
    Answered,
    Cancelled,
    Paid,
    PaymentAction,
    Transitioned,
    payment_action,
)
from emulator.server.engine.payments.payment_history import PaymentDetail
from emulator.server.storage.events import Action


def customer_actions(detail: PaymentDetail) -> Iterator[tuple[Instant, str, Event | None]]:
    """The actions of the customer, each with the first event that it caused."""
    submitted = ""
    for each in detail.actions:
        event = _first_event(detail, each)
        match payment_action(each):
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


def _first_event(detail: PaymentDetail, action: Action) -> Event | None:
    """The first event of the payment that the action caused, or the next one."""
    return next((event for event in detail.timeline if event.position >= action.event), None)


def causes(detail: PaymentDetail) -> Iterator[str]:
    """The cause of each event of the timeline."""
    actions = {
        event.position: (payment_action(each), each.at)
        for each in detail.actions
        if (event := _first_event(detail, each)) is not None
    }
    submitted: tuple[Paid, Instant] | None = None
    for event in detail.timeline:
        action, at = actions.get(event.position, (None, event.at))
        if isinstance(action, Paid):
            submitted = action, at
        method = submitted[0].method if submitted else ""
        yield _cause(event, action, method) or _scheduled_cause(detail, event, submitted)
        if event.is_failed_attempt:
            submitted = None


def _cause(event: Event, action: PaymentAction | None, method: str) -> str | None:
    """The cause of an event that an action or a request caused."""
    match action:
        case Paid():
            return f"the customer submitted {_title(method)}"
        case Answered():
            return f"the customer answered {_place(method)}"
        case Cancelled(fails=True):
            return "the customer cancelled on the page"
        case Transitioned():
            return "a call of the control API"
        case _:
            is_first = event.status is Status.PENDING and not event.is_failed_attempt
            return "the shop created it" if is_first else None


def _scheduled_cause(
    detail: PaymentDetail, event: Event, submitted: tuple[Paid, Instant] | None
) -> str:
    """The cause of an event after which time or a rule decided."""
    payment = detail.payment
    if submitted is None:
        return f"no payment within {span_text(payment.expires_at - payment.created_at)}"
    paid, at = submitted
    if paid.steps is not None:
        return f"scenario {paid.rule}" if paid.rule else "a scenario"
    return f"no answer for {span_text(event.at - at)}"


def _title(method: str) -> str:
    return METHODS[method].title if method in METHODS else method


def _place(method: str) -> str:
    return "at the bank" if method == BANK_TRANSFER else "on the phone"
