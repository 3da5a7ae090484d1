"""The tasks of `test_tasks` by the keyboard alone, from the first page."""

from playwright.async_api import expect

from tests.server.dashboard.browser.tabs import OpenTab, Tab
from tests.server.webhooks.receiver import Reply, replies
from tests.world import headers

MAX_TABS = 40


async def choose(tab: Tab, command: str) -> None:
    """Start a command of the page by a part of its text, which only it has."""
    await tab.press("/")
    await tab.page.keyboard.type(command)
    await tab.counts("command", 1)
    await tab.press("Enter")


async def tab_to(tab: Tab, testid: str) -> None:
    """Press the tab key until an element with this test id has the focus."""
    focused = f"document.activeElement.closest('[data-testid={testid}]') !== null"
    for _ in range(MAX_TABS):
        if await tab.page.evaluate(focused):
            return
        await tab.press("Tab")
    raise AssertionError(f"{testid} is not reached")


async def test_why_a_payment_failed(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.merchant.pay(payment, "telebirr", phone="0900000002")
    await tab.open("payments")
    await tab.press("j", "Enter")
    await tab.sees("reason", "insufficient_balance")
    await tab.sees("cause", "scenario telebirr-test-numbers, rule 2")


async def test_a_failed_webhook_is_found_and_resent(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint(replies(Reply(status=500), Reply())):
        for _ in range(2):
            await tab.merchant.create()
            await tab.merchant.advance(0)
        await tab.open("payments")
        await choose(tab, "webhooks")
        await tab.page.wait_for_url("**/view/webhooks*")
        await choose(tab, "failing")
        await tab.counts("delivery-row", 1)
        await tab.press("j")
        await tab_to(tab, "resend")
        await tab.press("Enter")
        await tab.sees("message", "Attempt 2 of payment.created: answered 200.")


async def test_the_expiry_and_what_it_caused(tab: Tab) -> None:
    await tab.merchant.create()
    await tab.open("payments")
    await tab.sees("next-due", "expiry in 30 min")
    await tab.press("n")
    await tab.sees("message", "1 payment expired")
    await tab.sees("status", "expired")


async def test_the_next_request_fails(tab: Tab) -> None:
    await tab.merchant.create()
    await tab.open("payments")
    await choose(tab, "503")
    await tab.sees("message", "The next request: 503.")
    statuses = [
        (await tab.api.get("/v1/payments", headers=headers(tab.merchant.key))).status_code
        for _ in range(2)
    ]
    assert statuses == [503, 200]


async def test_an_export(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.open("payments")
    await tab.press("j", "Enter")
    await tab.page.wait_for_url(f"**/{payment['id']}*")
    async with tab.page.expect_download() as downloading:
        await choose(tab, "export as")
    assert (await downloading.value).suggested_filename == f"{payment['id']}.yaml"


async def test_another_account(tab: Tab) -> None:
    await tab.control("POST", "/accounts", {"name": "Zeritu Books"})
    await tab.open("payments")
    await tab_to(tab, "account")
    await tab.page.keyboard.type("Z")
    await expect(tab.page).to_have_title("Payments · Zeritu Books · ETB payments emulator")


async def test_paused_webhooks_are_reordered(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint() as receiver:
        await tab.open("webhooks")
        await choose(tab, "pause del")
        await tab.sees("paused", "Deliveries are paused")
        payment = await tab.merchant.create()
        await tab.merchant.pay(payment, "telebirr", phone="0911223344")
        await tab.counts("release", 2)
        for left in (1, 0):
            await tab.press("j")
            await tab_to(tab, "release")
            await tab.press("Enter")
            await tab.counts("release", left)
        types = [webhook.json["type"] for webhook in receiver.received]
        assert types == ["payment.processing", "payment.created"]


async def test_any_id_and_what_is_next(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.open("checklist")
    await tab.sees("next-due", "expiry in 30 min")
    await tab.press("Control+k")
    await tab.page.keyboard.type(payment["id"][-8:])
    await tab.sees("match", payment["id"])
    await tab.press("ArrowDown", "Enter")
    await expect(tab.page.locator("h1")).to_contain_text(payment["id"])
