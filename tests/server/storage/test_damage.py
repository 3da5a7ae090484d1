"""A damaged database file: a start fails with one line, or each request has a usual response."""

import asyncio
import sqlite3
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from random import Random  # noqa: TID251 - of a seed
from typing import Any
from urllib.parse import quote

import pytest

from emulator.domain.user_error import UserError
from emulator.server.storage import payments
from emulator.server.storage.batch import DamagedDatabase, Transaction, is_of_file
from emulator.server.storage.database import MEMORY, Database
from emulator.settings import Settings
from tests.cli.processes import FREE_PORTS, run
from tests.server.api.calls import refusal
from tests.server.engine.observed_world import run_pending
from tests.server.engine.webhook_world import register
from tests.world import World, headers, order, world

SEEDS = range(40)
# Files that are served, with the most errors, and one that is not.
SAMPLE = {0, 1, 7, 9, 27}
PAGE_BYTES = 2048
STATUSES = {200, 201, 204, 400, 404, 409, 500}
SETTINGS = Settings(seed=1)
HANGING = "http://127.0.0.1:9/hook"
FAULT = {"when": {"request": "list_payments", "nth": 5}, "then": {"status": 500}}
SCENARIO = {"outcomes": [{"when": {"method": "mpesa"}, "then": "handset"}]}
PAY = {"method": "telebirr", "phone": "0900000001"}
Calls = list[tuple[str, str, Any]]
FIRST: Calls = [
    ("PUT", "/scenarios/mine", SCENARIO),
    ("PUT", "/scenarios/telebirr-test-numbers/enabled", {"enabled": False}),
    ("POST", "/faults", FAULT),
    ("POST", "/payments/{}/pay", PAY),
    ("PUT", "/snapshots/first", None),
    ("POST", "/accounts", {"name": "Third"}),
]
READ = (
    *("/accounts", "/clock", "/payments", "/payments/{}", "/webhook_endpoints", "/events"),
    *("/deliveries", "/scenarios", "/scenarios/mine", "/faults", "/snapshots", "/checklist"),
    *("/recording", "/requests"),
)
THEN: Calls = [
    *(("GET", path, None) for path in READ),
    ("POST", "/payments/{}/pay", PAY),
    ("POST", "/clock/advance", {"by": "1h"}),
    ("POST", "/snapshots/first/restore", None),
    ("POST", "/reset", None),
]


async def fill(emulator: World) -> str:
    """Write rows to every table; returns the id of a payment."""
    payment = await emulator.create(idempotency_key="k")
    await register(emulator, HANGING)
    await emulator.create()
    for method, path, body in FIRST:
        await emulator.done(method, path.format(payment["id"]), body)
    return str(payment["id"])


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """The content of a database file, and the id of a payment in it."""
    path = tmp_path_factory.mktemp("filled") / "database"

    async def make() -> str:
        async with world(SETTINGS, database=str(path)) as emulator:
            return await fill(emulator)

    payment = asyncio.run(make())
    return path.read_bytes(), payment


def damaged(content: bytes, seed: int) -> bytes:
    """The content with some other bytes, or with a page of zeros or of another page."""
    chance, changed = Random(seed), bytearray(content)  # noqa: S311
    if seed % 4:
        for _ in range(chance.randint(1, 20)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    first, second = (chance.randrange(len(content) // PAGE_BYTES) * PAGE_BYTES for _ in "ab")
    page = content[second : second + PAGE_BYTES] if seed % 8 else bytes(PAGE_BYTES)
    changed[first : first + PAGE_BYTES] = page
    return bytes(changed)


async def serve(path: Path, payment: str) -> None:
    """Start, and send each request. Raises UserError, and sqlite3.DatabaseError."""
    async with world(SETTINGS, database=str(path)) as emulator:
        listed = await emulator.api.get("/v1/payments", headers=headers())
        assert listed.status_code in {200, 500}, listed.text
        ids = {payment}
        with suppress(ValueError):  # A text of the database can be damaged.
            ids |= {each["id"] for each in listed.json().get("data", ())}
        for each in ids:
            found = await emulator.api.get(f"/v1/payments/{quote(each)}", headers=headers())
            assert found.status_code in {200, 404, 500}, found.text
        created = await emulator.api.post("/v1/payments", json=order(), headers=headers())
        assert created.status_code in {201, 500}, created.text
        for method, target, body in THEN:
            answer = await emulator.control(method, target.format(payment), body)
            assert answer.status_code in STATUSES, (target, answer.text)


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=() if seed in SAMPLE else pytest.mark.deep) for seed in SEEDS],
)
async def test_a_damaged_file_is_refused_with_one_line_or_served(
    seed: int, filled: tuple[bytes, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "database"
    content, payment = filled
    path.write_bytes(damaged(content, seed))
    line = ""
    try:
        await serve(path, payment)
    except (UserError, sqlite3.DatabaseError) as error:
        line = str(error)
    assert len(line.splitlines()) <= 1
    # The log has one line, without a traceback, for an error of the file.
    assert all(not each.exc_info or is_of_file(each.exc_info[1]) for each in caplog.records)


@pytest.fixture
def path(statement: str, filled: tuple[bytes, str], tmp_path: Path) -> str:
    """The path of a database file that a statement has damaged."""
    path = tmp_path / "database"
    path.write_bytes(filled[0])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    return str(path)


@pytest.mark.parametrize(
    ("statement", "method", "call"),
    [
        ("UPDATE payments SET status = 'abc'", "GET", "/v1/payments/{}"),
        ("UPDATE payments SET status = CAST(x'ff' AS TEXT)", "GET", "/v1/payments/{}"),
        ("UPDATE payments SET terms = '{}'", "GET", "/_emulator/checklist"),
        ("UPDATE actions SET detail = '{'", "GET", "/_emulator/payments/{}"),
        ("UPDATE actions SET detail = '{'", "GET", "/_emulator/recording"),
        ("UPDATE deliveries SET fault = '{'", "GET", "/_emulator/checklist"),
        ("UPDATE snapshots SET state = x'80'", "POST", "/_emulator/snapshots/first/restore"),
    ],
)
async def test_a_damaged_row_is_a_500_and_a_line_of_the_log(
    method: str, call: str, path: str, filled: tuple[bytes, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with world(SETTINGS, database=path) as emulator:
        response = await emulator.api.request(method, call.format(filled[1]), headers=headers())
        assert refusal(response) == (500, "internal_error", None)
    errors = [each.exc_info[1] for each in caplog.records if each.exc_info]
    assert errors
    assert all(is_of_file(error) for error in errors)
    assert all(str(error).startswith("the database is damaged: ") for error in errors)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE deliveries SET state = 'abc'", "the webhooks of an endpoint could not be read"),
        ("UPDATE payments SET reason = 'abc'", "timers could not be fired"),
    ],
)
async def test_damage_that_is_read_again_each_second_is_logged_once(
    message: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(SETTINGS, database=path) as emulator:
        for _ in range(3):
            emulator.wall.move(3_600_000)
            await run_pending(emulator)
    assert [each.getMessage() for each in caplog.records].count(message) == 1


@pytest.mark.parametrize("is_file", [False, True])
async def test_only_an_error_of_rows_in_a_file_is_damage(is_file: bool, tmp_path: Path) -> None:
    def defect(_: Transaction) -> None:
        raise KeyError

    async with Database(str(tmp_path / "database") if is_file else MEMORY) as database:
        with pytest.raises(KeyError):
            await database.read(defect)
        with pytest.raises(DamagedDatabase if is_file else TypeError):
            await database.read(partial(payments.get, position=1))


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE endpoints SET profile = 'eager'", "ValidationError("),
        ("UPDATE accounts SET name = CAST(x'ff' AS TEXT)", "Could not decode to UTF-8 column"),
        ("UPDATE accounts SET rate_thousandths = -1", "ValidationError("),
        ("DELETE FROM accounts WHERE number = 1", "ValueError('the first account has the number"),
        ("ALTER TABLE payments RENAME COLUMN phone TO fone", "the definition of payments "),
        ("DROP INDEX payments_by_status", "the definition of payments_by_status "),
    ],
)
def test_a_damaged_file_ends_serve_with_one_line_and_exit_code_2(reason: str, path: str) -> None:
    ended = run("serve", *FREE_PORTS, "--database", path)
    assert (ended.returncode, ended.stdout) == (2, "")
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"payments-emulator: the database {path} is damaged: {reason}")
    assert line.endswith("; use a copy or a new file")
