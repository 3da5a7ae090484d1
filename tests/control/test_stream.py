"""`GET /_emulator/stream`: what happens, as server-sent events (design, section 10)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from emulator.engine.accounts.activity import MIN_INTERVAL_MS
from tests.world import World

Message = tuple[str, dict[str, Any]]


@asynccontextmanager
async def listening(emulator: World, query: str = "") -> AsyncIterator[asyncio.Queue[Message]]:
    """The messages of a stream; the first has arrived when the block begins."""
    received: asyncio.Queue[Message] = asyncio.Queue()
    begun = asyncio.Event()
    app = emulator.running.gateway

    async def send(message: Any) -> None:
        for text in message.get("body", b"").decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in text.splitlines())
            if fields:
                received.put_nowait((fields["event"], json.loads(fields["data"])))
                begun.set()

    async def receive() -> Any:
        return await asyncio.Future()

    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": "/_emulator/stream",
        "raw_path": b"/_emulator/stream",
        "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1:8080")],
        "server": ("127.0.0.1", 8080),
    }
    task = asyncio.create_task(app(scope, receive, send))
    try:
        await begun.wait()
        yield received
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def next_message(emulator: World, received: asyncio.Queue[Message], kind: str) -> Any:
    """The data of the next message of a kind."""
    while True:
        waiting = asyncio.create_task(received.get())
        while not waiting.done():
            await emulator.wall.waited_for()
            emulator.wall.move(MIN_INTERVAL_MS)
        found, data = waiting.result()
        if found == kind:
            return data


async def test_the_stream_begins_with_the_version(emulator: World) -> None:
    async with listening(emulator) as received:
        health = await emulator.api.get("/_emulator/health")
        assert await received.get() == ("hello", {"version": health.json()["version"]})


async def test_a_new_payment_and_its_request_are_streamed(emulator: World) -> None:
    async with listening(emulator) as received:
        payment = await emulator.create()
        change = await next_message(emulator, received, "payments")
        assert change["count"] == 1
        assert change["events"][0]["type"] == "payment.created"
        assert change["events"][0]["data"]["id"] == payment["id"]
        await next_message(emulator, received, "requests")
