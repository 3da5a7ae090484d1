"""HTTP client: connections, complete and incomplete responses, unreachable servers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from emulator.http.addresses import BaseUrl
from emulator.http.client import MAX_RESPONSE_BYTES, EmulatorClient
from emulator.http.emulator_calls import (
    CREATE_PAYMENT,
    EmulatorCall,
    PaymentsEmulatorError,
    any_json,
)
from emulator.http.response import HttpResponse
from tests.cli.processes import free_port
from tests.turns import close_server

ROOT = EmulatorCall("GET", "/", any_json)
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Server:
    """Sends the next response to each request, and closes the connection after the last."""

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
async def responding(*answers: bytes) -> AsyncIterator[tuple[Server, EmulatorClient]]:
    server = Server(iter(answers))
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with EmulatorClient(BaseUrl.parse(server.url)) as client:
        yield server, client
    await close_server(listening)
    await asyncio.gather(*server.connections)


async def request(url: str, path: str = "/") -> HttpResponse:
    """The response to one request."""
    async with EmulatorClient(BaseUrl.parse(url)) as client:
        return await client.send(EmulatorCall("GET", path, any_json))


async def test_a_connection_serves_many_requests() -> None:
    async with responding(OK, OK) as (server, client):
        for _ in range(2):
            response = await client.send(ROOT)
            assert (response.status, response.json, response.is_error) == (200, {}, False)
            assert client.http.local_address[0] == "127.0.0.1"
        assert len(server.connections) == 1


async def test_a_key_and_a_body_are_sent() -> None:
    async with responding(OK, OK) as (server, client):
        await client.send(ROOT)
        assert b"authorization" not in server.heads[0]
        await replace(client, key="test_some_key").send(CREATE_PAYMENT(body={"note": "ብር"}))
        first, *headers = server.heads[1].decode().lower().splitlines()
        assert first == "post /v1/payments http/1.1"
        assert {
            f"host: {server.url.removeprefix('http://')}",
            "authorization: bearer test_some_key",
            "content-type: application/json",
            "content-length: 17",
        } <= set(headers)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "connection closed without a response"),
        (OK[:30], "connection closed without a response"),
        (OK[:-1], "the response is incomplete"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "the response was not HTTP"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (MAX_RESPONSE_BYTES * 2)
            + b" " * (MAX_RESPONSE_BYTES + 1),
            "the response is larger than",
        ),
    ],
    ids=["nothing", "half a head", "half a body", "not HTTP", "too large"],
)
async def test_an_incomplete_response_is_a_failure(answer: bytes, why: str) -> None:
    async with responding(answer, OK) as (server, client):
        response = await client.send(ROOT)
        assert response.failure is not None
        assert response.failure.startswith(why)
        assert (response.is_error, response.json) == (True, None)
        assert (await client.send(ROOT)).status == 200
        assert len(server.connections) == 2


async def test_a_request_without_a_response_is_not_sent_again() -> None:
    """Also on a connection that has served before: the fault was applied once."""
    async with responding(OK, b"", OK) as (server, client):
        assert (await client.send(ROOT)).status == 200
        assert (await client.send(ROOT)).failure is not None
        assert len(server.heads) == 2


async def test_a_connection_that_was_closed_while_idle_is_not_used_again() -> None:
    async with responding(OK, OK) as (server, client):
        assert (await client.send(ROOT)).status == 200
        [first] = server.connections
        first.cancel()
        await asyncio.wait([first])
        server.connections.clear()
        assert (await client.send(ROOT)).status == 200
        assert len(server.connections) == 1


async def test_a_response_that_never_ends_is_a_failure() -> None:
    async with (
        responding(OK[:-2] + b"}") as (server, _),
        EmulatorClient(BaseUrl.parse(server.url), timeout_s=0.01) as client,
    ):
        response = await client.send(ROOT)
        assert response.failure == "timed out after 0.01 s"


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with responding(OK) as (_, client):
        assert (await client.send(ROOT)).status == 200


async def test_redirects_are_not_followed_and_cookies_are_not_kept() -> None:
    head = b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\nset-cookie: a=b\r\n"
    redirect = head + b"content-length: 2\r\n\r\n{}"
    async with responding(redirect, redirect) as (server, client):
        assert [(await client.send(ROOT)).status for _ in range(2)] == [302, 302]
        assert len(server.heads) == 2
        assert b"cookie" not in server.heads[1].lower()


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost"),
        *("unknown.invalid", f"{'a' * 64}.invalid", "a..b", "xn--zz-", "999.1.1.1"),
    ],
)
async def test_a_closed_port_and_an_unknown_name_are_explained_in_one_line(host: str) -> None:
    address = f"{host}:{free_port()}"
    with pytest.raises(PaymentsEmulatorError) as raised:
        await request(f"http://{address}")
    start, reason = str(raised.value).split(f"{address} does not respond: ")
    assert start == "the payments emulator at http://"
    assert (reason == "connection refused") is (host in ("127.0.0.1", "localhost"))
    assert "\n" not in reason


@pytest.mark.parametrize("answer", [b"no TLS", b"GET /", b"CONNECT /", b"\x16\x03\x01\xff\xff"])
async def test_a_server_without_tls_is_explained_in_one_line(answer: bytes) -> None:
    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    message = r"at https://127\.0\.0\.1:\d+ does not respond: TLS handshake failed: [a-z ]+$"
    with pytest.raises(PaymentsEmulatorError, match=message):
        await request(f"https://127.0.0.1:{port}")
    listening.close()


@pytest.mark.parametrize("prefix", ["", "/sandbox/"])
async def test_a_path_is_sent_verbatim_after_the_prefix_of_the_base_url(prefix: str) -> None:
    async with responding(OK) as (server, _):
        await request(f"{server.url}{prefix}", "/v1/payments/..?a=%2F&b=+")
        path = f"{prefix.rstrip('/')}/v1/payments/..?a=%2F&b=+"
        assert server.heads[0].startswith(f"GET {path} HTTP/1.1\r\n".encode())


def test_the_error_object_is_empty_when_there_is_none() -> None:
    refused = HttpResponse(status=400, body=b'{"error":{"code":"invalid_amount"}}')
    assert refused.error == {"code": "invalid_amount"}
    assert HttpResponse(status=400, body=b'{"error":"no"}').error == {}
    assert HttpResponse(status=502, body=b"<html>").error == {}
    assert HttpResponse(status=200, body=b"[]").member("id") is None
