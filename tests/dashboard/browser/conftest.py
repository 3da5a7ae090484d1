"""One emulator, one shop and one Chromium for all modules of this package."""

from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.checkout import browser_fixtures
from tests.checkout.browsing import Emulator
from tests.dashboard.browser.tabs import OpenTab, Tabs

shop, server, chromium = browser_fixtures.shop, browser_fixtures.server, browser_fixtures.chromium


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    browser_fixtures.prepare(items, Path(__file__).parent, pytest.mark.deep)


@pytest.fixture
def open_tab(server: Emulator, chromium: Browser) -> OpenTab:
    """Opens a tab of a new account."""
    return Tabs(server=server, browser=chromium).open
