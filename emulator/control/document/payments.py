"""What the document says of the customer's part, of changes by hand, and of waiting for one."""

from emulator.control.document.operations import Answer, Body, Link, Operation, Subject
from emulator.control.document.payment_shapes import SCHEMAS
from emulator.control.document.shapes import path_parameter, query_parameter, ref
from emulator.control.payments import DEFAULT_TIMEOUT_S, LONGEST_TIMEOUT_MS

_PAYMENT = "/_emulator/payments/{payment_id}"
_UNKNOWN = ("payment_not_found",)
_THE_SAME = {"payment_id": "$request.path.payment_id"}
_AFTERWARDS = (
    Link(to="get_payment", parameters=_THE_SAME),
    Link(
        to="wait_for_payment",
        parameters={**_THE_SAME, "status": "$response.body#/status"},
    ),
)

_PARAMETERS = {
    "PaymentId": path_parameter("payment_id", "The identifier of a payment."),
    "AwaitedStatus": query_parameter(
        "status", "The status to wait for.", ref("PaymentStatus"), required=True
    ),
    "Timeout": query_parameter(
        "timeout",
        "For how many seconds of real time to wait, at most; 0 only looks.",
        {
            "type": "number",
            "minimum": 0,
            "maximum": LONGEST_TIMEOUT_MS // 1_000,
            "default": int(DEFAULT_TIMEOUT_S),
        },
    ),
}

_OPERATIONS = (
    Operation(
        method="get",
        path=_PAYMENT,
        id="get_payment",
        summary="Look at a payment",
        description="A payment with what the contract does not show: why it failed, who paid, what"
        " has happened to it and what is scheduled.",
        parameters=("PaymentId",),
        answers={
            200: Answer(
                description="The payment, its past and its future.",
                schema="PaymentDetail",
                links=(
                    Link(to="pay_payment", parameters=_THE_SAME),
                    Link(to="answer_payment", parameters=_THE_SAME),
                    Link(to="cancel_payment", parameters=_THE_SAME),
                    Link(to="transition_payment", parameters=_THE_SAME),
                    Link(
                        to="list_deliveries",
                        parameters={"query.payment": "$request.path.payment_id"},
                    ),
                ),
            )
        },
        codes={404: _UNKNOWN},
    ),
    Operation(
        method="post",
        path=f"{_PAYMENT}/pay",
        id="pay_payment",
        summary="Submit a method, as the customer does on the page",
        description="Submits a method with a phone or a bank. What happens then is what a scenario"
        " says of them, or else what the handset or the bank's page is told.",
        parameters=("PaymentId",),
        body=Body(description="What the customer submits.", schema="PayPayment"),
        answers={200: Answer(description="The payment.", schema="Payment", links=_AFTERWARDS)},
        codes={
            400: ("missing_parameter", "invalid_method", "invalid_phone", "invalid_bank"),
            404: _UNKNOWN,
            409: ("payment_not_payable",),
        },
    ),
    Operation(
        method="post",
        path=f"{_PAYMENT}/answer",
        id="answer_payment",
        summary="Answer on the phone, or on the bank's page",
        description="Only where somebody is asked: no scenario has decided. On a phone nobody"
        " answers `decline`, at a bank nobody `wrong_pin`.",
        parameters=("PaymentId",),
        body=Body(description="What the customer answers.", schema="AnswerPayment"),
        answers={200: Answer(description="The payment.", schema="Payment", links=_AFTERWARDS)},
        codes={
            400: ("missing_parameter", "invalid_answer"),
            404: _UNKNOWN,
            409: ("invalid_state_transition",),
        },
    ),
    Operation(
        method="post",
        path=f"{_PAYMENT}/cancel",
        id="cancel_payment",
        summary="Press the page's cancel button",
        description="Sends the customer to `cancel_url`; the payment stays pending. Possible only"
        " before a method was submitted.",
        parameters=("PaymentId",),
        answers={200: Answer(description="The payment.", schema="Payment", links=_AFTERWARDS)},
        codes={404: _UNKNOWN, 409: ("invalid_state_transition",)},
    ),
    Operation(
        method="post",
        path=f"{_PAYMENT}/transition",
        id="transition_payment",
        summary="Change a status by hand",
        description="Along any legal edge, refund and early expiry included; what a scenario had"
        " still scheduled is cancelled.",
        parameters=("PaymentId",),
        body=Body(description="What the payment becomes.", schema="TransitionPayment"),
        answers={200: Answer(description="The payment.", schema="Payment", links=_AFTERWARDS)},
        codes={
            400: (
                "missing_parameter",
                "invalid_status",
                "invalid_method",
                "invalid_reason",
                "invalid_unusual",
            ),
            404: _UNKNOWN,
            409: ("invalid_state_transition",),
        },
    ),
    Operation(
        method="put",
        path=f"{_PAYMENT}/scenario",
        id="place_scenario",
        summary="Put a scenario on a payment",
        description="The scenario is the strongest for this payment, be it on or off.",
        parameters=("PaymentId",),
        body=Body(description="Which scenario.", schema="PlaceScenario"),
        answers={200: Answer(description="The payment.", schema="Payment", links=_AFTERWARDS)},
        codes={
            400: ("missing_parameter", "invalid_name"),
            404: (*_UNKNOWN, "scenario_not_found"),
        },
    ),
    Operation(
        method="get",
        path=f"{_PAYMENT}/wait",
        id="wait_for_payment",
        summary="Wait for a status",
        description="Answers as soon as the payment has taken on the status, be it already past, or"
        " when the time is over. The wait is real time; the status may come by an advance.",
        parameters=("PaymentId", "AwaitedStatus", "Timeout"),
        answers={
            200: Answer(
                description="Whether it was reached, and the payment.",
                schema="WaitedForPayment",
                links=(Link(to="get_payment", parameters=_THE_SAME),),
            )
        },
        codes={400: ("missing_parameter", "invalid_status", "invalid_timeout"), 404: _UNKNOWN},
    ),
)

SUBJECT = Subject(
    tag="Payments",
    description="What the customer does, what can be done by hand, and what the contract does not"
    " show of a payment. Payments are created through `/v1`.",
    operations=_OPERATIONS,
    schemas=SCHEMAS,
    parameters=_PARAMETERS,
)
