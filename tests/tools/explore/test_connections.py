"""The HTTP client of explore: which bytes are a response, and which connections it uses again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from emulator.clock import RealClock
from emulator.tools.explore.connections import Connections, Request
from tests.cli.processes import free_port
from tests.turns import turn

CLOSED = "the connection was closed before a response"
CLOSED_EARLY = "the connection was closed in the middle of the response"
# Without the error of the parser.
NOT_HTTP = "the response is not HTTP"
RESPONSES = [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", ("200", b"ab")),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", ("200", b"ab")),
    (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", ("200", b"until the end")),
    (b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", ("204", b"")),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", (CLOSED_EARLY, b"")),
    (b"HTTP/1.1 200", (CLOSED, b"")),
    (b"", (CLOSED, b"")),
    (b"SSH-2.0-OpenSSH\r\n", (NOT_HTTP, b"")),
]


async def responses(content: bytes, *, count: int = 1) -> tuple[list[tuple[str, bytes]], int]:
    """The responses to a number of requests, and the number of connections that they took.

    A server that sends no complete response closes the connection.
    """
    handlers: list[asyncio.Task[None] | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.append(asyncio.current_task())
        while await reader.readline() and content:
            while await reader.readline() not in (b"\r\n", b""):
                pass
            writer.write(content)
            if not content.endswith(b"ab") or b": 9" in content:
                break
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        connections = Connections(RealClock())
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        request = Request(method="GET", url=url)
        received = [await connections.send(request) for _ in range(count)]
        connections.close()
        await asyncio.gather(*filter(None, handlers))
    texts = [response.text.partition(": ")[0] for response in received]
    return list(zip(texts, (each.body for each in received), strict=True)), len(handlers)


@pytest.mark.parametrize(("content", "expected"), RESPONSES)
async def test_bytes_are_a_response_or_a_failure(
    content: bytes, expected: tuple[str, bytes]
) -> None:
    assert (await responses(content))[0] == [expected]


@pytest.mark.parametrize(("content", "opened"), [(RESPONSES[0][0], 1), (RESPONSES[2][0], 3)])
async def test_an_open_connection_is_used_again(content: bytes, opened: int) -> None:
    assert (await responses(content, count=3))[1] == opened


@asynccontextmanager
async def counting(*, answered: int) -> AsyncIterator[tuple[str, asyncio.Queue[int]]]:
    """A server that responds to this many requests; the queue receives the number of each.

    The block ends when all connections have been closed by the client.
    """
    numbers: asyncio.Queue[int] = asyncio.Queue()
    handlers: list[asyncio.Task[None] | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.append(asyncio.current_task())
        with suppress(ConnectionError):
            while line := await reader.readline():
                if line == b"\r\n":
                    numbers.put_nowait(count := numbers.qsize() + 1)
                    writer.write(RESPONSES[0][0] if count <= answered else b"")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", numbers
        while not handlers:
            await turn()
        await asyncio.gather(*filter(None, handlers))


@pytest.mark.parametrize(
    ("send", "answered", "sent"),
    [
        (lambda connections, request: connections.send(request), 0, 1),
        (lambda connections, request: connections.send_together([request, request]), 0, 2),
        (lambda connections, request: connections.send(request, timeout_s=60, closes=True), 0, 1),
        (lambda connections, request: connections.serves_several(request), 1, 2),
    ],
    ids=["one", "two at the same moment", "one to leave", "one on a second connection"],
)
async def test_cancelled_requests_close_their_connections(
    send: Callable[[Connections, Request], Coroutine[Any, Any, object]], answered: int, sent: int
) -> None:
    async with counting(answered=answered) as (url, numbers):
        sending = asyncio.create_task(
            send(Connections(RealClock()), Request(method="GET", url=url))
        )
        while numbers.qsize() < sent:
            await turn()
        sending.cancel()
        await asyncio.wait([sending])
        assert sending.cancelled()


async def test_connections_are_closed_when_another_one_is_refused() -> None:
    async with counting(answered=0) as (url, _):
        closed = f"http://127.0.0.1:{free_port()}/"
        requests = [Request(method="GET", url=each) for each in (url, closed)]
        for response in await Connections(RealClock()).send_together(requests):
            assert (response.failure, response.is_refused) == ("connection refused", True)
