"""The page about fidelity in Chromium."""

import pytest
from playwright.async_api import expect

from emulator.domain.clauses import CLAUSES
from tests.checkout.browser.tabs import Device, Scheme
from tests.dashboard.browser.screens import LOOK_NAMES, LOOKS, Screens


@pytest.mark.parametrize(("device", "scheme"), LOOKS, ids=LOOK_NAMES)
async def test_the_page_is_live_accessible_and_fits(
    screens: Screens, device: Device, scheme: Scheme
) -> None:
    async with screens.open(device, scheme) as screen:
        await screen.open("fidelity")
        await screen.sees("no-plot", 1)
        await screen.sees("clause", len(CLAUSES))
        endpoint = {"url": f"{screens.server.shop.base}/hook"}
        await screen.call("POST", "/_emulator/webhook_endpoints", endpoint)
        payment = await screen.create()
        change = {"status": "processing"}
        await screen.call("POST", f"/_emulator/payments/{payment['id']}/transition", change)
        await screen.reads("coverage", "1 of 7")
        await screen.sees("plot", 1)
        for summary in await screen.page.get_by_test_id("clauses").locator("summary").all():
            if await summary.locator("xpath=..").get_attribute("open") is None:
                await summary.click()
        await screen.is_accessible_and_fits()


async def test_the_address_of_a_clause_opens_its_group(screens: Screens) -> None:
    async with screens.open() as screen:
        stated = next(clause for clause in reversed(CLAUSES) if not clause.assumed)
        await screen.open(f"fidelity#clause-{stated.number}")
        await expect(screen.page.locator("tr:target")).to_be_visible()
