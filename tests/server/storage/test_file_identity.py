"""A database file that is deleted or replaced while the emulator runs, and its access rights."""

import asyncio
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.server.storage.database import Database
from emulator.settings import Settings
from tests.world import World, headers, order, world

SECOND = 1_000
HTML = {"Accept": "text/html"}


def delete(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def move_the_directory(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


def delete_the_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def change_rights(path: Path, mode: int) -> None:
    path.chmod(mode)


def modes(*paths: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in paths}


async def pass_time(emulator: World) -> None:
    """Let the second pass in which a lost file may still be unnoticed."""
    emulator.wall.move(SECOND)
    loop = asyncio.get_running_loop()
    for _ in range(10):  # turns of the loop: to a thread and back
        await loop.run_in_executor(None, int)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "payments.db"


@pytest.mark.parametrize("lose", [delete, replace, move_the_directory, delete_the_log])
async def test_requests_to_a_lost_database_get_500_and_the_log_has_one_error(
    lose: Callable[[Path], None], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(database=str(path)) as emulator:
        payment = await emulator.create()
        await emulator.retrieve(payment["id"])
        lose(path)
        await pass_time(emulator)
        for _ in range(3):
            created = await emulator.api.post("/v1/payments", json=order(), headers=headers())
            listed = await emulator.api.get("/v1/payments", headers=headers())
            got = await emulator.api.get(f"/v1/payments/{payment['id']}", headers=headers())
            advanced = await emulator.control("POST", "/clock/advance", {"seconds": 1})
            page = await emulator.pages.get(payment["checkout_url"], headers=HTML)
            for answer in (created, listed, got, advanced, page):
                assert answer.status_code == 500, answer.text
            health = await emulator.api.get("/_emulator/health")
            assert (health.status_code, health.json()["status"]) == (503, "unavailable")
            assert created.json()["error"]["code"] == "internal_error"
            assert advanced.json()["error"]["code"] == "internal_error"
            await pass_time(emulator)
    [record] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert record.levelname == "ERROR"
    assert record.getMessage() == (
        f"the database file {path} was deleted or replaced: what needs it gets status 500;"
        " restart the emulator"
    )


async def test_a_database_that_is_not_moved_stays_in_use(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(database=str(path)) as emulator:
        await emulator.create()
        for _ in range(3):
            emulator.wall.move(SECOND)
            await emulator.create()
        change_rights(path, 0o640)
        emulator.wall.move(SECOND)
        await emulator.create()
    assert caplog.records == []
    async with world(database=str(path)) as emulator:
        listed = await emulator.api.get("/v1/payments", headers=headers())
        assert len(listed.json()["data"]) == 5


async def test_scheduled_work_of_a_lost_database_ends_without_further_errors(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(Settings(seed=1, database=str(path))) as emulator:
        await emulator.create(expires_in=5)
        delete(path)
        await pass_time(emulator)
        for _ in range(10):
            await pass_time(emulator)
    assert len(caplog.records) == 1


@pytest.mark.skipif(os.name != "posix", reason="it has no such rights")
async def test_only_the_owner_can_read_the_files_of_a_new_database(path: Path) -> None:
    before = os.umask(0)
    try:
        async with Database(str(path)):
            found = modes(*(Path(f"{path}{end}") for end in ("", "-wal", "-shm")))
    finally:
        os.umask(before)
    assert found == dict.fromkeys(
        ("payments.db", "payments.db-wal", "payments.db-shm"), stat.S_IRUSR | stat.S_IWUSR
    )


@pytest.mark.skipif(os.name != "posix", reason="it has no such rights")
async def test_the_rights_of_an_existing_database_are_not_changed(path: Path) -> None:
    async with Database(str(path)):
        pass
    change_rights(path, 0o644)
    async with Database(str(path)):
        assert modes(path) == {"payments.db": 0o644}
