"""The pages about requests in Chromium."""

import pytest
from playwright.async_api import expect

from tests.checkout.browser.tabs import Device, Scheme
from tests.dashboard.browser.screens import HOSTILE, LOOK_NAMES, LOOKS, Screens


@pytest.mark.parametrize(("device", "scheme"), LOOKS, ids=LOOK_NAMES)
async def test_the_pages_are_accessible_and_fit(
    screens: Screens, device: Device, scheme: Scheme
) -> None:
    async with screens.open(device, scheme) as screen:
        await screen.open("requests")
        await screen.is_accessible_and_fits()
        await screen.call("POST", "/_emulator/faults", {"then": {"status": 500}, "times": 1})
        await screen.create(metadata={"note": HOSTILE[:500], HOSTILE[:39]: "x"})
        await screen.create(metadata={"note": HOSTILE[:500], HOSTILE[:39]: "x"})
        await screen.create(amount=HOSTILE)
        await screen.call("GET", "/v1/payments?limitt=1")
        await screen.call("GET", f"/v1/{'x' * 500}")
        await screen.sees("request-row", 5)
        await screen.is_accessible_and_fits()
        listed = (await screen.call("GET", "/_emulator/requests"))["data"]
        for request in listed:
            await screen.open(f"requests/{request['id']}")
            await screen.is_accessible_and_fits()
            assert await screen.page.title() != "run"


async def test_the_list_is_live_and_its_links_work(screens: Screens) -> None:
    async with screens.open() as screen:
        await screen.open("requests")
        await screen.sees("empty", 1)
        await screen.create(amount=1)
        await screen.sees("request-row", 1)
        await screen.create()
        await screen.sees("request-row", 2)
        await screen.click("kind")
        await screen.sees("request-row", 1)
        await screen.click("show-all")
        await screen.page.locator("[name=status]").fill("4xx")
        await screen.page.keyboard.press("Enter")
        await screen.sees("request-row", 1)
        await screen.page.locator("h1").click()
        await screen.page.keyboard.press("j")
        await screen.page.keyboard.press("Enter")
        await screen.reads("why", "Why was this refused?")
        await screen.click("copy-curl")
        await screen.reads("message", "Copied.")
        copied = await screen.page.evaluate("navigator.clipboard.readText()")
        assert f"Authorization: Bearer {screen.key}" in copied
        await screen.page.get_by_test_id("clause").first.get_by_role("link").click()
        await expect(screen.page.locator("tr:target")).to_be_visible()


async def test_a_page_of_older_requests_only_counts_new_ones(screens: Screens) -> None:
    async with screens.open() as screen:
        for _ in range(26):
            await screen.create(amount=1)
        await screen.open("requests")
        await screen.sees("request-row", 25)
        await screen.click("older")
        await screen.sees("request-row", 1)
        await screen.create()
        await expect(screen.page.get_by_test_id("new-count")).to_be_visible()
        await screen.sees("request-row", 1)
