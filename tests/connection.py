"""A connection without a socket: the server's protocol, fed packet by packet by a test."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from emulator.server.app.http_protocol import BoundedProtocol
from tests.turns import turn
from tests.world import API_PORT, CHECKOUT_PORT, World, world

# Many more than a request takes.
MAX_TURNS = 200
# The client of each connection has a port of its own.
_PORTS = count(50_000)
_NO_BODY = {100, 204, 304}


@dataclass(frozen=True, kw_only=True)
class WireResponse:
    """One response as it arrived."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


def read_responses(received: bytes, *, to_head: Sequence[int] = ()) -> list[WireResponse]:
    """The responses in some bytes, without those of status 100.

    `to_head` has the places of the responses that have no body because HEAD was requested.
    Raises ValueError for bytes that are not a sequence of complete responses.
    """
    responses: list[WireResponse] = []
    while received:
        head, end, received = received.partition(b"\r\n\r\n")
        status_line, *lines = head.split(b"\r\n")
        if not end or not status_line.startswith(b"HTTP/1.1 "):
            raise ValueError(status_line)
        status = int(status_line.split(b" ")[1])
        headers = dict(line.split(b": ", 1) for line in lines)
        has_body = status not in _NO_BODY and len(responses) not in to_head
        length = int(headers[b"content-length"]) if has_body else 0
        if len(received) < length:
            raise ValueError(received)
        if status != 100:
            responses.append(WireResponse(status=status, headers=headers, body=received[:length]))
        received = received[length:]
    return responses


class MemoryTransport(asyncio.Transport):
    """What the protocol writes is kept, as if it were sent at once, unless `is_read` is false."""

    def __init__(self, app: Any, client: tuple[str, int], port: int) -> None:
        super().__init__({"sockname": ("127.0.0.1", port), "peername": client})
        self.sent = bytearray()
        self.unsent = bytearray()
        self.is_read = True
        self.is_paused = False
        self._is_closing = False
        config = uvicorn.Config(app, interface="asgi3", lifespan="off", ws="none", log_config=None)
        config.load()
        self.state = ServerState()
        self.protocol = BoundedProtocol(config=config, server_state=self.state, app_state={})
        self.protocol.connection_made(self)

    def write(self, data: Any) -> None:
        if self._is_closing:
            return
        self.unsent += data
        self._send()
        if len(self.unsent) > 64 * 1024:
            self.protocol.pause_writing()

    def read_all(self) -> None:
        """The client reads what was written, and goes on doing so."""
        self.is_read = True
        self._send()
        self.protocol.resume_writing()

    def _send(self) -> None:
        if self.is_read:
            self.sent += self.unsent
            self.unsent.clear()

    def get_write_buffer_size(self) -> int:
        return len(self.unsent)

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    def abort(self) -> None:
        self.unsent.clear()
        self.close()


class Connection:
    """One client, as the server sees it."""

    def __init__(self, world: World, *, port: int = API_PORT) -> None:
        client = ("127.0.0.1", next(_PORTS))
        self.world = world
        self.transport = MemoryTransport(world.app, client, port)
        self.protocol = self.transport.protocol
        self._tasks = self.transport.state.tasks

    async def send(self, *packets: bytes, pauses: bool = True) -> None:
        """Deliver packets; with `pauses`, wait after each until the server is idle."""
        for packet in packets:
            if self.transport.is_paused:
                await self.quiet()
            if not self.is_closed:
                self.protocol.data_received(packet)
            if pauses:
                await self.quiet()
        await self.quiet()

    async def quiet(self) -> None:
        """Let the server go on until all requests are answered, or wait for their bodies."""
        for _ in range(MAX_TURNS):
            await turn()
            if not self._tasks:
                break
        await turn()

    async def ended(self) -> None:
        """Wait until each request is answered, or has ended with its client."""
        await turn()
        while self._tasks:
            await asyncio.wait(self._tasks)
            await turn()

    @property
    def is_answering(self) -> bool:
        """Whether a request has been given to the application and has no response yet."""
        return bool(self._tasks)

    @property
    def is_closed(self) -> bool:
        """Whether the server reads no further requests."""
        return self.transport.is_closing()

    def responses(self, *, to_head: Sequence[int] = ()) -> list[WireResponse]:
        return read_responses(bytes(self.transport.sent), to_head=to_head)


@asynccontextmanager
async def connection(**changes: Any) -> AsyncIterator[Connection]:
    """A connection to the API's listener of a world."""
    async with world(**changes) as emulator:
        yield Connection(emulator)


__all__ = ["CHECKOUT_PORT", "Connection", "WireResponse", "connection", "read_responses"]
