"""Requests that carry webhooks, and the results of their responses, over real sockets."""

import asyncio
import base64
import gc
from collections.abc import AsyncIterator

import pytest
from standardwebhooks import Webhook

from emulator.clock import RealClock
from emulator.domain.webhooks import AttemptResult, WebhookRequest, WebhookResponse
from emulator.webhooks.messages import Message, request
from emulator.webhooks.sender import (
    MAX_BYTES_READ,
    MAX_HEADER_CHARACTERS,
    MAX_STORED_BYTES,
    MAX_STORED_HEADERS,
    TIMEOUT_S,
    Sender,
)
from tests.webhooks.receiver import (
    HANG_UP,
    NEVER,
    Received,
    Reply,
    Verbatim,
    receiving,
    replies,
)
from tests.world import ManualClock

SECRET = "whsec_" + base64.b64encode(bytes(range(24))).decode()
BODY = '{"type":"payment.completed","data":{"metadata":{"ደንበኛ":"አበበ"}}}'.encode()
TIMEOUT_MS = TIMEOUT_S * 1_000

Response = Reply | Verbatim


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
    return request(message, url=url, secrets=[SECRET])


async def deliver(sender: Sender, response: Response) -> AttemptResult:
    """The result of one attempt with this response."""
    async with receiving(lambda _: response) as receiver:
        return await sender.send(webhook(receiver.url))


async def parts(*sent: bytes) -> AsyncIterator[bytes]:
    for part in sent:
        yield part


async def test_a_webhook_arrives_and_verifies(sender: Sender) -> None:
    async with receiving() as receiver:
        result = await sender.send(webhook(receiver.url))
        (received,) = receiver.received
    assert result.has_succeeded
    assert result.error is None
    assert received.body == BODY
    assert Webhook(SECRET).verify(received.body, received.headers) == received.json


async def test_a_request_has_these_headers_and_no_other(sender: Sender) -> None:
    async with receiving() as receiver:
        sent = webhook(receiver.url)
        await sender.send(sent)
        (received,) = receiver.received
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


async def test_a_name_is_resolved_and_sent_as_host(sender: Sender) -> None:
    async with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "localhost")
        result = await sender.send(webhook(url))
        (received,) = receiver.received
    assert result.has_succeeded
    assert received.headers["host"].startswith("localhost:")


async def test_user_and_password_of_a_url_authenticate(sender: Sender) -> None:
    async with receiving() as receiver:
        await sender.send(webhook(receiver.url.replace("://", "://shop:p%40ss@")))
        (received,) = receiver.received
    assert received.headers["authorization"] == f"Basic {base64.b64encode(b'shop:p@ss').decode()}"
    assert "@" not in received.headers["host"]


async def test_a_response_is_stored(sender: Sender) -> None:
    text = "የማይታወቅ ☕"
    headers = {"X-Reason": text.encode().decode("latin-1")}
    reply = Reply(status=422, headers=headers, body=text.encode())
    result = await deliver(sender, reply)
    assert result.response == WebhookResponse(
        status=422,
        headers=(("x-reason", text), ("content-length", "22"), ("connection", "close")),
        body=text,
    )
    assert not result.has_succeeded
    assert result.error is None


@pytest.mark.clause("6.4")
@pytest.mark.parametrize("status", [200, 201, 204, 299])
async def test_any_2xx_is_a_success(sender: Sender, status: int) -> None:
    result = await deliver(sender, Reply(status=status))
    assert result.has_succeeded


@pytest.mark.parametrize("status", [300, 304, 400, 404, 410, 429, 500, 503, 599, 999])
async def test_any_other_status_is_a_failure_without_an_error(sender: Sender, status: int) -> None:
    result = await deliver(sender, Reply(status=status))
    assert result.response is not None
    assert result.response.status == status
    assert not result.has_succeeded
    assert result.error is None


async def test_interim_responses_are_ignored(sender: Sender) -> None:
    raw = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
    result = await deliver(sender, Verbatim(parts=parts(raw)))
    assert result.response == WebhookResponse(status=200)


async def test_invalid_utf_8_is_replaced(sender: Sender) -> None:
    result = await deliver(sender, Reply(body=b"\xff\xfe ok \xe1\x88"))
    assert result.response is not None
    assert result.response.body == "�� ok �"


@pytest.mark.parametrize("length", [MAX_STORED_BYTES, MAX_STORED_BYTES + 1, MAX_BYTES_READ * 3])
async def test_only_the_beginning_of_a_body_is_stored(sender: Sender, length: int) -> None:
    result = await deliver(sender, Reply(body=b"x" * length))
    assert result.response is not None
    assert result.response.body == "x" * MAX_STORED_BYTES


async def test_an_endless_body_is_read_up_to_the_limit(sender: Sender) -> None:
    sent_bytes = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent_bytes
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while True:
            sent_bytes += 1_000
            yield b"x" * 1_000

    result = await deliver(sender, Verbatim(parts=endless()))
    assert result.has_succeeded
    assert result.response is not None
    assert len(result.response.body) == MAX_STORED_BYTES
    assert sent_bytes >= MAX_BYTES_READ


async def test_only_the_first_headers_are_stored(sender: Sender) -> None:
    headers = {f"x-{number}": "a" * 100 for number in range(200)} | {"x-0": "b" * 9_000}
    result = await deliver(sender, Reply(headers=headers))
    assert result.response is not None
    assert len(result.response.headers) == MAX_STORED_HEADERS
    assert result.response.headers[0] == ("x-0", "b" * MAX_HEADER_CHARACTERS)


@pytest.mark.clause("6.4")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(sender: Sender, status: int) -> None:
    async with receiving() as other:
        redirect = Reply(status=status, headers={"Location": other.url})
        async with receiving(lambda _: redirect) as receiver:
            result = await sender.send(webhook(receiver.url))
        assert other.received == []
    assert result.response is not None
    assert result.response.status == status
    assert not result.has_succeeded
    assert result.error == "redirect not followed"
    assert result.cause is not None
    assert f"register {other.url} if" in result.cause


async def test_proxies_of_the_environment_are_not_used(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiving() as proxy, receiving() as receiver:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.lower(), proxy.url)
        result = await sender.send(webhook(receiver.url))
        assert proxy.received == []
        assert len(receiver.received) == 1
    assert result.has_succeeded


async def test_cookies_are_not_sent_back(sender: Sender) -> None:
    async with receiving(lambda _: Reply(headers={"Set-Cookie": "a=b; Path=/"})) as receiver:
        for _ in range(2):
            await sender.send(webhook(receiver.url))
        assert len(receiver.received) == 2
        assert not any("cookie" in received.headers for received in receiver.received)


async def test_each_attempt_has_its_own_connection(sender: Sender) -> None:
    """Also when the receiver would keep the connection."""
    read_after_request: asyncio.Queue[bytes] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(BODY)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n")
        read_after_request.put_nowait(await reader.read())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, asyncio.timeout(60):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        for _ in range(3):
            assert (await sender.send(webhook(url))).has_succeeded
            assert await read_after_request.get() == b""


async def test_a_hundred_webhooks_are_sent_concurrently(sender: Sender) -> None:
    """All are received before the first response."""
    may_respond = asyncio.Event()

    async def respond(_: Received) -> Reply:
        await may_respond.wait()
        return Reply()

    async with receiving(respond) as receiver:
        attempts = [
            asyncio.create_task(sender.send(webhook(receiver.url, b"%d" % number)))
            for number in range(100)
        ]
        received = await receiver.wait_for(100)
        assert {int(request.body) for request in received} == set(range(100))
        may_respond.set()
        results = await asyncio.gather(*attempts)
    assert all(result.has_succeeded for result in results)


async def test_an_attempt_ends_after_fifteen_seconds(sender: Sender, wall: ManualClock) -> None:
    may_respond = asyncio.Event()

    async def respond(_: Received) -> Reply:
        await may_respond.wait()
        return Reply()

    async with receiving(respond) as receiver:
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
    assert in_time.has_succeeded
    assert in_time.duration_ms == TIMEOUT_MS - 1
    assert late.response is None
    assert late.error == "timed out after 15 s"
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

    async with receiving(lambda _: Verbatim(parts=endless())) as receiver:
        attempt = asyncio.create_task(sender.send(webhook(receiver.url)))
        await has_started.wait()
        # A second exchange, so that the bytes sent before it have arrived.
        receiver.answer = lambda _: Reply()
        await sender.send(webhook(receiver.url))
        wall.move(TIMEOUT_MS)
        result = await attempt
    assert result.response is not None
    assert (result.response.status, result.response.body) == (status, "half")
    assert result.has_succeeded is (status == 200)
    assert result.error is None


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nnonsense\r\n",
    ],
)
async def test_an_incomplete_body_does_not_change_the_result(sender: Sender, raw: bytes) -> None:
    result = await deliver(sender, Verbatim(parts=parts(raw)))
    assert result.has_succeeded
    assert result.response is not None
    assert result.response.body == "half"
    assert result.error is None


async def test_a_failure_does_not_affect_the_next_attempt(sender: Sender) -> None:
    async with receiving(replies(HANG_UP, Reply(status=500), Reply())) as receiver:
        results = [await sender.send(webhook(receiver.url)) for _ in range(3)]
    statuses = [result.response and result.response.status for result in results]
    assert statuses == [None, 500, 200]


async def test_cancelling_an_attempt_closes_its_connection(sender: Sender) -> None:
    async with receiving(lambda _: NEVER) as receiver:
        attempt = asyncio.create_task(sender.send(webhook(receiver.url)))
        await receiver.wait_for(1)
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        await receiver.drained()
    assert not other_tasks()


async def test_the_connection_closes_when_the_tls_handshake_times_out(
    sender: Sender, wall: ManualClock
) -> None:
    is_greeted, has_ended = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        is_greeted.set()
        await reader.read()
        has_ended.set()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, asyncio.timeout(60):
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        attempt = asyncio.create_task(sender.send(webhook(url)))
        await is_greeted.wait()
        wall.move(TIMEOUT_MS)
        assert (await attempt).error == "timed out after 15 s in the TLS handshake"
        await has_ended.wait()


async def test_closing_the_sender_closes_the_connection_of_an_attempt(sender: Sender) -> None:
    async with receiving(lambda _: NEVER) as receiver:
        attempt = asyncio.create_task(sender.send(webhook(receiver.url)))
        await receiver.wait_for(1)
        await sender.close()
        await receiver.drained()
        assert (await attempt).error is not None


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


async def test_a_sender_without_attempts_can_be_closed(wall: ManualClock) -> None:
    sender = Sender(wall, is_in_container=False)
    await sender.close()
    await sender.close()


async def test_a_closed_sender_leaves_no_task_behind(wall: ManualClock) -> None:
    sender = Sender(wall, is_in_container=False)
    async with receiving() as receiver:
        assert (await sender.send(webhook(receiver.url))).has_succeeded
    await sender.close()
    await sender.close()
    gc.collect()
    assert not other_tasks()


def other_tasks() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
