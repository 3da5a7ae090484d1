"""Opens pages of the dashboard in Chromium, each on an account of its own."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.server.checkout.browser.axe import axe_findings, bring_axe
from tests.server.checkout.browser.tabs import DESKTOP, PHONE, SCHEMES, Device, Record, Scheme
from tests.server.checkout.browsing import Emulator, Merchant
from tests.server.webhooks.receiver import Answer, Receiver, Reply, receiving
from tests.world import headers, order

TABLET = Device(width=960, height=900)
# 1280 pixels with a zoom of 200 %.
ZOOMED = Device(width=640, height=450, scale=2)
# The same colours are on each device, and the same boxes in each colour scheme.
LOOKS = list(zip((PHONE, TABLET, DESKTOP, ZOOMED), (*SCHEMES, *SCHEMES), strict=True))
# The test has a tab on each device, two of them in each colour scheme.
in_every_look = pytest.mark.parametrize(
    "tab", LOOKS, ids=[f"{device.width}-{scheme}" for device, scheme in LOOKS], indirect=True
)
MARKUP = "</td></bdi></script><script>document.title='run'</script><img src=x onerror=alert(1)>"
HOSTILE = f"{MARKUP}\u202e\u0007" + "x" * 400
# Axe cannot decide about the contrast of texts on shapes of a drawing or below the window, nor
# about the order of headings while a live part is replaced.
UNDECIDED = ("incomplete color-contrast", "incomplete heading-order")


# A page is invisible until its scripts have run, so that no click or input comes before them.
_INVISIBLE_AT_FIRST = """const hide = () => {
  if (document.documentElement) document.documentElement.style.visibility = "hidden";
  return document.documentElement;
};
// The script may run before the page has an element.
if (!hide()) new MutationObserver((_, observer) => hide() && observer.disconnect())
  .observe(document, { childList: true });
addEventListener("DOMContentLoaded", () => document.documentElement.removeAttribute("style"));"""

# Whether what is unfolded has the parts of the pages that it shows.
_IS_LOADED = """() => ![...document.querySelectorAll("[data-load]")].some((part) =>
  part.hasAttribute("aria-busy") || (part.checkVisibility() && !part.firstChild))"""
# What lies beyond the right edge, if the page can be scrolled to it.
_WIDER = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > innerWidth)
    .map((element) => element.outerHTML.slice(0, 120))"""


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A page of the dashboard on the account of a merchant."""

    page: Page
    merchant: Merchant
    record: Record = field(default_factory=Record)
    dialogs: list[str] = field(default_factory=list)

    @property
    def api(self) -> httpx.AsyncClient:
        return self.merchant.api

    @property
    def base(self) -> str:
        return str(self.api.base_url).rstrip("/")

    async def open(self, path: str) -> None:
        path, sharp, fragment = path.partition("#")
        sign = "&" if "?" in path else "?"
        query = urlencode({"account": self.merchant.account})
        await self.page.goto(f"{self.base}/_emulator/view/{path}{sign}{query}{sharp}{fragment}")

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """A call of any API with the key of the account; its status may be any."""
        key = headers(self.merchant.key)
        response = await self.api.request(method, path, json=body, headers=key)
        return response.json() if response.content else None

    async def control(self, method: str, path: str, body: Any = None) -> Any:
        """A call of the control API that is accepted."""
        content = await self.call(method, f"/_emulator{path}", body)
        assert not content or "error" not in content, content
        return content

    async def create(self, **changes: Any) -> dict[str, Any]:
        """A call that creates a payment, or is refused."""
        return dict(await self.call("POST", "/v1/payments", order(**changes)))

    @asynccontextmanager
    async def endpoint(self, answer: Answer | None = None) -> AsyncIterator[Receiver]:
        """A receiver that is an endpoint of the account."""
        async with receiving(answer or (lambda _: Reply())) as receiver:
            await self.control("POST", "/webhook_endpoints", {"url": receiver.url})
            yield receiver

    async def click(self, *testids: str) -> None:
        for testid in testids:
            await self.page.get_by_test_id(testid).first.click()

    async def press(self, *keys: str) -> None:
        for key in keys:
            # The text of a page exists before its scripts have run.
            await self.page.wait_for_load_state()
            await self.page.keyboard.press(key)

    async def sees(self, testid: str, text: str) -> None:
        await expect(self.page.get_by_test_id(testid).first).to_contain_text(text)

    async def counts(self, testid: str, count: int) -> None:
        await expect(self.page.get_by_test_id(testid)).to_have_count(count)

    async def copies(self, testid: str) -> str:
        """The text that a button copies."""
        # A click before may load the page of the button, and a navigation ends each script.
        await self.page.get_by_test_id(testid).first.wait_for()
        message = self.page.locator("[data-message]")
        await message.evaluate("(element) => { element.textContent = '' }")
        await self.click(testid)
        await self.sees("message", "Copied.")
        return str(await self.page.evaluate("navigator.clipboard.readText()"))

    async def downloads(self, testid: str) -> tuple[str, str]:
        """The name and the text of the file that a link downloads."""
        async with self.page.expect_download() as downloading:
            await self.click(testid)
        download = await downloading.value
        return download.suggested_filename, (await download.path()).read_text("utf-8")

    async def is_accessible_and_fits(self) -> None:
        """Everything is unfolded; no text of a merchant has run."""
        unfold = "for (const each of document.querySelectorAll('main details')) each.open = true"
        await self.page.evaluate(unfold)
        await self.page.wait_for_function(_IS_LOADED)
        await bring_axe(self.page)
        findings = await axe_findings(self.page)
        found = [each for each in findings if not each.startswith(UNDECIDED)]
        found += await self.page.evaluate(_WIDER)
        found += self.dialogs
        assert not found, (self.page.url, found)
        assert await self.page.title() != "run"


OpenTab = Callable[..., AbstractAsyncContextManager[Tab]]


@dataclass(frozen=True, kw_only=True)
class Tabs:
    """An emulator and a browser."""

    server: Emulator
    browser: Browser

    @asynccontextmanager
    async def open(
        self,
        device: Device = DESKTOP,
        scheme: Scheme = "light",
        *,
        excused: str = "-",
        merchant: Merchant | None = None,
    ) -> AsyncIterator[Tab]:
        """A tab of a new account, whose clock is frozen. Dialogs are accepted.

        Checks at the end that no page has logged an error or called another host. The errors of
        requests to addresses with `excused` are not checked.
        """
        merchant = merchant or await self.server.merchant("Abeba <b>Coffee\u202e" + "W" * 80)
        context = await self.browser.new_context(
            viewport={"width": device.width, "height": device.height},
            color_scheme=scheme,
            device_scale_factor=device.scale,
            java_script_enabled=device.has_script,
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
        )
        try:
            if device.has_script:
                await context.add_init_script(_INVISIBLE_AT_FIRST)
            page = await context.new_page()
            tab = Tab(page=page, merchant=merchant, record=Record(excused=[excused]))
            tab.record.follow(page)

            async def accept(dialog: Any) -> None:
                tab.dialogs.append(dialog.message)
                await dialog.accept()

            page.on("dialog", accept)
            yield tab
        finally:
            await context.close()
        known = (tab.base, merchant.checkout, merchant.shop.base)
        unexpected = tab.record.strangers(*known) + tab.record.unexpected()
        assert not unexpected, unexpected
