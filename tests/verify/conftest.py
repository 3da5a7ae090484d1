"""One emulator for all the runs of a module."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.verify.runs import Runs, running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runs() -> AsyncIterator[Runs]:
    async with running() as runs:
        yield runs
