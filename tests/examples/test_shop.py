"""What the shop does with what happens to every shop: two webhooks, no answer, no customer."""

import httpx
import pytest
from etb_payments_emulator_pytest import PaymentsAccount


def order_something(shop: httpx.Client) -> None:
    assert shop.post("/orders", json={"amount": 15_000}).status_code == 303


def test_an_order_that_is_paid_is_shipped(
    shop: httpx.Client, payments_account: PaymentsAccount
) -> None:
    order_something(shop)
    [payment] = payments_account.payments

    payments_account.pay(payment["id"], phone="0900000001")

    assert shop.get(payment["success_url"]).text == "Order 1: paid, 1 shipped"


def test_a_webhook_that_comes_twice_ships_nothing_twice(
    shop: httpx.Client, payments_account: PaymentsAccount
) -> None:
    payments_account.use_scenario("duplicate-webhooks")
    order_something(shop)
    [payment] = payments_account.payments

    payments_account.pay(payment["id"], phone="0900000001")

    told = [delivery["type"] for delivery in payments_account.deliveries]
    assert told[-2:] == ["payment.completed", "payment.completed"]
    assert shop.get("/orders/1").text == "Order 1: paid, 1 shipped"


@pytest.mark.parametrize("answer", [{"drop": True}, {"status": 500}], ids=["cut", "500"])
def test_an_answer_that_is_lost_makes_no_second_payment(
    shop: httpx.Client, payments_account: PaymentsAccount, answer: dict[str, object]
) -> None:
    payments_account.fault("create_payment", point="after_commit", **answer)

    order_something(shop)

    tries = [request for request in payments_account.requests if request["method"] == "POST"]
    assert [request["replayed"] for request in tries] == [False, True]
    assert len(payments_account.payments) == 1


def test_an_order_whose_customer_does_not_answer_has_failed_after_half_a_minute(
    shop: httpx.Client, payments_account: PaymentsAccount
) -> None:
    order_something(shop)
    [payment] = payments_account.payments

    payments_account.pay(payment["id"], phone="0900000003")
    assert shop.get("/orders/1").text == "Order 1: open, 0 shipped"

    payments_account.advance("30s")
    assert shop.get("/orders/1").text == "Order 1: failed, 0 shipped"
