"""A walk through the dashboard."""

import asyncio
import os

import pytest

from tests.long_runs.walks import walked
from tests.server.checkout.browsing import CHROMIUM


@pytest.mark.deep
@pytest.mark.skipif(CHROMIUM is None and not os.environ.get("CI"), reason="there is no chromium")
def test_random_steps_break_nothing_that_the_pages_promise() -> None:
    measured = asyncio.run(walked(1, range(1), 10))
    assert measured["Steps"] == "10"
