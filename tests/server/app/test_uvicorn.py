"""The connection is one that uvicorn accepts as its option `http`."""

import asyncio
import socket
from functools import partial
from typing import Any, cast

import uvicorn

from emulator.clock import RealClock
from emulator.server.app.connection import Connection
from tests.server.app.connection import read_responses
from tests.server.app.test_protocol import create, request
from tests.turns import turn
from tests.world import world

LAST = request(b"", method="GET", framing="", more="Connection: close\r\n")


async def test_uvicorn_runs_the_connection_as_its_protocol() -> None:
    async with world() as emulator:
        connect: Any = partial(Connection, gateway=emulator.running.gateway, wall=RealClock())
        config = uvicorn.Config(
            cast("Any", None), http=connect, lifespan="off", interface="asgi3", log_config=None
        )
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            serving = asyncio.create_task(server.serve([listener]))
            while not server.started:
                await turn()
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(create() + LAST)
            received = await reader.read()
            writer.close()
            server.should_exit = True
            await serving
    responses = read_responses(received)
    assert [response.status for response in responses] == [201, 200]
    assert b"date" in responses[0].headers
