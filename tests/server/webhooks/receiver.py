"""Servers for the tests: real HTTP with configurable responses, and other protocols."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from inspect import isawaitable
from pathlib import Path
from typing import Any

from tests.turns import close_server

MAX_WAIT_S = 60
# A key and a self-signed certificate for `localhost`, valid from 2020 to 2120.
SELF_SIGNED = Path(__file__).with_name("localhost.pem")
MAX_HEAD = 65_536
PATH = "/hook"


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request; the names of `headers` are in lower case, `head` is verbatim."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    head: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A complete response; its length and `Connection: close` are added."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class Silence(Enum):
    """The ways not to respond."""

    NEVER = "never"
    """The request is read and the connection held, until one side closes it."""
    HANG_UP = "hang up"
    """The request is read and the connection closed."""


NEVER = Silence.NEVER
HANG_UP = Silence.HANG_UP

Response = Reply | bytes | AsyncIterator[bytes] | Silence
"""Bytes are sent verbatim before the connection is closed."""
Answer = Callable[[Received], Response | Awaitable[Response]]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def replies(*outcomes: Response) -> Answer:
    """Each outcome once, in this order; the last one for all later requests."""
    remaining = list(outcomes)

    def answer(_received: Received) -> Response:
        return remaining.pop(0) if len(remaining) > 1 else remaining[0]

    return answer


class Receiver:
    """Stores requests and responds to them; `answer` may be replaced at any time."""

    def __init__(self, answer: Answer) -> None:
        self.url = ""
        self.answer = answer
        self.received: list[Received] = []
        self._arrived = asyncio.Event()
        self._connections: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    async def wait_for(self, count: int) -> list[Received]:
        """Return all requests, as soon as there are `count`."""
        async with asyncio.timeout(MAX_WAIT_S):
            while len(self.received) < count:
                self._arrived.clear()
                await self._arrived.wait()
        return self.received

    async def drained(self) -> None:
        """Return when every connection so far has ended."""
        async with asyncio.timeout(MAX_WAIT_S):
            await asyncio.gather(*self._connections.values())

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections[writer] = asyncio.create_task(self._converse(reader, writer))

    async def close(self) -> None:
        """Close all connections; raises the error of an answer."""
        for writer, connection in self._connections.items():
            connection.cancel()
            # Not a close, which would wait for a client that no longer reads.
            writer.transport.abort()
        for ended in await asyncio.gather(*self._connections.values(), return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                begin = await reader.readexactly(1)
                # HTTP servers respond so to a TLS handshake.
                outcome: Response = Reply(status=400)
                if begin.isalpha():
                    received = await _read(begin, reader)
                    self.received.append(received)
                    self._arrived.set()
                    answer = self.answer(received)
                    outcome = await answer if isawaitable(answer) else answer
                await _respond(outcome, reader, writer)
                writer.close()
                await writer.wait_closed()
        finally:
            # close() raises the error of an answer; the client must not wait for it.
            writer.transport.abort()


async def _read(begin: bytes, reader: asyncio.StreamReader) -> Received:
    head = begin + await reader.readuntil(b"\r\n\r\n")
    request_line, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, path, _ = request_line.split(" ")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name = name.lower()
        value = value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method=method, path=path, headers=headers, body=body, head=head)


async def _respond(
    outcome: Response, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    if outcome is HANG_UP:
        return
    if outcome is NEVER:
        await reader.read()
        return
    if isinstance(outcome, Reply):
        outcome = _encoded(outcome)
    if isinstance(outcome, bytes):
        writer.write(outcome)
    elif isinstance(outcome, AsyncIterator):
        async for part in outcome:
            writer.write(part)
            await writer.drain()
    await writer.drain()


def _encoded(reply: Reply) -> bytes:
    phrase = HTTPStatus(reply.status).phrase if reply.status in list(HTTPStatus) else "Unknown"
    headers = {**reply.headers, "Content-Length": len(reply.body), "Connection": "close"}
    lines = [f"HTTP/1.1 {reply.status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + reply.body


def self_signed() -> ssl.SSLContext:
    """The TLS configuration of a server with a self-signed certificate for `localhost`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SELF_SIGNED)
    return context


@asynccontextmanager
async def receiving(
    answer: Answer | None = None, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """A receiver that listens on 127.0.0.1 until the block ends; its default status is 200.

    With `tls` it speaks HTTPS, and its URL names `localhost`.
    """
    receiver = Receiver(answer or replies(Reply()))
    server = await asyncio.start_server(
        receiver.connected, "127.0.0.1", 0, ssl=tls, limit=MAX_HEAD, backlog=1024
    )
    port = server.sockets[0].getsockname()[1]
    receiver.url = f"https://localhost:{port}{PATH}" if tls else f"http://127.0.0.1:{port}{PATH}"
    try:
        yield receiver
    finally:
        await close_server(server)
        await receiver.close()


@asynccontextmanager
async def serving(serve: Serve, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    """The port of a server of any protocol; each of its connections ends by itself."""
    connections: list[asyncio.Task[None]] = []

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(
        lambda *streams: connections.append(asyncio.create_task(connect(*streams))), host, port
    )
    async with server, asyncio.timeout(MAX_WAIT_S):
        yield server.sockets[0].getsockname()[1]
        await asyncio.gather(*connections)
