"""The HTTP transport sends each request once, to the service only, and explains failures."""

from collections.abc import AsyncIterator

import httpx
import pytest

from emulator.http.client import NoConnection
from emulator.tools.verify.client import (
    MAX_RESPONSE_BYTES,
    HttpTransport,
    LostResponse,
    ServiceRequest,
)
from tests.cli.processes import free_port
from tests.server.webhooks.receiver import SELF_SIGNED, Reply, receiving, self_signed

KEY = "test_secret_of_the_merchant"
REQUEST = ServiceRequest(key=KEY)


class FakeHttp(httpx.AsyncBaseTransport):
    """Returns one response, or raises an exception."""

    def __init__(self, outcome: httpx.Response | Exception) -> None:
        self._outcome = outcome

    async def handle_async_request(self, _: httpx.Request) -> httpx.Response:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without proxies and without own certificates."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


async def connection_failure(base_url: str) -> str:
    async with HttpTransport(base_url) as transport:
        with pytest.raises(NoConnection) as raised:
            await transport.send(REQUEST)
    return str(raised.value)


async def test_a_request_has_the_key_and_the_name_of_the_program() -> None:
    async with (
        receiving() as receiver,
        HttpTransport(receiver.url.removesuffix("/hook")) as transport,
    ):
        query = {"a": "+ &"}
        await transport.send(ServiceRequest(method="POST", body=b"{}", query=query, key=KEY))
        await transport.send(ServiceRequest())
        first, second = receiver.received
    assert (first.method, first.path) == ("POST", "/v1/payments?a=%2B+%26")
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.headers["content-type"] == "application/json"
    assert first.headers["user-agent"].startswith("payments-emulator-verify/")
    assert first.body == b"{}"
    assert not {"authorization", "content-type"} & second.headers.keys()


async def test_a_response_is_returned_unchanged_and_a_path_prefix_is_kept() -> None:
    reply = Reply(status=429, headers={"Retry-After": "3", "X-Odd": "ü"}, body=b"\xff")
    async with receiving(lambda _: reply) as receiver, HttpTransport(receiver.url) as transport:
        response = await transport.send(REQUEST)
        assert receiver.received[0].path == "/hook/v1/payments"
    assert (response.status, response.body) == (429, b"\xff")
    assert (response.headers["retry-after"], response.headers["x-odd"]) == ("3", "ü")


async def test_cookies_are_not_kept_and_redirects_not_followed() -> None:
    headers = {"Location": "http://elsewhere.test/", "Set-Cookie": "a=b"}
    async with (
        receiving(lambda _: Reply(status=307, headers=headers)) as receiver,
        HttpTransport(receiver.url) as transport,
    ):
        assert [(await transport.send(REQUEST)).status for _ in range(2)] == [307, 307]
        assert all("cookie" not in each.headers for each in receiver.received)


CUT = "the connection was closed before the end of the response"
LATE = "no response within 20 s"


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (httpx.ReadError("x"), LostResponse, CUT),
        (httpx.RemoteProtocolError("x"), LostResponse, CUT),
        (httpx.ReadTimeout("x"), LostResponse, LATE),
        (TimeoutError(), LostResponse, LATE),
        (httpx.ConnectTimeout("x"), NoConnection, "no connection within 10 s"),
    ],
)
async def test_a_failure_is_explained(
    error: Exception, expected: type[Exception], message: str
) -> None:
    async with HttpTransport("http://service.test", FakeHttp(error)) as transport:
        with pytest.raises(expected) as raised:
            await transport.send(REQUEST)
    assert str(raised.value) == message


async def test_an_endless_response_is_not_read_to_its_end() -> None:
    class Endless(httpx.AsyncByteStream):
        sent = 0

        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                self.sent += 1_000_000
                yield b" " * 1_000_000

    stream = Endless()
    http = FakeHttp(httpx.Response(200, stream=stream))
    async with HttpTransport("http://service.test", http) as transport:
        with pytest.raises(LostResponse, match="larger than"):
            await transport.send(REQUEST)
    assert stream.sent <= MAX_RESPONSE_BYTES + 1_000_000


async def test_a_missing_connection_is_explained_without_error_numbers() -> None:
    assert await connection_failure(f"http://127.0.0.1:{free_port()}") == "connection refused"
    message = await connection_failure("http://nobody.invalid")
    assert message
    assert "Errno" not in message


async def test_a_certificate_is_trusted_only_if_its_authority_is_configured(
    environment: pytest.MonkeyPatch,
) -> None:
    async with receiving(tls=self_signed()) as receiver:
        assert await connection_failure(receiver.url) == (
            "certificate not trusted: self-signed certificate"
        )
        assert receiver.received == []
        environment.setenv("SSL_CERT_FILE", str(SELF_SIGNED))
        async with HttpTransport(receiver.url) as transport:
            assert (await transport.send(REQUEST)).status == 200
        assert receiver.received[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.usefixtures("environment")
async def test_a_port_with_http_has_no_tls() -> None:
    async with receiving() as receiver:
        url = receiver.url.replace("http:", "https:")
        assert "no TLS spoken there" in await connection_failure(url)


async def test_a_proxy_is_used_only_for_https(environment: pytest.MonkeyPatch) -> None:
    async with receiving(lambda _: Reply(status=403)) as proxy, receiving() as service:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            environment.setenv(name, proxy.url.removesuffix("/hook"))
        assert "403" in await connection_failure("https://service.test")
        async with HttpTransport(service.url) as transport:
            assert (await transport.send(REQUEST)).status == 200
        [tunnel] = proxy.received
    assert (tunnel.method, tunnel.path) == ("CONNECT", "service.test:443")
    assert KEY.encode() not in tunnel.head
