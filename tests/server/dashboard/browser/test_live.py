"""A live page never does another thing than the person meant: fields, focus, rows and buttons."""

from pathlib import Path

import pytest
from playwright.async_api import Route, expect

from emulator.server.dashboard.app import SECTIONS
from tests.server.checkout.browser.tabs import Device
from tests.server.checkout.browsing import Shop, running_emulator
from tests.server.dashboard.browser.tabs import OpenTab, Tab
from tests.server.webhooks.receiver import Reply, replies

_SELECTED = "field => [field.selectionStart, field.selectionEnd]"
_ROW_AT = "([x, y]) => document.elementFromPoint(x, y).closest('tr').textContent"


async def poll(tab: Tab, payment: str) -> None:
    """The shop retrieves the payment, and the page shows that."""
    entries = tab.page.get_by_test_id("entry")
    count = await entries.count()
    await tab.call("GET", f"/v1/payments/{payment}")
    await expect(entries).to_have_count(count + 1)


async def test_a_typed_number_is_the_one_that_is_paid_with(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.open(f"payments/{payment['id']}")
    phone = tab.page.get_by_test_id("pay-telebirr").get_by_role("textbox")
    await phone.fill("0900000002")
    await phone.press("Tab")
    await poll(tab, payment["id"])
    await expect(phone).to_have_value("0900000002")
    await tab.press("Enter")
    await tab.sees("reason", "insufficient_balance")


async def test_the_field_that_is_being_edited_keeps_its_selection(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.open(f"payments/{payment['id']}")
    phone = tab.page.get_by_test_id("pay-telebirr").get_by_role("textbox")
    await phone.fill("0900000002")
    await phone.evaluate("field => field.setSelectionRange(2, 5)")
    # The page is live around the field.
    await poll(tab, payment["id"])
    await expect(phone).to_be_focused()
    assert await phone.evaluate(_SELECTED) == [2, 5]
    await tab.press("7")
    await expect(phone).to_have_value("09700002")


async def test_a_chosen_scenario_is_the_one_that_is_applied(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.open(f"payments/{payment['id']}")
    scenario = tab.page.get_by_test_id("apply-scenario").get_by_role("combobox")
    await scenario.select_option("late-success")
    await scenario.press("Tab")
    await poll(tab, payment["id"])
    await expect(scenario).to_have_value("late-success")
    await tab.press("Enter")
    await expect(tab.page.locator(".facts")).to_contain_text("late-success")


async def test_every_edited_field_of_a_page_keeps_its_value(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint():
        await tab.open("webhooks")
        await tab.click("endpoints")
        await tab.page.get_by_text("Add an endpoint").click()
        await tab.click("menu")
        added = tab.page.get_by_test_id("add-endpoint")
        url, events = added.get_by_label("URL"), added.get_by_label("Events")
        instant = tab.page.get_by_label("Time", exact=True)
        await url.fill("http://127.0.0.1:9/half")
        await events.select_option(["payment.failed", "payment.expired"])
        await instant.fill("2026-01-02")
        await tab.page.locator("h1").click()
        await tab.merchant.create()
        await tab.counts("delivery-row", 1)
        await tab.control("PUT", "/clock", {"rate": 2})
        await tab.sees("clock-state", "running ×2")
        await expect(url).to_have_value("http://127.0.0.1:9/half")
        await expect(events).to_have_values(["payment.failed", "payment.expired"])
        await expect(instant).to_have_value("2026-01-02")


async def test_a_form_is_empty_after_its_call(tab: Tab) -> None:
    await tab.open("webhooks")
    url = tab.page.get_by_test_id("add-endpoint").get_by_label("URL")
    await url.fill("http://127.0.0.1:9/first")
    await url.press("Enter")
    await tab.counts("endpoint", 1)
    await expect(url).to_have_value("")


async def test_a_field_stays_while_it_is_edited_although_it_has_no_use(open_tab: OpenTab) -> None:
    async with open_tab(excused="/pay") as tab:
        payment = await tab.merchant.create()
        await tab.open(f"payments/{payment['id']}")
        phone = tab.page.get_by_test_id("pay-telebirr").get_by_role("textbox")
        await phone.fill("09")
        await tab.merchant.pay(payment, "telebirr", phone="0900000001")
        await tab.sees("status", "completed")
        await tab.page.keyboard.type("00000002")
        await expect(phone).to_have_value("0900000002")
        await tab.press("Enter")
        await tab.sees("message", "completed")
        await phone.press("Tab")
        await expect(phone).to_have_count(0)


async def test_an_update_moves_no_row_under_the_mouse(tab: Tab) -> None:
    payments = [await tab.merchant.create() for _ in range(2)]
    await tab.open("payments")
    row = tab.page.get_by_test_id("payment-row").first
    box = await row.bounding_box()
    assert box is not None
    point = [box["x"] + 5, box["y"] + box["height"] / 2]
    await tab.page.mouse.move(*point)
    await tab.merchant.create()
    await tab.merchant.transition(payments[1], "expired")
    # The row itself is live.
    await expect(row.get_by_test_id("status")).to_have_text("expired")
    assert payments[1]["id"] in await tab.page.evaluate(_ROW_AT, point)
    await tab.counts("payment-row", 2)
    # The new one is counted until the mouse has left.
    await tab.sees("new-count", "1 new")
    await tab.page.mouse.move(1, 1)
    await tab.counts("payment-row", 3)
    await expect(tab.page.get_by_test_id("new-count")).to_be_hidden()


async def test_an_update_keeps_a_selected_text(tab: Tab) -> None:
    await tab.merchant.create(metadata={"order": "1001"})
    await tab.open("payments")
    cell = tab.page.locator("[data-row] .amount")
    await cell.evaluate("cell => getSelection().selectAllChildren(cell)")
    for count in (1, 2):
        await tab.merchant.create()
        await tab.sees("new-count", f"{count} new")
    await tab.control("PUT", "/clock", {"rate": 60})
    await tab.sees("clock-state", "running")
    assert (await tab.page.evaluate("String(getSelection())")).strip() == "ETB\xa0150.00"
    await tab.page.locator("h1").click()
    await tab.page.get_by_test_id("open-search").hover()
    await tab.counts("payment-row", 3)


async def test_the_entry_that_the_address_names_is_unfolded(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint():
        payment = await tab.merchant.create()
        await tab.merchant.advance(0)
        await tab.open(f"payments/{payment['id']}")
        event = (await tab.control("GET", "/events"))["data"][0]["id"]
        entry = tab.page.locator(f"#{event}")
        await tab.open(f"payments/{payment['id']}#{event}")
        await expect(entry).to_have_attribute("open", "")
        await tab.page.evaluate("location.hash = ''")
        await entry.evaluate("entry => (entry.open = false)")
        await tab.page.evaluate("name => (location.hash = name)", event)
        await expect(entry).to_have_attribute("open", "")


async def test_a_first_visit_to_a_payment_loads_less_than_90_kb(
    open_tab: OpenTab, shop: Shop, tmp_path: Path
) -> None:
    # An emulator of its own: each page lists all accounts.
    async with (
        running_emulator(shop, tmp_path) as server,
        open_tab(merchant=server.demo) as tab,
        tab.endpoint(replies(Reply(status=500))),
    ):
        # No further attempt is due, whatever time the page takes: it would load the page again.
        await tab.control("PUT", "/clock", {"frozen": True})
        payment = await tab.merchant.create()
        for seconds in (0, 1, 5, 15):
            await tab.merchant.advance(seconds)
        await tab.merchant.pay(payment, "telebirr", phone="0900000001")
        await tab.merchant.advance(0)
        await tab.open(f"payments/{payment['id']}")
        await tab.sees("stream-state", "connected")
        files = [each for each in tab.record.responses if "/stream" not in each.url]
        sizes = {each.url: len(await each.body()) for each in files}
        assert len(sizes) == len(files), "each is loaded once"
        assert sum(sizes.values()) < 90_000, sizes


@pytest.mark.parametrize("scrolled", [0, 150])
async def test_a_part_above_it_moves_no_row_under_the_mouse(
    open_tab: OpenTab, scrolled: int
) -> None:
    async with open_tab(Device(width=720, height=1500)) as tab:
        for _ in range(25):
            await tab.create()
        await tab.open("requests")
        # Requests without a valid key are those of all accounts, and may fill the screen.
        fold = "document.querySelector('#unauthorized > [open]')?.removeAttribute('open')"
        await tab.page.evaluate(fold)
        await tab.page.evaluate(f"scrollTo(0, {scrolled})")
        row = tab.page.get_by_test_id("request-row").nth(1)
        await row.hover()
        # Hovering may scroll further, to where the row is not covered.
        start = await tab.page.evaluate("scrollY")
        assert bool(start) == bool(scrolled)
        before = await row.bounding_box()
        # Kinds of requests that need further lines.
        for changes in ({"amount": 1}, {"currency": "USD"}, {"methods": []}, {"cancel_url": "x"}):
            await tab.create(**changes)
        await tab.counts("kind", 5)
        after = await row.bounding_box()
        assert before is not None
        assert after is not None
        assert after["y"] == pytest.approx(before["y"], abs=1)
        assert await tab.page.evaluate("scrollY") > start


async def test_an_update_puts_no_other_button_under_the_mouse(open_tab: OpenTab) -> None:
    async with open_tab(excused="/pay") as tab:
        payment = await tab.merchant.create()
        await tab.open(f"payments/{payment['id']}")
        pay = tab.page.get_by_test_id("pay-telebirr").get_by_role("button")
        await pay.hover()
        await tab.merchant.pay(payment, "telebirr", phone="0911223344")
        await tab.sees("status", "processing")
        await tab.page.mouse.down()
        await tab.page.mouse.up()
        await tab.sees("message", "processing")
        assert await tab.merchant.status(payment) == "processing"
        await tab.page.mouse.move(1, 1)
        await tab.counts("answer-approve", 1)


async def test_the_focus_does_not_go_to_another_action(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.open(f"payments/{payment['id']}")
    await tab.page.get_by_test_id("transition-expired").focus()
    await tab.merchant.pay(payment, "telebirr", phone="0911223344")
    await tab.sees("status", "processing")
    await expect(tab.page.locator("main")).to_be_focused()
    await tab.press("Enter")
    assert await tab.merchant.status(payment) == "processing"


async def test_a_message_moves_nothing(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint():
        await tab.merchant.create()
        await tab.merchant.advance(0)
        await tab.open("webhooks")
        resend = tab.page.get_by_test_id("resend")
        before = await resend.bounding_box()
        await resend.click()
        await tab.sees("message", "Attempt 2")
        after = await resend.bounding_box()
        assert before is not None
        assert after is not None
        assert after["y"] == before["y"]


async def test_a_page_is_loaded_once(open_tab: OpenTab, shop: Shop, tmp_path: Path) -> None:
    # An emulator in which nothing else happens.
    async with (
        running_emulator(shop, tmp_path) as server,
        open_tab(merchant=server.demo) as tab,
        tab.endpoint(),
    ):
        await tab.merchant.create()
        await tab.control("GET", "/deliveries/wait?event=payment.created")
        for rate, path in enumerate(("payments/latest", *SECTIONS), start=2):
            tab.record.requests.clear()
            await tab.open(path)
            await tab.sees("stream-state", "connected")
            assert len(_loads(tab)) == 1, path
            # It is live from its first load on.
            await tab.control("PUT", "/clock", {"rate": rate})
            await tab.sees("clock-state", f"running ×{rate}")
            assert len(_loads(tab)) == 2, path


async def test_a_change_before_the_stream_is_connected_is_shown(tab: Tab) -> None:
    async def after_a_payment(route: Route) -> None:
        await tab.merchant.create()
        await route.continue_()

    await tab.page.route("**/stream*", after_a_payment, times=1)
    await tab.open("payments")
    await tab.counts("payment-row", 1)


async def test_the_header_of_each_page_follows_the_webhooks(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint():
        await tab.control("PUT", "/deliveries/paused", {"paused": True})
        await tab.merchant.create()
        delivery = (await tab.control("GET", "/deliveries"))["data"][0]["id"]
        await tab.open("scenarios")
        await tab.sees("stream-state", "deliveries paused")
        await tab.sees("next-due", "webhook now")
        await tab.control("POST", f"/deliveries/{delivery}/drop")
        await tab.sees("next-due", "expiry in 30 min")


async def test_the_page_of_a_payment_is_loaded_again_for_that_payment_only(
    open_tab: OpenTab,
) -> None:
    async with open_tab() as tab, tab.endpoint() as receiver:
        payment = await tab.merchant.create()
        await tab.merchant.advance(0)
        await tab.open(f"payments/{payment['id']}")
        await tab.sees("stream-state", "connected")
        before = len(_loads(tab))
        other = await tab.merchant.create()
        await tab.call("GET", f"/v1/payments/{other['id']}")
        await tab.merchant.transition(other, "expired")
        await receiver.wait_for(3)
        await poll(tab, payment["id"])
        assert len(_loads(tab)) == before + 1


def _loads(tab: Tab) -> list[str]:
    """The requests of the shown page, by its navigation and its updates."""
    return [each.url for each in tab.record.requests if each.url == tab.page.url]
