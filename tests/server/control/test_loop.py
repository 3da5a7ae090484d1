"""Long work of the control API does not hold the event loop, which serves other requests."""

import asyncio
import sys
from collections.abc import Awaitable, Iterator

import httpx
import pytest

from emulator.files import MAX_FILE_BYTES
from emulator.server.engine.accounts.recorder import MAX_METADATA_BYTES
from tests.turns import turn
from tests.world import World, headers

# A call takes a few turns. While another thread works, there is one in each SWITCH_INTERVAL_S.
MANY_TURNS = 100
SWITCH_INTERVAL_S = 1e-5
# The longest metadata that a create call accepts, nearly.
LONG = {f"key{n}": '"%' * 3_000 for n in range(20)}


@pytest.fixture(autouse=True)
def threads_that_take_short_turns() -> Iterator[None]:
    """By default the event loop may have to wait 5 ms for another thread, in each of its turns."""
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    yield
    sys.setswitchinterval(usual_s)


async def turns_during(call: Awaitable[httpx.Response]) -> tuple[int, httpx.Response]:
    """How often the event loop turns until the response."""
    calling, turns = asyncio.ensure_future(call), 0
    while not calling.done():
        await turn()
        turns += 1
    return turns, await calling


def put(emulator: World, text: str) -> Awaitable[httpx.Response]:
    """Store a scenario in YAML."""
    more = {"Content-Type": "application/yaml"}
    return emulator.api.put("/_emulator/scenarios/x", content=text, headers=headers() | more)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" + "a," * 100_000 + "]", id="a list"),
        pytest.param("a: b\n" * 4_900, id="unknown keys"),
    ],
)
async def test_other_requests_are_served_while_a_scenario_is_read(
    text: str, emulator: World
) -> None:
    await put(emulator, "version: 1")
    turns, answer = await turns_during(put(emulator, text))
    assert answer.status_code == 400
    assert turns > MANY_TURNS


async def test_other_requests_are_served_while_a_fault_is_read(emulator: World) -> None:
    fault = {"then": {"status": [503] * 50_000}}
    turns, answer = await turns_during(emulator.control("POST", "/faults", fault))
    assert answer.status_code == 400
    assert turns > MANY_TURNS


async def test_other_requests_are_served_while_the_journal_is_written(emulator: World) -> None:
    for _ in range(20):
        await emulator.create(metadata=LONG)
    turns, answer = await turns_during(emulator.control("GET", "/requests?limit=1000"))
    assert len(answer.json()["data"]) == 20
    assert turns > MANY_TURNS


async def test_other_requests_are_served_while_a_history_is_recorded(emulator: World) -> None:
    for _ in range(2):
        await emulator.create(metadata=dict.fromkeys(LONG, '"' * 6000))
    turns, answer = await turns_during(emulator.control("GET", "/recording"))
    assert answer.json()["error"]["code"] == "too_much_to_record"
    assert turns > MANY_TURNS


async def test_a_history_with_too_much_metadata_is_refused_before_it_is_read(
    emulator: World,
) -> None:
    for _ in range(3):
        await emulator.create(metadata=LONG)
    message = (await emulator.control("GET", "/recording")).json()["error"]["message"]
    metadata = sum(len(f'"{name}":"{value}",') + 3_000 for name, value in LONG.items()) + 1
    assert metadata * 3 > MAX_METADATA_BYTES
    assert f"Its metadata has {metadata * 3:,} bytes; a file can have {MAX_FILE_BYTES:,}" in message
