"""A merchant's server for the tests: real HTTP on a port of this machine, answering as told."""

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

MAX_WAIT_S = 60
# A key, and what it says of itself: that it is `localhost`, from 2020 to 2120.
SELF_SIGNED = Path(__file__).with_name("localhost.pem")
MAX_HEAD = 65_536
PATH = "/hook"


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request as it came; the names of `headers` are in lower case, `head` is verbatim."""

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


@dataclass(frozen=True, kw_only=True)
class Verbatim:
    """Bytes that are sent as they are, then the connection is closed: what no Reply can say."""

    parts: AsyncIterator[bytes]


class Silence(Enum):
    """How a receiver may fail to answer."""

    NEVER = "never"
    """The request is read and the connection held, until one side closes it."""
    HANG_UP = "hang up"
    """The request is read and the connection closed."""


NEVER = Silence.NEVER
HANG_UP = Silence.HANG_UP

Said = Reply | Verbatim | Silence
Answer = Callable[[Received], Said | Awaitable[Said]]


def accept(_received: Received) -> Reply:
    return Reply()


def replies(*said: Said) -> Answer:
    """Answers in turn; the last one again and again."""
    left = list(said)

    def answer(_received: Received) -> Said:
        return left.pop(0) if len(left) > 1 else left[0]

    return answer


class Receiver:
    """What came in, and how it is answered; `answer` may be replaced at any time."""

    def __init__(self, answer: Answer) -> None:
        self.url = ""
        self.answer = answer
        self.received: list[Received] = []
        self._arrived = asyncio.Event()
        self._connections: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    async def wait_for(self, count: int) -> list[Received]:
        """All that was received, as soon as it is `count` requests."""
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
        """Drop every connection; raises what an answer raised."""
        for writer, connection in self._connections.items():
            connection.cancel()
            # Not a close: a client that reads no more would hold it up.
            writer.transport.abort()
        for ended in await asyncio.gather(*self._connections.values(), return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                begin = await reader.readexactly(1)
                # As servers do who are greeted in TLS and speak only HTTP.
                said: Said = Reply(status=400)
                if begin.isalpha():
                    received = await _read(begin, reader)
                    self.received.append(received)
                    self._arrived.set()
                    answered = self.answer(received)
                    said = await answered if isawaitable(answered) else answered
                await _say(said, reader, writer)
                writer.close()
                await writer.wait_closed()
        finally:
            # An answer that raises is told by close(), and must not leave the client waiting.
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


async def _say(said: Said, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if said is HANG_UP:
        return
    if said is NEVER:
        await reader.read()
        return
    if isinstance(said, Reply):
        writer.write(_encoded(said))
        await writer.drain()
        return
    assert isinstance(said, Verbatim)
    async for part in said.parts:
        writer.write(part)
        await writer.drain()


def _encoded(reply: Reply) -> bytes:
    headers = {
        **reply.headers,
        "Content-Length": str(len(reply.body)),
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {reply.status} {_phrase(reply.status)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + reply.body


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in list(HTTPStatus) else "Unknown"


def self_signed() -> ssl.SSLContext:
    """How a server speaks TLS with a certificate for `localhost` that nobody has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SELF_SIGNED)
    return context


@asynccontextmanager
async def receiving(
    answer: Answer | None = None, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """A receiver that listens on 127.0.0.1 until the block ends; by default it says 200.

    With `tls` it speaks HTTPS, and its URL names `localhost`.
    """
    receiver = Receiver(answer or accept)
    server = await asyncio.start_server(
        receiver.connected, "127.0.0.1", 0, ssl=tls, limit=MAX_HEAD, backlog=1024
    )
    port = server.sockets[0].getsockname()[1]
    receiver.url = f"https://localhost:{port}{PATH}" if tls else f"http://127.0.0.1:{port}{PATH}"
    try:
        yield receiver
    finally:
        server.close()
        await receiver.close()
