"""The client waits after a 429 and gives up on lost responses; a transport sends each once."""

import asyncio

import httpx
import pytest

from emulator.clock import SystemClock
from emulator.domain.user_error import UserError
from emulator.tools.verify.client import (
    MAX_LOST_RESPONSES,
    MAX_TOTAL_WAIT_S,
    CheckStopped,
    HttpTransport,
    LostResponse,
    RateLimited,
    ServiceClient,
    ServiceRequest,
    ServiceResponse,
)
from tests.server.webhooks.receiver import SELF_SIGNED, Reply, receiving, self_signed
from tests.tools.verify.runs import ImpatientClock
from tests.world import ManualClock

URL = "http://service.test"
KEY = "test_secret_of_the_merchant"
REQUEST = ServiceRequest(key=KEY)


def response(status: int, retry_after: str | None = None) -> ServiceResponse:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return ServiceResponse(request=REQUEST, status=status, headers=headers, body=b"{}")


def waiting(seconds: int) -> str:
    return f"waiting {seconds} s: the service said 429"


OK = response(200)


class Requests:
    """A client with a record of its waits, and its transport, which returns or raises the outcomes
    in turn, the last one for ever."""

    def __init__(self, *outcomes: ServiceResponse | Exception) -> None:
        self.count = 0
        self.clock = ImpatientClock(ManualClock())
        self.shown: list[str] = []
        self.client = self.client_with(self.clock)
        self._outcomes = list(outcomes)

    def client_with(self, clock: SystemClock) -> ServiceClient:
        return ServiceClient(URL, self.send, wall=clock, show=self.shown.append)

    async def status(self) -> int:
        return (await self.client.send(REQUEST)).status

    async def send(self, _: ServiceRequest) -> ServiceResponse:
        self.count += 1
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def test_an_error_of_the_service_is_no_refusal() -> None:
    statuses = (399, 400, 499, 500)
    assert [status for status in statuses if response(status).is_refusal] == [400, 499]


async def test_a_429_is_retried_after_the_named_seconds_and_each_wait_is_reported() -> None:
    requests = Requests(response(429, "3"), response(429, "1"), OK)
    assert await requests.status() == 200
    assert requests.clock.waits_ms == [3_000, 1_000]
    assert requests.shown == [waiting(3), "", waiting(1), ""]
    assert [each.status for each in requests.client.responses] == [429, 429, 200]
    assert requests.client.refusal is None


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        *((text, 1) for text in (None, "", "0", "0.0", "soon", "-1", "1.", "²", "9" * 5_000)),
        *(("0.5", 1), ("1.5", 2), ("2.0", 2), ("2.001", 3)),
    ],
)
async def test_a_wait_is_a_whole_number_of_seconds_and_at_least_one(
    retry_after: str | None, seconds: int
) -> None:
    requests = Requests(response(429, retry_after), OK)
    assert await requests.status() == 200
    assert requests.clock.waits_ms == [1_000 * seconds]


@pytest.mark.parametrize("retry_after", ["0", "1", "2", "20", "60"])
async def test_the_client_waits_a_minute_in_total(retry_after: str) -> None:
    requests = Requests(response(429, retry_after))
    with pytest.raises(RateLimited) as raised:
        await requests.status()
    assert str(raised.value) == "429 was returned again after a wait of 60 s in total"
    assert sum(requests.clock.waits_ms) == 1_000 * MAX_TOTAL_WAIT_S
    assert requests.count == len(requests.clock.waits_ms) + 1


@pytest.mark.parametrize(
    ("retry_after", "waits_ms", "left_s"), [("25", [25_000, 25_000], 10), ("61", [], 60)]
)
async def test_a_wait_beyond_the_minute_is_not_begun(
    retry_after: str, waits_ms: list[int], left_s: int
) -> None:
    requests = Requests(response(429, retry_after))
    with pytest.raises(RateLimited) as raised:
        await requests.status()
    assert str(raised.value) == (
        f"429 requires a wait of {retry_after} s, but only {left_s} s of 60 s are left"
    )
    assert requests.clock.waits_ms == waits_ms
    assert len(requests.shown) == 2 * len(waits_ms)
    # After a refusal no request is sent.
    with pytest.raises(RateLimited, match=str(raised.value)):
        await requests.status()
    assert requests.count == len(waits_ms) + 1


async def test_concurrent_waits_follow_each_other() -> None:
    """Otherwise a second of waiting would count twice."""
    requests = Requests(*[response(429, "20")] * 2, OK)
    clock = ManualClock()
    client = requests.client_with(clock)
    both = asyncio.gather(client.send(REQUEST), client.send(REQUEST))
    for _ in range(2):
        await clock.waited_for()
        assert requests.shown[-1] == waiting(20)
        clock.move(20_000)
    assert [each.status for each in await both] == [200, 200]
    assert requests.shown == [waiting(20), ""] * 2


@pytest.mark.parametrize(("second", "status"), [(OK, 200), (response(503), 503)])
async def test_a_server_error_is_retried_once(second: ServiceResponse, status: int) -> None:
    requests = Requests(response(503), second, OK)
    assert await requests.status() == status
    assert requests.count == 2


async def test_a_lost_response_stops_its_check_and_several_end_the_run() -> None:
    requests = Requests(LostResponse("it was cut"))
    for _ in range(MAX_LOST_RESPONSES - 1):
        with pytest.raises(CheckStopped, match="it was cut"):
            await requests.status()
    with pytest.raises(UserError) as raised:
        await requests.status()
    assert str(raised.value) == "http://service.test does not respond: it was cut, 3 times"
    assert requests.client.responses == []


async def test_a_missing_connection_is_not_retried() -> None:
    requests = Requests(UserError("cannot reach http://service.test: refused"))
    with pytest.raises(UserError) as raised:
        await requests.status()
    assert str(raised.value) == "cannot reach http://service.test: refused"
    assert requests.count == 1


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
        with pytest.raises(UserError) as raised:
            await transport.send(REQUEST)
    reached, _, failure = str(raised.value).partition(f"cannot reach {transport.base_url}: ")
    assert reached == ""
    return failure


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


CUT = "connection closed without a response"
LATE = "timed out after 20 s"


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (httpx.ReadError("x"), LostResponse, CUT),
        (httpx.RemoteProtocolError("x"), LostResponse, CUT),
        (TimeoutError(), LostResponse, LATE),
        (
            httpx.ConnectTimeout("x"),
            UserError,
            "cannot reach http://service.test: no connection within 10 s",
        ),
    ],
)
async def test_a_failure_is_explained(
    error: Exception, expected: type[Exception], message: str
) -> None:
    async with HttpTransport("http://service.test", FakeHttp(error)) as transport:
        with pytest.raises(expected) as raised:
            await transport.send(REQUEST)
    assert str(raised.value) == message


async def test_a_certificate_is_trusted_only_if_its_authority_is_configured(
    environment: pytest.MonkeyPatch,
) -> None:
    async with receiving(tls=self_signed()) as receiver:
        assert await connection_failure(receiver.url) == (
            "certificate not trusted: self-signed certificate;"
            " for a private authority, set SSL_CERT_FILE to its certificate (a PEM file)"
        )
        assert receiver.received == []
        environment.setenv("SSL_CERT_FILE", str(SELF_SIGNED))
        async with HttpTransport(receiver.url) as transport:
            assert (await transport.send(REQUEST)).status == 200
        assert receiver.received[0].headers["authorization"] == f"Bearer {KEY}"


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
