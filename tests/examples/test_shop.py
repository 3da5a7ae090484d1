"""The shop with duplicate webhooks, lost responses and customers who do not answer."""

from typing import Any

import httpx
import pytest
from etb_payments_emulator_pytest import PaymentsAccount


def order_something(shop: httpx.Client) -> None:
    assert shop.post("/orders", json={"amount": 15_000}).status_code == 303


def payments_of_orders(account: PaymentsAccount) -> list[dict[str, Any]]:
    """The payments of the shop; others may create some with the same key."""
    return [payment for payment in account.payments if "order" in payment["metadata"]]


def test_a_paid_order_is_shipped(shop: httpx.Client, payments_account: PaymentsAccount) -> None:
    order_something(shop)
    [payment] = payments_of_orders(payments_account)

    payments_account.pay(payment["id"], phone="0900000001")

    assert shop.get(payment["success_url"]).text == "Order 1: paid, 1 shipped"


def test_a_duplicate_webhook_ships_nothing_twice(
    shop: httpx.Client, payments_account: PaymentsAccount
) -> None:
    payments_account.use_scenario("duplicate-webhooks")
    order_something(shop)
    [payment] = payments_of_orders(payments_account)

    payments_account.pay(payment["id"], phone="0900000001")

    types = [delivery["type"] for delivery in payments_account.deliveries]
    assert types[-2:] == ["payment.completed", "payment.completed"]
    assert shop.get("/orders/1").text == "Order 1: paid, 1 shipped"


def test_a_webhook_whose_payment_cannot_be_read_is_refused_and_comes_again(
    shop: httpx.Client, payments_account: PaymentsAccount
) -> None:
    order_something(shop)
    [payment] = payments_of_orders(payments_account)
    payments_account.fault("retrieve_payment", status=500)

    payments_account.pay(payment["id"], phone="0900000001")
    payments_account.advance("1s")

    assert shop.get("/orders/1").text == "Order 1: paid, 1 shipped"
    attempts = [
        [attempt["status"] for attempt in delivery["attempts"]]
        for delivery in payments_account.deliveries
    ]
    assert [503, 204] in attempts
    assert all(statuses[-1] == 204 for statuses in attempts)


@pytest.mark.parametrize("fault", [{"drop": True}, {"status": 500}], ids=["lost", "500"])
def test_a_lost_response_creates_no_second_payment(
    shop: httpx.Client, payments_account: PaymentsAccount, fault: dict[str, object]
) -> None:
    payments_account.fault("create_payment", point="after_commit", **fault)

    order_something(shop)

    tries = [request for request in payments_account.requests if request["method"] == "POST"]
    assert [request["replayed"] for request in tries] == [False, True]
    assert len(payments_of_orders(payments_account)) == 1


def test_the_shop_waits_as_long_as_a_429_says(
    shop: httpx.Client, payments_account: PaymentsAccount
) -> None:
    payments_account.fault("create_payment", status=429, retry_after=1)

    order_something(shop)

    tries = [request["status"] for request in payments_account.requests]
    assert tries[:2] == [429, 201]
    results = {item["id"]: item["result"] for item in payments_account.checklist()}
    assert results["retry-after"] == "passed"


def test_an_order_fails_after_half_a_minute_without_an_answer(
    shop: httpx.Client, payments_account: PaymentsAccount
) -> None:
    order_something(shop)
    [payment] = payments_of_orders(payments_account)

    payments_account.pay(payment["id"], phone="0900000003")
    assert shop.get("/orders/1").text == "Order 1: open, 0 shipped"

    payments_account.advance("30s")
    assert shop.get("/orders/1").text == "Order 1: failed, 0 shipped"
