"""One emulator, one shop and one Chromium for all modules of this package."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.server.checkout import browser_fixtures
from tests.server.checkout.browsing import Emulator
from tests.server.dashboard.browser.tabs import OpenTab, Tab, Tabs

shop, server, chromium = browser_fixtures.shop, browser_fixtures.server, browser_fixtures.chromium


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    browser_fixtures.prepare(items, Path(__file__).parent, pytest.mark.deep)


@pytest.fixture
def open_tab(server: Emulator, chromium: Browser) -> OpenTab:
    """Opens a tab of a new account."""
    return Tabs(server=server, browser=chromium).open


@pytest_asyncio.fixture(loop_scope="package")
async def tab(request: pytest.FixtureRequest, open_tab: OpenTab) -> AsyncIterator[Tab]:
    """A tab of a new account; see `in_every_look`."""
    async with open_tab(*getattr(request, "param", ())) as tab:
        yield tab
