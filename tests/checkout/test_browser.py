"""The checkout in a real Chromium without JavaScript, on a phone's screen."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.checkout.browsing import (
    CHROMIUM,
    DESKTOP,
    PHONE,
    Emulator,
    Shop,
    Tab,
    running_chromium,
    running_emulator,
    running_shop,
    tab,
)

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop() -> AsyncIterator[Shop]:
    async with running_shop() as shop:
        yield shop


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Emulator]:
    async with running_emulator(shop, tmp_path_factory.mktemp("emulator") / "log") as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with running_chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def customer(browser: Browser) -> AsyncIterator[Tab]:
    async with tab(browser) as customer:
        yield customer
        assert customer.console == []


async def submit_phone(customer: Tab, phone: str) -> None:
    await customer.page.get_by_label("Phone number").fill(phone)
    await customer.click("pay")


async def test_a_customer_pays_and_is_back_at_the_shop(server: Emulator, customer: Tab) -> None:
    payment = await server.create()
    await customer.page.goto(payment["checkout_url"])
    await customer.sees("amount", "ETB\u00a0150.00")
    await customer.click("method-telebirr")
    await submit_phone(customer, "0900000001")
    await customer.leaves_for(server.shop.success_url)
    assert await server.status(payment) == "completed"


async def test_the_way_back_to_a_paid_checkout_does_not_leave_again(
    server: Emulator, customer: Tab
) -> None:
    payment = await server.create(methods=["telebirr"])
    await customer.page.goto(payment["checkout_url"])
    await submit_phone(customer, "0900000001")
    await customer.leaves_for(server.shop.success_url)
    await customer.page.go_back()
    await customer.sees("heading", "This payment has already been made")
    await customer.click("back")
    await customer.leaves_for(server.shop.success_url)


async def test_a_wrong_number_is_told_and_can_be_corrected(server: Emulator, customer: Tab) -> None:
    payment = await server.create()
    await customer.page.goto(payment["checkout_url"])
    await customer.click("method-mpesa")
    await submit_phone(customer, "0900000001")
    await customer.sees("phone-error", "M-Pesa needs a number that starts with 07")
    assert await customer.page.get_by_label("Phone number").input_value() == "0900000001"
    await expect(customer.page.get_by_label("Phone number")).to_be_focused()
    # Shown by a GET, so that a reload asks nothing and shows the same.
    await customer.page.reload()
    await customer.sees("phone-error", "M-Pesa needs a number that starts with 07")
    assert await server.status(payment) == "pending"
    await submit_phone(customer, "0700000001")
    await customer.leaves_for(server.shop.success_url)


async def test_without_balance_the_customer_reads_why_and_follows_the_link(
    server: Emulator, customer: Tab
) -> None:
    payment = await server.create(methods=["telebirr"])
    await customer.page.goto(payment["checkout_url"])
    await submit_phone(customer, "0900000002")
    await customer.sees("reason", "Insufficient balance. No money left your account.")
    await customer.click("back")
    await customer.leaves_for(server.shop.cancel_url)
    assert await server.status(payment) == "failed"


async def test_a_cancel_on_the_phone_leads_to_the_cancel_url(
    server: Emulator, customer: Tab
) -> None:
    payment = await server.create(methods=["telebirr"])
    await customer.page.goto(payment["checkout_url"])
    await submit_phone(customer, "0900000004")
    await customer.leaves_for(server.shop.cancel_url)
    assert await server.status(payment) == "failed"


async def test_the_cancel_button_leads_to_the_cancel_url(server: Emulator, customer: Tab) -> None:
    payment = await server.create()
    await customer.page.goto(payment["checkout_url"])
    await customer.click("cancel")
    await customer.leaves_for(server.shop.cancel_url)
    assert await server.status(payment) == "pending"


async def test_the_bank_is_a_page_of_its_own(server: Emulator, customer: Tab) -> None:
    payment = await server.create()
    await customer.page.goto(payment["checkout_url"])
    await customer.click("method-bank_transfer")
    await customer.click("bank-walia_test")
    await customer.sees("bank-name", "Walia Test Bank")
    await customer.page.goto(payment["checkout_url"])
    await customer.click("answer-approve")
    await customer.leaves_for(server.shop.success_url)


async def test_a_waiting_page_leaves_by_itself_once_the_phone_has_answered(
    server: Emulator, customer: Tab
) -> None:
    payment = await server.create(methods=["telebirr"])
    await customer.page.goto(payment["checkout_url"])
    await submit_phone(customer, "0911223344")
    await customer.sees("waiting", "Waiting for your approval")
    await server.answer(payment, "approve")
    await customer.leaves_for(server.shop.success_url)


async def test_a_double_click_pays_once(server: Emulator, customer: Tab) -> None:
    payment = await server.create(methods=["telebirr"])
    await customer.page.goto(payment["checkout_url"])
    await customer.page.get_by_test_id("phone").fill("0900000001")
    await customer.page.get_by_test_id("pay").dblclick(no_wait_after=True)
    await customer.leaves_for(server.shop.success_url)
    assert await server.timeline(payment) == ["pending", "processing", "completed"]


async def test_the_keyboard_alone_pays(server: Emulator, customer: Tab) -> None:
    payment = await server.create()
    await customer.page.goto(payment["checkout_url"])
    await customer.page.keyboard.press("Tab")
    await customer.page.keyboard.press("Enter")
    await customer.page.get_by_test_id("phone").focus()
    await customer.page.keyboard.type("0900000001")
    await customer.page.keyboard.press("Enter")
    await customer.leaves_for(server.shop.success_url)


@pytest.mark.parametrize("locale", ["en", "am"])
@pytest.mark.parametrize(
    ("device", "size", "is_dark"),
    [
        ("phone-light", PHONE, False),
        ("phone-dark", PHONE, True),
        ("small", {"width": 320, "height": 640}, False),
        ("desktop", DESKTOP, False),
    ],
)
async def test_every_page_fits_its_screen(
    server: Emulator,
    browser: Browser,
    device: str,
    size: dict[str, int],
    is_dark: bool,
    locale: str,
) -> None:
    async with tab(browser, size=size, is_dark=is_dark, locale=locale) as customer:
        names = iter(range(100))

        async def look(name: str) -> None:
            width = await customer.page.evaluate("document.documentElement.scrollWidth")
            assert width == size["width"], name
            await customer.screenshot(f"{locale}-{device}-{next(names):02}-{name}")

        paid, failed, waiting, bank = await asyncio.gather(
            *(server.create(amount=amount) for amount in (123_450, 9_900, 2**53 - 1, 50_000))
        )
        page = customer.page
        await page.goto(paid["checkout_url"])
        await look("choose")
        await customer.click("method-telebirr")
        await look("phone")
        await page.get_by_test_id("phone").fill("0712")
        await customer.click("pay")
        await look("wrong-number")
        await page.get_by_test_id("phone").fill("0900000001")
        await customer.click("pay")
        await customer.leaves_for(server.shop.success_url)
        await page.goto(paid["checkout_url"])
        await look("paid")
        await page.goto(f"{failed['checkout_url']}?method=telebirr")
        await page.get_by_test_id("phone").fill("0900000002")
        await customer.click("pay")
        await look("failed")
        await page.goto(f"{waiting['checkout_url']}?method=mpesa")
        await page.get_by_test_id("phone").fill("0711223344")
        await customer.click("pay")
        await look("waiting")
        await page.goto(f"{bank['checkout_url']}?method=bank_transfer")
        await look("bank-choice")
        await customer.click("bank-walia_test")
        await look("bank")
        await page.goto(f"{bank['checkout_url']}/nothing")
        await look("no-such-page")
