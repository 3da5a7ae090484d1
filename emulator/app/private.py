"""The program inside another one: on free loopback ports, silent, and deaf to signals."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from emulator.app.composition import Running, compose
from emulator.app.server import Server, listener
from emulator.clock import RealClock
from emulator.settings import Settings

_OURS = "emulator"


@asynccontextmanager
async def private_emulator(settings: Settings) -> AsyncIterator[str]:
    """Serve on this event loop for the length of the block; yields the base URL.

    Webhooks are stamped with their account's clock, as a replay needs it. Raises NoListener,
    ScenarioError, UnusableDatabase.
    """
    with (
        listener(settings.host, settings.port, option="--port") as api,
        listener(settings.host, settings.checkout_port, option="--checkout-port") as pages,
        _silence(),
    ):
        wall = RealClock()
        api_port = api.getsockname()[1]
        async with compose(
            settings,
            wall=wall,
            api_port=api_port,
            checkout_port=pages.getsockname()[1],
            write_log=lambda _: None,
            stamps_business_time=True,
        ) as running:
            end, is_ready = asyncio.Event(), asyncio.Event()
            loop = asyncio.get_running_loop()

            def announce(_: Running) -> None:
                loop.call_soon_threadsafe(is_ready.set)

            server = Server(running, wall=wall, end=end, announce=announce)
            serving = asyncio.create_task(server.serve(sockets=[api, pages]))
            serving.add_done_callback(lambda _: is_ready.set())
            try:
                await is_ready.wait()
                yield settings.local_url(api_port)
            finally:
                end.set()
                await serving


@contextmanager
def _silence() -> Iterator[None]:
    """Nobody reads of a webhook that failed; what is wrong with ourselves is still told."""
    logger = logging.getLogger(_OURS)
    usual = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(usual)
