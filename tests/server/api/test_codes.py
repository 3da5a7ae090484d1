"""Every error code of `/v1` (contract, section 7)."""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.domain.accounts import RateLimit
from emulator.server.api.parameters import CREATE, LIST
from tests.server.api.calls import CODES, PAYMENTS, get, post, refusal
from tests.world import World, order, world

Provoke = Callable[[World], Awaitable[httpx.Response]]

# A blocked database causes the first: tests/server/engine/test_key_in_use.py. The others are those
# of the rows of the tables: test_parameters.py.
TESTED_ELSEWHERE = {
    "idempotency_key_in_use",
    *(f"invalid_{row.kind}" for row in (*CREATE.rows, *LIST.rows)),
}


def creating(body: Any, **headers: str) -> Provoke:
    return lambda emulator: post(emulator, body, **headers)


def reading(path: str, **headers: str) -> Provoke:
    return lambda emulator: get(emulator, path, **headers)


async def with_unknown_key(emulator: World) -> httpx.Response:
    return await get(emulator, PAYMENTS, "test_unknown")


async def without_key(emulator: World) -> httpx.Response:
    return await emulator.api.get(PAYMENTS)


async def reusing(emulator: World) -> httpx.Response:
    await post(emulator, order(idempotency_key="k"))
    return await post(emulator, order(idempotency_key="k", amount=200))


async def too_often(emulator: World) -> httpx.Response:
    for _ in range(100):
        await get(emulator, PAYMENTS)
    return await get(emulator, PAYMENTS)


async def on_a_broken_database(emulator: World) -> httpx.Response:
    with sqlite3.connect(emulator.app.settings.database) as other:
        other.execute("DROP TABLE payments")
    other.close()
    return await post(emulator, order())


# For each code, a request that gets it, and the param of its error.
PROVOKED: dict[str, tuple[Provoke, str | None]] = {
    "invalid_json": (creating(b"{"), None),
    "invalid_request_body": (creating([]), None),
    "unsupported_content_type": (creating(order(), **{"Content-Type": "text/plain"}), None),
    "request_too_large": (creating(b" " * 262_145), None),
    "missing_parameter": (creating(order(amount=...)), "amount"),
    "unknown_parameter": (creating(order(ammount=1)), "ammount"),
    "duplicate_parameter": (creating(b'{"amount":1,' + json.dumps(order())[1:].encode()), "amount"),
    "idempotency_key_header": (creating(order(), **{"Idempotency-Key": "k"}), None),
    "missing_api_key": (without_key, None),
    "invalid_api_key": (with_unknown_key, None),
    "payment_not_found": (reading(f"{PAYMENTS}/pay_x"), None),
    "route_not_found": (reading("/v1/refunds"), None),
    "idempotency_key_reused": (reusing, "idempotency_key"),
    "rate_limit_exceeded": (too_often, None),
    "internal_error": (on_a_broken_database, None),
}


@pytest.mark.clause("2.3.1", "7.1", "7.2", "7.3", "7.4", "7.7", "7.9", "7.10", "7.13")
@pytest.mark.parametrize("code", PROVOKED)
async def test_each_code_has_its_status_and_param(code: str, tmp_path: Path) -> None:
    provoke, param = PROVOKED[code]
    async with world(
        strict=True,
        rate_limit=RateLimit(requests=100, period_ms=60_000),
        database=str(tmp_path / "state.db"),
    ) as emulator:
        assert refusal(await provoke(emulator)) == (CODES[code], code, param)


@pytest.mark.clause("7.13")
def test_every_code_is_tested() -> None:
    assert set(PROVOKED) | TESTED_ELSEWHERE == set(CODES)


@pytest.mark.clause("7.12")
async def test_a_500_does_not_reveal_its_cause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(database=str(tmp_path / "state.db")) as emulator:
        created = await on_a_broken_database(emulator)
        listed = await get(emulator, PAYMENTS)
        retrieved = await get(emulator, f"{PAYMENTS}/pay_x")
    for response in (created, listed, retrieved):
        assert refusal(response) == (500, "internal_error", None)
        assert "payments" not in response.text
        assert response.content == created.content
    assert "no such table: payments" in caplog.text


async def test_an_overwritten_database_yields_a_500(tmp_path: Path) -> None:
    database = tmp_path / "state.db"
    async with world(database=str(database)) as emulator:
        await emulator.create()
        other = sqlite3.connect(database)
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        other.close()
        database.write_bytes(b"garbage!" * 1000)
        async with asyncio.timeout(60):
            for response in (await post(emulator, order()), await get(emulator, PAYMENTS)):
                assert refusal(response) == (500, "internal_error", None)
