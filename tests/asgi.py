"""The program under an ASGI server without sockets, whose connections a fault can cut."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from emulator.server import Application
from emulator.server.api.layers import TRANSPORT

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class _Transport(asyncio.Transport):
    """A connection that is only cut."""

    is_cut = False

    def abort(self) -> None:
        self.is_cut = True

    def close(self) -> None:
        self.is_cut = True


def asgi(app: Application) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """The application; it raises ConnectionResetError where the connection is cut."""

    async def application(scope: Any, receive: Receive, send: Send) -> None:
        transport = _Transport()

        async def received() -> Message:
            return {"type": "http.disconnect"} if transport.is_cut else await receive()

        await app({**scope, TRANSPORT: transport}, received, send)
        if transport.is_cut:
            raise ConnectionResetError

    return application
