"""Random steps through the checkout and the dashboard in Chromium."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random  # noqa: TID251 - drawn from a seed

from playwright.async_api import expect

from tests.long_runs import checkout_walk, dashboard_walk
from tests.long_runs.walk_steps import Steps
from tests.server.checkout.browser.tabs import Windows
from tests.server.checkout.browser_fixtures import MAX_WAIT_MS
from tests.server.checkout.browsing import running_chromium, running_emulator, running_shop
from tests.server.dashboard.browser.tabs import Tabs

UNIT = "steps"
COUNT = 3_000
# A payment ends after some steps; an account of the dashboard does not.
STEPS = (12, 28)


def run(seed: int, count: int) -> dict[str, str]:
    walks = 2 * -(-count // sum(STEPS))
    return asyncio.run(walked(seed, range(walks), STEPS))


async def walked(seed: int, numbers: Iterable[int], lengths: tuple[int, int]) -> dict[str, str]:
    """The walks with even numbers lead through the checkout, the others through the dashboard."""
    counts: Counter[str] = Counter()
    controls: set[str] = set()
    with tempfile.TemporaryDirectory() as logs:
        async with (
            running_shop() as shop,
            running_emulator(shop, Path(logs), "--seed", str(seed)) as server,
            running_chromium() as browser,
        ):
            expect.set_options(timeout=MAX_WAIT_MS)
            for number in numbers:
                steps = Steps(draw=Random(f"{seed} {number}"))  # noqa: S311 - no secret
                counts[f"walk {number % 2}"] += 1
                try:
                    if number % 2:
                        tabs = Tabs(server=server, browser=browser)
                        await dashboard_walk.walk(steps, tabs, lengths[1])
                    else:
                        merchant = await server.merchant("Abeba Coffee")
                        await checkout_walk.walk(steps, Windows(browser), merchant, lengths[0])
                except BaseException as error:
                    error.add_note(f"seed {seed}, walk {number}: {'; '.join(steps.trail)}")
                    raise
                counts += steps.counts
                controls |= steps.controls
    return _measured(counts, len(controls), lengths)


def _measured(counts: Counter[str], controls: int, lengths: tuple[int, int]) -> dict[str, str]:
    def listed(*names: str) -> str:
        return ", ".join(f"{counts[name]:,} {name}" for name in names)

    checkout, dashboard = (counts[f"walk {each}"] * lengths[each] for each in (0, 1))
    return {
        "Steps": f"{checkout:,} in the checkout, {dashboard:,} in the dashboard",
        "Actions": listed(
            "clicks", "double clicks", "fields", "keys", "go back", "go forward", "reload"
        ),
        "Different buttons, links and summaries": f"{controls:,}",
        "Payments at the end of a walk through the checkout": listed(*checkout_walk.PAGES),
        "Calls that were refused, with the message on the page": listed("refusals"),
        "Pages that said why they cannot be shown": listed("pages with a problem"),
    }
