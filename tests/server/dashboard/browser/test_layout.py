"""Where things are on the screen, on paper, and without a script."""

import pytest
from playwright.async_api import expect

from emulator.server.dashboard.app import SECTIONS
from tests.server.checkout.browser.tabs import DESKTOP, PHONE, Device
from tests.server.dashboard.browser.tabs import TABLET, OpenTab, Tab, in_every_look
from tests.server.webhooks.receiver import Reply, receiving, replies

MAX_HEADER_PX = 120
# The height of the header, and what of it lies beyond the window, is cut or is on something else.
_HEADER = """() => {
  const nav = document.querySelector("nav");
  const parts = "a:not(.skip, nav a), button, select, time, summary, [data-state]";
  const shown = [...document.querySelector("header").querySelectorAll(parts)]
    .filter((each) => each.checkVisibility() && !each.closest(".menu > div"));
  const boxes = shown.map((each) => each.getBoundingClientRect());
  const meet = (one, other) => one.left < other.right - 1 && other.left < one.right - 1
    && one.top < other.bottom - 1 && other.top < one.bottom - 1;
  const wrong = shown.filter((each, at) => boxes[at].left < 0 || boxes[at].right > innerWidth
    || boxes.some((other, index) => index !== at && meet(boxes[at], other)));
  if (nav.scrollWidth > nav.clientWidth) wrong.push(nav);
  return [document.querySelector("header").getBoundingClientRect().height, shown.length,
    wrong.map((each) => each.outerHTML.slice(0, 100))];
}"""
_HIGHEST_ROW = """() => Math.max(...[...document.querySelectorAll("[data-row]")]
  .map((row) => row.getBoundingClientRect().height))"""
# The results and causes that are cut, or outside of their cells.
_CUT = """(rows) => rows.flatMap((row) => [...row.querySelectorAll(".cause, .results, .chip")])
  .filter((part) => part.checkVisibility()).filter((part) => {
    const [box, cell] = [part, part.closest("td")].map((each) => each.getBoundingClientRect());
    const row = part.closest("tr").getBoundingClientRect();
    const around = cell.width ? cell : row;
    return part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight
      || box.left < around.left || box.right > around.right || box.bottom > around.bottom;
  }).map((part) => part.textContent)"""
# What unfolds to nothing, the columns without a text, and the sections with only a heading.
_EMPTY = """() => {
  for (const each of document.querySelectorAll("main details")) each.open = true;
  const shown = (selector) => [...document.querySelectorAll(`main ${selector}`)]
    .filter((each) => each.checkVisibility());
  const rest = (each, part) =>
    each.innerText.replace(each.querySelector(part)?.innerText, "").trim();
  const columns = shown("th").filter((head) => ![...head.closest("table").tBodies[0].rows]
    .some((row) => row.cells[head.cellIndex]?.innerText.trim()));
  return [...shown("details").filter((each) => !rest(each, "summary")), ...columns,
    ...shown("section").filter((each) => !rest(each, "h2"))].map((each) => each.innerText);
}"""
# The URLs whose last characters are not visible.
_WITHOUT_ENDS = """(tails) => tails.filter((tail) => {
  const text = tail.querySelector("bdi").firstChild, range = document.createRange();
  range.setStart(text, text.length - 12);
  range.setEnd(text, text.length);
  return range.getBoundingClientRect().left < tail.getBoundingClientRect().left - 1;
}).map((tail) => tail.textContent)"""


@in_every_look
async def test_the_header_of_each_page_is_low_and_complete(tab: Tab) -> None:
    await tab.merchant.create()
    for path in (*SECTIONS, "payments/latest", "search"):
        await tab.open(path)
        await tab.sees("stream-state", "connected")
        height, count, wrong = await tab.page.evaluate(_HEADER)
        assert height <= MAX_HEADER_PX, path
        assert count >= 10, path
        assert not wrong, (path, wrong)
    # Its longest texts.
    await tab.control("PUT", "/clock", {"rate": 99999})
    await tab.control("PUT", "/deliveries/paused", {"paused": True})
    await tab.sees("stream-state", "deliveries paused")
    height, _, wrong = await tab.page.evaluate(_HEADER)
    assert (height <= MAX_HEADER_PX, wrong) == (True, [])
    await tab.click("menu")
    await tab.is_accessible_and_fits()
    await tab.press("Escape")
    await expect(tab.page.get_by_test_id("reset-account")).to_be_hidden()


async def test_a_row_of_each_list_has_at_most_two_lines_and_an_action(open_tab: OpenTab) -> None:
    # A cause of a failed delivery has one or two lines of its own.
    for device, height, payment_height in ((PHONE, 100, 64), (TABLET, 84, 44)):
        async with open_tab(device) as tab:
            await tab.control(
                "POST", "/webhook_endpoints", {"url": "http://127.0.0.1:9/" + "x" * 300}
            )
            await tab.create(amount=1)
            await tab.merchant.create(metadata={"order": "1", "note": "injera basket " * 9})
            await tab.merchant.advance(0)
            for path in ("webhooks", "requests", "scenarios", "payments"):
                await tab.open(path)
                highest = await tab.page.evaluate(_HIGHEST_ROW)
                assert highest <= (payment_height if path == "payments" else height), (path, device)
            # What is cut ends with a sign.
            cell = tab.page.locator("[data-row] .id").first
            await expect(cell).to_have_css("text-overflow", "ellipsis")


@pytest.mark.parametrize("device", [PHONE, TABLET, DESKTOP], ids=str)
async def test_a_failed_delivery_shows_its_cause_and_its_endpoint(
    open_tab: OpenTab, device: Device
) -> None:
    async with open_tab(device) as tab, receiving(lambda _: Reply(status=500)) as receiver:
        for path in ("fail/hooks/payments", "webhooks"):
            url = receiver.url.replace("hook", path)
            await tab.control("POST", "/webhook_endpoints", {"url": url})
        await tab.merchant.create()
        for seconds in (0, 1, 5, 15, 60):
            await tab.merchant.advance(seconds)
        await tab.open("webhooks?failing=true")
        rows = tab.page.get_by_test_id("delivery-row")
        await expect(rows).to_have_count(2)
        assert await rows.evaluate_all(_CUT) == []
        await expect(rows.first.locator(".mark").last).to_have_text("500 ×5")
        assert await tab.page.locator(".tail:visible").evaluate_all(_WITHOUT_ENDS) == []
        await tab.page.get_by_text("Filters").click()
        await tab.is_accessible_and_fits()


async def test_the_three_actions_of_a_retried_webhook_are_on_one_line(tab: Tab) -> None:
    async with tab.endpoint(lambda _: Reply(status=500)):
        await tab.merchant.create()
        await tab.merchant.advance(0)
        await tab.open("webhooks")
        buttons = tab.page.get_by_test_id("delivery-row").get_by_role("button")
        await expect(buttons).to_have_count(3)
        tops = "(buttons) => new Set(buttons.map((each) => each.getBoundingClientRect().top)).size"
        assert await buttons.evaluate_all(tops) == 1


async def test_times_are_spans_with_the_exact_instant(tab: Tab) -> None:
    await tab.merchant.create()
    await tab.merchant.advance(179)
    await tab.open("payments")
    created = tab.page.get_by_test_id("payment-row").locator("time")
    await expect(created).to_have_text("2 min ago")
    await expect(created).to_have_attribute("title", "2026-01-01 00:00:00.000 UTC")
    await tab.control("PUT", "/clock", {"rate": 60})
    await expect(created).to_have_text("3 min ago")
    await tab.sees("next-due", "min")


async def test_an_age_in_real_time_grows_while_the_clock_of_the_account_stands(tab: Tab) -> None:
    await tab.page.clock.install()
    await tab.api.get("/v1/payments", headers={"Authorization": "Bearer test_unknown"})
    await tab.open("requests")
    age = tab.page.locator("#unauthorized [data-span=real]").first
    await expect(age).not_to_have_text("2 min ago")
    await tab.page.clock.run_for(120_000)
    await expect(age).to_have_text("2 min ago")


async def test_forced_colours_show_the_present_page_and_the_diagram(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint(replies(Reply(status=500))):
        await tab.page.emulate_media(forced_colors="active")
        await tab.merchant.create()
        await tab.merchant.advance(0)
        for path in ("payments", "payments/latest", "checklist"):
            await tab.open(path)
            present = tab.page.locator("nav [aria-current]")
            await expect(present).to_have_css("outline-style", "solid")
            await tab.is_accessible_and_fits()
        black = "rgb(0, 0, 0)"
        await tab.open("payments/latest")
        head = "arrow => getComputedStyle(arrow, '::before').borderRightColor"
        failed = tab.page.locator(".left.failed .entry-text")
        assert await failed.evaluate(head) == black


async def test_a_printed_page_has_no_controls(tab: Tab) -> None:
    await tab.merchant.create()
    await tab.page.emulate_media(media="print")
    for path in ("payments", "payments/latest", "webhooks"):
        await tab.open(path)
        assert await tab.page.locator("header:visible, main button:visible").count() == 0
        await expect(tab.page.locator("h1")).to_be_visible()


async def test_pages_without_a_script_show_everything_and_no_dead_button(
    open_tab: OpenTab,
) -> None:
    async with open_tab(Device(width=960, height=900, has_script=False)) as tab, tab.endpoint():
        order = {"order": "7"}
        payment = await tab.merchant.create(metadata=order)
        await tab.merchant.advance(10)
        await tab.merchant.create(metadata=order)
        await tab.create(amount=1)
        for path in (*SECTIONS, "payments/latest", "scenarios/late-success"):
            await tab.open(path)
            await tab.sees("no-script", "Without JavaScript")
            dead = "[data-call]:visible, [data-copy]:visible, [data-copy-from]:visible"
            assert await tab.page.locator(dead).count() == 0, path
            assert await tab.page.evaluate(_EMPTY) == [], path
        await tab.open("payments")
        await tab.page.get_by_text("Filters").click()
        await tab.page.get_by_label("Created from").fill("2026-01-01T00:00:10Z")
        await tab.page.get_by_role("button", name="Filter").click()
        await tab.counts("payment-row", 1)
        # Fields that are empty are not in the address.
        address = f"payments?account={tab.merchant.account}&created_gte=2026-01-01T00%3A00%3A10Z"
        assert tab.page.url.endswith(address)
        await tab.click("open-search")
        await tab.page.get_by_test_id("search-again").fill(payment["id"][:14])
        await tab.press("Enter")
        await expect(tab.page.locator("h1")).to_contain_text(payment["id"])
        await tab.page.get_by_test_id("mode").select_option("live")
        await tab.page.get_by_role("button", name="Show").click()
        await tab.counts("empty", 1)
