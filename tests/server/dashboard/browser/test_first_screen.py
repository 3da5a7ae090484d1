"""What the first screen shows, with a week of 200 payments and in an empty account."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.server.checkout.browser.tabs import Device
from tests.server.checkout.browsing import Emulator, Merchant
from tests.server.dashboard.browser.tabs import OpenTab, Tab, Tabs
from tests.server.webhooks.receiver import Reply, receiving, replies

PAYMENTS = 200
MAX_PAGE_BYTES = 90_000
MAX_AMOUNT_MINOR = 999_999_999_999
SIZES = {360: 740, 768: 1024, 960: 800, 1280: 800}
# The greatest distance of the diagram from the top, and the least number of lines or rows.
MAX_TOP_PX = {360: 520, 1280: 260}
MIN_LINES = {1280: 12}
MIN_ROWS = {360: 5, 768: 12, 960: 12, 1280: 12}
# The rows of a list, headings of groups included.
_ROWS = "[data-row], .group, .failures li"
LISTS = ("payments", "webhooks", "requests", "scenarios")

_WATCH_SHIFTS = """addEventListener("DOMContentLoaded", () => {
  window.shifts = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shifts += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
});"""
# What is wrong on the screen: what is wide, moved or cut, and the height of the header.
_WRONG = """() => {
  const box = (part) => part.getBoundingClientRect();
  const wrong = [];
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the screen");
  if (window.shifts) wrong.push(`moved: ${window.shifts}`);
  if (box(document.querySelector("header")).height > 120) wrong.push("a high header");
  const range = document.createRange();
  const visible = (selector) => [...document.querySelectorAll(selector)]
    .filter((each) => each.checkVisibility());
  // Whether a part of a text lies outside of the box around it, or of what hides the rest of it.
  const isCut = (node, from = 0, to = node.length) => {
    range.setStart(node, from);
    range.setEnd(node, to);
    const around = node.parentElement.closest("td, li, button, .button, .chip, dd, h1, .line-of");
    const { left, right, top, bottom } = box(around);
    return [...range.getClientRects()].some((text) => text.left < left - 1
      || text.right > right + 1 || (text.top < bottom && text.bottom > bottom + 4));
  };
  const texts = (part) => {
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) if (walker.currentNode.data.trim()) found.push(walker.currentNode);
    return found;
  };
  const whole = "main :is(.amount, .state, .order, .hooks, button, .button, .mark, .scenarios .id)";
  for (const part of visible(whole))
    for (const text of texts(part)) if (isCut(text)) wrong.push(`cut: ${text.data}`);
  // The ends of ids and of the addresses of endpoints differ.
  for (const part of visible("main :is(.id code, [data-row] .tail bdi, .requests .id code)")) {
    const text = texts(part).at(-1);
    if (isCut(text, Math.max(0, text.length - 8))) wrong.push(`cut: ${text.data}`);
  }
  for (const amount of visible(".amount"))
    if (box(amount).height > 45) wrong.push(`broken: ${amount.textContent}`);
  return wrong;
}"""
_VISIBLE = """(parts) => parts.map((part) => part.getBoundingClientRect())
  .filter((box) => box.height && box.bottom <= innerHeight).length"""


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def week(server: Emulator) -> AsyncIterator[tuple[Merchant, str]]:
    """An account with 200 payments of every kind, and the id of one with a long story."""
    merchant = await server.merchant("Lalibela Books")
    tab = Tab(page=None, merchant=merchant)  # type: ignore[arg-type]
    async with receiving(lambda _: Reply()) as good, receiving(replies(Reply(status=500))) as bad:
        for url in (good.url, bad.url, "http://127.0.0.1:9/warehouse/hooks/payments"):
            await tab.control("POST", "/webhook_endpoints", {"url": url})
        await tab.control("PUT", "/clock", {"frozen": True})
        await tab.control("PUT", "/deliveries/paused", {"paused": True})
        for number in range(PAYMENTS):
            amount = MAX_AMOUNT_MINOR if number % 9 == 0 else 12_345 + number
            order = f"LB-{number}" if number % 5 else f"LB-2026-11-27-Addis-Ababa-{number}"
            payment = await merchant.create(amount=amount, metadata={"order": order})
            if number % 4 == 1:
                await merchant.pay(payment, "telebirr", phone=f"090000000{1 + number % 2}")
            elif number % 4 == 2:
                await merchant.pay(payment, "telebirr", phone="0900000002")
            if number % 10 == 0:
                await tab.create(amount="15000")
        await merchant.advance(0)
        metadata = {"order": "LB-1201"} | {f"name_{n}": f"value {n} " * 3 for n in range(19)}
        payment = await merchant.create(amount=MAX_AMOUNT_MINOR, metadata=metadata)
        await merchant.pay(payment, "telebirr", phone="0911223344")
        for _ in range(2):
            await tab.call("GET", f"/v1/payments/{payment['id']}")
        await merchant.answer(payment, "approve")
        await merchant.advance(90)
        yield merchant, payment["id"]


@pytest.mark.parametrize("width", SIZES)
async def test_the_first_screen_shows_what_a_person_looks_for(
    week: tuple[Merchant, str], server: Emulator, chromium: Browser, width: int
) -> None:
    merchant, payment = week
    device = Device(width=width, height=SIZES[width])
    async with Tabs(server=server, browser=chromium).open(device, merchant=merchant) as tab:
        await tab.page.add_init_script(_WATCH_SHIFTS)
        # Those are of the whole emulator: other tests have sent some.
        await tab.control("DELETE", "/unauthorized")
        for path in LISTS:
            await tab.open(path)
            await tab.sees("stream-state", "connected")
            assert await tab.page.evaluate(_WRONG) == [], path
            visible = await tab.page.locator(_ROWS).evaluate_all(_VISIBLE)
            assert visible >= MIN_ROWS[width], path
            assert await tab.page.locator("#kinds .chip").count() > 1, path
        await tab.open(f"payments/{payment}")
        await tab.sees("stream-state", "connected")
        assert await tab.page.evaluate(_WRONG) == []
        box = await tab.page.locator(".lanes").bounding_box()
        assert box is not None
        assert box["y"] < MAX_TOP_PX.get(width, device.height)
        visible = await tab.page.locator(".sequence li").evaluate_all(_VISIBLE)
        assert visible >= MIN_LINES.get(width, 0)
        assert len((await tab.page.content()).encode()) < MAX_PAGE_BYTES
        await tab.is_accessible_and_fits()


@pytest.mark.parametrize("width", SIZES)
async def test_an_empty_account_fits_every_screen(open_tab: OpenTab, width: int) -> None:
    async with open_tab(Device(width=width, height=SIZES[width])) as tab:
        await tab.page.add_init_script(_WATCH_SHIFTS)
        for path in LISTS:
            await tab.open(path)
            await tab.sees("stream-state", "connected")
            assert await tab.page.evaluate(_WRONG) == [], path
        await tab.open("payments")
        await tab.counts("step", 3)
        assert await tab.page.get_by_test_id("step").evaluate_all(_VISIBLE) >= (width > 700)
