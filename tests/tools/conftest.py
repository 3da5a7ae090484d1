"""One private emulator for all scripts of a test process."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.tools.replay.player import Player, new_player


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def player() -> AsyncIterator[Player]:
    async with new_player() as player:
        yield player
