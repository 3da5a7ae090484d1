"""One emulator, one shop and one Chromium for all modules of this package."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.server.checkout import browser_fixtures
from tests.server.checkout.browser.tabs import OpenTab, Tab, Windows
from tests.server.checkout.browsing import Emulator, Merchant

shop, server, chromium = browser_fixtures.shop, browser_fixtures.server, browser_fixtures.chromium


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The default lane has two flows of `test_outcomes` only."""
    directory = Path(__file__).parent
    browser_fixtures.prepare(items, directory)
    for item in items:
        if item.path.parent == directory and item.path.name != "test_outcomes.py":
            item.add_marker(pytest.mark.deep)


@pytest.fixture(scope="package")
def windows(chromium: Browser) -> Windows:
    return Windows(chromium)


@pytest_asyncio.fixture(loop_scope="package")
async def merchant(server: Emulator) -> Merchant:
    return await server.merchant("Abeba Coffee")


@pytest.fixture
def open_tab(windows: Windows, merchant: Merchant) -> OpenTab:
    """Opens a tab on a device, at the checkout of the test's own merchant."""
    return partial(windows.tab, merchant)


@pytest_asyncio.fixture(loop_scope="package")
async def customer(open_tab: OpenTab) -> AsyncIterator[Tab]:
    """On a phone, in English, with JavaScript."""
    async with open_tab() as customer:
        yield customer
