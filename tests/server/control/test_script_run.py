"""The script of a scenario is played by the server, in an account of its own."""

import asyncio
from typing import Any

import pytest

from emulator.server.app.settings_files import shipped_scenarios
from emulator.server.control.script_run import MAX_RUN_MS
from tests.server.engine.webhook_world import webhook_world
from tests.world import World

ORDER = {"create": {"as": "order", "amount": 15000, "methods": ["telebirr"]}}
PAY = {"pay": {"payment": "order", "method": "telebirr", "phone": "0900000003"}}


async def run(emulator: World, name: str, **key: str) -> dict[str, Any]:
    return dict(await emulator.done("POST", f"/scenarios/{name}/run", **key))


async def put(emulator: World, *script: object, **rules: object) -> None:
    body = {"script": [*script], **rules}
    assert (await emulator.control("PUT", "/scenarios/mine", body)).is_success


# The answer of `slow-answer` takes real seconds, and real time stands still here.
@pytest.mark.parametrize(
    "name", [each.name for each in shipped_scenarios() if each.name != "slow-answer"]
)
async def test_each_shipped_script_passes(emulator: World, name: str) -> None:
    steps = (await run(emulator, name))["steps"]
    assert steps
    assert [each for each in steps if each["result"].startswith("failed")] == []


async def test_the_steps_have_their_results_and_instants(emulator: World) -> None:
    times_out = {"when": {"phone": "0900000003"}, "then": [{"after": "30s", "status": "failed"}]}
    expected = {"expect": {"payment": "order", "status": "failed"}}
    await put(emulator, ORDER, PAY, {"advance": "30s"}, expected, outcomes=[times_out])
    before = await emulator.payments()
    result = await run(emulator, "mine")
    at = "2026-01-01T00:00:00.000Z"
    assert [(each["result"], each["at"]) for each in result["steps"]] == [
        *(("201 pending", at), ("200 processing", at)),
        *(("1 effect", "2026-01-01T00:00:30.000Z"), ("as expected", "2026-01-01T00:00:30.000Z")),
    ]
    assert result["steps"][2]["text"] == "advance: 30s"
    query = f"?account={result['account']}"
    [payment] = (await emulator.api.get(f"/_emulator/payments{query}")).json()["data"]
    assert payment["status"] == "failed"
    assert await emulator.payments() == before, "the account of the call is unchanged"


async def test_a_failing_step_is_a_result_and_the_last_one(emulator: World) -> None:
    wrong = {"expect": {"payment": "order", "status": "completed", "amount": 1}}
    await put(emulator, ORDER, wrong, PAY)
    *_, last = (await run(emulator, "mine"))["steps"]
    assert last["result"] == (
        "failed: status: expected completed, got pending; amount: expected 1, got 15000"
    )
    await put(emulator, ORDER, {"answer": {"payment": "order", "answer": "approve"}}, PAY)
    *_, last = (await run(emulator, "mine"))["steps"]
    assert last["result"].startswith("failed: answer was refused: 409 invalid_state_transition")


async def test_a_run_ends_after_a_minute(emulator: World) -> None:
    await put(emulator, ORDER, faults=[{"when": {}, "then": {"latency": "5m"}}])
    running = asyncio.create_task(run(emulator, "mine"))
    await emulator.wall.waited_for()
    emulator.wall.move(MAX_RUN_MS)
    [only] = (await running)["steps"]
    assert (only["text"], only["result"]) == (
        "the script",
        "failed: it has not ended after 60 s",
    )


async def test_one_account_remains_after_runs_at_once(emulator: World) -> None:
    await put(emulator, ORDER)
    runs = (emulator.control("POST", "/scenarios/mine/run") for _ in range(3))
    await asyncio.gather(*runs)
    names = [each["name"] for each in (await emulator.shown("/accounts"))["data"]]
    assert names.count("script of mine") == 1


async def test_the_endpoints_of_the_caller_receive_nothing() -> None:
    async with webhook_world() as hooks:
        await put(hooks.emulator, ORDER, PAY, {"expect": {"webhooks": ["payment.created"]}})
        *_, last = (await run(hooks.emulator, "mine"))["steps"]
        assert ', got ["payment.created", "payment.processing"]' in last["result"]
        assert hooks.types == []
