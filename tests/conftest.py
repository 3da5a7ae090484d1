"""Fixtures that every room's tests share, and how many processes they are run in."""

import os
from collections.abc import AsyncIterator

import pytest

from tests.world import World, world


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: where one waits, for a browser perhaps, another goes on."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
async def emulator() -> AsyncIterator[World]:
    """The program with its defaults, a frozen clock and a seed."""
    async with world() as emulator:
        yield emulator
