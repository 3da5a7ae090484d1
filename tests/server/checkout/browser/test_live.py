"""An open page follows its payment: at once with scripts, soon without."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from playwright.async_api import expect

from tests.server.checkout.browser.tabs import PHONE, OpenTab, Tab
from tests.server.checkout.browsing import Emulator

Payment = dict[str, Any]
Change = Callable[[Tab, Payment], Awaitable[None]]

ON_PHONE = {"method": "telebirr", "phone": "0911223344"}
SCRIPTED = {"method": "telebirr", "phone": "0900000003"}
AT_BANK = {"method": "bank_transfer", "bank": "walia_test"}


def answered(answer: str) -> Change:
    async def change(customer: Tab, payment: Payment) -> None:
        await customer.merchant.answer(payment, answer)

    return change


def changed(status: str) -> Change:
    async def change(customer: Tab, payment: Payment) -> None:
        await customer.merchant.transition(payment, status)

    return change


def passed(seconds: float) -> Change:
    async def change(customer: Tab, payment: Payment) -> None:  # noqa: ARG001
        await customer.merchant.advance(seconds)

    return change


async def paid_elsewhere(customer: Tab, payment: Payment) -> None:
    await customer.merchant.pay(payment, **ON_PHONE)


CHANGES = [
    pytest.param({}, "", paid_elsewhere, "waiting", id="paid elsewhere"),
    pytest.param({}, "", passed(1800), "result", id="expired on the choice"),
    pytest.param({}, "?method=telebirr", passed(1800), "result", id="expired on a form"),
    pytest.param(ON_PHONE, "/wait", answered("approve"), "leaving", id="approved"),
    pytest.param(ON_PHONE, "/wait", answered("wrong_pin"), "result", id="wrong PIN"),
    pytest.param(ON_PHONE, "/wait?menu=closed", passed(30), "result", id="timed out"),
    pytest.param(ON_PHONE, "/wait", changed("failed"), "result", id="failed by hand"),
    pytest.param(AT_BANK, "/bank", answered("approve"), "leaving", id="approved at the bank"),
]


@pytest.mark.parametrize(("paid_by", "rest", "change", "page"), CHANGES)
async def test_an_open_page_moves_on_at_once(
    customer: Tab, paid_by: dict[str, str], rest: str, change: Change, page: str
) -> None:
    urls = dict.fromkeys(("success_url", "cancel_url"), customer.merchant.shop.nowhere_url)
    payment = await customer.merchant.create(**urls)
    if paid_by:
        await customer.merchant.pay(payment, **paid_by)
    async with customer.requests_status():
        await customer.open(payment, rest)
    async with customer.receives_change():
        await change(customer, payment)
    await customer.is_on(page)


async def test_the_countdown_follows_the_clock_without_a_reload(customer: Tab) -> None:
    payment = await customer.merchant.create()
    await customer.merchant.pay(payment, **ON_PHONE)
    async with customer.requests_status():
        await customer.open(payment, "/wait")
    await customer.sees("countdown", "0:30")
    await customer.page.evaluate("() => { window.isTheSamePage = true }")
    for text in ("0:26", "0:22", "0:18"):
        async with customer.requests_status(), customer.receives_change():
            await customer.merchant.advance(4)
        for testid in ("countdown", "open-left"):
            await customer.sees(testid, text)
    assert await customer.page.evaluate("window.isTheSamePage")
    assert len(customer.record.opened()) == 1


async def test_the_countdown_ticks_while_the_clock_flows(customer: Tab) -> None:
    await customer.begin("/wait", paid_by=ON_PHONE)
    countdown = customer.page.get_by_test_id("countdown")
    await expect(countdown).to_have_text("0:30")
    await customer.merchant.set_clock(frozen=False)
    await expect(countdown).to_have_text(re.compile("0:2[0-9]"))
    await customer.merchant.set_clock(frozen=True)
    await customer.merchant.advance(10)
    await expect(countdown).to_have_text(re.compile("0:1[0-9]"))
    assert len(customer.record.opened()) == 1


# As on iOS, where the event never fires.
NO_BEFOREUNLOAD = """
const add = window.addEventListener.bind(window);
window.addEventListener = (kind, ...rest) => kind === "beforeunload" || add(kind, ...rest);
"""


@pytest.mark.parametrize("script", ["", NO_BEFOREUNLOAD], ids=["usual", "without beforeunload"])
async def test_the_news_never_overtakes_the_form_that_made_it(customer: Tab, script: str) -> None:
    await customer.page.add_init_script(script)
    for _ in range(10):
        payment = await customer.begin(methods=["telebirr"])
        await customer.type_phone("0900000001")
        before = len(customer.record.opened())
        await customer.click("pay")
        await customer.leaves_for(customer.merchant.shop.success_url)
        checkout = payment["checkout_url"]
        submitted = [checkout, f"{checkout}/wait"]
        assert [u for u in customer.record.opened()[before:] if u.startswith(checkout)] == submitted


async def test_without_scripts_a_page_refreshes_itself(server: Emulator, open_tab: OpenTab) -> None:
    async def waits(change: Change, paid_by: dict[str, str], rest: str, url: str) -> None:
        async with open_tab(PHONE.without_script()) as customer:
            payment = await customer.begin(rest, paid_by=paid_by)
            await change(customer, payment)
            await customer.leaves_for(getattr(customer.merchant.shop, url))

    async def counts_down() -> None:
        async with open_tab(PHONE.without_script()) as customer:
            merchant = await server.merchant("Another")
            payment = await merchant.create()
            await merchant.pay(payment, **SCRIPTED)
            await customer.open(payment, "/wait")
            await customer.sees("countdown", "0:30")
            await merchant.advance(10)
            await customer.sees("countdown", "0:20")
            await merchant.advance(20)
            await customer.reads("not_completed", "timed_out")

    # A page with buttons waits for five seconds: all of them at once.
    await asyncio.gather(
        counts_down(),
        waits(answered("approve"), ON_PHONE, "/wait", "success_url"),
        waits(answered("cancel"), ON_PHONE, "/wait?menu=closed", "cancel_url"),
        waits(answered("approve"), AT_BANK, "/bank", "success_url"),
        waits(answered("cancel"), AT_BANK, "/wait", "cancel_url"),
        waits(changed("completed"), SCRIPTED, "/wait", "success_url"),
    )
