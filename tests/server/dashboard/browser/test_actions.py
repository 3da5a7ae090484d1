"""What a button does: once, and then a sentence says what happened."""

import asyncio

from playwright.async_api import Page, Route, expect

from tests.server.dashboard.browser.tabs import OpenTab, Tab
from tests.server.webhooks.receiver import Reply, replies

# Everything that starts a call, a copy or a download, after its required fields are filled.
_START_ALL = """() => {
  const forms = [...document.querySelectorAll("form[data-call]")];
  for (const form of forms) {
    for (const field of form.querySelectorAll("input:not([type=hidden])")) {
      field.removeAttribute("pattern");
      field.value = field.type === "url" ? "http://127.0.0.1:9/" : "2026";
    }
    form.requestSubmit();
  }
  const others = [...document.querySelectorAll(
    "button[data-call]:enabled, [data-copy-from], a[download]")];
  for (const element of others) element.click();
  const all = [...others, ...forms.map((form) => form.querySelector("button"))];
  const isBusy = (element) => element.getAttribute("aria-busy") === "true"
    && (element.disabled || element.localName === "a");
  return [all.length, all.filter((each) => !isBusy(each)).map((each) => each.outerHTML)];
}"""


class Gate:
    """Holds back the calls of a page to an address."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.count = 0

    async def hold(self, route: Route) -> None:
        self.count += 1
        await self.opened.wait()
        await route.continue_()


async def gate(page: Page, address: str) -> Gate:
    held = Gate()
    await page.route(address, held.hold)
    return held


async def test_each_button_is_busy_until_its_call_has_ended(open_tab: OpenTab) -> None:
    async with open_tab(excused="/_emulator/") as tab, tab.endpoint():
        payment = await tab.merchant.create()
        await tab.merchant.advance(0)
        await tab.control("PUT", "/snapshots/one")
        await tab.control("PUT", "/scenarios/own", {"description": "Own."})
        delivery = (await tab.control("GET", "/deliveries"))["data"][0]["id"]
        waiting = await tab.merchant.create()
        await tab.merchant.pay(waiting, "telebirr", phone="0911223344")
        await tab.control("POST", "/faults", {"then": {"drop": True}, "times": 1})
        paths = [f"payments/{payment['id']}", f"payments/{waiting['id']}", "webhooks"]
        paths += [f"webhooks/{delivery}", "scenarios", "scenarios/own", "requests", "checklist"]
        for path in paths:
            await tab.open(path)
            await tab.sees("stream-state", "connected")
            held = await gate(tab.page, lambda url: "/_emulator/view/" not in url)
            count, idle = await tab.page.evaluate(_START_ALL)
            assert count > 5
            assert not idle
            held.opened.set()
            await expect(tab.page.locator("[aria-busy]")).to_have_count(0)
            await tab.page.unroute_all(behavior="wait")


async def test_three_clicks_on_a_slow_button_send_once(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint() as receiver:
        await tab.merchant.create()
        await tab.merchant.advance(0)
        await tab.open("webhooks")
        held = await gate(tab.page, "**/resend*")
        resend = tab.page.get_by_test_id("resend")
        box = await resend.bounding_box()
        assert box is not None
        for _ in range(3):
            await tab.page.mouse.click(box["x"] + 5, box["y"] + 5)
        await expect(resend).to_be_disabled()
        await expect(resend).to_have_attribute("aria-busy", "true")
        held.opened.set()
        await tab.sees("message", "Attempt 2 of payment.created: answered 200.")
        await expect(resend).to_be_enabled()
        await expect(resend).not_to_have_attribute("aria-busy", "true")
        assert held.count == 1
        assert len(receiver.received) == 2


async def test_a_button_keeps_the_focus_during_its_call(tab: Tab) -> None:
    await tab.open("payments")
    await tab.page.get_by_test_id("advance-30").focus()
    await tab.press("Enter")
    await tab.sees("now", "00:00:30")
    await expect(tab.page.get_by_test_id("advance-30")).to_be_focused()
    await tab.press("Enter")
    await tab.sees("now", "00:01:00")


async def test_a_double_click_moves_the_clock_once(tab: Tab) -> None:
    await tab.open("payments")
    await tab.page.get_by_test_id("advance-1800").dblclick()
    await tab.sees("message", "00:00 → 00:30: nothing was due.")
    await tab.page.get_by_test_id("advance-300").click(click_count=3)
    await tab.sees("message", "00:30 → 00:35")
    assert (await tab.control("GET", "/clock"))["now"] == "2026-01-01T00:35:00.000Z"


async def test_a_key_that_is_held_presses_a_button_once(tab: Tab) -> None:
    await tab.open("payments")
    await tab.page.get_by_test_id("advance-30").focus()
    await tab.page.keyboard.down("Enter")
    await tab.sees("now", "00:00:30")
    await tab.page.keyboard.down("Enter")
    await tab.page.keyboard.up("Enter")
    await tab.click("advance-300")
    await tab.sees("message", "00:00 → 00:05: nothing was due.")
    await tab.sees("now", "00:05:30")


async def test_an_advance_says_what_it_caused(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint():
        for _ in range(2):
            await tab.merchant.create()
        await tab.merchant.advance(0)
        await tab.open("payments")
        await tab.click("advance-1800")
        await tab.sees("message", "00:00 → 00:30: 2 payments expired, 2 webhooks answered 200.")
        await tab.sees("now", "00:30:00")
        await tab.click("menu")
        await tab.page.get_by_label("Time", exact=True).fill("2026-01-02 12:00:01")
        await tab.press("Enter")
        await tab.sees("message", "2026-01-01 00:30:00 → 2026-01-02 12:00:01: nothing was due.")


async def test_a_call_that_a_limit_stopped_says_so(open_tab: OpenTab) -> None:
    kinds = [{"kind": "expiry", "status": "failed", "reason": str(each)} for each in range(9)]
    advanced = {"now": "2026-01-01T00:00:01.000Z", "effects": kinds, "settled": False}
    async with open_tab() as tab:
        await tab.page.route("**/advance*", lambda route: route.fulfill(json=advanced))
        await tab.open("payments")
        await tab.click("advance-30")
        await tab.sees("message", "1 payment failed (5), 3 more kinds of effects.")
        await tab.sees("message", "A limit stopped the clock; advance again to continue.")


async def test_each_action_of_a_delivery_says_what_happened(open_tab: OpenTab) -> None:
    answers = replies(Reply(status=500), Reply())
    async with open_tab() as tab, tab.endpoint(answers) as receiver:
        await tab.open("webhooks")
        await tab.click("pause")
        await tab.sees("message", "Deliveries are paused.")
        payments = [await tab.merchant.create() for _ in range(3)]
        await tab.counts("drop", 3)
        await tab.page.get_by_test_id("drop").first.click()
        await tab.sees("message", "payment.created is dropped: no further attempt is made.")
        await tab.counts("release", 2)
        await tab.click("release")
        await tab.sees(
            "message",
            "Attempt 1 of payment.created: answered 500; the next attempt is at 2026-01-01 00:00:",
        )
        await tab.counts("resend", 2)
        await tab.page.get_by_test_id("resend").last.click()
        await tab.sees("message", "Attempt 2 of payment.created: answered 200.")
        await tab.click("endpoints", "ping")
        await tab.sees("message", "Attempt 1 of ping: answered 200.")
        await tab.click("resume")
        await tab.sees("message", "The pause has ended")
        # What was neither dropped nor released is sent now.
        await receiver.wait_for(4)
        assert receiver.received[-1].json["data"]["id"] == payments[0]["id"]


async def test_the_page_after_an_action_says_what_happened(tab: Tab) -> None:
    await tab.open("payments")
    await tab.click("menu")
    await tab.page.get_by_test_id("create-account").get_by_role("textbox").fill("Addis Books")
    await tab.press("Enter")
    await tab.page.wait_for_url(lambda url: tab.merchant.account not in url)
    await tab.sees("message", "The account Addis Books was created.")
    await expect(tab.page).to_have_title("Payments · Addis Books · ETB payments emulator")
    await tab.page.reload()
    await expect(tab.page.get_by_test_id("message")).to_be_hidden()


async def test_a_refused_download_shows_its_message(open_tab: OpenTab) -> None:
    async with open_tab(excused="/recording") as tab:
        # A history with more metadata than a recording can have.
        metadata = {f"key_{number}": "x" * 6_000 for number in range(20)}
        for _ in range(3):
            payment = await tab.merchant.create(metadata=metadata)
        await tab.open("scenarios")
        await tab.click("recording")
        await tab.sees("message", "The history is too long for one scenario file")
        await tab.open("payments/latest")
        name, text = await tab.downloads("export")
        assert (name, "script:" in text) == (f"{payment['id']}.yaml", True)
        await tab.sees("message", f"{name} was downloaded.")
