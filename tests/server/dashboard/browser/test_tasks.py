"""What a person does most often, with the number of clicks that it takes from the first page."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from playwright.async_api import Locator, expect

from tests.server.dashboard.browser.tabs import OpenTab, Tab
from tests.server.webhooks.receiver import Reply, receiving, replies


@dataclass
class Clicks:
    """Counts the clicks on a tab."""

    tab: Tab
    count: int = 0

    async def on(self, *testids: str) -> None:
        for testid in testids:
            await self.on_element(self.tab.page.get_by_test_id(testid).first)

    async def on_element(self, element: Locator) -> None:
        self.count += 1
        await element.click()


async def _find_by_order(tab: Tab, _: Clicks) -> None:
    await tab.open("payments")
    await tab.press("/")
    await tab.page.keyboard.type("lb-paid")
    await tab.sees("match", "LB-paid")


async def _resend_what_failed(tab: Tab, clicks: Clicks) -> None:
    await tab.open("payments")
    await clicks.on("page-webhooks", "resend-all")
    await tab.sees("message", "0 failed again, 0 older ones left.")


async def _see_why_unpaid(tab: Tab, _: Clicks) -> None:
    await tab.open("payments")
    row = tab.page.get_by_test_id("payment-row").filter(has_text="LB-unpaid")
    await expect(row.first).to_contain_text("insufficient_balance")


async def _pass_30_minutes(tab: Tab, clicks: Clicks) -> None:
    await tab.open("payments")
    await clicks.on("advance-1800")
    await tab.sees("message", "→")


async def _fail_the_next_payment(tab: Tab, clicks: Clicks) -> None:
    await tab.open("payments")
    await clicks.on("next-payment-3")
    await tab.sees("message", "The next payment: wrong PIN.")
    payment = await tab.merchant.create()
    await tab.merchant.pay(payment, "telebirr", phone="0911223344")
    assert await tab.merchant.status(payment) == "failed"


async def _see_what_was_refused(tab: Tab, clicks: Clicks) -> None:
    await tab.open("payments")
    await clicks.on("page-requests")
    await clicks.on_element(tab.page.get_by_test_id("kind").filter(has_text="invalid_amount"))
    await tab.sees("request-row", 'got "15000": "amount" must be an integer')


async def _see_a_request_and_its_response(tab: Tab, clicks: Clicks) -> None:
    await tab.open("payments/latest")
    await clicks.on_element(tab.page.get_by_test_id("entry").first.locator("summary"))
    for part in ("request", "response"):
        await tab.sees(part, "pending" if part == "response" else "amount")


async def _delete_everything(tab: Tab, clicks: Clicks) -> None:
    await tab.open("payments")
    await clicks.on("menu", "reset-account")
    await tab.counts("step", 3)
    await tab.counts("payment-row", 0)
    assert (await tab.control("GET", "/requests"))["data"] == []


async def _export_a_case(tab: Tab, clicks: Clicks) -> None:
    await tab.open("payments/latest")
    async with tab.page.expect_download() as downloading:
        await clicks.on("export")
    payment = (await tab.call("GET", "/v1/payments?limit=1"))["data"][0]["id"]
    assert (await downloading.value).suggested_filename == f"{payment}.yaml"


# The clicks that each of the tasks takes from the first page, or from that of a payment.
TASKS: dict[Callable[[Tab, Clicks], Awaitable[None]], int] = {
    _find_by_order: 0,
    _resend_what_failed: 2,
    _see_why_unpaid: 0,
    _pass_30_minutes: 1,
    _fail_the_next_payment: 1,
    _see_what_was_refused: 2,
    _see_a_request_and_its_response: 1,
    _delete_everything: 2,
    _export_a_case: 1,
}


@pytest.mark.parametrize("order", [1, -1], ids=["forwards", "backwards"])
async def test_the_nine_tasks_take_as_few_clicks_in_any_order(
    open_tab: OpenTab, order: int
) -> None:
    counts, is_down = {}, [False]
    async with (
        open_tab() as tab,
        receiving(lambda _: Reply(status=500 * is_down[0] or 200)) as shop,
    ):
        for task in [*TASKS][::order]:
            # The task before may have deleted everything.
            if not (await tab.control("GET", "/webhook_endpoints"))["data"]:
                await tab.control("POST", "/webhook_endpoints", {"url": shop.url})
            await tab.merchant.create(metadata={"order": "LB-paid"})
            await tab.create(amount="15000")
            unpaid = await tab.merchant.create(metadata={"order": "LB-unpaid"})
            is_down[0] = True
            await tab.merchant.pay(unpaid, "telebirr", phone="0900000002")
            await tab.merchant.advance(0)
            is_down[0] = False
            clicks = Clicks(tab)
            await task(tab, clicks)
            counts[task] = clicks.count
    assert counts == TASKS


async def test_all_failed_webhooks_are_resent_with_two_clicks(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint(replies(*[Reply(status=500)] * 3, Reply())):
        for _ in range(3):
            await tab.merchant.create()
        await tab.merchant.advance(0)
        await tab.open("payments")
        clicks = Clicks(tab)
        await clicks.on("page-webhooks")
        await tab.sees("failures", "3 failed, status 500, since")
        await tab.is_accessible_and_fits()
        await clicks.on("resend-all")
        sentence = "3 sent again: 3 acknowledged, 0 failed again, 0 older ones left."
        await tab.sees("message", sentence)
        await tab.counts("failures", 0)
        assert clicks.count == 2


async def test_any_id_phone_or_amount_takes_no_click(tab: Tab) -> None:
    await tab.merchant.create()
    payment = await tab.merchant.create(amount=123450)
    await tab.merchant.pay(payment, "telebirr", phone="0911223344")
    for text in (payment["id"], payment["id"][-8:], "0911223344", "1,234.50"):
        await tab.open("scenarios")
        await tab.press("/")
        await tab.page.keyboard.type(text)
        await tab.sees("match", payment["id"])
        await tab.press("Enter")
        await expect(tab.page.locator("h1")).to_contain_text(payment["id"])
