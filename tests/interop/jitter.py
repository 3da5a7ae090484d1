"""A reverse proxy that delays every response differently, and rewrites the headers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle

from emulator.clock import RealClock, pause

DELAYS_MS = (0, 7, 1, 23, 0, 3, 11, 0, 2, 40)
ADDED = (
    *(b"via: 1.1 proxy", b"x-request-id: 7f3a", b"server-timing: app;dur=3"),
    *(b"set-cookie: route=1; path=/", b"cache-control: no-store"),
)
MAX_HEAD_BYTES = 64 * 1024
_END = b"\r\n\r\n"
_OF_A_CONNECTION = (b"connection", b"keep-alive", b"transfer-encoding")


class Jitter:
    """Passes each request to an upstream on a connection of its own."""

    def __init__(self, upstream_port: int) -> None:
        self._upstream_port = upstream_port
        self._delays_ms = cycle(DELAYS_MS)
        self._wall = RealClock()
        self._connections: set[asyncio.Task[None] | None] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(asyncio.current_task())
        try:
            while True:
                await self._exchange(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has closed its connection
        finally:
            writer.close()

    async def wait_until_closed(self) -> None:
        """Wait until the clients have closed their connections."""
        await asyncio.gather(*filter(None, self._connections))

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, headers = _head(await reader.readuntil(_END))
        body = await reader.readexactly(int(headers.get(b"content-length", b"0")))
        await self._pause()
        upstream, sender = await asyncio.open_connection("127.0.0.1", self._upstream_port)
        try:
            sender.write(_written(first, {**headers, b"connection": b"close"}) + body)
            answer = await upstream.read()
        finally:
            sender.close()
        head, _, content = answer.partition(_END)
        status, answered = _head(head + _END)
        assert int(answered[b"content-length"]) == len(content)
        await self._pause()
        writer.write(_written(status, answered, *ADDED))
        await writer.drain()
        await self._pause()
        writer.write(content)
        await writer.drain()

    async def _pause(self) -> None:
        await pause(self._wall, next(self._delays_ms))


def _head(raw: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """The first line, and the headers with names in small letters, in another order."""
    first, *lines = raw.removesuffix(_END).split(b"\r\n")
    pairs = [line.partition(b":") for line in reversed(lines)]
    return first, {
        name.lower(): value.strip()
        for name, _, value in pairs
        if name.lower() not in _OF_A_CONNECTION
    }


def _written(first: bytes, headers: dict[bytes, bytes], *added: bytes) -> bytes:
    lines = [first, *(b"%s: %s" % pair for pair in headers.items()), *added]
    return b"\r\n".join(lines) + _END


@asynccontextmanager
async def jitter(upstream_port: int) -> AsyncIterator[str]:
    """The base URL of the proxy."""
    proxy = Jitter(upstream_port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=MAX_HEAD_BYTES)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await proxy.wait_until_closed()
