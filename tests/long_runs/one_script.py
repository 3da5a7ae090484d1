"""Plays one script, and returns everything that must be equal in every run.

`python -m tests.long_runs.one_script TIMES` prints digests of `TIMES` replays, one with each event
loop in turn.
"""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Coroutine, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import structs

from emulator.clock import RealClock
from emulator.http import emulator_calls as calls
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient
from emulator.http.received_webhooks import WebhookReceiver
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.runner.case_runner import RunContext, play
from emulator.scenarios.runner.results import Case, CaseResult
from emulator.scenarios.scenario_file import step_json
from emulator.tools.replay.cases import play_all
from emulator.tools.replay.report import report
from tests.tools.replay.player import new_player
from tests.world import TEST_KEY

SCRIPT = Path(__file__).with_name("script.yaml")
# The lists of the account and its recording; the checklist measures real time.
PATHS = (
    *("/v1/payments?limit=100", "/_emulator/events", "/_emulator/requests", "/_emulator/clock"),
    *("/_emulator/deliveries", "/_emulator/recording", "/_emulator/scenarios"),
    "/_emulator/unauthorized",
)
# Of real time, and the free port of the receiver: docs/explanation/determinism.md lists them.
_REAL = re.compile(
    rb'"duration_ms":[0-9.]+|"webhook-(timestamp|signature)":"[^"]*"|127\.0\.0\.1:(?!8081)\d+'
)


def odd_case() -> Case:
    text = SCRIPT.read_text(encoding="utf-8")
    scenario = parse_scenario(text, SCRIPT.name)
    return Case(source=SCRIPT.name, path=SCRIPT, text=text, scenario=scenario)


async def replay(cases: Sequence[Case]) -> list[CaseResult]:
    """Play cases in a new emulator, as `replay` does."""
    results: list[CaseResult] = []
    async with new_player() as player:
        await play_all(cases, player.context, lambda *_: None, results.append)
    return results


def result_bytes(result: CaseResult) -> bytes:
    """Everything that must be equal in every run: steps, journal, events and webhooks."""
    steps = [
        [step_json(step.step), step.outcome, step.at, step.payment, step.failure]
        for step in result.steps
    ]
    content = {"steps": steps, "names": dict(result.names), "trace": result.trace}
    return json.dumps(content, ensure_ascii=False, default=structs.asdict, indent=1).encode()


def check_end(result: CaseResult) -> None:
    """Only the last step of the script fails."""
    assert result.failure is not None
    assert result.failure.message == "webhooks: not as expected", result.failure


async def replayed() -> bytes:
    [result] = await replay([odd_case()])
    check_end(result)
    return result_bytes(result) + report([result], skipped=0)


async def served(url: str) -> bytes:
    """Play the script in the first account of a server, without the values of real time."""
    async with (
        EmulatorClient(BaseUrl.parse(url), key=TEST_KEY) as client,
        WebhookReceiver() as receiver,
    ):
        await receiver.listen("127.0.0.1")
        context = RunContext(
            client=client,
            is_private=False,
            wall=RealClock(),
            receiver=receiver,
            key=TEST_KEY,
        )
        result = await play(odd_case(), context, lambda _: None)
        check_end(result)
        webhooks = tuple(
            structs.replace(webhook, timestamp="", signature="")
            for webhook in result.trace.webhooks
        )
        trace = structs.replace(result.trace, webhooks=webhooks)
        details = [calls.PAYMENT(each).path for each in result.names.values()]
        read = [
            (await client.send(calls.EmulatorCall("GET", path, calls.any_json))).body
            for path in (*PATHS, *details)
        ]
    parts = (result_bytes(structs.replace(result, trace=trace)), *read)
    return b"\n".join(_REAL.sub(b"", part) for part in parts)


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def event_loops() -> list[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """The `run` function of each event loop that the program may use."""
    try:
        import uvloop
    except ImportError:
        return [asyncio.run]
    return [asyncio.run, uvloop.run]


def main() -> None:
    loops = event_loops()
    times = int(sys.argv[1])
    replays = [digest(loops[time % len(loops)](replayed())) for time in range(times)]
    sys.stdout.write(json.dumps(replays))


if __name__ == "__main__":
    main()
