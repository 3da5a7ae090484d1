"""Scenario files that are edited while the program runs (`--watch`)."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import copy

import pytest

from emulator.server.app.scenario_watch import EVERY_MS
from emulator.settings import Settings, data_directory
from tests.world import World, headers, world


def write(path: Path, status: int, times: int, name: str = "", more: str = "") -> None:
    rule = f"{{when: {{request: list_payments}}, then: {{status: {status}}}, times: {times}}}"
    path.write_text(f"version: 1\nname: {name or path.stem}\nfaults:\n  - {rule}\n{more}")


def replace(path: Path, text: str | None) -> None:
    path.unlink()
    if text is not None:
        path.write_text(text)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "first.yaml"
    write(path, 503, 2)
    return path


@pytest.fixture
async def emulator(file: Path) -> AsyncIterator[World]:
    settings = Settings(seed=1, scenarios=(str(file.parent),), watch=True)
    async with world(settings) as emulator:
        await emulator.wall.waited_for()
        yield emulator


async def reload(emulator: World) -> None:
    emulator.wall.move(EVERY_MS)
    await emulator.wall.waited_for()


async def status(emulator: World, key: str = "test_demo_key") -> int:
    response = await emulator.api.get("/v1/payments", headers=headers(key))
    return response.status_code


async def test_all_accounts_use_an_edited_file_also_after_a_reset_or_a_restore(
    emulator: World, file: Path
) -> None:
    await emulator.control("POST", "/accounts", {"test_key": "test_second_shop"})
    await emulator.control("PUT", "/snapshots/before")
    assert [await status(emulator) for _ in range(3)] == [503, 503, 200]
    write(file, 500, 10)
    await reload(emulator)
    await emulator.control("POST", "/accounts", {"test_key": "test_third_shop"})
    for key in ("test_demo_key", "test_second_shop", "test_third_shop", "live_demo_key"):
        assert await status(emulator, key) == 500
    for change in ("/snapshots/before/restore", "/reset"):
        assert (await emulator.control("POST", change)).is_success
        assert await status(emulator) == 500


async def test_the_uses_of_rules_in_other_files_remain(emulator: World, file: Path) -> None:
    assert await status(emulator) == 503
    await reload(emulator)
    write(file.with_name("new.yaml"), 429, 1)
    await reload(emulator)
    assert [await status(emulator) for _ in range(3)] == [429, 503, 200]
    write(file, 503, 2, more="enabled: true\n")  # the same scenario
    await reload(emulator)
    assert await status(emulator) == 200


async def test_a_file_with_a_mistake_keeps_its_last_valid_version(
    emulator: World, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = file.with_name("other.yaml")
    replace(file, "version: 1\nname: first\nfaults: 1\n")
    write(other, 500, 1)
    with caplog.at_level(logging.INFO):
        await reload(emulator)
    assert [await status(emulator) for _ in range(4)] == [500, 503, 503, 200]
    assert [record.getMessage().split(": ")[0] for record in caplog.records] == [
        f"{file}:3:9",
        "scenarios reloaded",
    ]
    write(other, 500, 3, name="first")
    await reload(emulator)
    assert await status(emulator) == 500


async def test_a_deleted_file_disappears_and_returns(
    emulator: World, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await status(emulator)
    replace(file, None)
    await reload(emulator)
    assert caplog.records[-1].getMessage() == "scenarios removed: first"
    assert await status(emulator) == 200
    assert (await emulator.control("GET", "/scenarios/first")).status_code == 404
    write(file, 503, 2)
    await reload(emulator)
    assert [await status(emulator) for _ in range(3)] == [503, 503, 200]


async def test_an_own_scenario_of_an_account_precedes_the_edited_file(
    emulator: World, file: Path
) -> None:
    fault = {"when": {"request": "list_payments"}, "then": {"status": 429}, "times": 2}
    await emulator.control("PUT", "/scenarios/first", {"faults": [fault]})
    assert await status(emulator) == 429
    write(file, 500, 10)
    await reload(emulator)
    assert [await status(emulator) for _ in range(2)] == [429, 200]
    await emulator.control("DELETE", "/scenarios/first")
    assert await status(emulator) == 500


async def test_shipped_scenarios_can_be_watched_and_deleted(tmp_path: Path) -> None:
    for path in data_directory("scenarios").glob("*.yaml"):
        copy(path, tmp_path)
    async with world(Settings(seed=1, scenarios=(str(tmp_path),), watch=True)) as emulator:
        await emulator.wall.waited_for()
        (tmp_path / "refund.yaml").unlink()
        await reload(emulator)
        response = await emulator.control("GET", "/scenarios/refund")
        assert response.json()["origin"] == "shipped"
