"""The connection to an emulator: what it makes of answers, good and bad."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from emulator.replay.client import LARGEST_ANSWER_BYTES, Address, Answer, Connection, Unreachable
from tests.cli.processes import free_port

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Server:
    """Answers each request with the next of some bytes; nothing more: it hangs up."""

    def __init__(self, answers: Iterator[bytes]) -> None:
        self.heads: list[bytes] = []
        self.connections: list[asyncio.Task[None]] = []
        self.url = ""
        self._answers = answers

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(asyncio.create_task(self._converse(reader, writer)))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                answer = next(self._answers, b"")
                writer.write(answer)
                await writer.drain()
                if not answer.endswith(b"}"):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[tuple[Server, Connection]]:
    server = Server(iter(answers))
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    connection = Connection(Address.of(server.url))
    try:
        yield server, connection
    finally:
        connection.close()
        listening.close()
        await asyncio.gather(*server.connections)


async def test_a_connection_serves_many_requests() -> None:
    async with answering(OK, OK) as (server, connection):
        for _ in range(2):
            answer = await connection.ask("GET", "/")
            assert (answer.status, answer.json, answer.is_refusal) == (200, {}, False)
        assert len(server.connections) == 1
        assert connection.local_host == "127.0.0.1"


async def test_a_key_and_a_body_are_sent() -> None:
    async with answering(OK) as (server, connection):
        connection.use_key("test_some_key")
        await connection.ask_json("POST", "/v1/payments", {"note": "ብር"})
        head = server.heads[0].decode()
        assert head.startswith("POST /v1/payments HTTP/1.1\r\nhost: 127.0.0.1:")
        assert "authorization: Bearer test_some_key\r\n" in head
        assert "content-type: application/json\r\ncontent-length: 17\r\n" in head


async def test_a_body_in_chunks_is_put_together() -> None:
    chunked = (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n[1,2\r\n1\r\n]\r\n0\r\n\r\n"
    )
    async with answering(chunked) as (_, connection):
        assert (await connection.ask("GET", "/")).json == [1, 2]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "the connection was cut before an answer came"),
        (OK[:30], "the connection was cut in the middle of the answer"),
        (OK[:-1], "the connection was cut in the middle of the answer"),
        (b"SSH-2.0-OpenSSH\r\n", "what came is no HTTP"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (LARGEST_ANSWER_BYTES * 2)
            + b" " * (LARGEST_ANSWER_BYTES + 1),
            "it is larger than",
        ),
    ],
    ids=["nothing", "half a head", "half a body", "no HTTP", "too much"],
)
async def test_what_is_no_whole_answer_is_lost(answer: bytes, why: str) -> None:
    async with answering(answer, OK) as (server, connection):
        lost = await connection.ask("GET", "/")
        assert lost.lost is not None
        assert lost.lost.startswith(why)
        assert (lost.is_refusal, lost.json) == (True, None)
        assert (await connection.ask("GET", "/")).status == 200
        assert len(server.connections) == 2


async def test_where_the_server_closes_a_new_connection_is_made() -> None:
    closing = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}"
    async with answering(closing, OK) as (server, connection):
        assert (await connection.ask("GET", "/")).status == 200
        assert (await connection.ask("GET", "/")).status == 200
        assert len(server.connections) == 2


async def test_nobody_there_is_told_in_a_line() -> None:
    port = free_port()
    with pytest.raises(Unreachable) as raised:
        await Connection(Address.of(f"http://127.0.0.1:{port}")).ask("GET", "/")
    assert str(raised.value) == (
        f"cannot reach the emulator at http://127.0.0.1:{port}: Connection refused"
    )


async def test_a_name_that_nobody_has_is_told_in_a_line() -> None:
    with pytest.raises(
        Unreachable, match=r"cannot reach the emulator at http://nobody\.invalid:80"
    ):
        await Connection(Address.of("http://nobody.invalid")).ask("GET", "/")


async def test_speaking_tls_to_who_speaks_none_is_told_in_a_line() -> None:
    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"no TLS")
        writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    address = Address.of(f"https://127.0.0.1:{port}")
    with pytest.raises(Unreachable, match=r"cannot reach the emulator at https://127\.0\.0\.1:"):
        await Connection(address).ask("GET", "/")
    listening.close()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://localhost:8080/sandbox/", "http://localhost:8080/sandbox"),
        ("https://emulator.test", "https://emulator.test:443"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_an_address_may_have_a_path_and_the_usual_port(url: str, shown: str) -> None:
    assert str(Address.of(url)) == shown


async def test_a_path_in_front_is_kept() -> None:
    async with answering(OK) as (server, _):
        connection = Connection(Address.of(f"{server.url}/sandbox/"))
        await connection.ask("GET", "/v1/payments")
        connection.close()
        assert server.heads[0].startswith(b"GET /sandbox/v1/payments HTTP/1.1\r\n")


def test_an_error_is_looked_up_only_where_there_is_one() -> None:
    refused = Answer(status=400, body=b'{"error":{"code":"invalid_amount"}}')
    assert refused.error == {"code": "invalid_amount"}
    assert Answer(status=400, body=b'{"error":"no"}').error == {}
    assert Answer(status=502, body=b"<html>").error == {}
    assert Answer(status=200, body=b"[]").member("id") is None
