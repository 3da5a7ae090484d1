"""One emulator for all runs of a test process."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.tools.verify.runs import Runs, new_runs


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def runs() -> AsyncIterator[Runs]:
    async with new_runs() as runs:
        yield runs
