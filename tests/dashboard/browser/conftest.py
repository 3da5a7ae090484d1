"""One emulator and one Chromium for all modules of this package."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.checkout.browsing import (
    CHROMIUM,
    running_chromium,
    running_emulator,
    running_shop,
)
from tests.dashboard.browser.screens import Screens

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
async def screens(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Screens]:
    logs = tmp_path_factory.mktemp("emulator")
    async with (
        running_shop() as shop,
        running_emulator(shop, logs) as server,
        running_chromium() as browser,
    ):
        expect.set_options(timeout=MAX_WAIT_MS)
        yield Screens(server=server, browser=browser)
