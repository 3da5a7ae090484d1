"""The page's script with stopped forms and with many tabs."""

import asyncio

from emulator.server.checkout.pages import WATCH_MS
from tests.server.checkout.browser.tabs import Tab

MANY_TABS = 8
LEAVES_WITHIN_MS = 5_000
# A tab that had to wait for another one would wait until a held request ends.
FREE_WITHIN_S = WATCH_MS / 1000 / 2


async def test_a_submit_that_is_stopped_leaves_the_page_alive(customer: Tab) -> None:
    await customer.page.clock.install()
    payment = await customer.begin(methods=["telebirr"])
    await customer.type_phone("0911223344")
    await customer.page.evaluate("addEventListener('submit', (form) => form.preventDefault())")
    await customer.click("pay")
    await customer.merchant.pay(payment, method="telebirr", phone="0911223344")
    await customer.page.clock.fast_forward(LEAVES_WITHIN_MS)
    await customer.is_on("waiting")


async def test_many_tabs_do_not_wait_for_each_other(customer: Tab) -> None:
    """A browser has six connections to a host, and a page that watches may hold one."""
    tabs = [customer, *[await customer.another() for _ in range(MANY_TABS - 1)]]
    payments = [await customer.merchant.create() for _ in tabs]
    loop = asyncio.get_running_loop()
    for tab, payment in zip(tabs, payments, strict=True):
        opened_at = loop.time()
        await tab.open(payment)
        assert loop.time() - opened_at < FREE_WITHIN_S
    for tab, payment in zip(tabs, payments, strict=True):
        await tab.come_to_front()
        await customer.merchant.pay(payment, method="telebirr", phone="0911223344")
        await tab.is_on("waiting")
