"""How a request travels: what it carries, where it goes, and in which words it gets lost."""

from collections.abc import AsyncIterator

import httpx
import pytest

from emulator.verify.answers import Request
from emulator.verify.transport import MAX_RESPONSE_BYTES, HttpWire, NoAnswer, NoConnection
from tests.cli.processes import free_port
from tests.webhooks.receiver import SELF_SIGNED, Reply, receiving, self_signed

KEY = "test_secret_of_the_merchant"
ASKED = Request(key=KEY)


class Service(httpx.AsyncBaseTransport):
    """It gives one answer, or raises it."""

    def __init__(self, answer: httpx.Response | Exception) -> None:
        self._answer = answer
        self.asked: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Without a proxy, and with nobody's own certificates."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


async def why_lost(base_url: str) -> str:
    async with HttpWire(base_url) as wire:
        with pytest.raises(NoConnection) as raised:
            await wire.send(ASKED)
    return str(raised.value)


async def test_a_request_carries_the_key_and_says_who_asks() -> None:
    async with receiving() as receiver, HttpWire(receiver.url.removesuffix("/hook")) as wire:
        await wire.send(Request(method="POST", body=b"{}", query={"a": "+ &"}, key=KEY))
        await wire.send(Request())
        first, second = receiver.received
    assert (first.method, first.path) == ("POST", "/v1/payments?a=%2B+%26")
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.headers["content-type"] == "application/json"
    assert first.headers["user-agent"].startswith("payments-emulator-verify/")
    assert first.body == b"{}"
    assert "authorization" not in second.headers
    assert "content-type" not in second.headers


async def test_an_answer_comes_as_it_is() -> None:
    reply = Reply(status=429, headers={"Retry-After": "3", "X-Odd": "ü"}, body=b"\xff")
    async with receiving(lambda _: reply) as receiver, HttpWire(receiver.url) as wire:
        answer = await wire.send(ASKED)
        assert receiver.received[0].path == "/hook/v1/payments", "a path stands in front"
    assert (answer.status, answer.body) == (429, b"\xff")
    assert (answer.headers["retry-after"], answer.headers["x-odd"]) == ("3", "ü")


async def test_no_cookie_is_brought_back_and_no_redirect_followed() -> None:
    headers = {"Location": "http://elsewhere.test/", "Set-Cookie": "a=b"}
    async with (
        receiving(lambda _: Reply(status=307, headers=headers)) as receiver,
        HttpWire(receiver.url) as wire,
    ):
        assert [(await wire.send(ASKED)).status for _ in range(2)] == [307, 307]
        assert all("cookie" not in one.headers for one in receiver.received)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (httpx.ReadError("x"), "the connection was cut before the whole answer had come"),
        (httpx.RemoteProtocolError("x"), "the connection was cut before the whole answer had"),
        (httpx.ReadTimeout("x"), "no answer came within 20 s"),
        (TimeoutError(), "no answer came within 20 s"),
    ],
)
async def test_what_is_not_answered_is_told_in_words(error: Exception, told: str) -> None:
    async with HttpWire("http://service.test", Service(error)) as wire:
        with pytest.raises(NoAnswer, match=told):
            await wire.send(ASKED)


async def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    class Endless(httpx.AsyncByteStream):
        sent = 0

        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                self.sent += 1_000_000
                yield b" " * 1_000_000

    stream = Endless()
    async with HttpWire("http://service.test", Service(httpx.Response(200, stream=stream))) as wire:
        with pytest.raises(NoAnswer, match="larger than"):
            await wire.send(ASKED)
    assert stream.sent <= MAX_RESPONSE_BYTES + 1_000_000


async def test_a_connection_has_its_time() -> None:
    async with HttpWire("http://service.test", Service(httpx.ConnectTimeout("x"))) as wire:
        with pytest.raises(NoConnection, match="no connection within 10 s"):
            await wire.send(ASKED)


async def test_a_closed_port_is_told_in_words() -> None:
    assert await why_lost(f"http://127.0.0.1:{free_port()}") == "Connection refused"


async def test_a_name_that_nobody_has_is_told_in_words() -> None:
    told = await why_lost("http://nobody.invalid")
    assert told
    assert "Errno" not in told


@pytest.mark.usefixtures("environment")
async def test_a_certificate_that_nobody_has_signed_is_not_trusted() -> None:
    async with receiving(tls=self_signed()) as receiver:
        told = await why_lost(receiver.url)
        assert receiver.received == []
    assert told == "its certificate is not trusted: self-signed certificate"


async def test_a_certificate_that_is_named_here_is_trusted(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("SSL_CERT_FILE", str(SELF_SIGNED))
    async with receiving(tls=self_signed()) as receiver, HttpWire(receiver.url) as wire:
        assert (await wire.send(ASKED)).status == 200
        assert receiver.received[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.usefixtures("environment")
async def test_a_port_that_speaks_http_is_no_https() -> None:
    async with receiving() as receiver:
        assert "no TLS with it" in await why_lost(receiver.url.replace("http:", "https:"))


async def test_a_proxy_carries_what_it_cannot_read_and_nothing_else(
    environment: pytest.MonkeyPatch,
) -> None:
    async with receiving(lambda _: Reply(status=403)) as proxy, receiving() as service:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            environment.setenv(name, proxy.url.removesuffix("/hook"))
        assert "403" in await why_lost("https://service.test")
        async with HttpWire(service.url) as wire:
            assert (await wire.send(ASKED)).status == 200
        [carried] = proxy.received
    assert (carried.method, carried.path) == ("CONNECT", "service.test:443")
    assert KEY.encode() not in carried.head
