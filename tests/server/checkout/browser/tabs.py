"""Opens tabs of a browser at a checkout, and records their requests and errors."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Error, Page, Request, Response, expect

from emulator.settings import data_directory
from tests.server.checkout.browsing import REPOSITORY, Merchant

SCREENSHOTS = REPOSITORY / "artifacts" / "checkout"
LANGUAGES = ("en", "am")
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
CATALOGUES: dict[str, dict[str, str]] = {
    language: json.loads(
        (data_directory("templates") / "checkout" / f"{language}.json").read_text("utf-8")
    )
    for language in LANGUAGES
}


@dataclass(frozen=True, kw_only=True)
class Device:
    """The screen and the settings of a customer's browser."""

    width: int
    height: int
    has_script: bool = True
    language: str = "en"
    scale: float = 1

    def without_script(self) -> "Device":
        return replace(self, has_script=False)

    def speaking(self, language: str) -> "Device":
        return replace(self, language=language)

    def __str__(self) -> str:
        size = "phone" if self.width < 700 else "desktop"
        return f"{size}-{'script' if self.has_script else 'plain'}-{self.language}"


PHONE = Device(width=360, height=740)
DESKTOP = Device(width=1280, height=900)


@dataclass(kw_only=True)
class Record:
    """The requests and the logged errors of tabs."""

    requests: list[Request] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("request", self._on_request)
        page.on("response", self._on_response)
        page.on("console", self._on_console)
        page.on("pageerror", self._on_error)

    # Playwright takes no bound methods of built-in types, such as `requests.append`.
    def _on_request(self, request: Request) -> None:
        self.requests.append(request)

    def _on_response(self, response: Response) -> None:
        self.responses.append(response)

    def _on_console(self, message: ConsoleMessage) -> None:
        # Chromium explains with "info" what it has done, such as that it moved no focus.
        if message.type != "info":
            self.errors.append((message.text, message.location["url"]))

    def _on_error(self, error: Error) -> None:
        self.errors.append((str(error), ""))

    def unexpected(self) -> list[str]:
        """The errors, except those of pages with an error status, and of `excused` addresses."""
        refused = {answer.url for answer in self.responses if _is_refused_page(answer)}
        return [
            text
            for text, url in self.errors
            if url.partition("#")[0] not in refused
            if not any(part in url for part in self.excused)
        ]

    def strangers(self, *known: str) -> list[str]:
        """The requests to other hosts than the known ones."""
        return [r.url for r in self.requests if not r.url.startswith(known)]

    def opened(self) -> list[str]:
        """The addresses of the opened pages, in order."""
        return [request.url for request in self.requests if request.is_navigation_request()]


def _requests_status(request: Request) -> bool:
    return urlsplit(request.url).path.endswith("/status")


def _is_refused_page(answer: Response) -> bool:
    return answer.status in (403, 404, 410) and answer.request.is_navigation_request()


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A page at the checkout of a merchant."""

    page: Page
    merchant: Merchant
    device: Device
    record: Record

    def says(self, key: str, **values: str) -> str:
        """A text of the catalogue in the language of this customer."""
        return CATALOGUES[self.device.language][key].format_map(values)

    async def open(self, payment: dict[str, Any], rest: str = "") -> int:
        """Open the checkout of a payment and return the status; `rest` is added to the address."""
        response = await self.page.goto(payment["checkout_url"] + rest)
        assert response is not None
        return response.status

    async def begin(
        self, rest: str = "", *, paid_by: dict[str, str] | None = None, **order: Any
    ) -> dict[str, Any]:
        """Create a payment, submit it if `paid_by` is given, and open its checkout."""
        payment = await self.merchant.create(**order)
        if paid_by:
            await self.merchant.pay(payment, **paid_by)
        await self.open(payment, rest)
        return payment

    async def come_to_front(self) -> None:
        """Browsers draw a hidden tab only once a second."""
        await self.page.bring_to_front()

    async def click(self, *testids: str) -> None:
        for testid in testids:
            await self.page.get_by_test_id(testid).click()

    async def type_phone(self, phone: str) -> None:
        await self.page.get_by_label(self.says("phone_number")).fill(phone)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)

    async def sees(self, testid: str, text: str) -> None:
        await expect(self.page.get_by_test_id(testid)).to_have_text(text)

    async def reads(self, heading: str, reason: str | None = None) -> None:
        """The heading, and the sentence below it, by their keys in the catalogue."""
        await expect(self.page.locator("h1")).to_have_text(self.says(heading))
        shown = self.page.get_by_test_id("reason")
        if reason is None:
            await expect(shown).to_have_count(0)
        else:
            await expect(shown).to_have_text(self.says(reason))

    async def is_on(self, page: str, status: str | None = None) -> None:
        status_of = "" if status is None else f"[data-status={status}]"
        await expect(self.page.locator(f"main[data-page={page}]{status_of}")).to_have_count(1)

    @asynccontextmanager
    async def requests_status(self) -> AsyncIterator[None]:
        """The page requests the status during the block."""
        async with self.page.expect_request(_requests_status):
            yield

    @asynccontextmanager
    async def receives_change(self) -> AsyncIterator[None]:
        """The change in the block answers a request that the page has sent before it."""
        sent = [request for request in self.record.requests if _requests_status(request)]
        async with self.page.expect_response(lambda it: _requests_status(it.request)) as news:
            yield
        assert (await news.value).request in sent

    async def leaves_for(self, url: str) -> None:
        """The page ends up at an address of the shop: byte for byte, fragment included."""
        # Not `wait_for_url`: it fails where one navigation is given up for another one.
        await expect(self.page).to_have_url(re.compile(f"^{re.escape(url)}$"))
        path = url.removeprefix(self.merchant.shop.base).partition("#")[0]
        await expect(self.page.locator("h1")).to_have_text(path)

    async def another(self) -> "Tab":
        """One more tab of the same browser."""
        other = replace(self, page=await self.page.context.new_page())
        self.record.follow(other.page)
        return other


OpenTab = Callable[..., AbstractAsyncContextManager[Tab]]


class Windows:
    """The browser's windows: each tab has one of its own, with an empty cache."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    @asynccontextmanager
    async def tab(self, merchant: Merchant, device: Device = PHONE) -> AsyncIterator[Tab]:
        """Checks at the end that no page has logged an error or called another host."""
        record = Record()
        context = await self._browser.new_context(
            java_script_enabled=device.has_script,
            viewport={"width": device.width, "height": device.height},
            device_scale_factor=device.scale,
            reduced_motion="reduce",
            locale=device.language,
        )
        try:
            page = await context.new_page()
            record.follow(page)
            yield Tab(page=page, merchant=merchant, device=device, record=record)
        finally:
            await context.close()
        assert record.strangers(merchant.checkout, merchant.shop.base) == []
        assert record.unexpected() == []
