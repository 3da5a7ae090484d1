"""What a person does most often, with the number of clicks that it takes from the first page."""

from dataclasses import dataclass

from playwright.async_api import Locator, expect

from tests.server.dashboard.browser.tabs import OpenTab, Tab
from tests.server.webhooks.receiver import Reply, replies
from tests.world import headers


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


async def test_a_payment_and_why_it_is_unpaid_take_no_click(tab: Tab) -> None:
    payment = await tab.merchant.create(metadata={"order": "LB-7"})
    await tab.merchant.pay(payment, "telebirr", phone="0900000002")
    await tab.open("payments")
    await tab.sees("payment-row", "LB-7")
    await tab.sees("reason", "insufficient_balance")


async def test_what_was_refused_and_why_takes_two_clicks(tab: Tab) -> None:
    await tab.create(amount="15000")
    await tab.merchant.create()
    await tab.open("payments")
    clicks = Clicks(tab)
    await clicks.on("page-requests")
    await clicks.on_element(tab.page.get_by_test_id("kind").filter(has_text="invalid_amount"))
    await tab.sees("request-row", 'got "15000": "amount" must be an integer')
    assert clicks.count == 2


async def test_the_request_and_the_response_of_a_call_take_one_click(tab: Tab) -> None:
    await tab.merchant.create(metadata={"order": "LB-7"})
    await tab.open("payments/latest")
    clicks = Clicks(tab)
    await clicks.on_element(tab.page.get_by_test_id("entry").first.locator("summary"))
    for part in ("request", "response"):
        await tab.sees(part, "LB-7")
    assert clicks.count == 1


async def test_everything_is_deleted_with_two_clicks(tab: Tab) -> None:
    await tab.merchant.create()
    await tab.open("payments/latest")
    clicks = Clicks(tab)
    await clicks.on("menu", "reset-account")
    await tab.counts("step", 3)
    await tab.counts("payment-row", 0)
    assert clicks.count == 2


async def test_a_failed_webhook_is_found_and_resent_with_three_clicks(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint(replies(Reply(status=410), Reply())):
        await tab.merchant.create()
        await tab.merchant.advance(0)
        endpoint = (await tab.control("GET", "/webhook_endpoints"))["data"][0]["id"]
        await tab.control("PATCH", f"/webhook_endpoints/{endpoint}", {"enabled": True})
        await tab.merchant.create()
        await tab.open("payments")
        clicks = Clicks(tab)
        await clicks.on("page-webhooks", "only-failing")
        await tab.counts("delivery-row", 1)
        await clicks.on("resend")
        await tab.sees("message", "Attempt 2 of payment.created: answered 200.")
        assert clicks.count == 3


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


async def test_the_expiry_and_what_it_caused_take_one_click(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint():
        await tab.merchant.create()
        await tab.merchant.advance(0)
        await tab.open("payments")
        await tab.sees("next-due", "expiry in 30 min")
        clicks = Clicks(tab)
        await clicks.on("advance-next")
        await tab.sees("message", "00:00 → 00:30: 1 payment expired, 1 webhook answered 200.")
        await tab.sees("status", "expired")
        assert clicks.count == 1


async def test_the_next_request_fails_after_one_click(tab: Tab) -> None:
    await tab.merchant.create()
    await tab.open("payments")
    clicks = Clicks(tab)
    await clicks.on("next-request-1")
    await tab.sees("message", "The next request: 503.")
    assert clicks.count == 1
    statuses = [
        (await tab.api.get("/v1/payments", headers=headers(tab.merchant.key))).status_code
        for _ in range(2)
    ]
    assert statuses == [503, 200]


async def test_the_next_payment_fails_after_one_click(tab: Tab) -> None:
    await tab.open("payments")
    clicks = Clicks(tab)
    await clicks.on("next-payment-3")
    await tab.sees("message", "The next payment: wrong PIN.")
    assert clicks.count == 1
    for _ in range(2):
        payment = await tab.merchant.create()
        await tab.merchant.pay(payment, "telebirr", phone="0911223344")
    details = [
        await tab.control("GET", f"/payments/{each['id']}")
        for each in (await tab.control("GET", "/payments"))["data"]
    ]
    shown = [(each["payment"]["status"], each["reason"]) for each in details]
    assert shown == [("processing", None), ("failed", "wrong_pin")]


async def test_an_export_takes_one_click(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.open(f"payments/{payment['id']}")
    name, text = await tab.downloads("export")
    assert (name, "script:" in text) == (f"{payment['id']}.yaml", True)


async def test_another_account_takes_one_choice(tab: Tab) -> None:
    other = await tab.control("POST", "/accounts", {"name": "Addis Books"})
    await tab.open("requests")
    await tab.page.get_by_test_id("account").select_option(other["id"])
    await expect(tab.page).to_have_title("Requests · Addis Books · ETB payments emulator")


async def test_paused_webhooks_are_reordered_with_one_click_each(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint() as receiver:
        await tab.open("payments")
        clicks = Clicks(tab)
        await clicks.on("page-webhooks", "pause")
        await tab.sees("paused", "Deliveries are paused")
        payment = await tab.merchant.create()
        await tab.merchant.pay(payment, "telebirr", phone="0911223344")
        await tab.counts("release", 2)
        for left in (1, 0):
            await clicks.on("release")
            await tab.counts("release", left)
        assert clicks.count == 2 + 2
        types = [webhook.json["type"] for webhook in receiver.received]
        assert types == ["payment.processing", "payment.created"]


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


async def test_what_is_next_takes_no_click(tab: Tab) -> None:
    await tab.merchant.create()
    await tab.open("checklist")
    await tab.sees("next-due", "expiry in 30 min")
    await tab.press("n")
    await tab.sees("message", "1 payment expired")
