"""The first payment of a new account, with the keyboard or the mouse, and the end of an account."""

from playwright.async_api import expect

from tests.server.dashboard.browser.tabs import OpenTab, Tab, in_every_look
from tests.server.webhooks.receiver import Reply, receiving, replies


async def test_the_three_steps_of_the_first_payment_tick_themselves(open_tab: OpenTab) -> None:
    async with open_tab() as tab, receiving(replies(Reply(status=500), Reply())) as receiver:
        done = tab.page.locator("[data-testid=step].done")
        await tab.open("payments")
        await expect(done).to_have_count(0)
        await tab.click("create-payment")
        await tab.sees("message", "The payment pay_")
        await expect(done).to_have_count(1)
        payment = (await tab.call("GET", "/v1/payments"))["data"][0]
        async with tab.page.expect_popup() as popup:
            await tab.click("first-checkout")
        assert (await popup.value).url == f"{payment['checkout_url']}?dashboard=1"
        await tab.page.get_by_test_id("first-endpoint").get_by_role("textbox").fill(receiver.url)
        await tab.press("Enter")
        await tab.sees("message", "receives the webhooks from now on")
        await tab.click("first-ping")
        # The first attempt fails, and its cause is shown.
        await tab.sees("first-attempt", "500")
        await tab.sees("first-attempt", "log")
        await tab.merchant.pay(payment, "telebirr", phone="0900000001")
        await tab.counts("steps", 0)
        await tab.sees("status", "completed")


@in_every_look
async def test_the_steps_are_accessible(tab: Tab) -> None:
    await tab.open("payments")
    await tab.is_accessible_and_fits()
    await tab.control("POST", "/webhook_endpoints", {"url": "http://127.0.0.1:9/" + "x" * 300})
    await tab.merchant.create()
    await tab.merchant.advance(0)
    await tab.sees("first-attempt", "Nothing listens")
    await tab.is_accessible_and_fits()


async def test_the_keyboard_is_enough(tab: Tab) -> None:
    await tab.open("payments")
    await tab.press("/")
    await tab.page.keyboard.type("create it")
    await expect(tab.page.get_by_test_id("command")).to_have_text(["Create it here"])
    await tab.press("Enter")
    await tab.counts("payment-row", 1)
    # The arrows reach each command, and the end of the list ends nothing.
    await tab.press("Control+k", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp")
    await expect(tab.page.get_by_test_id("search")).to_be_focused()
    await tab.page.keyboard.type("run the")
    await tab.sees("command", "Run the clock")
    await tab.press("Escape")
    await expect(tab.page.get_by_test_id("search")).to_be_hidden()
    await tab.sees("next-due", "expiry in 30 min")
    await tab.press("n")
    await tab.sees("message", "1 payment expired")
    await tab.press("j", "Enter")
    await tab.sees("status", "expired")


async def test_an_account_is_deleted(tab: Tab) -> None:
    await tab.open("payments")
    await tab.click("menu", "delete-account")
    await tab.sees("message", "The account was deleted.")
    assert "Delete this account" in tab.dialogs[0]
    assert tab.merchant.account not in tab.page.url
    await tab.click("menu")
    # The first account stays.
    await tab.counts("delete-account", 0)
