"""Configures hypothesis and the number of processes, and defines fixtures for all tests."""

import gc
import os
import sys
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.cli.processes import Server, serving
from tests.depth import IS_DEEP, usually
from tests.world import World, world

# pytest's rewritten modules, and those of the processes that tests start, load three times as fast
# when they are compiled once.
sys.dont_write_bytecode = False
# Modules and tests are no garbage: the usual 700 lead to thousands of searches in vain.
gc.set_threshold(20_000)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# The default lane has the same examples in every run, so that only a change makes a test fail; the
# slow lane draws new ones. No deadline: on a busy machine a test would miss it.
settings.register_profile(
    "emulator",
    max_examples=usually(10, deep=60),
    derandomize=not IS_DEEP,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("emulator")

# The tests that take a minute and more, and files that take seconds. They run first, so that at the
# end no process waits for one of them.
LONG_TESTS = ("[queue-33]", "[laravel]", "[the control API]")
LONG_FILES = (
    "tests/tools/explore/test_command.py",
    "tests/tools/explore/test_waiting.py",
    "tests/tools/explore/test_found_bugs.py",
    "tests/tools/explore/test_any_shop.py",
    "tests/tools/explore/test_correct_shops.py",
    "tests/interop/test_schemathesis.py",
    "tests/tools/verify/test_drift.py",
    "tests/server/checkout/browser/",
    "tests/cli/test_mistakes.py",
    "tests/tools/replay/test_command.py",
    "tests/tools/rehearse/",
    "tests/pytest_plugin/test_runs.py",
)


def pytest_xdist_auto_num_workers() -> int:
    # One more than cores, because some tests wait for processes that they start.
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(
        key=lambda item: (
            not item.nodeid.endswith(LONG_TESTS),
            not item.nodeid.startswith(LONG_FILES),
        )
    )


def pytest_collection_finish() -> None:
    """Exclude modules and tests from the collections of garbage that follow."""
    gc.freeze()


@pytest.fixture
async def emulator() -> AsyncIterator[World]:
    """The program with its defaults, a frozen clock and a seed."""
    async with world() as emulator:
        yield emulator


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A process of the program with its defaults, which the tests of a module share."""
    with serving(logs=tmp_path_factory.mktemp("logs")) as server:
        yield server
