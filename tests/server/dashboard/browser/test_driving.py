"""Each button, and a payment from create to refund, without the command line."""

import json
from urllib.parse import quote

from playwright.async_api import expect

from tests.server.checkout.browser.tabs import PHONE
from tests.server.dashboard.browser.tabs import HOSTILE, OpenTab, Tab
from tests.server.webhooks.receiver import Reply, receiving, replies


async def test_a_payment_is_driven_from_create_to_refund(open_tab: OpenTab) -> None:
    answers = replies(Reply(status=500), Reply())
    async with open_tab() as tab, receiving(answers) as receiver:
        await tab.open("webhooks")
        await tab.page.get_by_label("URL").fill(receiver.url)
        await tab.page.get_by_test_id("add-endpoint").get_by_role("button").click()
        await tab.sees("endpoint", receiver.url)
        payment = await tab.merchant.create()
        await tab.sees("delivery-row", "payment.created")
        await tab.open("payments")
        await tab.page.get_by_role("link", name=payment["id"][-8:]).click()
        await tab.page.get_by_test_id("pay-telebirr").get_by_role("textbox").fill("0911223344")
        await tab.page.get_by_test_id("pay-telebirr").get_by_role("button").click()
        await tab.sees("message", "Submitted by telebirr: the payment is processing.")
        await tab.sees("status", "processing")
        await tab.click("answer-approve")
        await tab.sees("message", 'The customer answered "approve": the payment is completed.')
        await tab.sees("status", "completed")
        await tab.click("transition-refunded")
        await tab.sees("message", "The payment was completed; now it is refunded.")
        await tab.sees("status", "refunded")
        # The first delivery failed, and is attempted again.
        await tab.open("webhooks")
        await tab.page.get_by_test_id("delivery-row").last.locator(".event a").click()
        await tab.sees("cause", "see its own log")
        await tab.click("advance-to-attempt")
        await tab.counts("attempt", 2)
        await tab.click("resend")
        await tab.counts("attempt", 3)
        await tab.page.locator("a[href*=evt_]").click()
        assert "/_emulator/events/evt_" in await tab.copies("copy-event")
        types = [webhook.json["type"].removeprefix("payment.") for webhook in receiver.received]
        assert types == ["created", "processing", "completed", "refunded", "created", "created"]


async def test_each_action_of_a_payment_has_a_button(tab: Tab) -> None:
    for testid, status in {
        "transition-expired": "expired",
        "transition-failed": "failed",
        "advance-to-next": "expired",
    }.items():
        payment = await tab.merchant.create()
        if status == "failed":
            await tab.merchant.pay(payment, "telebirr", phone="0911223344")
        await tab.open(f"payments/{payment['id']}")
        await tab.click(testid)
        await tab.sees("status", status)
        await tab.click("transition-completed")
        await tab.sees("status", "completed")
    payment = await tab.merchant.create()
    await tab.open("payments/latest")
    await (
        tab.page.get_by_test_id("apply-scenario")
        .get_by_role("combobox")
        .select_option("late-success")
    )
    await tab.page.get_by_test_id("apply-scenario").get_by_role("button").click()
    await tab.sees("message", "The scenario applies to this payment.")
    await expect(tab.page.locator(".facts")).to_contain_text("late-success")
    await tab.click("cancel")
    await tab.sees("message", "stays pending")
    copied = await tab.copies("copy-curl")
    assert f"/v1/payments/{payment['id']}" in copied
    assert tab.merchant.key in copied
    name, _ = await tab.downloads("export")
    assert name == f"{payment['id']}.yaml"
    async with tab.page.expect_popup() as popup:
        await tab.click("checkout")
    checkout = await popup.value
    await checkout.wait_for_load_state()
    assert checkout.url == f"{payment['checkout_url']}?dashboard=1"


async def test_each_action_of_an_endpoint_has_a_button(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint() as receiver:
        secret = (await tab.control("GET", "/webhook_endpoints"))["data"][0]["secret"]
        await tab.open("webhooks")
        await tab.click("endpoints", "more")
        assert await tab.copies("copy-secret") == secret
        await tab.click("ping")
        await tab.sees("delivery-row", "ping")
        assert json.loads(receiver.received[0].body)["type"] == "ping"
        # The page of a delivery copies what repeats and verifies it.
        await tab.page.get_by_test_id("delivery-row").get_by_role("link").first.click()
        await tab.page.get_by_text("Signed bytes and verification").click()
        assert await tab.copies("copy-secret") == secret
        assert "openssl dgst" in await tab.copies("copy-verification")
        assert receiver.url in await tab.copies("copy-attempt")
        assert "/_emulator/deliveries/dlv_" in await tab.copies("copy-curl")
        await tab.open("webhooks")
        await tab.click("endpoints", "more", "rotate")
        await tab.sees("message", "new secret")
        assert (await tab.control("GET", "/webhook_endpoints"))["data"][0]["secret"] != secret
        await tab.click("disable")
        await tab.sees("endpoint", "disabled")
        await tab.click("enable")
        await tab.sees("endpoint", "enabled")
        await tab.click("delete-endpoint")
        await tab.counts("no-endpoint", 1)


async def test_the_header_moves_the_clock(open_tab: OpenTab) -> None:
    async with open_tab(PHONE, excused="/_emulator/clock") as tab:
        await tab.merchant.create()
        await tab.open("payments")
        for testid, now in {
            "advance-30": "00:00:30",
            "advance-300": "00:05:30",
            "advance-next": "00:30:00",
            "advance-1800": "01:00:00",
        }.items():
            await tab.click(testid)
            await tab.sees("now", now)
        await tab.sees("status", "expired")
        await tab.click("menu")
        await (
            tab.page.get_by_test_id("advance-until")
            .get_by_role("textbox")
            .fill("2026-01-02 00:00:00")
        )
        await tab.press("Enter")
        await tab.sees("now", "2026-01-02 00:00:00")
        await tab.page.get_by_test_id("set-rate").get_by_role("textbox").fill("fast")
        await tab.press("Enter")
        await tab.sees("message", '(got "fast")')
        await tab.page.get_by_test_id("set-rate").get_by_role("textbox").fill("60")
        await tab.press("Enter")
        await tab.sees("clock-state", "running ×60")
        await tab.click("freeze")
        await tab.sees("clock-state", "frozen")
        await tab.click("unfreeze")
        await tab.sees("clock-state", "running")


async def test_a_refused_call_shows_its_message(open_tab: OpenTab) -> None:
    async with open_tab(PHONE, excused="/_emulator/") as tab:
        await tab.merchant.create()
        await tab.open("payments/latest")
        await tab.page.get_by_label("More").check()
        await tab.page.get_by_test_id("pay-mpesa").get_by_role("textbox").fill(HOSTILE)
        await tab.page.get_by_test_id("pay-mpesa").get_by_role("button").click()
        await tab.sees("message", "phone")
        await tab.is_accessible_and_fits()
        await tab.open(f"search?q={quote(HOSTILE)}")
        await tab.counts("no-match", 1)
        await tab.is_accessible_and_fits()


async def test_an_account_is_created_and_switched(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.open("payments")
    await tab.click("menu")
    await tab.page.get_by_test_id("create-account").get_by_role("button").click()
    await tab.counts("empty", 1)
    await tab.page.get_by_test_id("account").select_option(tab.merchant.account)
    await tab.sees("payment-row", payment["id"])
    await tab.click("menu")
    assert await tab.copies("copy-test-key") == tab.merchant.key
    await tab.page.get_by_test_id("mode").select_option("live")
    await tab.counts("empty", 1)


async def test_a_reset_asks_first_and_leaves_nothing_behind(open_tab: OpenTab) -> None:
    async with open_tab(excused="/payments/pay_") as tab:
        payment = await tab.merchant.create()
        await tab.api.get("/v1/payments")
        await tab.open("payments?status=pending")
        await tab.page.get_by_test_id("unauthorized").locator("summary").click()
        await tab.click("dismiss")
        await tab.counts("unauthorized", 0)
        await tab.click("menu", "reset-account")
        await tab.sees("message", "The account was reset.")
        await tab.counts("step", 3)
        for testid in ("payment-row", "kind"):
            await tab.counts(testid, 0)
        assert "Reset this account?" in tab.dialogs[0]
        # The page of a payment that is gone says so.
        await tab.open(f"payments/{payment['id']}")
        await tab.sees("problem", payment["id"])


async def test_the_answers_fit_the_method(tab: Tab) -> None:
    at_bank = await tab.merchant.create(methods=["bank_transfer"])
    await tab.open("payments/latest")
    await tab.page.get_by_test_id("pay-bank_transfer").get_by_role("button").click()
    await tab.counts("answer-wrong_pin", 0)
    await tab.click("answer-decline")
    await tab.sees("reason", "bank_declined")
    assert await tab.merchant.status(at_bank) == "failed"
