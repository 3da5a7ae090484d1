"""What the document says of the customer's part, of changes by hand, and of waiting for one."""

from emulator.control.document.operations import Answer, Body, Link, Operation, Subject
from emulator.control.document.payment_shapes import SCHEMAS
from emulator.control.document.shapes import path_parameter, query_parameter, ref
from emulator.control.payments import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_MS

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
        "The maximum wait in seconds of real time; 0 returns at once.",
        {
            "type": "number",
            "minimum": 0,
            "maximum": MAX_TIMEOUT_MS // 1_000,
            "default": int(DEFAULT_TIMEOUT_S),
        },
    ),
}

_OPERATIONS = (
    Operation(
        method="get",
        path=_PAYMENT,
        id="get_payment",
        summary="Retrieve a payment with its details",
        description="Returns a payment with the data that `/v1` does not return: the failure"
        " reason, the phone or bank, the timeline and the scheduled changes.",
        parameters=("PaymentId",),
        answers={
            200: Answer(
                description="The payment with its details.",
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
        summary="Submit a payment method",
        description="Submits a method with a phone or a bank, as the customer does on the"
        " checkout page. A matching scenario decides the outcome. Without one, the payment waits"
        " for `answer`.",
        parameters=("PaymentId",),
        body=Body(description="The method, with a phone or a bank.", schema="PayPayment"),
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
        summary="Answer as the customer",
        description="Answers the confirmation on the phone (`approve`, `wrong_pin`,"
        " `insufficient_balance`, `cancel`) or on the page of the bank (`approve`, `decline`,"
        " `insufficient_balance`, `cancel`). It returns 409 if no confirmation is pending, for"
        " example because a scenario decides the outcome.",
        parameters=("PaymentId",),
        body=Body(description="The answer of the customer.", schema="AnswerPayment"),
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
        summary="Cancel on the checkout page",
        description="Does what the cancel button of the checkout page does: the page redirects"
        " the customer to `cancel_url` and the payment stays `pending`. It returns 409 after a"
        " method was submitted.",
        parameters=("PaymentId",),
        answers={200: Answer(description="The payment.", schema="Payment", links=_AFTERWARDS)},
        codes={404: _UNKNOWN, 409: ("invalid_state_transition",)},
    ),
    Operation(
        method="post",
        path=f"{_PAYMENT}/transition",
        id="transition_payment",
        summary="Change the status of a payment",
        description="Makes any legal transition, including a refund and an early expiry. It"
        " cancels the changes that a scenario had scheduled.",
        parameters=("PaymentId",),
        body=Body(description="The new status.", schema="TransitionPayment"),
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
        summary="Apply a scenario to a payment",
        description="Applies a scenario to this payment only, with the highest precedence, even"
        " if the scenario is disabled.",
        parameters=("PaymentId",),
        body=Body(description="The name of the scenario.", schema="PlaceScenario"),
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
        description="Returns as soon as the payment has reached `status`, now or earlier, or"
        " after `timeout` seconds of real time. `reached` is false after a time-out.",
        parameters=("PaymentId", "AwaitedStatus", "Timeout"),
        answers={
            200: Answer(
                description="Whether the status was reached, and the payment.",
                schema="WaitedForPayment",
                links=(Link(to="get_payment", parameters=_THE_SAME),),
            )
        },
        codes={400: ("missing_parameter", "invalid_status", "invalid_timeout"), 404: _UNKNOWN},
    ),
)

SUBJECT = Subject(
    tag="Payments",
    description="Actions of the customer, changes of the status, and details that `/v1`"
    " does not return. Payments are created with `/v1`.",
    operations=_OPERATIONS,
    schemas=SCHEMAS,
    parameters=_PARAMETERS,
)
