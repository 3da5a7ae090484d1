"""The connection to an emulator: what it makes of answers, good and bad."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from emulator.replay.client import (
    MAX_RESPONSE_BYTES,
    Address,
    Answer,
    Client,
    Connection,
    Unreachable,
)
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
    async with Client(Address.of(server.url)).connection() as connection:
        yield server, connection
    listening.close()
    await asyncio.gather(*server.connections)


async def ask(url: str, path: str = "/") -> Answer:
    """One request to an address."""
    async with Client(Address.of(url)).connection() as connection:
        return await connection.ask("GET", path)


async def test_a_connection_serves_many_requests() -> None:
    async with answering(OK, OK) as (server, connection):
        for _ in range(2):
            answer = await connection.ask("GET", "/")
            assert (answer.status, answer.json, answer.is_refusal) == (200, {}, False)
        assert len(server.connections) == 1


async def test_a_key_and_a_body_are_sent() -> None:
    async with answering(OK) as (server, connection):
        connection.use_key("test_some_key")
        await connection.ask_json("POST", "/v1/payments", {"note": "ብር"})
        first, *headers = server.heads[0].decode().lower().splitlines()
        assert first == "post /v1/payments http/1.1"
        assert {
            f"host: {server.url.removeprefix('http://')}",
            "authorization: bearer test_some_key",
            "content-type: application/json",
            "content-length: 17",
        } <= set(headers)


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
        (OK[:30], "the connection was cut before an answer came"),
        (OK[:-1], "the connection was cut in the middle of the answer"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "what came is no HTTP"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (MAX_RESPONSE_BYTES * 2)
            + b" " * (MAX_RESPONSE_BYTES + 1),
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


async def test_a_request_that_was_cut_is_not_sent_again() -> None:
    """Also on a connection that has served before: a fault has struck, and the script is told."""
    async with answering(OK, b"", OK) as (server, connection):
        assert (await connection.ask("GET", "/")).status == 200
        assert (await connection.ask("GET", "/")).lost is not None
        assert len(server.heads) == 2


async def test_a_connection_that_was_closed_while_idle_is_not_used_again() -> None:
    async with answering(OK, OK) as (server, connection):
        assert (await connection.ask("GET", "/")).status == 200
        [first] = server.connections
        first.cancel()
        await asyncio.wait([first])
        server.connections.clear()
        assert (await connection.ask("GET", "/")).status == 200
        assert len(server.connections) == 1


async def test_an_answer_that_never_comes_is_lost() -> None:
    async with answering(OK[:-2] + b"}") as (_, connection):
        lost = await connection.ask("GET", "/", within_s=0.01)
        assert lost.lost == "none came within 0.01 s"


async def test_a_path_goes_out_as_it_is() -> None:
    async with answering(OK) as (server, connection):
        await connection.ask("GET", "/v1/payments/..?a=%2F&b=+")
        assert server.heads[0].startswith(b"GET /v1/payments/..?a=%2F&b=+ HTTP/1.1\r\n")


async def test_no_proxy_of_the_user_stands_between(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with answering(OK) as (_, connection):
        assert (await connection.ask("GET", "/")).status == 200


async def test_redirects_are_answers() -> None:
    redirect = b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 2\r\n\r\n{}"
    async with answering(redirect, OK) as (server, connection):
        assert (await connection.ask("GET", "/")).status == 302
        assert len(server.heads) == 1


async def test_it_knows_which_of_our_addresses_the_emulator_sees() -> None:
    async with answering(OK) as (_, connection):
        await connection.ask("GET", "/")
        assert connection.local_host == "127.0.0.1"


async def test_nobody_there_is_told_in_a_line() -> None:
    port = free_port()
    for host in ("127.0.0.1", "localhost"):
        with pytest.raises(Unreachable) as raised:
            await ask(f"http://{host}:{port}")
        assert str(raised.value) == (
            f"cannot reach the emulator at http://{host}:{port}: Connection refused"
        )


async def test_a_name_that_nobody_has_is_told_in_a_line() -> None:
    for host in ("nobody.invalid", f"{'a' * 64}.invalid", "a..b", "xn--zz-", "999.1.1.1"):
        with pytest.raises(Unreachable) as raised:
            await ask(f"http://{host}")
        assert str(raised.value).startswith(f"cannot reach the emulator at http://{host}:80: ")
        assert "\n" not in str(raised.value)


async def test_speaking_tls_to_who_speaks_none_is_told_in_a_line() -> None:
    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"no TLS")
        writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    told = r"cannot reach the emulator at https://127\.0\.0\.1:\d+: no TLS with it: [A-Z_]+$"
    with pytest.raises(Unreachable, match=told):
        await ask(f"https://127.0.0.1:{port}")
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
        await ask(f"{server.url}/sandbox/", "/v1/payments")
        assert server.heads[0].startswith(b"GET /sandbox/v1/payments HTTP/1.1\r\n")


def test_an_error_is_looked_up_only_where_there_is_one() -> None:
    refused = Answer(status=400, body=b'{"error":{"code":"invalid_amount"}}')
    assert refused.error == {"code": "invalid_amount"}
    assert Answer(status=400, body=b'{"error":"no"}').error == {}
    assert Answer(status=502, body=b"<html>").error == {}
    assert Answer(status=200, body=b"[]").member("id") is None
