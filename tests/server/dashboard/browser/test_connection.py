"""A page says whether it is live: its state, its clock and what it could not send."""

import re
from contextlib import AsyncExitStack
from pathlib import Path

from playwright.async_api import expect

from tests.server.checkout.browsing import Shop, running_emulator
from tests.server.dashboard.browser.tabs import OpenTab, Tab


async def test_a_stopped_server_does_not_look_alive(
    open_tab: OpenTab, shop: Shop, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        async with running_emulator(shop, tmp_path) as first:
            tab = await stack.enter_async_context(
                open_tab(merchant=first.demo, excused="/_emulator/")
            )
            await tab.page.clock.install()
            await tab.open("payments")
            clock = tab.page.get_by_test_id("now")
            await tab.sees("stream-state", "connected")
            before = await clock.inner_text()
            await tab.page.clock.run_for(2_000)
            await expect(clock).not_to_have_text(before)
            port = str(first.api.base_url.port)
        await tab.sees("stream-state", "reconnecting")
        stopped = await clock.inner_text()
        await tab.page.clock.run_for(5_000)
        assert await clock.inner_text() == stopped
        await tab.click("advance-1800")
        await tab.sees("message", "The emulator does not respond")
        async with running_emulator(shop, tmp_path, "--port", port) as second:
            await tab.sees("stream-state", "connected")
            await expect(tab.page.get_by_test_id("message")).to_be_hidden()
            payment = await second.demo.create()
            await tab.sees("payment-row", payment["id"])
            # The stream goes on.
            await second.demo.pay(payment, "telebirr", phone="0900000001")
            await tab.sees("status", "completed")
            await stack.aclose()


async def test_the_state_of_every_page_counts_a_pause_down(tab: Tab) -> None:
    await tab.page.clock.install()
    await tab.open("payments")
    await tab.sees("stream-state", "connected")
    await tab.control("PUT", "/deliveries/paused", {"paused": True})
    state = tab.page.get_by_test_id("stream-state")
    await expect(state).to_have_text(re.compile(r"^deliveries paused (5:00|4:[0-5]\d)$"))
    await tab.page.clock.run_for(60_000)
    await expect(state).to_have_text(re.compile(r"^deliveries paused (4:00|3:[0-5]\d)$"))
    await tab.open("checklist")
    await expect(state).to_have_text(re.compile(r"^deliveries paused [34]:[0-5]\d$"))
    await tab.control("PUT", "/deliveries/paused", {"paused": False})
    await expect(state).to_have_text("connected")


async def test_a_call_without_a_response_says_so(open_tab: OpenTab) -> None:
    async with open_tab(excused="/_emulator/") as tab:
        await tab.open("payments")
        await tab.sees("stream-state", "connected")
        await tab.page.route("**/advance*", lambda route: route.abort())
        await tab.click("advance-30")
        await tab.sees("message", "it is unknown whether the call had an effect")
