"""One emulator, one shop and one Chromium for all modules of this package."""

import os
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.checkout.browser.tabs import OpenTab, Tab, Windows
from tests.checkout.browsing import (
    CHROMIUM,
    Emulator,
    Merchant,
    Shop,
    running_chromium,
    running_emulator,
    running_shop,
)

HERE = Path(__file__).parent
MAX_WAIT_MS = 30_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All share a loop, as one browser does not serve two; a missing one fails under `CI`."""
    is_excused = CHROMIUM is None and not os.environ.get("CI")
    excuse = pytest.mark.skipif(is_excused, reason="there is no chromium on this machine")
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(excuse)
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
async def windows() -> AsyncIterator[Windows]:
    async with running_chromium() as browser:
        expect.set_options(timeout=MAX_WAIT_MS)
        yield Windows(browser)


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
