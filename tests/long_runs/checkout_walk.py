"""Random steps of a customer through the checkout of one payment, in one or two tabs."""

import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.async_api import expect

from tests.long_runs.walk_steps import Steps, read, shown
from tests.server.checkout.browser.tabs import (
    CATALOGUES,
    DESKTOP,
    LANGUAGES,
    PHONE,
    Tab,
    Windows,
)
from tests.server.checkout.browser_fixtures import MAX_WAIT_MS
from tests.server.checkout.browsing import Merchant
from tests.world import METHODS, headers

PHONES = ("0911223344", "+251 711 223344", "0900000001", "0900000003", "12", "", "٠٩١١")
AMOUNTS = (100, 12_345, 15_000, 123_450, 99_999_999, 2**53 - 1)
ANSWERS = ("approve", "cancel", "wrong_pin", "insufficient_balance", "decline")
# The pages that a payment in each status can have, when it has settled.
_OPEN = "main:is([data-page=choose], [data-page=method-form], [data-page=bank-choice])"
_SHOP = "html:not(:has(main)) h1"
PAGES = {
    "pending": _OPEN,
    "processing": "main:is([data-page=waiting], [data-page=bank])",
    **{
        status: f"main[data-page=result][data-status={status}]"
        for status in ("completed", "failed", "expired", "refunded")
    },
}
_FINAL = ("completed", "failed", "expired")
_MONEY = re.compile(r"\d[\d,]*\.\d\d\b")


@dataclass(kw_only=True)
class CheckoutWalk:
    """One payment, and the tabs in which it is open."""

    steps: Steps
    tabs: list[Tab]
    payment: dict[str, Any]
    at: int = 0

    @property
    def tab(self) -> Tab:
        return self.tabs[self.at]

    async def step(self) -> None:
        draw, before = self.steps.draw, [tab.page.url for tab in self.tabs]
        languages = [await _language(tab) for tab in self.tabs]
        kind = draw.choices(
            ("click", "history", "open", "tab", "time", "elsewhere"), (70, 12, 4, 5, 6, 3)
        )[0]
        await getattr(self, f"_{kind}")()
        # A click keeps the language of the page; the link to the other one names it.
        keeps = kind == "click" and not self.steps.trail[-1].endswith(LANGUAGES)
        await self.settle(before, languages if keeps else [None] * len(self.tabs))

    async def _click(self) -> None:
        page = self.tab.page
        control = await self.steps.control(page)
        if control is None:
            await self._history()
            return
        phone = page.get_by_test_id("phone")
        if control["tag"] == "input" or (control["name"] == "pay" and await phone.count()):
            number = self.steps.draw.choice(PHONES)
            self.steps.note(f"fill {number}")
            await phone.fill(number)
        if control["tag"] != "input":
            await self.steps.click(page, control)

    async def _history(self) -> None:
        await self.steps.history(self.tab.page)

    async def _open(self) -> None:
        rest = self.steps.draw.choice(("", "", "/wait", "/bank", "?method=telebirr", "?lang=am"))
        self.steps.note(f"open {rest}")
        await self.tab.page.goto(self.payment["checkout_url"] + rest, wait_until="commit")

    async def _tab(self) -> None:
        self.at = 1 - self.at if len(self.tabs) > 1 else 0
        if len(self.tabs) == 1:
            self.tabs.append(await self.tab.another())
            self.steps.follow(self.tabs[1].page)
            self.at = 1
            await self._open()
        self.steps.note(f"tab {self.at}")
        await self.tab.come_to_front()

    async def _time(self) -> None:
        seconds = self.steps.draw.choice((1, 12, 30, 300, 1800))
        self.steps.note(f"advance {seconds}")
        await self.tab.merchant.advance(seconds)

    async def _elsewhere(self) -> None:
        """A change that a script or the simulated phone makes; it may be refused."""
        name, value = self.steps.draw.choice(
            [*(("answer", each) for each in ANSWERS), ("transition", "failed"), ("cancel", "")]
        )
        body = {} if name == "cancel" else {{"transition": "status"}.get(name, name): value}
        merchant = self.tab.merchant
        path = f"/_emulator/payments/{self.payment['id']}/{name}"
        response = await merchant.api.post(path, json=body, headers=headers(merchant.key))
        self.steps.note(f"{name} {value}: {response.status_code}")
        assert response.status_code < 500, response.text

    async def settle(self, before: list[str], languages: list[str | None]) -> None:
        """Every tab shows the payment as it is, and it was paid at most once."""
        merchant = self.tab.merchant
        timeline = await merchant.timeline(self.payment)
        assert timeline.count("processing") <= 1, timeline
        assert sum(timeline.count(status) for status in _FINAL) <= 1, timeline
        for tab, url, language in zip(self.tabs, [*before, ""], [*languages, None], strict=False):
            await self._is_settled(tab, timeline[-1], url, language)
        self.steps.has_no_errors(self.tab.record)

    async def _is_settled(self, tab: Tab, status: str, before: str, kept: str | None) -> None:
        page, shop = tab.page, tab.merchant.shop
        place = page.locator(f"{PAGES[status]}, {_SHOP}")
        await expect(place).to_have_count(1, timeout=MAX_WAIT_MS)
        if page.url.startswith(shop.base):
            # Where the shop was shown before, the payment may have changed since.
            if not before.startswith(shop.base) and not page.url.endswith("/cart"):
                paid = status in ("completed", "refunded")
                assert page.url == (shop.success_url if paid else shop.cancel_url), page.url
                assert status != "processing"
            return
        found = await shown(page)
        minor = {
            int(re.sub(r"\D", "", each))
            for _, text in found["texts"]
            for each in _MONEY.findall(text)
        }
        assert minor <= {self.payment["amount"]}, (minor, self.payment["amount"])
        assert minor or status == "expired", found["texts"]
        language = parse_qs(urlsplit(page.url).query).get("lang", [kept or tab.device.language])[0]
        assert found["language"] == language, (found["language"], language)
        own, other = (_texts(each) for each in (language, *(set(LANGUAGES) - {language})))
        wrong = [
            text
            for marked, text in found["texts"]
            if marked == language and other.fullmatch(text) and not own.fullmatch(text)
        ]
        assert not wrong, ("in the other language", wrong)


def _texts(language: str) -> re.Pattern[str]:
    """Matches a text of a catalogue, whatever its placeholders contain."""
    texts = {" ".join(text.split()) for text in CATALOGUES[language].values()}
    patterns = (re.sub(r"\\\{\w+\\\}", ".+", re.escape(text)) for text in texts)
    return re.compile("|".join(sorted(patterns)))


async def _language(tab: Tab) -> str | None:
    """The language of the page, if it is one of the checkout."""
    is_page = await tab.page.locator("main[data-page]").count()
    return str(await read(tab.page, "document.documentElement.lang")) if is_page else None


async def walk(steps: Steps, windows: Windows, merchant: Merchant, count: int) -> None:
    """Take some steps, and count the last status of the payment."""
    draw = steps.draw
    methods = draw.sample(METHODS, draw.randint(1, len(METHODS)))
    payment = await merchant.create(amount=draw.choice(AMOUNTS), methods=methods)
    device = draw.choice((PHONE, PHONE, replace(PHONE, width=320), DESKTOP))
    device = device.speaking(draw.choice(LANGUAGES))
    steps.note(f"{device}, {methods}, {payment['amount']}")
    async with windows.tab(merchant, device) as tab:
        steps.follow(tab.page)
        walk = CheckoutWalk(steps=steps, tabs=[tab], payment=payment)
        await tab.page.goto(f"{merchant.shop.base}/cart")
        await tab.open(payment)
        await walk.settle([""], [None])
        for _ in range(count):
            await walk.step()
    steps.counts[await merchant.status(payment)] += 1
