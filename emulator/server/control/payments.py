"""The calls on payments: the customer's actions, changes of the status, details and waiting."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from emulator.domain import errors
from emulator.domain.payment import Payment, Reason, Status
from emulator.domain.payment_methods import BANKS, PHONE_METHODS
from emulator.domain.transitions import Change, unreached_note
from emulator.scenarios.conditions import METHOD, PHONE, REASON_RULE, payer_rule
from emulator.server.api.app import PaymentsApi
from emulator.server.api.bodies import unless_disconnected
from emulator.server.api.parameter_types import EnumWord, ParameterTable, parameter
from emulator.server.api.parameters import LIST
from emulator.server.control import types
from emulator.server.control.calls import Call
from emulator.server.control.document import as_component
from emulator.server.control.payment_details import (
    PAYMENT,
    ScheduledAttempt,
    ScheduledChange,
    get_payment,
    payment_text,
)
from emulator.server.control.resources import operation
from emulator.server.engine.payments.customer import PhoneAnswer, Submission
from emulator.server.openapi.declarations import (
    JsonObject,
    Resource,
    doc,
    refers_to,
)
from emulator.server.storage.payments import MAX_COMPARED_PAYMENTS

_PHONE_DIGITS_OF_METHODS = ", ".join(
    f"{digit}… is {method.title}"
    for method in PHONE_METHODS.values()
    for digit in method.phone_digits
)


LIST_WITH_FILTERS = ParameterTable(
    *LIST.rows,
    parameter(
        "reason",
        EnumWord(words=Reason),
        description="Only payments that failed for this reason. The newest"
        f" {MAX_COMPARED_PAYMENTS} payments that match the other filters are compared.",
    ),
)
"""The parameters of the list call of `/v1`, and the reason."""
ControlListPaymentsQuery = LIST_WITH_FILTERS.struct("ControlListPaymentsQuery")


_Method = Annotated[str, Meta(extra_json_schema=METHOD.schema())]


class PayPayment(types.Body, frozen=True):
    """A method, with its phone or bank."""

    method: Annotated[
        _Method | None,
        doc("By default the method of the phone or of the bank, else the first offered."),
    ] = None
    phone: Annotated[
        Annotated[str, Meta(extra_json_schema=PHONE.schema())] | None,
        doc(f"The customer's phone number, in any usual form: {_PHONE_DIGITS_OF_METHODS}."),
    ] = None
    bank: Annotated[Annotated[str, refers_to("Bank")] | None, doc("The customer's bank.")] = None


class AnswerPayment(types.Body, frozen=True):
    """The answer of the customer."""

    answer: PhoneAnswer


class TransitionPayment(types.Body, frozen=True):
    """The new status."""

    status: Status
    method: Annotated[
        _Method | None, doc("For a payment without a method; by default the first offered.")
    ] = None
    reason: Reason | None = None
    unusual: Annotated[bool | None, doc("Permits every change to another status.")] = None


class PlaceScenario(types.Body, frozen=True):
    """The name of the scenario."""

    name: Annotated[types.ShortText, doc("The name of a scenario of the account.", "banks")]


class WaitQuery(Struct, frozen=True):
    status: Annotated[Status, doc("The status to wait for.")]
    timeout: types.Timeout = types.DEFAULT_TIMEOUT_S


class WaitedForPayment(Struct, frozen=True):
    """The result of the wait."""

    reached: Annotated[bool, doc("Whether the payment has or had the status.")]
    payment: types.PaymentText
    note: (
        Annotated[str, doc("Why the payment cannot take on the status by usual means.")] | UnsetType
    ) = UNSET


@operation(
    "GET /payments", "A page of payments.", content="PaymentList", query=ControlListPaymentsQuery
)
async def list_payments(call: Call, query: Mapping[str, str]) -> msgspec.Raw:
    """List payments.

    Lists the payments of the account and mode, as the list call of `/v1` does: newest first, with
    the same parameters and pages, and with the filter `reason`.
    """
    api = PaymentsApi(call.engine)
    return msgspec.Raw(await api.page_body(call.owner, query, [], LIST_WITH_FILTERS))


@PAYMENT.operation("POST /payments/{payment_id}/pay", errors.PaymentNotPayable)
async def pay_payment(call: Call, payment_id: str, body: PayPayment) -> Payment:
    """Submit a payment method.

    Submits a method with a phone or a bank, as the customer does on the checkout page. A
    matching scenario decides the outcome. Without a scenario, the payment waits for `answer`.
    Without a phone and a bank, the first of the method is used whose payments succeed; else the
    first that waits for `answer`.
    """
    submission = Submission(**asdict(body), is_completed=True)
    return await call.engine.customer.pay(call.owner, payment_id, submission, by_control=True)


@PAYMENT.operation("POST /payments/{payment_id}/answer", errors.IllegalTransition)
async def answer_payment(call: Call, payment_id: str, body: AnswerPayment) -> Payment:
    """Answer as the customer.

    Answers the confirmation on the phone or on the page of the bank. It returns 409 if the
    customer has no question to answer: before a payment method was submitted, and where a scenario
    decides the outcome.
    """
    customer = call.engine.customer
    return await customer.answer(call.owner, payment_id, body.answer, by_control=True)


@PAYMENT.operation("POST /payments/{payment_id}/cancel", errors.IllegalTransition)
async def cancel_payment(call: Call, payment_id: str) -> Payment:
    """Cancel on the checkout page.

    Does what the cancel button of the checkout page does. It returns 409 after a method was
    submitted.
    """
    return await call.engine.customer.cancel(call.owner, payment_id, by_control=True)


@PAYMENT.operation("POST /payments/{payment_id}/transition", errors.IllegalTransition)
async def transition_payment(call: Call, payment_id: str, body: TransitionPayment) -> Payment:
    """Change the status of a payment.

    Makes any legal transition, including a refund and an early expiry, and with `unusual: true`
    any other. It cancels the changes that a scenario had scheduled.
    """
    change = Change(
        to=body.status, method=body.method, reason=body.reason, unusual=body.unusual or False
    )
    return await call.engine.customer.transition(call.owner, payment_id, change)


@PAYMENT.operation("PUT /payments/{payment_id}/scenario", errors.UnknownScenario)
async def place_scenario(call: Call, payment_id: str, body: PlaceScenario) -> Payment:
    """Apply a scenario to a payment.

    Applies a scenario to this payment only, even if the scenario is disabled.
    """
    return await call.engine.scenarios.place(call.owner, payment_id, body.name)


@PAYMENT.operation(
    "GET /payments/{payment_id}/wait", response="Whether the status was reached, and the payment."
)
async def wait_for_payment(call: Call, payment_id: str, query: WaitQuery) -> WaitedForPayment:
    """Wait for a status.

    Returns as soon as the payment has reached `status`, now or earlier, or after `timeout`
    seconds of real time. `reached` is false after a time-out. Then `note` says why, if the status
    can no longer be reached by ordinary means.
    """
    waiting = call.engine.history.wait(
        call.owner, payment_id, query.status, timeout_ms=round(query.timeout * 1000)
    )
    reached, payment = await unless_disconnected(call.request.receive, waiting)
    note = None if reached else unreached_note(payment, query.status)
    return WaitedForPayment(reached, payment_text(call, payment), note or UNSET)


def _schemas() -> dict[str, JsonObject]:
    return {
        "Bank": {"type": "string", "description": "A fictional bank.", "enum": [*BANKS]},
        "PayPayment": {
            "examples": [{"method": "telebirr", "phone": "0900000001"}],
            **as_component({"allOf": [*payer_rule().schemas]}),
        },
        "TransitionPayment": {
            "examples": [{"status": "failed", "reason": "limit_exceeded"}],
            **as_component({"allOf": [*REASON_RULE.schemas]}),
        },
        "Scheduled": types.change_or_attempt(
            "A scheduled change or attempt.", "ScheduledChange", "ScheduledAttempt"
        ),
    }


PAYMENTS = Resource(
    tag="Payments",
    description="Actions of the customer, changes of the status, and details that `/v1` does not"
    " return. Payments are created with `/v1`.",
    operations=(
        list_payments,
        get_payment,
        pay_payment,
        answer_payment,
        cancel_payment,
        transition_payment,
        place_scenario,
        wait_for_payment,
    ),
    types=(ScheduledChange, ScheduledAttempt),
    schemas=_schemas,
)
