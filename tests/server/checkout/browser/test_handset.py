"""The simulated phone, the times of the page, and what checkout rules do to an open page."""

from typing import Literal

import pytest
from playwright.async_api import expect

from tests.server.checkout.browser.axe import axe_findings, bring_axe
from tests.server.checkout.browser.states import ASKED
from tests.server.checkout.browser.tabs import Tab

BUZZES = """() => document.querySelector(".device").getAnimations()
  .map((animation) => animation.effect.getTiming().iterations)"""


@pytest.mark.parametrize(("key", "status"), [("1", "completed"), ("0", "failed")])
async def test_a_key_answers_while_the_phone_has_the_focus(
    customer: Tab, key: str, status: str
) -> None:
    payment = await customer.begin(paid_by=ASKED)
    await customer.press(key)
    assert await customer.merchant.status(payment) == "processing"
    await customer.page.get_by_test_id("handset-clock").click()
    await customer.press("5")
    await customer.press(key)
    shop = customer.merchant.shop
    await customer.leaves_for(shop.success_url if key == "1" else shop.cancel_url)
    assert await customer.merchant.status(payment) == status


@pytest.mark.parametrize(
    ("motion", "is_asked", "times"),
    [("no-preference", False, []), ("reduce", True, []), ("no-preference", True, [4])],
)
async def test_the_phone_buzzes_only_for_a_request_and_where_motion_is_welcome(
    customer: Tab, motion: Literal["no-preference", "reduce"], is_asked: bool, times: list[int]
) -> None:
    payment = await customer.merchant.create()
    if is_asked:
        await customer.merchant.pay(payment, **ASKED)
    await customer.page.emulate_media(reduced_motion=motion)
    await customer.open(payment)
    assert await customer.page.evaluate(BUZZES) == times


async def test_the_phone_and_the_page_show_the_time_of_the_account(customer: Tab) -> None:
    payment = await customer.merchant.create()
    async with customer.requests_status():
        await customer.open(payment)
    # It began at midnight in UTC.
    await customer.sees("handset-clock", "03:00")
    await customer.sees("open-left", "30:00")
    async with customer.receives_change():
        await customer.merchant.advance(65)
    await customer.sees("handset-clock", "03:01")
    await customer.sees("open-left", "28:55")
    await customer.merchant.set_clock(frozen=False)
    await expect(customer.page.get_by_test_id("open-left")).not_to_have_text("28:55")


async def test_the_waiting_page_says_that_the_clock_is_frozen(customer: Tab) -> None:
    await customer.begin(paid_by=ASKED)
    frozen = customer.page.get_by_test_id("clock-frozen")
    await expect(frozen).to_be_visible()
    await customer.merchant.set_clock(frozen=False)
    await expect(frozen).to_be_hidden()


async def test_an_open_page_offers_the_methods_after_a_failed_attempt(customer: Tab) -> None:
    rule = {"checkout": [{"when": {}, "then": {"attempts": 2}}]}
    await customer.merchant.scenario("page", rule)
    payment = await customer.begin(paid_by=ASKED)
    await customer.merchant.answer(payment, "wrong_pin")
    await expect(customer.page.get_by_test_id("failure")).to_contain_text("PIN was not correct")
    await customer.is_on("choose", "pending")
    await bring_axe(customer.page)
    assert await axe_findings(customer.page) == []


async def test_an_open_page_leaves_before_the_payment_has_completed(customer: Tab) -> None:
    rule = {"checkout": [{"when": {}, "then": {"redirect": "before_completed"}}]}
    await customer.merchant.scenario("page", rule)
    payment = await customer.begin(paid_by=ASKED)
    await customer.merchant.answer(payment, "approve")
    await customer.leaves_for(customer.merchant.shop.success_url)
    assert await customer.merchant.status(payment) == "processing"
