"""A database with an invalid row: the start succeeds, or fails with one clear line."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from emulator.cli.banner import banner
from emulator.domain.instants import MAX_RATE
from emulator.server.storage.database_file import UnusableDatabase
from emulator.settings import Settings
from tests.cli.processes import FREE_PORTS, run
from tests.server.engine.webhook_world import register
from tests.world import World, world

NONSENSE: dict[str, tuple[object, ...]] = {
    "INTEGER": (-1, 1 << 62, 999, 0, -(1 << 63), (1 << 63) - 1),
    "TEXT": ("abc", b"\xff", "9" * 5_000, "", "{", "\x1b[31m\n"),
    "BLOB": (b"", b"\xff", b"\0" * 100),
    "REAL": (-1.0, 1e300),
}
SETTINGS = Settings(seed=1)
HANGING = "http://127.0.0.1:9/hook"
FAULT = {"when": {"request": "list_payments", "nth": 5}, "then": {"status": 500}}
SCENARIO = {"outcomes": [{"when": {"method": "mpesa"}, "then": "handset"}]}


async def fill(emulator: World) -> None:
    """Rows in every table that a start may read."""
    payment = await emulator.create(idempotency_key="k")
    await register(emulator, HANGING)
    other = await emulator.create()
    for body in (
        ("PUT", "/scenarios/mine", SCENARIO),
        ("PUT", "/scenarios/telebirr-test-numbers/enabled", {"enabled": False}),
        ("POST", "/faults", FAULT),
        ("PUT", f"/payments/{other['id']}/scenario", {"name": "mine"}),
        ("POST", f"/payments/{payment['id']}/pay", {"method": "telebirr", "phone": "0900000001"}),
        ("PUT", "/snapshots/first", None),
        ("POST", "/accounts", {"name": "Third"}),
    ):
        response = await emulator.control(*body)
        assert response.status_code in {200, 201}, response.text
    await emulator.api.get("/v1/payments", headers={"Authorization": "Bearer test_demo_key"})


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "database"

    async def make() -> None:
        async with world(SETTINGS, database=str(path)) as emulator:
            await fill(emulator)

    asyncio.run(make())
    return path


def columns(path: Path) -> Iterator[tuple[str, str, str]]:
    """Each column of each table, with its type."""
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        ).fetchall()
        for (table,) in tables:
            for row in connection.execute(f"PRAGMA table_info({table})"):
                yield table, row[1], row[2]


def changed(path: Path, copy: Path, table: str, column: str, value: object) -> Path | None:
    """A copy of a database with another value in a column of one row; None if it may not be."""
    copy.write_bytes(path.read_bytes())
    with closing(sqlite3.connect(copy)) as connection, connection:
        written = "CAST(? AS TEXT)" if value == b"\xff" else "?"
        statement = f"UPDATE {table} SET {column} = {written}"  # noqa: S608
        last = f" WHERE {column} = (SELECT max({column}) FROM {table})"  # noqa: S608
        for where in ("", last):
            try:
                changes = connection.execute(statement + where, (value,)).rowcount
            except sqlite3.IntegrityError:
                continue
            return copy if changes else None
    return None


async def outcome(path: Path) -> str:
    """How a start with a database ends: "" if it is clean, or the one line."""
    try:
        async with world(SETTINGS, database=str(path)) as emulator:
            assert list(banner(emulator.running))
            response = await emulator.control("GET", "/accounts")
            assert response.status_code == 200
            assert (await emulator.control("GET", "/clock")).status_code == 200
            return ""
    except (UnusableDatabase, sqlite3.DatabaseError) as error:
        return str(error)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM accounts WHERE number = 1",
        "UPDATE accounts SET seed = 'abc'",
        "UPDATE accounts SET test_stream = zeroblob(65)",
        "UPDATE accounts SET initial_clock = 'abc'",
        "UPDATE accounts SET frozen_at = 1 << 62",
        "UPDATE accounts SET rate_thousandths = 0",
        "UPDATE endpoints SET url = 'abc'",
        "UPDATE endpoints SET secret = 'abc'",
        "UPDATE timers SET kind = 'abc'",
        "UPDATE timers SET due_at = 1 << 63",
        "UPDATE deliveries SET state = 'abc'",
        "UPDATE events SET status = 'abc'",
    ],
)
def test_a_start_with_an_invalid_row_fails_with_one_line(
    statement: str, filled: Path, tmp_path: Path
) -> None:
    path = tmp_path / "database"
    path.write_bytes(filled.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    line = asyncio.run(outcome(path))
    assert "has an invalid row (" in line
    assert len(line.splitlines()) == 1


def test_a_start_with_the_greatest_rate_succeeds(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "database"
    path.write_bytes(filled.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE accounts SET rate_thousandths = ?", (MAX_RATE,))
    assert asyncio.run(outcome(path)) == ""


def test_a_start_with_an_overwritten_page_fails_with_one_line(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "database"
    content = filled.read_bytes()
    path.write_bytes(content[:2_048] + b"\xff" * 4_096 + content[6_144:])
    line = asyncio.run(outcome(path))
    assert line
    assert len(line.splitlines()) == 1


@pytest.mark.deep
async def test_a_start_with_any_value_in_any_column_succeeds_or_fails_with_one_line(
    filled: Path, tmp_path: Path
) -> None:
    wrong: list[tuple[str, str, object, object]] = []
    tried = 0
    for table, column, kind in columns(filled):
        for value in NONSENSE[kind]:
            path = changed(filled, tmp_path / f"copy-{tried}", table, column, value)
            if path is None:
                continue
            tried += 1
            try:
                line = await outcome(path)
            except Exception as error:  # noqa: BLE001 - what is looked for
                wrong.append((table, column, value, error))
            else:
                if len(line.splitlines()) > 1:
                    wrong.append((table, column, value, line))
    assert wrong == []
    assert tried > 600


def test_serve_ends_with_one_line_and_exit_code_2(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "database"
    path.write_bytes(filled.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE endpoints SET profile = 'eager'")
    ended = run("serve", *FREE_PORTS, "--database", str(path))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"payments-emulator: the database {path} has an invalid row"
        " (ValueError(\"'eager' is not a valid Profile\")); repair the row, or use a new file\n"
    )
