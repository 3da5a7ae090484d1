"""A page that cannot reach its server shows a notice until it can."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import expect

from emulator.server.checkout.pages import WATCH_MS
from tests.cli.processes import free_port
from tests.server.checkout.browser.tabs import LANGUAGES, PHONE, OpenTab, Tab, Windows
from tests.server.checkout.browsing import Shop, running_emulator

# Less than it takes until a question that waits for a change is answered without one.
RECOVERY_MS = WATCH_MS - 1_000
WATCHED = "/status?"


async def test_a_page_without_a_network_says_so_and_recovers(customer: Tab) -> None:
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


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", ["?method=telebirr", "/wait"])
async def test_the_notice_lies_above_the_bar_at_the_bottom(
    open_tab: OpenTab, path: str, language: str
) -> None:
    async with open_tab(PHONE.speaking(language)) as customer:
        customer.record.excused.append(WATCHED)
        payment = await customer.merchant.create()
        if path == "/wait":
            await customer.merchant.pay(payment, method="telebirr", phone="0911223344")
        await customer.page.route(f"**{WATCHED}*", lambda route: route.abort())
        await customer.open(payment, path)
        notice = customer.page.get_by_test_id("offline")
        for place in ("top", "bottom"):
            await customer.press("Home" if place == "top" else "End")
            await expect(notice).to_be_in_viewport(ratio=1)
            shown = await notice.bounding_box()
            bar = await customer.page.get_by_test_id("shortcuts").bounding_box()
            assert shown is not None
            assert bar is not None
            assert shown["y"] + shown["height"] <= bar["y"]
            # Nothing else lies over it.
            await customer.page.get_by_test_id("try-again").click(trial=True)


async def test_a_page_outlives_a_restart_of_the_emulator(
    windows: Windows, shop: Shop, tmp_path: Path
) -> None:
    ports = ("--port", str(free_port()), "--checkout-port", str(free_port()))
    options = (*ports, "--database", str(tmp_path / "payments.db"))
    async with AsyncExitStack() as stack:
        async with running_emulator(shop, tmp_path, *options) as first:
            customer = await stack.enter_async_context(windows.tab(first.demo))
            customer.record.excused.append(WATCHED)
            payment = await first.demo.create()
            await first.demo.pay(payment, method="telebirr", phone="0911223344")
            await customer.open(payment, "/wait")
            await customer.is_on("waiting")
        notice = customer.page.get_by_test_id("offline")
        await expect(notice).to_be_visible()
        async with running_emulator(shop, tmp_path, *options) as second:
            # It disappears without another change of the payment.
            await expect(notice).to_be_hidden(timeout=RECOVERY_MS)
            # The form of before the restart is accepted.
            await customer.click("answer-approve")
            await customer.leaves_for(shop.success_url)
            assert await second.demo.status(payment) == "completed"
