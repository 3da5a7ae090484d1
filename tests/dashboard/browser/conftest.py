"""One emulator, one shop and one Chromium for all modules of this package."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.checkout.browsing import (
    CHROMIUM,
    Emulator,
    Merchant,
    Shop,
    running_chromium,
    running_emulator,
    running_shop,
)
from tests.dashboard.browser.screens import Screens
from tests.webhooks.receiver import Answer, Receiver, Reply, receiving
from tests.world import headers

HERE = Path(__file__).parent
MAX_WAIT_MS = 15_000
WIDTHS = {"phone": 360, "desktop": 1280}


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
    account: str
    base: str
    errors: list[str] = field(default_factory=list)

    async def open(self, path: str) -> None:
        sign = "&" if "?" in path else "?"
        await self.page.goto(f"{self.base}/_emulator/view/{path}{sign}account={self.account}")

    async def click(self, *testids: str) -> None:
        for testid in testids:
            await self.page.get_by_test_id(testid).first.click()

    async def sees(self, testid: str, text: str, *, first: bool = False) -> None:
        found = self.page.get_by_test_id(testid)
        await expect(found.first if first else found).to_contain_text(text)

    async def counts(self, testid: str, count: int) -> None:
        await expect(self.page.get_by_test_id(testid)).to_have_count(count)

    async def control(self, method: str, path: str, body: Any = None) -> Any:
        response = await self.merchant.api.request(
            method, f"/_emulator{path}", json=body, headers=headers(self.merchant.key)
        )
        assert response.is_success, response.text
        return response.json() if response.content else None

    async def has_no_overflow(self) -> None:
        assert await self.page.evaluate(_WIDER) == [], self.page.url


OpenTab = Callable[..., AbstractAsyncContextManager[Tab]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All share a loop, as one browser does not serve two; a missing one fails under `CI`."""
    is_excused = CHROMIUM is None and not os.environ.get("CI")
    excuse = pytest.mark.skipif(is_excused, reason="there is no chromium on this machine")
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(excuse)
            item.add_marker(pytest.mark.deep)
            item.add_marker(pytest.mark.asyncio(loop_scope="package"), append=False)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def shop() -> AsyncIterator[Shop]:
    async with running_shop() as shop:
        yield shop


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def server(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Emulator]:
    async with running_emulator(shop, tmp_path_factory.mktemp("emulator")) as server:
        yield server


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def chromium() -> AsyncIterator[Browser]:
    async with running_chromium() as browser:
        expect.set_options(timeout=MAX_WAIT_MS)
        yield browser


@pytest.fixture
def screens(server: Emulator, chromium: Browser) -> Screens:
    return Screens(server=server, browser=chromium)


@pytest.fixture
def open_tab(server: Emulator, chromium: Browser) -> OpenTab:
    """Opens a tab of a new account, whose clock is frozen; checks that no page logs an error."""

    @asynccontextmanager
    async def tab(width: int = 1280, scheme: Any = "light") -> AsyncIterator[Tab]:
        merchant = await server.merchant("Abeba Coffee")
        accounts = (await server.api.get("/_emulator/accounts")).json()["data"]
        context = await chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            permissions=["clipboard-read", "clipboard-write"],
            reduced_motion="reduce",
        )
        try:
            page = await context.new_page()
            base = str(server.api.base_url).rstrip("/")
            tab = Tab(page=page, merchant=merchant, account=accounts[0]["id"], base=base)
            page.on("pageerror", lambda error: tab.errors.append(str(error)))
            page.on("dialog", lambda dialog: dialog.accept())
            yield tab
            assert tab.errors == []
        finally:
            await context.close()

    return tab


@asynccontextmanager
async def endpoint(tab: Tab, answer: Answer | None = None) -> AsyncIterator[Receiver]:
    """A receiver that is an endpoint of the account."""
    async with receiving(answer or (lambda _: Reply())) as receiver:
        await tab.control("POST", "/webhook_endpoints", {"url": receiver.url})
        yield receiver
