"""A world whose clock records each wait and its end."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from emulator.domain.instants import Instant
from emulator.server.engine.payments.payments import Order
from emulator.settings import Settings
from tests.cli.processes import HANGS_AFTER_S
from tests.turns import turn
from tests.world import TEST_KEY, ManualClock, World, world_at

ENGINE_ORDER = Order(
    amount_minor=100,
    methods=("telebirr",),
    success_url="https://shop.example/ok",
    cancel_url="https://shop.example/no",
    metadata={},
    expires_in_s=60,
)


class ObservedWall(ManualClock):
    """Each wait is put in `waits`, as the instant that it lasts to; None is for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: asyncio.Queue[Instant | None] = asyncio.Queue()

    async def wait(self, event: asyncio.Event, *, until: Instant | None) -> None:
        self.waits.put_nowait(until)
        await super().wait(event, until=until)

    async def waited_until(self, until: Instant | None) -> None:
        """Return when a task waits until this instant."""
        async with asyncio.timeout(60):
            while await self.waits.get() != until:
                pass


@asynccontextmanager
async def observed(settings: Settings | None = None) -> AsyncIterator[tuple[World, ObservedWall]]:
    """A world whose clocks flow with a wall that is moved by hand, by default."""
    wall = ObservedWall()
    async with world_at(wall, settings or Settings(seed=1)) as emulator:
        yield emulator, wall


@asynccontextmanager
async def stuck(emulator: World) -> AsyncIterator[None]:
    """The storage thread is busy: a request that writes stays in progress."""
    is_over = threading.Event()
    database = emulator.app.engine._context.database
    holding = database.write(lambda _: is_over.wait(HANGS_AFTER_S), is_long=True)
    await turn()
    try:
        yield
    finally:
        is_over.set()
        await holding


async def run_pending(emulator: World) -> None:
    """Let the others come to rest, without any time passing.

    A long read goes to the storage thread and back, behind whatever was already on its way.
    """
    for _ in range(5):
        await emulator.control("GET", "/events")


async def timeline(emulator: World, payment: dict[str, Any], key: str = TEST_KEY) -> Any:
    """What happened to a payment: status and instant, oldest first."""
    detail = await emulator.shown(f"/payments/{payment['id']}", key)
    return [(event["status"], event["at"]) for event in detail["timeline"]]
