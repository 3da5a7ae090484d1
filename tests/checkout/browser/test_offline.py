"""A page that cannot reach its server says so, and finds its way back by itself."""

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import expect

from emulator.checkout.pages import WATCH_MS
from tests.checkout.browser.tabs import OpenTab, Windows
from tests.checkout.browsing import Emulator, Shop, free_ports, running_emulator

pytestmark = pytest.mark.slow

# Less than it takes until a question that waits for a change is answered without one.
RECOVERY_MS = WATCH_MS - 1_000
WATCHED = "/status?"


async def test_a_page_without_a_network_says_so_and_recovers(open_tab: OpenTab) -> None:
    async with open_tab() as customer:
        customer.record.excused.append(WATCHED)
        payment = await customer.merchant.create()
        await customer.merchant.pay(payment, method="telebirr", phone="0911223344")
        await customer.page.route(f"**{WATCHED}*", lambda route: route.abort())
        await customer.open(payment, "/wait")
        notice = customer.page.get_by_role("alert")
        await expect(notice).to_contain_text(customer.says("offline"))
        await customer.merchant.advance(10)
        await customer.page.unroute_all()
        await expect(notice).to_be_hidden()
        await customer.sees("countdown", "0:20")


async def test_a_page_outlives_a_restart_of_the_emulator(
    windows: Windows, shop: Shop, tmp_path: Path
) -> None:
    database, log = str(tmp_path / "payments.db"), tmp_path / "log"
    ports = free_ports(2)

    def running() -> AbstractAsyncContextManager[Emulator]:
        return running_emulator(shop, log, "--database", database, ports=ports)

    async with AsyncExitStack() as stack:
        async with running() as first:
            customer = await stack.enter_async_context(windows.tab(first.demo))
            customer.record.excused.append(WATCHED)
            payment = await first.demo.create()
            await first.demo.pay(payment, method="telebirr", phone="0911223344")
            await customer.open(payment, "/wait")
            await customer.is_on("waiting")
        notice = customer.page.get_by_test_id("offline")
        await expect(notice).to_be_visible()
        async with running() as second:
            # It does not take another change until the page knows that all is well.
            await expect(notice).to_be_hidden(timeout=RECOVERY_MS)
            # The form of before the restart is taken, too.
            await customer.click("answer-approve")
            await customer.leaves_for(shop.success_url)
            assert await second.demo.status(payment) == "completed"
