"""A history that exceeds the limits of a scenario file is not recorded."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from emulator.scenarios.loader import parse_scenario
from tests.server.engine.recording_player import act, recorded
from tests.server.engine.scenario_world import scenario_world
from tests.world import World


async def refusal(emulator: World) -> str:
    response = await emulator.control("GET", "/recording")
    assert (response.status_code, response.json()["error"]["code"]) == (409, "too_much_to_record")
    return str(response.json()["error"]["message"])


async def test_a_recording_has_at_most_a_thousand_steps(emulator: World) -> None:
    for _ in range(498):
        payment = await emulator.create()
    for _ in range(3):
        await act(emulator, payment, "cancel")
    scenario = parse_scenario(await recorded(emulator), "recording.yaml")
    assert len(scenario.script) == 1_000
    await act(emulator, payment, "cancel")
    assert await refusal(emulator) == (
        "The history is too long for one scenario file: 498 payments and 4 actions. That takes"
        " 1,001 steps; a file can have 1,000. Record a new account for each case, or reset this"
        " one before it."
    )


async def test_a_much_too_long_history_is_refused_before_it_is_read(emulator: World) -> None:
    for _ in range(501):
        await emulator.create()
    assert "That takes 1,002 steps at least; a file can have 1,000." in await refusal(emulator)


def nodes(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(1 + nodes(inner) for inner in value.values())
    return 1 + sum(map(nodes, value)) if isinstance(value, list) else 1


@pytest.mark.parametrize("more", [0, 1])
async def test_a_recording_has_at_most_ten_thousand_nodes(more: int, emulator: World) -> None:
    full = {f"key{n}": "value" for n in range(20)}
    for _ in range(165):
        await emulator.create(metadata=full)
    for _ in range(2):
        await emulator.create()
    before = nodes(yaml.safe_load(await recorded(emulator)))
    # Of one payment more: its creation, how it ends, its event among all.
    pairs = (10_000 - before - 7 - 10 - 1 - 2) // 2
    assert pairs in range(20)
    await emulator.create(metadata={f"key{n}": "value" for n in range(pairs + more)})
    if more:
        assert "nodes; a file can have 10,000." in await refusal(emulator)
    else:
        text = await recorded(emulator)
        assert nodes(yaml.safe_load(text)) in (9_999, 10_000)
        parse_scenario(text, "recording.yaml")


@pytest.mark.parametrize("rest", [0, 1])
async def test_a_recording_has_at_most_256_kibibytes(rest: int, emulator: World) -> None:
    most = 256 * 1024
    await emulator.create(metadata={"a": "x" * 200, "b": "x" * 200})
    frame = len((await recorded(emulator)).encode()) - 400
    await emulator.control("POST", "/reset")
    half = (most - frame) // 2
    parts = {"a": "x" * half, "b": "\u1230" * ((most - frame - half) // 3)}
    parts["a"] += "x" * (most - frame - len("".join(parts.values()).encode()) + rest)
    await emulator.create(metadata=parts)
    if rest:
        assert "That takes 262,145 bytes; a file can have 262,144." in await refusal(emulator)
    else:
        text = await recorded(emulator)
        assert len(text.encode()) == most
        parse_scenario(text, "recording.yaml")


async def test_more_events_than_the_control_api_returns_are_not_expected(tmp_path: Path) -> None:
    rules = """
outcomes:
  - when: {}
    then:
      - {status: failed, reason: timeout}
      - {status: completed, unusual: true}
      - {status: refunded}
"""
    async with scenario_world(tmp_path, shop=rules) as emulator:
        for _ in range(201):
            payment = await emulator.create()
            await act(emulator, payment, "pay", method="telebirr", phone="0911111111")
        text = await recorded(emulator)
        last = parse_scenario(text, "recording.yaml").script[-1]
        assert getattr(last, "payment", None) == "order_201"
