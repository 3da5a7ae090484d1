"""The fixtures of tests in Chromium; a package assigns them in its conftest and has its own.

pytest takes an imported hook too, so that only `prepare` is imported by name.
"""

import os
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.server.checkout.browsing import (
    CHROMIUM,
    Emulator,
    Shop,
    running_chromium,
    running_emulator,
    running_shop,
)

MAX_WAIT_MS = 60_000


def prepare(items: Iterable[pytest.Item], directory: Path, *markers: pytest.MarkDecorator) -> None:
    """All share a loop, as one browser does not serve two; a missing one fails under `CI`."""
    is_excused = CHROMIUM is None and not os.environ.get("CI")
    excuse = pytest.mark.skipif(is_excused, reason="there is no chromium on this machine")
    for item in items:
        if item.path.parent == directory:
            for marker in (excuse, *markers):
                item.add_marker(marker)
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
