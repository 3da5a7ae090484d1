"""Random steps of a developer through the dashboard of one account."""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
from playwright.async_api import Response, expect

from emulator.server.dashboard.app import SECTIONS
from tests.long_runs.walk_steps import Steps, drawn, has_loaded, read, shown
from tests.server.checkout.browser.tabs import DESKTOP, PHONE, SCHEMES
from tests.server.checkout.browser_fixtures import MAX_WAIT_MS
from tests.server.dashboard.browser.tabs import TABLET, Tab, Tabs
from tests.server.webhooks.receiver import HANG_UP, Receiver, Reply, receiving

KEYS = ("Tab", "Tab", "Shift+Tab", "j", "k", "n", "/", "?", "Escape", "Enter", "ArrowDown")
TEXTS = (
    *("", "0911223344", "1", "abc", "2026-01-01 00:10:00", "60", "50", "completed", "4xx", "one"),
    *("my-scenario", "pay_", "injera", "http://127.0.0.1:9/hook", "ኢንጀራ"),
)
STATUSES = ("processing", "completed", "failed", "expired", "refunded")
# The page shows what a page that is loaded now shows. Of a clock that runs, of real time and of
# a pause, the time is not compared; a page of older items does not change.
# Returns what differs after the longest wait, and null as soon as nothing does.
_DIFFERENCE = """async () => {
  const until = performance.now() + %d;
  const text = (part, left) => {
    const copy = part.cloneNode(true);
    for (const each of copy.querySelectorAll(left)) each.remove();
    return copy.textContent.replace(/\\s+/g, " ");
  };
  const difference = async () => {
    const state = document.querySelector("[data-state]");
    if (document.readyState !== "complete" || document.querySelector("[aria-busy]")) return "busy";
    if (state.hidden || state.textContent.includes("reconnecting")) return "not connected";
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const isOlder = /[?&](before|after)=/.test(location.search);
    const runs = page.querySelector("[data-clock=flowing]") !== null;
    // The page of a payment does not follow the webhooks of the others.
    const isFollowed = !runs && !document.body.dataset.streamPayment;
    const times = runs ? "time" : "[data-span=real]";
    const left = `[data-testid=paused], ${times}${isFollowed ? "" : ", .next"}`;
    for (const part of page.querySelectorAll(isOlder ? "#account" : "[data-live]")) {
      const here = document.getElementById(part.id);
      if (!here || text(here, left) !== text(part, left))
        return [part.id, here && text(here, left), text(part, left)];
    }
    return null;
  };
  for (;;) {
    const found = await difference();
    if (found === null || performance.now() > until) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}"""
_LEAVES_FIELDS = """() => {
  if (document.activeElement.matches("input, select, textarea")) document.activeElement.blur();
  getSelection().empty();
}"""
# The payments that the page shows, each with its status and amount.
_PAYMENTS = """() => {
  const text = (part, name) => part.querySelector(name)?.textContent.trim();
  const rows = [...document.querySelectorAll("[data-testid=payment-row]")].map((row) =>
    [text(row, ".id"), text(row, "[data-testid=status]"), text(row, ".amount")]);
  const story = document.querySelector("#story");
  if (story) rows.push([text(story, "h1 code"), text(story, "h1 [data-testid=status]"),
    text(story, "[data-testid=amount]")]);
  return rows;
}"""


@dataclass(kw_only=True)
class DashboardWalk:
    """A page of the dashboard, and what happened on the account meanwhile."""

    steps: Steps
    tab: Tab
    receiver: Receiver

    async def step(self) -> None:
        seen = len(self.tab.record.responses)
        kind = self.steps.draw.choices(
            ("click", "history", "section", "key", "elsewhere"), (60, 10, 6, 10, 14)
        )[0]
        is_link = await getattr(self, f"_{kind}")()
        await self.settle(seen, is_link=bool(is_link))

    async def _click(self) -> bool:
        page, control = self.tab.page, await self.steps.control(self.tab.page)
        if control is None:
            return False
        if control["tag"] in ("input", "select", "textarea"):
            await self._fill(control)
        elif control["href"] and not control["href"].startswith(self.tab.base):
            await self._leave(control)
        else:
            await self.steps.click(page, control)
            return bool(control["href"]) and bool(control["loads"])
        return False

    async def _fill(self, control: dict[str, Any]) -> None:
        draw, element = self.steps.draw, await drawn(self.tab.page, control)
        self.steps.note(f"fill {control['name']}")
        self.steps.counts["fields"] += 1
        if control["tag"] == "select":
            count = await element.evaluate("each => each.options.length")
            await self.tab.page.evaluate("document.documentElement.dataset.walked = ''")
            index = draw.randrange(count)
            was = await element.evaluate("each => each.selectedIndex")
            await element.select_option(index=index)
            if control["submits"] and index != was:
                await has_loaded(self.tab.page)
        elif control["type"] in ("checkbox", "radio"):
            await element.click()
        else:
            text = draw.choice((*TEXTS, self.receiver.url))
            self.steps.note(repr(text))
            await element.fill("5" if control["type"] == "number" else text)
            if control["formCalls"] and draw.random() < 0.5:
                await element.press("Enter")

    async def _leave(self, control: dict[str, Any]) -> None:
        """A link to the checkout opens a window of its own, which shows the payment."""
        url = control["href"]
        self.steps.note(f"window {control['name']}")
        assert url.startswith(self.tab.merchant.checkout), url
        async with self.tab.page.context.expect_page() as opening:
            await (await drawn(self.tab.page, control)).click()
        window = await opening.value
        # The response with status 410 of an expired checkout may be there before it is followed.
        self.tab.record.excused.append(url)
        self.tab.record.follow(window)
        await expect(window.locator("main[data-page]")).to_have_count(1)
        assert "problem" not in str(await window.locator("main").get_attribute("data-page")), url
        await window.close()

    async def _history(self) -> None:
        await self.steps.history(self.tab.page)

    async def _section(self) -> None:
        path = self.steps.draw.choice((*SECTIONS, "payments/latest", "search"))
        self.steps.note(f"open {path}")
        await self.tab.open(path)

    async def _key(self) -> None:
        keys = [self.steps.draw.choice(KEYS) for _ in range(self.steps.draw.randint(1, 4))]
        self.steps.note(f"press {' '.join(keys)}")
        self.steps.counts["keys"] += len(keys)
        for key in keys:
            # "Enter" may load a page; the next key is pressed on the page that is there then.
            await self.tab.page.keyboard.press(key)

    async def _elsewhere(self) -> None:
        """What the shop and its scripts do meanwhile; it may be refused."""
        draw = self.steps.draw
        payments = await self._payments("limit=20")
        payment = draw.choice([*payments, "pay_none"])
        pay = {"method": "telebirr", "phone": draw.choice(("0911223344", "0900000001"))}
        method, path, body = draw.choice(
            (
                ("POST", "/_emulator/clock/advance", {"seconds": draw.choice((1, 30, 900))}),
                ("POST", f"/_emulator/payments/{payment}/pay", pay),
                (
                    "POST",
                    f"/_emulator/payments/{payment}/transition",
                    {"status": draw.choice(STATUSES)},
                ),
                ("POST", "/v1/payments", {"amount": 1}),
                ("POST", "/_emulator/faults", {"then": {"drop": True}, "times": 1}),
                ("GET", f"/v1/payments/{payment}", None),
            )
        )
        self.steps.note(f"{method} {path} {body}")
        with suppress(httpx.TransportError):  # a fault that the walk has added
            await self.tab.call(method, path, body)
        if draw.random() < 0.5:
            await self._create()

    async def _create(self) -> None:
        amount = self.steps.draw.choice((100, 12_345, 99_999_999))
        with suppress(httpx.TransportError):
            await self.tab.create(amount=amount, metadata={"order": "injera"})

    async def settle(self, seen: int = 0, *, is_link: bool = False) -> None:
        page = self.tab.page
        # A field that is edited, a selected text and the row under the mouse stay as they are.
        await read(page, _LEAVES_FIELDS)
        await page.mouse.move(2, 2)
        await page.mouse.move(1, 1)
        await self._shows_payments()
        await self._says_refusals(self.tab.record.responses[seen:])
        found = await shown(page)
        problem = page.get_by_test_id("problem")
        if await problem.count():
            text = await problem.inner_text()
            assert text, page.url
            assert not is_link, (page.url, text)
        assert found["language"] == "en"
        self.steps.has_no_errors(self.tab.record)

    async def _says_refusals(self, responses: list[Response]) -> None:
        """The message of a call that was refused is on the page."""
        for response in responses:
            if response.status < 400 or response.request.is_navigation_request():
                continue
            assert response.status < 500, (response.url, response.status)
            path = urlsplit(response.url).path
            if path.startswith("/_emulator/view/"):
                # The page of an item that does not exist; it says so.
                await expect(self.tab.page.get_by_test_id("problem")).to_be_visible()
                continue
            self.tab.record.excused.append(response.url)
            self.steps.counts["refusals"] += 1
            error = (await response.json())["error"]["message"]
            self.steps.note(f"refused: {response.request.method} {path} {error}")
            await expect(self.tab.page.get_by_test_id("message")).to_contain_text(error)

    async def _shows_payments(self) -> None:
        """The statuses and the amounts are those of the payments."""
        payments = None
        while payments != (payments := await self._payments()):
            difference = await read(self.tab.page, _DIFFERENCE % MAX_WAIT_MS)
            assert difference is None, difference
            rows = await read(self.tab.page, _PAYMENTS)
        for payment_id, status, amount in rows:
            minor = int(re.sub(r"\D", "", amount))
            assert (status, minor) == payments[payment_id], (payment_id, payments[payment_id])

    async def _payments(self, query: str = "limit=100") -> dict[str, tuple[str, int]]:
        """The payments of the account of the page."""
        subject = await read(self.tab.page, "document.body.dataset.subject")
        path = f"/_emulator/payments?{subject}&{query}"
        content = (await self.tab.api.get(path)).json()
        return {each["id"]: (each["status"], each["amount"]) for each in content.get("data", ())}


async def walk(steps: Steps, tabs: Tabs, count: int) -> None:
    draw = steps.draw
    replies = [draw.choice((Reply(), Reply(), Reply(status=500), HANG_UP)) for _ in range(3)]
    answers = iter(replies * 1_000)
    device, scheme = draw.choice((PHONE, PHONE, TABLET, DESKTOP)), draw.choice(SCHEMES)
    steps.note(f"{device.width} px, {scheme}")
    async with (
        receiving(lambda _: next(answers)) as receiver,
        tabs.open(device, scheme, excused="/favicon") as tab,
    ):
        steps.follow(tab.page)
        walk = DashboardWalk(steps=steps, tab=tab, receiver=receiver)
        await tab.open("payments")
        if draw.random() < 0.8:
            await tab.control("POST", "/webhook_endpoints", {"url": receiver.url})
        for _ in range(draw.randint(0, 3)):
            await walk._create()
        await walk.settle()
        for _ in range(count):
            await walk.step()
