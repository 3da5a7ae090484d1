"""Fixtures that every room's tests share, and how many processes they are run in."""

import os
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, settings

from tests.depth import usually
from tests.world import World, world

# What a test of arbitrary values does not say otherwise. A busy machine makes none of them fail.
settings.register_profile(
    "emulator",
    max_examples=usually(30, deep=100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("emulator")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: where one waits, for a browser perhaps, another goes on."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
async def emulator() -> AsyncIterator[World]:
    """The program with its defaults, a frozen clock and a seed."""
    async with world() as emulator:
        yield emulator
