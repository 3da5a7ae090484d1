"""Calls that save and restore an account, and read its state."""

import sqlite3
from typing import Any

import httpx

from emulator.server.storage.accounts import Rows, take
from emulator.server.storage.batch import Transaction
from tests.world import TEST_KEY, World, headers, order


async def save(emulator: World, key: str = TEST_KEY, name: str = "here") -> None:
    await emulator.done("PUT", f"/snapshots/{name}", key=key)


async def restore(emulator: World, key: str = TEST_KEY, name: str = "here") -> None:
    await emulator.done("POST", f"/snapshots/{name}/restore", key=key)


async def clock(emulator: World, key: str = TEST_KEY) -> dict[str, Any]:
    return dict(await emulator.shown("/clock", key))


async def listed(emulator: World, key: str = TEST_KEY) -> list[str]:
    response = await emulator.api.get("/v1/payments", headers=headers(key))
    return [payment["id"] for payment in response.json()["data"]]


async def posted(emulator: World, key: str = TEST_KEY, **changes: Any) -> httpx.Response:
    return await emulator.api.post("/v1/payments", json=order(**changes), headers=headers(key))


def kept(answer: httpx.Response) -> tuple[Any, ...]:
    return answer.status_code, answer.headers.raw, answer.content


def connection(emulator: World) -> sqlite3.Connection:
    return emulator.app.engine.snapshots._database._raw


def rows(emulator: World, account: int) -> Rows:
    return take(Transaction(connection(emulator), {}), account)
