"""Names what can be wrong with a merchant's integration."""

from enum import StrEnum


class Verdict(StrEnum):
    """What can be wrong, in words; the most direct loss of money first."""

    FORGED_ACCEPTED = "a forged, stale or unsigned webhook changes the order"
    CHARGED_TWICE = "two payments of one order are completed or may still complete"
    FULFILLED_TWICE = "the order is fulfilled more than once"
    DONE_TWICE = "what happens at most once for an order happens twice"
    PAYMENT_SHARED = "two orders have one payment"
    WRONG_AMOUNT = "the order is paid with another amount than it costs"
    PAID_WITHOUT_MONEY = "the order is paid, and its payment is not completed"
    MONEY_WITHOUT_PAID = "the payment is completed, and the order is not paid in the end"
    ACCOUNT_WRONG = "the account does not grow by what was paid"
    NOT_FULFILLED = "the payment is completed, and the paid order is never fulfilled"
    NOT_CLOSED = "the payment failed or expired, and the order is still open in the end"
    CANNOT_PAY_AGAIN = "the customer cannot pay again after a failure"
    REQUEST_FAILED = "the job or a page of the customer fails"
    NEVER_ACKNOWLEDGED = "a genuine webhook is never answered with 2xx"
    CONFLUENCE = "the same facts in another order, or once more, end in another state"

    @property
    def id(self) -> str:
        return self.name.lower().replace("_", "-")
