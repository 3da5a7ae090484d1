"""The pages about requests in Chromium."""

from urllib.parse import quote

import pytest

from tests.server.dashboard.browser.tabs import HOSTILE, Tab, in_every_look
from tests.world import headers


async def test_the_list_is_live_and_its_links_work(tab: Tab) -> None:
    await tab.open("requests")
    await tab.counts("empty", 1)
    await tab.create(amount=1)
    await tab.counts("request-row", 1)
    await tab.create()
    await tab.counts("request-row", 2)
    await tab.click("kind")
    await tab.counts("request-row", 1)
    await tab.click("show-all")
    await tab.counts("request-row", 2)
    await tab.page.get_by_text("Filters").click()
    await tab.page.locator("[name=status]").fill("4xx")
    await tab.press("Enter")
    await tab.counts("request-row", 1)
    await tab.page.locator("h1").click()
    await tab.press("j")
    await tab.press("Enter")
    await tab.sees("why", "Why was this refused?")
    assert f"Authorization: Bearer {tab.merchant.key}" in await tab.copies("copy-curl")
    await tab.click("same-path")
    await tab.counts("request-row", 2)
    await tab.page.go_back()
    await tab.sees("clause", "Clause ")


@in_every_look
@pytest.mark.parametrize("name", ["payments", "requests"])
async def test_requests_without_a_valid_key_appear_at_once(tab: Tab, name: str) -> None:
    await tab.open(name)
    end = tab.merchant.key[-3:]
    for path in ("payments", "x" * 500, quote(HOSTILE[:100])):
        await tab.api.get(f"/v1/{path}", headers=headers(f"test_unknown_{end}"))
    await tab.sees("unauthorized", "requests without a valid key")
    await tab.sees("unauthorized", f"test_un…{end}")
    await tab.is_accessible_and_fits()
