"""Files of other versions and programs, files that are lost or unreadable, and the log's limit."""

import asyncio
import logging
import os
import resource
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from emulator.domain.user_error import UserError
from emulator.server.storage import accounts
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import Database
from emulator.server.storage.database_file import (
    APPLICATION_ID,
    COPY_AFTER_BYTES,
    MAX_LOG_BYTES,
    SCHEMA_VERSION,
    create_schema,
)
from emulator.settings import Settings
from tests.cli.processes import Server, ask, serving
from tests.world import World, headers, order, world


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def load_accounts(tx: Transaction) -> list[str]:
    return [row.profile.id for row in accounts.load_all(tx)]


def test_every_table_is_strict() -> None:
    with closing(memory()) as connection:
        create_schema(connection, "memory")
        tables = connection.execute("PRAGMA table_list").fetchall()
    ours = [row for row in tables if not row[1].startswith("sqlite_")]
    assert ours
    assert all(is_strict for *_, is_strict in ours)


@pytest.mark.parametrize("number", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
async def test_a_database_of_another_schema_is_refused_and_not_changed(
    tmp_path: Path, number: int
) -> None:
    path = tmp_path / "other.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        create_schema(other, str(path))
        other.execute(f"PRAGMA user_version = {number}")
    before = path.read_bytes()
    refused = f"has schema {number}, and this version needs {SCHEMA_VERSION}; use the emulator that"
    with pytest.raises(UserError, match=refused):
        async with Database(str(path)):
            pass
    with closing(sqlite3.connect(path)) as after:
        assert version(after) == number
    assert path.read_bytes()[100:] == before[100:]


def test_a_file_of_another_program_whose_header_is_in_its_log_is_refused() -> None:
    with closing(memory()) as theirs:
        theirs.execute("CREATE TABLE theirs (x)")
        with pytest.raises(UserError, match="belongs to another program"):
            create_schema(theirs, "memory")


async def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite3"
    path.touch()
    async with Database(str(path)) as database:
        assert await database.read(load_accounts) == []
    with closing(sqlite3.connect(path)) as made:
        assert made.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


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


NOTE = "x" * 100_000
MAX_FILE_BYTES = 4 * 1024 * 1024
METADATA = {f"key_{number}": "x" * 600 for number in range(20)}


def log_of(database: Path) -> Path:
    return Path(f"{database}-wal")


def make_table(tx: Transaction) -> None:
    tx.execute("CREATE TABLE notes (note TEXT NOT NULL) STRICT")


def add(tx: Transaction, note: str) -> None:
    tx.execute("INSERT INTO notes VALUES (?)", (note,))


async def test_the_log_is_bounded_under_a_steady_load(tmp_path: Path) -> None:
    path, sizes = tmp_path / "kept.sqlite3", []
    async with Database(str(path)) as database:
        await database.write(make_table)
        for _ in range(2 * MAX_LOG_BYTES // len(NOTE)):
            await database.write(partial(add, note=NOTE))
            sizes.append(log_of(path).stat().st_size)
    assert COPY_AFTER_BYTES < max(sizes) < MAX_LOG_BYTES + 20 * len(NOTE)
    assert not log_of(path).exists()


async def test_the_log_is_bounded_also_after_one_large_write(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite3"
    async with Database(str(path)) as database:
        await database.write(make_table)
        await database.write(partial(add, note="x" * 2 * MAX_LOG_BYTES), is_long=True)
        await database.write(partial(add, note=NOTE))
        assert log_of(path).stat().st_size < MAX_LOG_BYTES


@pytest.mark.deep
async def test_a_reader_delays_writes_once_and_not_each_of_them(tmp_path: Path) -> None:
    """While another program reads, the log cannot be emptied; it is tried once for many writes."""
    path = tmp_path / "kept.sqlite3"
    async with Database(str(path)) as database:
        await database.write(make_table)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM notes").fetchone()
            await database.write(partial(add, note="x" * MAX_LOG_BYTES), is_long=True)
            for _ in range(COPY_AFTER_BYTES // len(NOTE) // 2):
                await database.write(partial(add, note=NOTE))
            assert log_of(path).stat().st_size > MAX_LOG_BYTES
        await database.write(partial(add, note="x" * COPY_AFTER_BYTES), is_long=True)
        await database.write(partial(add, note=NOTE))
        assert log_of(path).stat().st_size < MAX_LOG_BYTES


@contextmanager
def limited_files(server: Server, size_bytes: int) -> Iterator[None]:
    """No file of the server can grow beyond a size, as on a full disk."""
    pid = server.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    yield
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def fill(server: Server, acknowledged: dict[str, bytes]) -> None:
    """Create payments until the disk is full; a few more, then, are refused as well."""
    with closing(server.connection()) as connection:
        refusals = 0
        while refusals < 5:
            answer = ask(connection, "POST", "/v1/payments", order(metadata=METADATA))
            if answer.status == 201:
                acknowledged[answer.json["id"]] = answer.body
            else:
                assert answer.json["error"]["code"] == "internal_error"
                refusals += 1


def test_writes_succeed_again_when_a_full_disk_has_more_space(tmp_path: Path) -> None:
    database, acknowledged = tmp_path / "kept.sqlite3", dict[str, bytes]()
    with serving("--database", str(database), logs=tmp_path) as server:
        with limited_files(server, MAX_FILE_BYTES):
            fill(server, acknowledged)
        payment = server.request("POST", "/v1/payments", order())
        assert payment.status == 201
        acknowledged[payment.json["id"]] = payment.body
        assert server.stop() == 0
    assert not log_of(database).exists()
    retrieve_all(database, acknowledged, tmp_path)


@pytest.mark.deep
def test_a_server_that_was_killed_on_a_full_disk_starts_again(tmp_path: Path) -> None:
    database, acknowledged = tmp_path / "kept.sqlite3", dict[str, bytes]()
    with serving("--database", str(database), logs=tmp_path) as server:
        with limited_files(server, MAX_FILE_BYTES):
            fill(server, acknowledged)
        server.kill()
    retrieve_all(database, acknowledged, tmp_path)


def retrieve_all(database: Path, acknowledged: dict[str, bytes], logs: Path) -> None:
    with serving("--database", str(database), logs=logs) as server:
        with closing(server.connection()) as connection:
            for payment_id, body in acknowledged.items():
                assert ask(connection, "GET", f"/v1/payments/{payment_id}").body == body
        assert server.stop() == 0
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
