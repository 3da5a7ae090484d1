"""The HTTP client of explore: which bytes are a response, and which connections it uses again."""

import asyncio
from contextlib import suppress

import pytest

from emulator.tools.explore.connections import Connections, Request

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
        connections = Connections()
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
