"""Names what can be wrong with a merchant's integration, and what to do about it."""

from collections.abc import Mapping
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


ADVICE: Mapping[str, tuple[str, ...]] = {
    "forged-accepted": (
        "The handler acts on a webhook that it has not verified, or on an old one.",
        "Verify the raw body first: `Webhook(secret).verify(body, headers)`.",
        "Without a signature, trust only the payment that you retrieve, and its `metadata`.",
    ),
    "charged-twice": (
        "A repeated create has another idempotency key, or none.",
        "Store the key before the first attempt:",
        "`UPDATE orders SET idempotency_key = ? WHERE id = ? AND idempotency_key IS NULL`.",
    ),
    "fulfilled-twice": (
        "Two handlers, or a handler and its repetition, see an order that is not shipped.",
        "Ship only if this changes a row:"
        " `UPDATE orders SET shipped = 1 WHERE id = ? AND shipped = 0`.",
    ),
    "done-twice": (
        "The effect follows each event, and not the change of the order.",
        "Do it only if this changes a row:"
        " `UPDATE orders SET mailed = 1 WHERE id = ? AND mailed = 0`.",
        "For a customer: `INSERT INTO vouchers (customer) VALUES (?) ON CONFLICT DO NOTHING`.",
    ),
    "payment-shared": (
        "Two orders have one idempotency key, or the payment of a customer is used again.",
        'Make the key from the order: `idempotency_key = f"order-{order.id}"`.',
    ),
    "wrong-amount": (
        "The price changed after the payment was created, or the browser sent it.",
        'Before the order is paid, check that `payment["amount"] == order.total_cents`.',
    ),
    "paid-without-money": (
        "The shop trusts a redirect, another payment, or an old status.",
        "Retrieve the payment of the order:"
        ' `paid = retrieve(order.payment_id)["status"] == "completed"`.',
    ),
    "money-without-paid": (
        "An event is remembered and its effect is lost, a job skips a payment that was open,"
        " or handlers that run at the same moment share a variable.",
        "Commit both in one transaction, and respond after it:",
        "`INSERT INTO events (id) VALUES (?) ON CONFLICT DO NOTHING`.",
    ),
    "account-wrong": (
        "The account changes twice, by a wrong number, or without a payment.",
        "Store the change in the transaction of the order, with the payment as its unique key:"
        " `INSERT INTO changes (payment_id, amount) VALUES (?, ?)`.",
        "Add to the balance in one statement: `SET balance = balance + ?`.",
    ),
    "not-fulfilled": (
        "The order is marked as paid, the shipment fails, and the repetition finds a paid order.",
        "Add the shipment in the same transaction: `INSERT INTO shipments (order_id) VALUES (?)`.",
    ),
    "not-closed": (
        "No code handles `failed` or `expired`, or the job skips the order. Close what is open:",
        "`UPDATE orders SET status = 'cancelled' WHERE payment_id = ? AND status = 'open'`.",
    ),
    "cannot-pay-again": (
        "A failed payment stays the payment of the order.",
        "Create another payment, with another key:"
        ' `idempotency_key = f"order-{order.id}-{order.attempts}"`.',
    ),
    "request-failed": (
        "The job, or a page to which the customer returns, fails or does not exist.",
        "Send the request with `curl -i`, and read the log of the shop.",
    ),
    "never-acknowledged": (
        "The handler responds with an error to an event that needs nothing,"
        " or checks one signature of two.",
        "Respond 200 if one signature is right:",
        "`any(compare_digest(expected, each) for each in header.split())`.",
    ),
    "confluence": (
        "The result depends on the order in which events arrive, or on how often they arrive.",
        "Derive it from the payment, not from the event:"
        ' `status = retrieve(event["data"]["id"])["status"]`.',
    ),
}
"""The lines for each verdict, by its id."""
