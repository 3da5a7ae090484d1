"""What pages of the dashboard cost."""

import os
from cProfile import Profile
from types import CodeType

import pytest

from tests.cli.processes import REPOSITORY
from tests.server.dashboard import page
from tests.world import World

# Calls by functions and templates of the emulator for a page of 25 rows; calls within libraries
# depend on their versions, and a test of the processor time on what else the machine does.
MAX_CALLS = {"payments": 3_950, "webhooks": 5_000, "requests": 3_950}
OWN_FILES = tuple(f"{REPOSITORY / directory}{os.sep}" for directory in ("emulator", "templates"))


@pytest.mark.deep
async def test_a_page_calls_as_many_functions_with_330_payments_as_with_30(emulator: World) -> None:
    late = {"webhooks": [{"when": {}, "then": {"delay": "1h"}}]}
    await emulator.control("POST", "/webhook_endpoints", {"url": "http://127.0.0.1:9/"})
    await emulator.control("PUT", "/scenarios/late", late)
    few: dict[str, int] = {}
    for count in (30, 300):
        for _ in range(count):
            await emulator.create()
        for path in ("payments", "webhooks", "requests", "payments/latest", "checklist"):
            calls = await _function_calls(emulator, path)
            # One for each further request, to compare its path; the log and the clock vary by some.
            assert calls < few.setdefault(path, calls) + 330, path
            assert calls < MAX_CALLS.get(path, calls + 1), path


async def _function_calls(emulator: World, path: str) -> int:
    """The calls by the emulator for a page, the least of three."""
    totals = []
    for _ in range(3):
        with Profile() as profile:
            await page(emulator, path)
        own = [entry for entry in profile.getstats() if _is_own(entry.code)]
        totals.append(sum(called.callcount for entry in own for called in entry.calls or ()))
    return min(totals)


def _is_own(code: CodeType | str) -> bool:
    return isinstance(code, CodeType) and code.co_filename.startswith(OWN_FILES)
