"""A customer's browser: how it is opened, what is done in it, and that it kept quiet."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    Response,
    expect,
)

from emulator.settings import data_directory
from tests.checkout.browsing import REPOSITORY, Merchant

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
    """What a customer holds in their hands, and how it is set up."""

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
    """What tabs asked for, and what they complained about."""

    pages: list[Page] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    complaints: list[tuple[str, str]] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        self.pages.append(page)
        page.on("request", self._ask)
        page.on("response", self._receive)
        page.on("console", self._hear)
        page.on("pageerror", self._fail)

    def forget(self, page: Page) -> None:
        page.remove_listener("request", self._ask)
        page.remove_listener("response", self._receive)
        page.remove_listener("console", self._hear)
        page.remove_listener("pageerror", self._fail)

    # Playwright takes no bound methods of built-in types, such as `requests.append`.
    def _ask(self, request: Request) -> None:
        self.requests.append(request)

    def _receive(self, response: Response) -> None:
        self.responses.append(response)

    def _hear(self, message: ConsoleMessage) -> None:
        self.complaints.append((message.text, message.location["url"]))

    def _fail(self, error: Error) -> None:
        self.complaints.append((str(error), ""))

    def unexpected(self) -> list[str]:
        """Every complaint, but for those of pages that come with an error status themselves.

        What a test makes fail by itself is `excused`, by a part of its address.
        """
        refused = {answer.url for answer in self.responses if _is_refused_page(answer)}
        return [
            text
            for text, url in self.complaints
            if url not in refused and not any(part in url for part in self.excused)
        ]

    def strangers(self, *known: str) -> list[str]:
        """What was asked of anybody but the known hosts."""
        return [r.url for r in self.requests if not r.url.startswith(known)]

    def opened(self) -> list[str]:
        """The addresses that pages were asked for at, in order."""
        return [request.url for request in self.requests if request.is_navigation_request()]


def _asks_for_news(request: Request) -> bool:
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
        """What a text of the catalogue is in the language of this customer."""
        return CATALOGUES[self.device.language][key].format_map(values)

    async def open(self, payment: dict[str, Any], rest: str = "") -> int:
        """Open the checkout of a payment, `rest` is what follows in the address: the status."""
        response = await self.page.goto(payment["checkout_url"] + rest)
        assert response is not None
        return response.status

    async def come_to_front(self) -> None:
        """A tab that is behind another one is drawn but once a second."""
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
        told = self.page.get_by_test_id("reason")
        if reason is None:
            await expect(told).to_have_count(0)
        else:
            await expect(told).to_have_text(self.says(reason))

    async def is_on(self, page: str, status: str | None = None) -> None:
        status_of = "" if status is None else f"[data-status={status}]"
        await expect(self.page.locator(f"main[data-page={page}]{status_of}")).to_have_count(1)

    @asynccontextmanager
    async def asks(self) -> AsyncIterator[None]:
        """Meanwhile the page asks for news."""
        async with self.page.expect_request(_asks_for_news):
            yield

    @asynccontextmanager
    async def hears(self) -> AsyncIterator[None]:
        """What happens meanwhile answers a question that the page asked before: it is told at once.

        A page that asks from time to time would ask again first.
        """
        asked = [request for request in self.record.requests if _asks_for_news(request)]
        async with self.page.expect_response(lambda it: _asks_for_news(it.request)) as news:
            yield
        assert (await news.value).request in asked

    async def leaves_for(self, url: str) -> None:
        """The page ends up at an address of the shop: byte for byte, fragment included."""
        # Not `wait_for_url`: it fails where one navigation is given up for another one.
        await expect(self.page).to_have_url(re.compile(f"^{re.escape(url)}$"))
        asked = url.removeprefix(self.merchant.shop.base).partition("#")[0]
        await expect(self.page.locator("h1")).to_have_text(asked)

    async def another(self) -> "Tab":
        """One more tab of the same browser."""
        other = replace(self, page=await self.page.context.new_page())
        self.record.follow(other.page)
        return other


OpenTab = Callable[..., AbstractAsyncContextManager[Tab]]


class Windows:
    """The browser's windows, one for each kind of device, each with a tab that is used again.

    A tab of its own for every test would cost as much as three pages do, and a window twice that.
    The pages keep nothing in the browser but the files that never change. A test for which they
    matter, or which changes the tab itself, asks for a `cold` one.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: dict[Device, BrowserContext] = {}
        self._idle: dict[Device, Page] = {}

    @asynccontextmanager
    async def tab(
        self, merchant: Merchant, device: Device = PHONE, *, is_cold: bool = False
    ) -> AsyncIterator[Tab]:
        """A quiet tab; by its end it must not have complained, nor gone anywhere else."""
        record = Record()
        page = await (self._cold(device) if is_cold else self._kept(device))
        record.follow(page)
        known = (merchant.checkout, merchant.shop.base)
        has_ended_well = False
        try:
            yield Tab(page=page, merchant=merchant, device=device, record=record)
            has_ended_well = record.strangers(*known) == []
        finally:
            for other in record.pages[1:]:
                await other.close()
            if is_cold:
                await page.context.close()
            elif (
                has_ended_well
                and device not in self._idle
                and await self._rest(page, merchant, record)
            ):
                self._idle[device] = page
            else:
                await page.close()
        assert record.strangers(*known) == []
        assert record.unexpected() == []

    async def _rest(self, page: Page, merchant: Merchant, record: Record) -> bool:
        """Leave the checkout for a page that does nothing; whether it is there.

        It is not where the page was just about to leave by itself for somewhere else.
        """
        await page.unroute_all()
        try:
            if not page.url.startswith(merchant.shop.base):
                await page.goto(merchant.shop.base)
        except Error:
            return False
        record.forget(page)
        return True

    async def _kept(self, device: Device) -> Page:
        if device in self._idle:
            return self._idle.pop(device)
        if device not in self._contexts:
            self._contexts[device] = await self._open(device)
        return await self._contexts[device].new_page()

    async def _cold(self, device: Device) -> Page:
        return await (await self._open(device)).new_page()

    async def _open(self, device: Device) -> BrowserContext:
        return await self._browser.new_context(
            java_script_enabled=device.has_script,
            viewport={"width": device.width, "height": device.height},
            device_scale_factor=device.scale,
            reduced_motion="reduce",
            locale=device.language,
        )
