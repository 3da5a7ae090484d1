"""Two tabs, the back button, reloads and double clicks: the page is current, and pays once."""

import pytest
from playwright.async_api import expect

from tests.server.checkout.browser.tabs import DESKTOP, PHONE, Device, OpenTab, Tab

PAID = ["pending", "processing", "completed"]
DEVICES = [DESKTOP.speaking("am"), PHONE.without_script()]


async def test_the_other_tab_moves_on_by_itself(customer: Tab) -> None:
    payment = await customer.merchant.create()
    other = await customer.another()
    await other.open(payment, "?method=bank_transfer")
    await customer.come_to_front()
    await customer.open(payment, "?method=telebirr")
    await customer.type_phone("0911223344")
    await customer.click("pay")
    await customer.is_on("waiting")
    await other.is_on("waiting")
    await other.come_to_front()
    await other.click("answer-approve")
    await other.leaves_for(customer.merchant.shop.success_url)
    await customer.leaves_for(customer.merchant.shop.success_url)
    assert await customer.merchant.timeline(payment) == PAID


@pytest.mark.parametrize("device", DEVICES, ids=str)
async def test_the_way_back_to_a_paid_checkout_does_not_leave_again(
    open_tab: OpenTab, device: Device
) -> None:
    async with open_tab(device) as customer:
        merchant = customer.merchant
        payment = await merchant.create()
        await customer.open(payment)
        await customer.click("method-telebirr", "number-0900000001", "pay")
        await customer.leaves_for(merchant.shop.success_url)
        await customer.page.go_back()
        await customer.reads("already_paid")
        refresh = customer.page.locator("meta[http-equiv=refresh]")
        await expect(refresh).to_have_count(0)
        if device.has_script:
            # It is still alive, and even then stays with the checkout.
            await merchant.transition(payment, "refunded")
            await customer.reads("refunded")
        await customer.click("back")
        await customer.leaves_for(merchant.shop.success_url)
        assert (await merchant.timeline(payment))[:3] == PAID


async def test_automatic_navigation_adds_nothing_to_the_history(customer: Tab) -> None:
    payment = await customer.merchant.create()
    await customer.page.goto(customer.merchant.shop.base + "/cart")
    await customer.open(payment, "?method=telebirr")
    await customer.merchant.pay(payment, method="telebirr", phone="0911223344")
    await customer.is_on("waiting")
    await customer.merchant.answer(payment, "approve")
    await customer.leaves_for(customer.merchant.shop.success_url)
    await customer.page.go_back()
    await customer.leaves_for(customer.merchant.shop.base + "/cart")


@pytest.mark.parametrize("device", DEVICES, ids=str)
async def test_a_reload_keeps_the_countdown_and_what_the_phone_shows(
    open_tab: OpenTab, device: Device
) -> None:
    async with open_tab(device) as customer:
        payment = await customer.begin("?method=mpesa")
        await customer.type_phone("0711223344")
        await customer.click("pay", "answer-ignore")
        await expect(customer.page.get_by_test_id("show-menu")).to_be_visible()
        await customer.merchant.advance(12)
        await customer.page.reload()
        await customer.sees("countdown", "0:18")
        await expect(customer.page.get_by_test_id("show-menu")).to_be_visible()
        assert await customer.merchant.timeline(payment) == ["pending", "processing"]


@pytest.mark.parametrize("device", DEVICES, ids=str)
async def test_a_double_click_counts_once(open_tab: OpenTab, device: Device) -> None:
    async with open_tab(device) as customer:
        payment = await customer.begin(methods=["telebirr"])
        await customer.type_phone("0911223344")
        await customer.page.get_by_test_id("pay").dblclick(no_wait_after=True)
        await customer.is_on("waiting")
        await customer.page.get_by_test_id("answer-approve").dblclick(no_wait_after=True)
        await customer.leaves_for(customer.merchant.shop.success_url)
        assert await customer.merchant.timeline(payment) == PAID


async def test_a_double_click_on_cancel_leaves_once(customer: Tab) -> None:
    payment = await customer.begin()
    await customer.page.get_by_test_id("cancel").dblclick(no_wait_after=True)
    await customer.leaves_for(customer.merchant.shop.cancel_url)
    assert await customer.merchant.timeline(payment) == ["pending"]
