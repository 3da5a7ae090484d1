"""What pages of the dashboard cost."""

from cProfile import Profile

from tests.server.dashboard import page
from tests.world import World

# Calls of functions for a page of 25 rows, most of them of the templates. `python -m
# tests.benchmarks --only dashboard` measures the processor time, which must be at most 25 times
# that of a bare Starlette route; a test of it would depend on what else the machine does.
MAX_CALLS = {"payments": 7_700, "webhooks": 10_100, "requests": 8_100}


async def test_a_page_calls_as_many_functions_with_330_payments_as_with_30(emulator: World) -> None:
    late = {"webhooks": [{"when": {}, "then": {"delay": "1h"}}]}
    await emulator.control("POST", "/webhook_endpoints", {"url": "http://127.0.0.1:9/"})
    await emulator.control("PUT", "/scenarios/late", late)
    few: dict[str, int] = {}
    for count in (30, 300):
        for _ in range(count):
            await emulator.create()
        for path in ("payments", "webhooks", "requests", "payments/latest", "fidelity"):
            calls = await _function_calls(emulator, path)
            # Fewer than one for each further payment; the log and the clock vary by some.
            assert calls < few.setdefault(path, calls) + 300, path
            assert calls < MAX_CALLS.get(path, calls + 1), path


async def _function_calls(emulator: World, path: str) -> int:
    """The calls of the event loop's thread for a page, the least of three."""
    totals = []
    for _ in range(3):
        with Profile() as profile:
            await page(emulator, path)
        totals.append(sum(entry.callcount for entry in profile.getstats()))
    return min(totals)
