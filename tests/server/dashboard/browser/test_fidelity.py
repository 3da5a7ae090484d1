"""The page about fidelity in Chromium."""

from playwright.async_api import expect

from emulator.domain.clauses import CLAUSES
from emulator.server.dashboard.sections import MAX_JUDGED_PAYMENTS
from tests.server.dashboard.browser.tabs import Tab, in_every_look


@in_every_look
async def test_the_page_is_live_accessible_and_fits(tab: Tab) -> None:
    await tab.open("fidelity")
    await tab.counts("no-plot", 1)
    await tab.counts("clause", len(CLAUSES))
    endpoint = {"url": f"{tab.merchant.shop.base}/hook"}
    await tab.call("POST", "/_emulator/webhook_endpoints", endpoint)
    payment = await tab.create()
    change = {"status": "processing"}
    await tab.call("POST", f"/_emulator/payments/{payment['id']}/transition", change)
    await tab.sees("coverage", "1 of 9")
    await tab.counts("plot", 1)
    assert await tab.page.evaluate("document.documentElement.scrollHeight") < 4_000
    await tab.is_accessible_and_fits()


async def test_the_address_of_a_clause_opens_its_group(tab: Tab) -> None:
    stated = next(clause for clause in reversed(CLAUSES) if not clause.assumed)
    await tab.open(f"fidelity#clause-{stated.number}")
    await expect(tab.page.locator("tr:target")).to_be_visible()


async def test_the_integration_is_judged_on_request(tab: Tab) -> None:
    for _ in range(int(MAX_JUDGED_PAYMENTS) + 1):
        await tab.merchant.create()
    await tab.open("fidelity")
    await tab.click("judge")
    await tab.sees("item-create-idempotent", "idempotency_key")


async def test_the_checklist_follows_the_requests(tab: Tab) -> None:
    payment = await tab.create()
    await tab.open("fidelity")
    await tab.sees("item-polling", "not exercised")
    await tab.call("GET", f"/v1/payments/{payment['id']}")
    await tab.sees("item-polling", "passed")
