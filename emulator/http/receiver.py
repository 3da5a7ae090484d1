"""Receives webhooks at registered paths."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Self

from .addresses import host_with_port
from .received_webhooks import ReceivedRequest

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 1024 * 1024
MAX_REQUEST_S = 15

_ACCEPTED = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class WebhookReceiver:
    """Server that passes each webhook to the function registered for its path.

    Any other connection is closed without a response.
    """

    def __init__(self) -> None:
        self.base_url = ""
        self._numbers = count(1)
        self._functions: dict[str, Callable[[ReceivedRequest], object]] = {}
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def listen(self, host: str, port: int = 0) -> int:
        """Listen on one more address; return the port. Raises OSError."""
        server = await asyncio.start_server(self._accept, host, port, limit=MAX_HEAD_BYTES)
        self._servers.append(server)
        port = int(server.sockets[0].getsockname()[1])
        self.base_url = self.base_url or f"http://{host_with_port(host, port)}"
        return port

    def register(self, function: Callable[[ReceivedRequest], object]) -> str:
        """Return the new path whose webhooks the function receives."""
        path = f"/{next(self._numbers)}"
        self._functions[path] = function
        return path

    def unregister(self, path: str) -> None:
        self._functions.pop(path, None)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)
        # Not in the task, which may be cancelled before it begins.
        connection.add_done_callback(lambda _: writer.close())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # ValueError: not HTTP.
        with suppress(OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            async with asyncio.timeout(MAX_REQUEST_S):
                await self._respond(reader, writer)

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path, headers = parse_head(await reader.readuntil(b"\r\n\r\n"))
        length = int(headers.get("content-length", "0"))
        function = self._functions.get(path)
        if function is None or not 0 <= length <= MAX_BODY_BYTES:
            return
        local_host = str(writer.get_extra_info("sockname")[0])
        body = await reader.readexactly(length)
        function(ReceivedRequest(local_host=local_host, headers=headers, body=body))
        writer.write(_ACCEPTED)
        await writer.drain()


def parse_head(head: bytes) -> tuple[str, dict[str, str]]:
    """Return the path and the headers of a request. Raises ValueError."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    _, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    return path, {name.lower(): value.strip() for name, _, value in pairs}
