"""The pages about scenarios, faults, snapshots and recordings."""

import json

import pytest

from emulator.scenarios.loader import parse_scenario
from emulator.server.dashboard.sections import EXAMPLE, ONE_CLICK_FAULTS
from tests.server.dashboard import count, get, shown
from tests.world import World, headers, order


async def create_status(emulator: World) -> int:
    response = await emulator.api.post("/v1/payments", json=order(), headers=headers())
    return response.status_code


@pytest.mark.parametrize("title", ONE_CLICK_FAULTS)
async def test_each_one_click_fault_is_accepted_and_shown(emulator: World, title: str) -> None:
    response = await emulator.control("POST", "/faults", ONE_CLICK_FAULTS[title])
    assert response.status_code == 201, response.text
    text = await shown(emulator, "scenarios")
    assert response.json()["id"] in text
    assert "1 of 1 left" in text or "times" not in ONE_CLICK_FAULTS[title]


async def test_the_buttons_add_the_faults(emulator: World) -> None:
    page = (await get(emulator, "scenarios")).text
    bodies = [
        line.partition("data-body='")[2].partition("'")[0]
        for line in page.splitlines()
        if 'data-call="POST /faults"' in line
    ]
    assert [json.loads(body) for body in bodies] == list(ONE_CLICK_FAULTS.values())
    await emulator.control("POST", "/faults", json.loads(bodies[0]))
    assert [await create_status(emulator) for _ in range(2)] == [500, 201]
    assert len(await emulator.payments()) == 2
    assert "0 of 1 left" in await shown(emulator, "scenarios")


async def test_the_enabled_scenarios_come_first_with_their_remaining_uses(emulator: World) -> None:
    await emulator.control("PUT", "/scenarios/too-many-requests/enabled", {"enabled": True})
    assert await create_status(emulator) == 429
    text = await shown(emulator, "scenarios")
    assert text.index("too-many-requests") < text.index("error-after-commit")
    headings = ("Customer", "Webhooks", "Requests", "Page", "Expiry and scripts")
    places = [text.index(f" {heading} ", text.index("Action")) for heading in headings]
    assert places == sorted(places)
    assert places[1] < text.index("late-duplicates") < places[2]
    assert "faults 1: 1 of 2 left" in text
    assert "1 of 2 left" in await shown(emulator, "scenarios/too-many-requests")


async def test_the_text_of_every_scenario_is_accepted(emulator: World) -> None:
    names = [each["name"] for each in (await emulator.shown("/scenarios"))["data"]]
    for name in names:
        page = (await get(emulator, f"scenarios/{name}")).text
        text = page.partition("<textarea")[2].partition(">")[2].partition("</textarea>")[0]
        text = text.replace("&#34;", '"').replace("&#39;", "'").replace("&gt;", ">")
        assert parse_scenario(text, "", name=name).description, name
    assert parse_scenario(EXAMPLE, "", name="example").outcomes


async def test_only_an_own_scenario_can_be_deleted(emulator: World) -> None:
    response = await emulator.api.put(
        "/_emulator/scenarios/own",
        content=EXAMPLE,
        headers={**headers(), "Content-Type": "application/yaml"},
    )
    assert response.status_code == 201
    for name, is_own in (("own", True), ("refund", False)):
        assert count((await get(emulator, f"scenarios/{name}")).text, "delete-scenario") == is_own


async def test_snapshots_are_listed(emulator: World) -> None:
    await emulator.create()
    await emulator.control("PUT", "/snapshots/one-order")
    text = await shown(emulator, "scenarios")
    assert "one-order 2026-01-01 00:00:00 UTC , payments: 1 test, 0 live" in text


async def test_the_recording_is_that_of_the_account_and_mode(emulator: World) -> None:
    account = (await emulator.done("POST", "/accounts", {}))["id"]
    page = (await get(emulator, f"scenarios?account={account}&mode=live")).text
    address = f"/_emulator/recording?account={account}&amp;mode=live"
    assert f'href="{address}"' in page
    recording = await emulator.api.get(address.replace("&amp;", "&"))
    assert recording.status_code == 200
