"""The file of `--clock-file`: it shows the clock of the first account at any moment."""

import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.instants import format_instant, parse_clock, parse_instant
from tests.cli.processes import FREE_PORTS, run, serving
from tests.server.webhooks.receiver import Received, Reply, receiving
from tests.world import OTHER_TEST_KEY, START, World, world


def line(file: Path) -> str:
    [line] = file.read_text().splitlines()
    return line


def seen(file: Path, emulator: World) -> str:
    """The instant that a process sees that reads the file now, as libfaketime does."""
    form, _, rate = line(file).partition(" x")
    assert float(rate) > 0
    milliseconds = round(float(form.removeprefix("@")) * 1000)
    if form.startswith(("+", "-")):
        milliseconds += emulator.wall.system_ms()
    return format_instant(milliseconds)


async def shown(emulator: World) -> str:
    return str((await emulator.shown("/clock"))["now"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clock"


@pytest.fixture
async def frozen(file: Path) -> AsyncIterator[World]:
    async with world(clock_file=str(file)) as emulator:
        yield emulator


CHANGES: list[tuple[str, str, Any]] = [
    ("POST", "/clock/advance", {"seconds": 1.234}),
    ("PUT", "/snapshots/early", None),
    ("POST", "/clock/advance", {"until": "2026-03-01T03:00:00.999+03:00"}),
    ("PUT", "/clock", {"frozen": False}),
    ("POST", "/clock/advance", {"seconds": 3600}),
    ("PUT", "/clock", {"rate": 60}),
    ("PUT", "/clock", {"rate": 0.5}),
    ("POST", "/snapshots/early/restore", None),
    ("PUT", "/clock", {"now": "2026-02-01T00:00:00Z", "frozen": False}),
    ("POST", "/reset", None),
]


async def test_it_shows_each_change_of_the_first_clock_at_once(frozen: World, file: Path) -> None:
    await frozen.advance(60, OTHER_TEST_KEY)  # the clock of another account
    assert line(file) == "1767225600.0000001 x1"
    for method, path, body in CHANGES:
        response = await frozen.control(method, path, body)
        assert response.is_success, response.text
        assert seen(file, frozen) == await shown(frozen), path
        frozen.wall.move(100)


@pytest.mark.parametrize("clock", [f"frozen@{START}", "real"])
async def test_a_webhook_handler_sees_the_instant_of_its_event(clock: str, file: Path) -> None:
    instants: list[tuple[str, str]] = []

    async def answer(received: Received) -> Reply:
        instants.append((seen(file, emulator), str(received.json["timestamp"])))
        emulator.wall.move(500)  # while the clock stands
        assert seen(file, emulator) == instants[-1][0]
        return Reply()

    settings = {"clock": parse_clock(clock), "clock_file": str(file), "allow_http_localhost": True}
    async with receiving(answer) as receiver, world(**settings) as emulator:
        await emulator.done("POST", "/webhook_endpoints", {"url": receiver.url})
        await emulator.done("PUT", "/deliveries/paused", {"paused": True})
        await emulator.create(expires_in=60)
        await emulator.advance(3600)
    assert len(instants) == 2
    for read, event in instants:
        assert parse_instant(read) == parse_instant(event)


async def test_a_clock_at_the_rate_of_real_time_is_exact_between_two_writes(file: Path) -> None:
    async with world(clock=parse_clock("real"), clock_file=str(file)) as emulator:
        await emulator.advance(86_400)
        before = line(file)
        emulator.wall.move(999)
        assert line(file) == before
        assert seen(file, emulator) == await shown(emulator)


@pytest.mark.parametrize(("rate", "interval_ms"), [("real", 1_000), ("x60", 20), ("x0.5", 1_000)])
async def test_a_running_clock_is_written_at_least_once_a_second(
    rate: str, interval_ms: int, file: Path
) -> None:
    async with world(clock=parse_clock(rate), clock_file=str(file)) as emulator:
        await emulator.wall.waited_for()
        for _ in range(3):
            emulator.wall.set_back(50)
            emulator.wall.move(interval_ms)
            await emulator.wall.waited_for()
            assert seen(file, emulator) == await shown(emulator)


async def test_a_file_that_cannot_be_written_is_logged_once_and_written_again_later(
    frozen: World, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = file.parent.with_name("elsewhere")
    file.parent.rename(elsewhere)
    for _ in range(3):
        await frozen.advance(1)
    [record] = caplog.records
    assert record.getMessage() == f"cannot write the clock file {file}: No such file or directory"
    elsewhere.rename(file.parent)
    await frozen.advance(1)
    assert seen(file, frozen) == await shown(frozen)


def test_two_servers_cannot_share_it(tmp_path: Path, file: Path) -> None:
    with serving("--clock-file", str(file), "--clock", "x60", logs=tmp_path) as server:
        for _ in range(2):
            ended = run("serve", *FREE_PORTS, "--clock-file", str(file))
            assert (ended.returncode, ended.stdout) == (2, "")
            assert ended.stderr == (
                f"payments-emulator: --clock-file: '{file}' is in use by another emulator; name"
                " another path\n"
            )
            server.request("PUT", "/_emulator/clock", {"rate": 2})
        assert file.read_text().endswith(" x2\n")
        server.kill()
    with serving("--clock-file", str(file), logs=tmp_path):
        assert file.read_text().endswith(" x1\n")


def test_other_users_can_read_it_and_it_is_removed_at_exit(tmp_path: Path, file: Path) -> None:
    file.write_text("@1767225600.0000001 x0.5\n")  # of a former process
    before = os.umask(0)
    try:
        with serving("--clock-file", str(file), logs=tmp_path) as server:
            assert stat.S_IMODE(file.stat().st_mode) == 0o644
            assert file.read_text().endswith(" x1\n")
            assert server.stop() == 0
            assert server.stderr == ""
    finally:
        os.umask(before)
    assert not list(tmp_path.glob("*clock*"))
