"""One private emulator for all the scripts of a module."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.replay.stages import Plays, playing


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plays() -> AsyncIterator[Plays]:
    async with playing() as plays:
        yield plays
