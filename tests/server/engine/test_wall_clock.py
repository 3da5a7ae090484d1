"""Real time and business time after the system clock was set back."""

from pathlib import Path

from emulator.settings import Settings
from tests.server.engine.observed_world import observed
from tests.server.engine.webhook_world import register
from tests.server.webhooks.receiver import receiving
from tests.world import START, START_MS, World

HOUR = 3_600_000
FLOWING = Settings(seed=1)


async def now(emulator: World) -> str:
    return str((await emulator.shown("/clock"))["now"])


async def test_webhook_timestamps_and_the_log_use_the_system_clock() -> None:
    async with observed() as (emulator, wall), receiving() as receiver:
        await register(emulator, receiver.url)
        wall.set_back(HOUR)
        wall.move(1_000)
        payment = await emulator.create()
        await receiver.wait_for(1)
        emulator.running.gateway._log.flush()
    assert payment["created_at"] == "2026-01-01T00:00:01.000Z"
    [received] = receiver.received
    assert received.headers["webhook-timestamp"] == str((START_MS - HOUR + 1_000) // 1_000)
    assert "23:00:01.000 POST /v1/payments 201" in "".join(emulator.log)


async def test_a_moved_clock_continues_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(seed=1, database=str(tmp_path / "payments.db"))
    async with observed(settings) as (emulator, wall):
        wall.set_back(HOUR)
        wall.move(1_000)
        await emulator.advance(60)
        assert await now(emulator) == "2026-01-01T00:01:01.000Z"
        shown = wall.system_ms() - START_MS
    async with observed(settings) as (emulator, wall):
        wall.move(shown)
        assert await now(emulator) == "2026-01-01T00:01:01.000Z"


async def test_a_restored_clock_continues_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(seed=1, database=str(tmp_path / "payments.db"))
    async with observed(settings) as (emulator, wall):
        assert (await emulator.control("PUT", "/snapshots/first")).status_code == 201
        wall.set_back(HOUR)
        assert (await emulator.control("POST", "/snapshots/first/restore")).status_code == 200
        assert await now(emulator) == START.replace("Z", ".000Z")
        shown = wall.system_ms() - START_MS
    async with observed(settings) as (emulator, wall):
        wall.move(shown)
        assert await now(emulator) == START.replace("Z", ".000Z")
