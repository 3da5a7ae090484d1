"""Fixtures that every room's tests share."""

from collections.abc import AsyncIterator

import pytest

from tests.world import World, world


@pytest.fixture
async def emulator() -> AsyncIterator[World]:
    """The program with its defaults, a frozen clock and a seed."""
    async with world() as emulator:
        yield emulator
