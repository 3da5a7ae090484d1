"""Random steps through the dashboard in Chromium."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random  # noqa: TID251 - drawn from a seed

from playwright.async_api import expect

from tests.long_runs.dashboard_walk import walk
from tests.long_runs.walk_steps import Steps
from tests.server.checkout.browser_fixtures import MAX_WAIT_MS
from tests.server.checkout.browsing import running_chromium, running_emulator, running_shop
from tests.server.dashboard.browser.tabs import Tabs

COUNT = 3_000
STEPS = 28
ACTIONS = (
    "refusals",
    "clicks",
    "double clicks",
    "fields",
    "keys",
    "go back",
    "go forward",
    "reload",
)


def run(seed: int, count: int) -> dict[str, str]:
    return asyncio.run(walked(seed, range(-(-count // STEPS)), STEPS))


async def walked(seed: int, numbers: Iterable[int], length: int) -> dict[str, str]:
    """Each walk has an account of its own."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as logs:
        async with (
            running_shop() as shop,
            running_emulator(shop, Path(logs), "--seed", str(seed)) as server,
            running_chromium() as browser,
        ):
            expect.set_options(timeout=MAX_WAIT_MS)
            for number in numbers:
                steps = Steps(draw=Random(f"{seed} {number}"))  # noqa: S311 - no secret
                counts["steps"] += length
                try:
                    await walk(steps, Tabs(server=server, browser=browser), length)
                except BaseException as error:
                    error.add_note(f"seed {seed}, walk {number}: {'; '.join(steps.trail)}")
                    raise
                counts += steps.counts
    return {
        "Steps": f"{counts['steps']:,}",
        "Actions": ", ".join(f"{counts[name]:,} {name}" for name in ACTIONS),
    }
