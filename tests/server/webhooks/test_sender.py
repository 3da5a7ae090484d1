"""Requests that carry webhooks, and the results of their responses, over real sockets."""

import asyncio
import gc
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator

import pytest
from standardwebhooks import Webhook

from emulator.clock import RealClock
from emulator.domain.webhooks import MAX_TIMEOUT_MS, AttemptResult, WebhookRequest, WebhookResponse
from emulator.http.exchange import (
    MAX_BYTES_READ,
    MAX_HEADER_CHARACTERS,
    MAX_RESPONSE_BYTES,
    MAX_RESPONSE_PARTS,
    MAX_STORED_BYTES,
    MAX_STORED_HEADERS,
    HttpExchange,
    Sender,
)
from emulator.http.name_lookup import NameLookups
from emulator.http.webhook_messages import Message, webhook_request
from tests.server.engine.webhook_world import reply_after
from tests.server.webhooks.receiver import (
    MAX_WAIT_S,
    NEVER,
    Reply,
    Response,
    receiving,
    replies,
    serving,
)
from tests.world import ManualClock

SECRET = "whsec_" + b64encode(bytes(range(24))).decode()
BODY = '{"type":"payment.completed","data":{"metadata":{"ደንበኛ":"አበበ"}}}'.encode()
TIMEOUT_MS = MAX_TIMEOUT_MS
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def wall() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def sender(wall: ManualClock) -> AsyncIterator[Sender]:
    sender = Sender(wall, is_in_container=False)
    yield sender
    await sender.close()


def webhook(url: str, body: bytes = BODY) -> WebhookRequest:
    message = Message(event_id="evt_1", timestamp_s=RealClock().now_ms() // 1000, body=body)
    return webhook_request(message, url=url, secrets=[SECRET])


def is_acknowledged(result: AttemptResult) -> bool:
    return result.response is not None and 200 <= result.response.status <= 299


async def deliver(sender: Sender, response: Response) -> tuple[AttemptResult, WebhookResponse]:
    """The result of one attempt with this response, and the response as it is stored."""
    async with receiving(replies(response)) as receiver:
        result = await sender.send(webhook(receiver.url))
    assert result.response is not None
    return result, result.response


async def test_a_webhook_verifies_and_has_these_headers_and_no_other(sender: Sender) -> None:
    async with receiving() as receiver:
        sent = webhook(receiver.url)
        result = await sender.send(sent)
        (received,) = receiver.received
    assert (is_acknowledged(result), result.error) == (True, None)
    assert received.body == BODY
    assert Webhook(SECRET).verify(received.body, received.headers) == received.json
    host = receiver.url.removeprefix("http://").removesuffix("/hook")
    lines = received.head.decode().removesuffix("\r\n\r\n").split("\r\n")
    assert lines == [
        "POST /hook HTTP/1.1",
        f"host: {host}",
        *(f"{name}: {value}" for name, value in sent.headers),
        "accept-encoding: identity",
        "connection: close",
        f"Content-Length: {len(BODY)}",
    ]


async def test_path_and_query_are_sent_verbatim_without_the_fragment(sender: Sender) -> None:
    async with receiving() as receiver:
        await sender.send(webhook(f"{receiver.url}/a%2Fb//c/?q=%E1%8A%A0&q=1+2#there"))
        await sender.send(webhook(receiver.url.removesuffix("/hook")))
        paths = [received.path for received in receiver.received]
    assert paths == ["/hook/a%2Fb//c/?q=%E1%8A%A0&q=1+2", "/"]


@pytest.mark.parametrize(
    ("old", "new", "host", "authorization"),
    [
        ("127.0.0.1", "localhost", "localhost", None),
        ("://", "://shop:p%40ss@", "127.0.0.1", f"Basic {b64encode(b'shop:p@ss').decode()}"),
    ],
    ids=["name", "user and password"],
)
async def test_a_name_is_resolved_and_a_user_is_authenticated(
    sender: Sender, old: str, new: str, host: str, authorization: str | None
) -> None:
    async with receiving() as receiver:
        result = await sender.send(webhook(receiver.url.replace(old, new)))
        (received,) = receiver.received
    assert is_acknowledged(result)
    assert received.headers["host"].partition(":")[0] == host
    assert received.headers.get("authorization") == authorization


async def test_a_response_is_stored(sender: Sender) -> None:
    text = "የማይታወቅ ☕"
    headers = {"X-Reason": text.encode().decode("latin-1")}
    _, stored = await deliver(sender, Reply(status=422, headers=headers, body=text.encode()))
    assert stored == WebhookResponse(
        status=422,
        headers=(("x-reason", text), ("content-length", "22"), ("connection", "close")),
        body=text,
    )


@pytest.mark.clause("6.4")
@pytest.mark.parametrize(
    ("response", "status", "body"),
    [
        *(
            (Reply(status=status), status, "")
            for status in (200, 201, 204, 299, 300, 304, 400, 404, 410, 429, 500, 503, 599, 999)
        ),
        # Interim responses are ignored.
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
            200,
            "",
        ),
        # Invalid UTF-8 is replaced.
        (Reply(body=b"\xff\xfe ok \xe1\x88"), 200, "�� ok �"),
        # Only the beginning of a body is stored.
        (Reply(body=b"x" * MAX_STORED_BYTES), 200, "x" * MAX_STORED_BYTES),
        (Reply(body=b"x" * (MAX_STORED_BYTES + 1)), 200, "x" * MAX_STORED_BYTES),
        (Reply(body=b"x" * (MAX_BYTES_READ * 3)), 200, "x" * MAX_STORED_BYTES),
        # An incomplete body does not change the result.
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", 200, "half"),
        (CHUNKED + b"4\r\nhalf\r\n", 200, "half"),
        (CHUNKED + b"4\r\nhalf\r\nnonsense\r\n", 200, "half"),
    ],
)
async def test_the_status_decides_whether_an_attempt_has_succeeded(
    sender: Sender, response: Response, status: int, body: str
) -> None:
    result, stored = await deliver(sender, response)
    assert (stored.status, stored.body) == (status, body)
    assert is_acknowledged(result) is (200 <= status <= 299)
    assert result.error is None


OK = b"HTTP/1.1 200 OK\r\n"
# What precedes a part that is repeated, the part, and whether the status is known then.
FLOODS = {
    "one body": (OK + b"\r\n", b"x", True),
    "one chunk extension": (CHUNKED + b"1;", b"x", True),
    "chunk extensions": (CHUNKED, b"1;name=value\r\nx\r\n", True),
    "chunks of one byte": (CHUNKED, b"1\r\nx\r\n", True),
    "trailers": (CHUNKED + b"0\r\n", b"a: b\r\n", True),
    "one trailer": (CHUNKED + b"0\r\na: ", b"x", True),
    "interim responses": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", False),
    "headers": (OK, b"a: b\r\n", False),
    "one header": (OK + b"a: ", b"x", False),
}


@pytest.mark.parametrize(("before", "part", "has_status"), FLOODS.values(), ids=FLOODS)
async def test_an_endless_response_is_read_up_to_the_limit(
    sender: Sender, before: bytes, part: bytes, has_status: bool
) -> None:
    """The clock stands, so that only the limit ends the attempt."""

    async def endless() -> AsyncIterator[bytes]:
        yield before
        while True:
            yield part * 1_000

    async with receiving(replies(endless())) as receiver, asyncio.timeout(MAX_WAIT_S):
        result = await sender.send(webhook(receiver.url))
        await receiver.drained()
    if has_status:
        assert is_acknowledged(result)
    else:
        assert (result.response, result.error) == (None, "the response was not HTTP")


class Counting(HttpExchange):
    """Counts what the parser calls."""

    calls = 0

    def on_message_begin(self) -> None:
        self.calls += 1
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.calls += 1
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self.calls += 1
        super().on_body(body)


async def no_tls() -> ssl.SSLContext:
    raise NotImplementedError


@pytest.mark.parametrize(("before", "part", "has_status"), FLOODS.values(), ids=FLOODS)
async def test_the_work_for_a_response_is_limited(
    before: bytes, part: bytes, has_status: bool
) -> None:
    """Twice the limit in one packet, which is parsed at once."""
    exchange = Counting(webhook("http://127.0.0.1/"), NameLookups(), no_tls)
    exchange.data_received(before + part * (2 * MAX_RESPONSE_BYTES // len(part)))
    assert exchange.calls <= MAX_RESPONSE_PARTS
    assert (exchange.response is not None) is has_status
    assert (exchange.failure is None) is has_status


async def test_a_head_in_packets_of_one_byte_is_limited() -> None:
    exchange = HttpExchange(webhook("http://127.0.0.1/"), NameLookups(), no_tls)
    # The first packet is a part, and so is the beginning of the response.
    exchange.data_received(b"HTTP/1.1 200 OK\r\na: ")
    for _ in range(MAX_RESPONSE_PARTS - 2):
        assert exchange.failure is None
        exchange.data_received(b"x")
    assert exchange.failure is not None
    exchange.data_received(b"\r\n\r\n")
    assert exchange.response is None


async def test_only_the_first_headers_are_stored(sender: Sender) -> None:
    headers = {f"x-{number}": "a" * 100 for number in range(200)} | {"x-0": "b" * 9_000}
    _, stored = await deliver(sender, Reply(headers=headers))
    assert len(stored.headers) == MAX_STORED_HEADERS
    assert stored.headers[0] == ("x-0", "b" * MAX_HEADER_CHARACTERS)


@pytest.mark.clause("6.4")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(sender: Sender, status: int) -> None:
    """Also with a location that httpx cannot parse."""
    async with receiving() as other:
        for location in (other.url, "http://[broken"):
            redirect = Reply(status=status, headers={"Location": location}, body=b"there")
            result, stored = await deliver(sender, redirect)
            assert (stored.status, stored.body) == (status, "there")
            assert (is_acknowledged(result), result.error) == (False, "redirect not followed")
            assert result.cause is not None
            assert f"register {location} if" in result.cause
        assert other.received == []


async def test_each_attempt_has_its_own_connection(sender: Sender) -> None:
    """Also when the receiver would keep the connection."""
    read_after_request: asyncio.Queue[bytes] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(BODY)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n")
        read_after_request.put_nowait(await reader.read())

    async with serving(serve) as port:
        for _ in range(3):
            assert is_acknowledged(await sender.send(webhook(f"http://127.0.0.1:{port}/")))
            assert await read_after_request.get() == b""


async def test_a_hundred_webhooks_are_sent_concurrently(sender: Sender) -> None:
    """All are received before the first response."""
    may_respond = asyncio.Event()
    async with receiving(reply_after(may_respond)) as receiver:
        attempts = [
            asyncio.create_task(sender.send(webhook(receiver.url, b"%d" % number)))
            for number in range(100)
        ]
        received = await receiver.wait_for(100)
        assert {int(request.body) for request in received} == set(range(100))
        may_respond.set()
        results = await asyncio.gather(*attempts)
    assert all(is_acknowledged(result) for result in results)


async def test_an_attempt_ends_after_fifteen_seconds(sender: Sender, wall: ManualClock) -> None:
    may_respond = asyncio.Event()
    async with receiving(reply_after(may_respond)) as receiver:
        attempt = asyncio.create_task(sender.send(webhook(receiver.url)))
        await receiver.wait_for(1)
        wall.move(TIMEOUT_MS - 1)
        may_respond.set()
        in_time = await attempt

        may_respond.clear()
        attempt = asyncio.create_task(sender.send(webhook(receiver.url)))
        await receiver.wait_for(2)
        wall.move(TIMEOUT_MS)
        late = await attempt
    assert is_acknowledged(in_time)
    assert in_time.duration_ms == TIMEOUT_MS - 1
    assert late.response is None
    assert late.error == "timed out after 15 s"
    assert late.cause is not None
    assert "return 2xx first and work afterwards" in late.cause
    assert late.duration_ms == TIMEOUT_MS


@pytest.mark.parametrize("status", [200, 500])
async def test_an_endless_body_does_not_change_the_result(
    sender: Sender, wall: ManualClock, status: int
) -> None:
    has_started = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 %d So\r\nContent-Length: 10\r\n\r\nhalf" % status
        has_started.set()
        await asyncio.Event().wait()

    async with receiving(replies(endless())) as receiver:
        attempt = asyncio.create_task(sender.send(webhook(receiver.url)))
        await has_started.wait()
        # A second exchange, so that the bytes sent before it have arrived.
        receiver.answer = replies(Reply())
        await sender.send(webhook(receiver.url))
        wall.move(TIMEOUT_MS)
        result = await attempt
    assert result.response is not None
    assert (result.response.status, result.response.body) == (status, "half")
    assert is_acknowledged(result) is (status == 200)
    assert result.error is None


@pytest.mark.parametrize("is_closed", [False, True], ids=["cancelled", "sender closed"])
async def test_the_end_of_an_attempt_closes_its_connection(sender: Sender, is_closed: bool) -> None:
    async with receiving(replies(NEVER)) as receiver:
        attempt = asyncio.create_task(sender.send(webhook(receiver.url)))
        await receiver.wait_for(1)
        if is_closed:
            await sender.close()
            assert (await attempt).error is not None
        else:
            attempt.cancel()
            with pytest.raises(asyncio.CancelledError):
                await attempt
        await receiver.drained()
    assert is_closed or not other_tasks()


async def test_a_tls_handshake_without_a_response_times_out_and_is_closed(
    sender: Sender, wall: ManualClock
) -> None:
    is_greeted = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        is_greeted.set()
        await reader.read()

    async with serving(serve) as port:
        attempt = asyncio.create_task(sender.send(webhook(f"https://127.0.0.1:{port}/")))
        await is_greeted.wait()
        wall.move(TIMEOUT_MS)
        result = await attempt
    assert result.error == "timed out after 15 s in the TLS handshake"
    assert result.cause is not None
    assert f"(then register http://127.0.0.1:{port}/)" in result.cause


async def test_cancelling_the_first_attempt_does_not_affect_the_others(sender: Sender) -> None:
    async with receiving() as receiver:
        attempts = [asyncio.create_task(sender.send(webhook(receiver.url))) for _ in range(3)]
        started = asyncio.Event()
        asyncio.get_running_loop().call_soon(started.set)
        await started.wait()
        attempts[0].cancel()
        results = await asyncio.gather(*attempts, return_exceptions=True)
        assert len(receiver.received) == 2
    assert isinstance(results[0], asyncio.CancelledError)


@pytest.mark.parametrize("attempts", [0, 1])
async def test_a_sender_can_be_closed_twice_and_leaves_no_task(
    wall: ManualClock, attempts: int
) -> None:
    sender = Sender(wall, is_in_container=False)
    async with receiving() as receiver:
        for _ in range(attempts):
            assert is_acknowledged(await sender.send(webhook(receiver.url)))
    for _ in range(2):
        await sender.close()
    gc.collect()
    assert not other_tasks()


def other_tasks() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
