"""The write-ahead log has a limit, and its copy into the file needs no free space."""

import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import Database
from emulator.server.storage.database_file import COPY_AFTER_BYTES, MAX_LOG_BYTES
from tests.cli.processes import Server, ask, serving
from tests.world import order

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


def test_a_full_disk_holds_twice_the_log_and_works_again_with_more_space(tmp_path: Path) -> None:
    database, acknowledged = tmp_path / "kept.sqlite3", dict[str, bytes]()
    with serving("--database", str(database), logs=tmp_path) as server:
        with limited_files(server, MAX_FILE_BYTES):
            fill(server, acknowledged)
            assert len(acknowledged) * 12_000 > MAX_FILE_BYTES // 2
            assert log_of(database).stat().st_size < MAX_FILE_BYTES // 2
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
