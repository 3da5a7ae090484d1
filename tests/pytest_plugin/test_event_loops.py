"""Servers whose event loop cannot run while a thread waits."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from emulator.pytest_plugin.account import blocked_ports


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_server_is_blocked_by_the_thread_of_its_loop_and_without_a_running_loop(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def serve() -> asyncio.Server:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        assert port in blocked_ports()
        assert port not in await asyncio.to_thread(blocked_ports)
        return server

    async def close(server: asyncio.Server) -> None:
        server.close()
        await server.wait_closed()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        server = runner.run(serve())
        port = server.sockets[0].getsockname()[1]
        assert port in blocked_ports()
        runner.run(close(server))
        assert port not in blocked_ports()
