"""A retry during the first request with its key (contract, 4.1; design 4, Idempotency)."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from emulator.settings import Settings
from tests.server.engine.observed_world import ObservedWall, observed, stuck
from tests.world import START_MS, World, headers, order

KEY = {"idempotency_key": "order-1"}
PATIENCE_MS = 5_000


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "state.db")


@contextmanager
def locked(database: str) -> Iterator[None]:
    """Another program holds the database: the emulator waits two seconds for it."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def send(emulator: World, **changes: object) -> "asyncio.Task[httpx.Response]":
    body = order(**KEY, **changes)
    return asyncio.create_task(emulator.api.post("/v1/payments", json=body, headers=headers()))


async def waiting(wall: ObservedWall, retry: "asyncio.Task[httpx.Response]") -> None:
    await wall.waited_until(START_MS + PATIENCE_MS)
    assert not retry.done()


@pytest.mark.clause("4.1.23")
async def test_a_retry_waits_five_seconds_of_real_time_and_is_then_refused(database: str) -> None:
    """4.1 rule 2's status: 409 `idempotency_key_in_use` with `Retry-After: 1`."""
    async with observed(Settings(seed=1, database=database)) as (emulator, wall):
        async with stuck(emulator):
            first = send(emulator)
            retry = send(emulator)
            await waiting(wall, retry)
            wall.move(PATIENCE_MS - 1)
            for _ in range(20):
                await asyncio.wait({retry}, timeout=0)
            assert not retry.done()
            wall.move(1)
            refused = await retry
            assert not first.done()
        assert refused.status_code == 409
        assert refused.headers["retry-after"] == "1"
        error = refused.json()["error"]
        assert (error["code"], error["param"]) == ("idempotency_key_in_use", "idempotency_key")
        created = await first
        assert created.status_code == 201
        replay = await send(emulator)
        assert replay.headers["idempotent-replayed"] == "true"
        assert replay.content == created.content


async def test_a_retry_that_waited_gets_the_replay(database: str) -> None:
    """4.1: exactly one payment is ever created; the others wait and get the replay."""
    async with observed(Settings(seed=1, database=database)) as (emulator, wall):
        async with stuck(emulator):
            first, retries = send(emulator), [send(emulator) for _ in range(8)]
            for retry in retries:
                await waiting(wall, retry)
        created = await first
        assert "idempotent-replayed" not in created.headers
        for retry in retries:
            replay = await retry
            assert replay.content == created.content
            assert replay.headers["idempotent-replayed"] == "true"


async def test_a_different_request_that_waited_is_refused_for_the_reuse(database: str) -> None:
    """4.1 rule 2: a key reused with different parameters is a 409."""
    async with observed(Settings(seed=1, database=database)) as (emulator, wall):
        async with stuck(emulator):
            first, other = send(emulator), send(emulator, amount=200)
            await waiting(wall, other)
        assert (await first).status_code == 201
        assert (await other).json()["error"]["code"] == "idempotency_key_reused"


async def test_a_failure_before_the_commit_leaves_the_key_free(database: str) -> None:
    """4.1: neither a 4xx nor a 5xx before commit uses a key up."""
    async with observed(Settings(seed=1, database=database)) as (emulator, _):
        with locked(database):
            failed = await send(emulator)
            assert failed.status_code == 500
            assert failed.json()["error"]["code"] == "internal_error"
        created = await send(emulator, amount=200)
        assert created.status_code == 201
        assert "idempotent-replayed" not in created.headers


async def test_other_keys_and_other_accounts_do_not_wait() -> None:
    """4.1: scope of a key: account, mode."""
    async with observed() as (emulator, wall):
        answers = await asyncio.gather(
            *(emulator.create(key, **KEY) for key in ("test_demo_key", "live_demo_key")),
            emulator.create("test_other_key", **KEY),
            emulator.create(idempotency_key="order-2"),
        )
        assert len({payment["id"] for payment in answers}) == 4
        while not wall.waits.empty():
            assert wall.waits.get_nowait() != START_MS + PATIENCE_MS
