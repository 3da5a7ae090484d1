"""The page of one payment: its sequence diagram, on each screen, and the tasks that it serves."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.server.checkout.browser.tabs import PHONE, SCHEMES, Device
from tests.server.dashboard.browser.tabs import HOSTILE, OpenTab, Tab
from tests.server.webhooks.receiver import Reply, receiving, replies

FAILING = replies(Reply(status=500))
# 640 pixels are 1280 at a zoom of 200 %.
WIDTHS = (360, 640, 960, 1280)
DEVICES = [(Device(width=width, height=900), scheme) for width in WIDTHS for scheme in SCHEMES]
on_each_screen = pytest.mark.parametrize(
    "tab", DEVICES, ids=[f"{device.width}-{scheme}" for device, scheme in DEVICES], indirect=True
)

# The boxes of a diagram: for each arrow how far its ends are from the lines of its lanes, and the
# lines that overlap the one before, or have a text that is small, outside, or wider than its arrow.
_BOXES = """() => {
  const box = (element) => element.getBoundingClientRect();
  const list = document.querySelector(".sequence ol");
  const [outer, middle] = ["::before", "::after"].map((part) => getComputedStyle(list, part));
  const lanes = [parseFloat(outer.left), parseFloat(middle.left) + 1,
    box(list).width - parseFloat(outer.right)].map((left) => box(list).left + left);
  const distances = [], wrong = [];
  let bottom = 0;
  for (const item of document.querySelectorAll(".sequence li")) {
    if (box(item).top < bottom - 1) wrong.push(`overlaps: ${item.textContent}`);
    bottom = box(item).bottom;
    const [, first, last] = /lanes-(\\d)-(\\d)/.exec(item.className) ?? [];
    const text = item.querySelector(".entry-text");
    if (first) {
      distances.push(Math.abs(box(text).left - lanes[first - 1]));
      distances.push(Math.abs(box(text).right - lanes[last - 1]));
    }
    const [from, to] = first ? [lanes[first - 1], lanes[last - 1]] : [0, innerWidth];
    for (const words of text?.querySelectorAll("*:not(.unseen, bdi)") ?? []) {
      const { left, right } = box(words);
      if (left < from || right > to) wrong.push(`outside: ${words.textContent}`);
    }
    for (const words of item.querySelectorAll(".words, .mark, small, .chip, .since"))
      if (parseFloat(getComputedStyle(words).fontSize) < 11) wrong.push(words.textContent);
  }
  for (const code of document.querySelectorAll(".sequence .words code"))
    if (/^\\S{1,20}$/.test(code.textContent) && code.getClientRects().length > 1)
      wrong.push(`broken: ${code.textContent}`);
  return [Math.max(...distances), wrong];
}"""


async def case_of_three_endpoints(tab: Tab, good: str, failing: str) -> dict[str, Any]:
    """A payment whose webhooks one endpoint accepts, one answers 500, and one never receives."""
    for url, events in ((good, None), (failing, None), ("http://127.0.0.1:9/x", "completed")):
        body = {"url": url} | ({"events": [f"payment.{events}"]} if events else {})
        await tab.control("POST", "/webhook_endpoints", body)
    await tab.control("PUT", "/scenarios/concurrent-webhooks/enabled", {"enabled": True})
    payment = await tab.merchant.create(metadata={"order": HOSTILE})
    await tab.merchant.pay(payment, "telebirr", phone="0900000001")
    for seconds in (0, 1, 5):
        await tab.merchant.advance(seconds)
    return payment


@on_each_screen
async def test_a_payment_is_a_sequence_diagram_on_each_screen(tab: Tab) -> None:
    async with receiving(lambda _: Reply()) as good, receiving(FAILING) as failing:
        payment = await case_of_three_endpoints(tab, good.url, failing.url)
        await tab.open(f"payments/{payment['id']}")
        await tab.counts("entry", 15)
        await tab.counts("scheduled", 6)
        await expect(tab.page.locator(".sequence .bad").first).to_have_text("500 ×3")
        distance, wrong = await tab.page.evaluate(_BOXES)
        assert distance < 2
        assert wrong == []
        await tab.is_accessible_and_fits()


async def test_without_script_the_deliveries_to_one_endpoint_are_selected(
    open_tab: OpenTab,
) -> None:
    device = Device(width=960, height=900).without_script()
    async with open_tab(device) as tab, receiving(FAILING) as failing, tab.endpoint() as good:
        payment = await case_of_three_endpoints(tab, good.url + "?other", failing.url)
        await tab.open(f"payments/{payment['id']}")
        await tab.page.get_by_test_id("endpoints").get_by_text("127.0.0.1:9/x").click()
        webhooks = tab.page.locator(".sequence .left.lanes-1-2")
        await expect(webhooks).to_have_count(4)
        assert all("127.0.0.1:9/x" in text for text in await webhooks.all_inner_texts())
        await tab.sees("sequence", "completed")
        # What a line unfolds to needs no script either.
        await webhooks.first.locator("summary").click()
        await expect(tab.page.get_by_test_id("attempt").first).to_be_visible()


async def test_why_a_payment_failed_and_who_did_it_is_one_click_away(open_tab: OpenTab) -> None:
    async with open_tab(PHONE) as tab:
        for phone in ("0900000002", "0911223344"):
            payment = await tab.merchant.create()
            await tab.merchant.pay(payment, "telebirr", phone=phone)
        await tab.merchant.answer(payment, "wrong_pin")
        for row, reason, cause in (
            (0, "wrong_pin", "the customer answered on the phone"),
            (1, "insufficient_balance", "scenario telebirr-test-numbers, rule 2"),
        ):
            await tab.open("payments")
            rows = tab.page.get_by_test_id("payment-row")
            await rows.nth(row).get_by_role("link").first.click()
            await tab.sees("reason", reason)
            await expect(tab.page.get_by_test_id("cause")).to_be_in_viewport()
            await tab.sees("cause", cause)
            await expect(tab.page.locator(".on-lane").last).to_contain_text(f"{reason}: {cause}")


async def test_a_line_unfolds_to_its_request_and_response(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint():
        payment = await tab.merchant.create(metadata={"order": "LB-7"})
        await tab.call("GET", f"/v1/payments/{payment['id']}")
        await tab.merchant.advance(0)
        await tab.open(f"payments/{payment['id']}")
        for text, part in (
            ("POST", "request"),
            ("GET", "response"),
            ("payment.created", "request"),
        ):
            line = tab.page.get_by_test_id("entry").filter(has_text=text).first
            await line.locator("summary").first.click()
            await expect(line.get_by_test_id(part).first).to_contain_text("LB-7")
        # An update keeps it, and a selection.
        words = tab.page.get_by_test_id("entry").nth(1).locator(".words")
        await words.evaluate("element => getSelection().selectAllChildren(element)")
        await tab.merchant.pay(payment, "telebirr", phone="0900000001")
        await tab.sees("status", "completed")
        await expect(line.get_by_test_id("request")).to_be_visible()
        assert await tab.page.evaluate("String(getSelection())") == "the shop created it"


async def test_the_facts_name_only_what_applied(tab: Tab) -> None:
    pairs = {"order": "LB-7"} | {f"name_{number}": "x" for number in range(4)}
    payment = await tab.merchant.create(metadata=pairs)
    await tab.merchant.pay(payment, "telebirr", phone="0900000001")
    await tab.open(f"payments/{payment['id']}")
    facts = tab.page.locator(".facts")
    await expect(facts).to_contain_text("telebirr-test-numbers")
    form = tab.page.get_by_test_id("apply-scenario")
    await form.get_by_role("combobox").select_option("refund")
    await form.get_by_role("button").click()
    await tab.sees("message", "changes only later webhooks, because the payment is completed")
    await expect(facts).not_to_contain_text("refund")
    await expect(facts.locator("dt:visible", has_text="name_")).to_have_count(2)
    await facts.get_by_text("2 more").click()
    await expect(facts.locator("dt:visible", has_text="name_")).to_have_count(4)


async def test_the_expiry_with_what_happened_is_one_click_away(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.open(f"payments/{payment['id']}")
    await tab.sees("scheduled", "if the customer does not pay")
    await tab.click("advance-to")
    await tab.sees("message", "expired")
    await expect(tab.page.locator(".on-lane").last).to_contain_text("no payment within 30 min")


async def test_a_failed_webhook_is_found_and_resent_in_three_clicks(open_tab: OpenTab) -> None:
    answers = replies(Reply(status=500), Reply())
    async with open_tab() as tab, tab.endpoint(answers):
        # Else the second attempt may be due before the resend.
        await tab.control("PUT", "/clock", {"frozen": True})
        payment = await tab.merchant.create()
        await tab.merchant.advance(0)
        await tab.open("payments")
        await tab.page.get_by_role("link", name=payment["id"][-8:]).click()
        failed = tab.page.locator(".sequence .failed")
        await failed.locator("summary").click()
        await failed.get_by_test_id("resend").click()
        marks = tab.page.locator(".sequence .left > details > summary .mark")
        await expect(marks).to_have_text(["500", "200"])
        # The line is still unfolded.
        await expect(tab.page.get_by_test_id("attempt").last).to_be_visible()
        await expect(failed).to_have_count(0)
