"""The page of the checklist in Chromium."""

from emulator.server.dashboard.checklist import MAX_JUDGED_RECORDS
from tests.server.dashboard.browser.tabs import Tab


async def test_the_integration_is_judged_on_request(tab: Tab) -> None:
    for _ in range(MAX_JUDGED_RECORDS + 1):
        await tab.merchant.create()
    await tab.open("checklist")
    await tab.click("judge")
    await tab.sees("item-create-idempotent", "idempotency_key")


async def test_the_checklist_follows_the_requests(tab: Tab) -> None:
    payment = await tab.create()
    await tab.open("checklist")
    await tab.sees("item-polling", "Not exercised")
    await tab.call("GET", f"/v1/payments/{payment['id']}")
    await tab.sees("item-polling", "Yes")
