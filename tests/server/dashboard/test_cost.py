"""What pages of the dashboard cost, in calls of functions beside those of a bare route.

A page of a list takes at most 25 times the processor time of a bare route. A test of the time
would depend on what else the machine does; the calls do not. With the calls of `MAX_CALLS`, the
emulator took 18 to 24 times as long for a list: a page that makes more must be measured again.
"""

import os
from cProfile import Profile
from types import CodeType

import pytest
from starlette.types import ASGIApp, Message, Scope

from tests.benchmarks import bare
from tests.cli.processes import REPOSITORY
from tests.server.dashboard import VIEW
from tests.server.engine.webhook_world import webhook_world
from tests.server.webhooks.receiver import Reply
from tests.world import API_PORT

# For each call that a bare route makes, those of a page of 25 rows, libraries included, and a tenth
# more; and the page's calls by functions and templates of the emulator, whatever the libraries are.
MAX_CALLS = {
    "payments": (96, 2_450),
    "webhooks": (115, 3_100),
    "requests": (115, 2_850),
    "scenarios": (187, 5_100),
    "checklist": (35, 930),
    "payments/latest": (170, 3_950),
}
OWN_FILES = tuple(f"{REPOSITORY / directory}{os.sep}" for directory in ("emulator", "templates"))


@pytest.mark.deep
async def test_a_page_calls_as_few_functions_with_330_payments_as_with_30() -> None:
    async with webhook_world(lambda _: Reply(status=500)) as hooks:
        bare_calls, _ = await _calls(bare.app, "/v1/payments")
        few: dict[str, int] = {}
        for count in (30, 300):
            for _ in range(count):
                await hooks.create()
            await hooks.advance(4_000)
            for path in MAX_CALLS:
                _, own = await _calls(hooks.emulator.app, f"{VIEW}/{path}")
                # One for each further request, to compare its path; the log and the clock vary.
                assert own < few.setdefault(path, own) + 330, path
        for path, (times, most) in MAX_CALLS.items():
            calls, own = await _calls(hooks.emulator.app, f"{VIEW}/{path}")
            assert (own < most, calls < times * bare_calls) == (True, True), (path, calls, own)


async def _calls(app: ASGIApp, path: str) -> tuple[int, int]:
    """The calls of all functions for a response, and those by the emulator: the least of three."""
    totals: list[tuple[int, int]] = []
    for _ in range(3):
        with Profile() as profile:
            await _get(app, path)
        entries = profile.getstats()
        own = [called for entry in entries if _is_own(entry.code) for called in entry.calls or ()]
        totals.append(
            (sum(each.callcount for each in entries), sum(each.callcount for each in own))
        )
    return min(totals)


async def _get(app: ASGIApp, path: str) -> None:
    """Request a page from an application, without a client that makes calls of its own."""
    statuses: list[int] = []
    scope: Scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", f"127.0.0.1:{API_PORT}".encode()), (b"accept", b"text/html")],
        "server": ("127.0.0.1", API_PORT),
        "client": ("127.0.0.1", 50_000),
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if "status" in message:
            statuses.append(message["status"])

    await app(scope, receive, send)
    assert statuses == [200], path


def _is_own(code: CodeType | str) -> bool:
    return isinstance(code, CodeType) and code.co_filename.startswith(OWN_FILES)
