"""What goes over the wire, and what of it comes back, with real sockets."""

import asyncio
import base64
import gc
from collections.abc import AsyncIterator

import pytest
from standardwebhooks import Webhook

from emulator.clock import RealClock
from emulator.domain.webhooks import WebhookRequest, WebhookResponse
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


async def parts(*sent: bytes) -> AsyncIterator[bytes]:
    for part in sent:
        yield part


async def test_what_was_signed_is_received_and_verifies(sender: Sender) -> None:
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


async def test_path_and_query_go_as_they_are_written_and_the_fragment_stays(sender: Sender) -> None:
    async with receiving() as receiver:
        await sender.send(webhook(f"{receiver.url}/a%2Fb//c/?q=%E1%8A%A0&q=1+2#there"))
        await sender.send(webhook(receiver.url.removesuffix("/hook")))
        paths = [received.path for received in receiver.received]
    assert paths == ["/hook/a%2Fb//c/?q=%E1%8A%A0&q=1+2", "/"]


async def test_a_name_is_looked_up_and_sent_as_host(sender: Sender) -> None:
    async with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "localhost")
        result = await sender.send(webhook(url))
        (received,) = receiver.received
    assert result.has_succeeded
    assert received.headers["host"].startswith("localhost:")


async def test_user_and_password_of_an_address_authenticate(sender: Sender) -> None:
    async with receiving() as receiver:
        await sender.send(webhook(receiver.url.replace("://", "://shop:p%40ss@")))
        (received,) = receiver.received
    assert received.headers["authorization"] == f"Basic {base64.b64encode(b'shop:p@ss').decode()}"
    assert "@" not in received.headers["host"]


async def test_a_response_is_kept(sender: Sender) -> None:
    text = "የማይታወቅ ☕"
    headers = {"X-Reason": text.encode().decode("latin-1")}
    reply = Reply(status=422, headers=headers, body=text.encode())
    async with receiving(lambda _: reply) as receiver:
        result = await sender.send(webhook(receiver.url))
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
    async with receiving(lambda _: Reply(status=status)) as receiver:
        result = await sender.send(webhook(receiver.url))
    assert result.has_succeeded


@pytest.mark.parametrize("status", [300, 304, 400, 404, 410, 429, 500, 503, 599, 999])
async def test_any_other_status_is_a_failure_and_no_error(sender: Sender, status: int) -> None:
    async with receiving(lambda _: Reply(status=status)) as receiver:
        result = await sender.send(webhook(receiver.url))
    assert result.response is not None
    assert result.response.status == status
    assert not result.has_succeeded
    assert result.error is None


async def test_what_comes_before_the_response_is_not_the_response(sender: Sender) -> None:
    raw = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
    async with receiving(lambda _: Verbatim(parts=parts(raw))) as receiver:
        result = await sender.send(webhook(receiver.url))
    assert result.response == WebhookResponse(status=200)


async def test_bytes_that_are_no_text_are_replaced(sender: Sender) -> None:
    async with receiving(lambda _: Reply(body=b"\xff\xfe ok \xe1\x88")) as receiver:
        result = await sender.send(webhook(receiver.url))
    assert result.response is not None
    assert result.response.body == "�� ok �"


@pytest.mark.parametrize("length", [MAX_STORED_BYTES, MAX_STORED_BYTES + 1, MAX_BYTES_READ * 3])
async def test_no_more_of_a_body_is_kept_than_its_beginning(sender: Sender, length: int) -> None:
    async with receiving(lambda _: Reply(body=b"x" * length)) as receiver:
        result = await sender.send(webhook(receiver.url))
    assert result.response is not None
    assert result.response.body == "x" * MAX_STORED_BYTES


async def test_a_body_without_end_is_read_up_to_the_limit(sender: Sender) -> None:
    sent_bytes = 0

    async def without_end() -> AsyncIterator[bytes]:
        nonlocal sent_bytes
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while True:
            sent_bytes += 1_000
            yield b"x" * 1_000

    async with receiving(lambda _: Verbatim(parts=without_end())) as receiver:
        result = await sender.send(webhook(receiver.url))
    assert result.has_succeeded
    assert result.response is not None
    assert len(result.response.body) == MAX_STORED_BYTES
    assert sent_bytes >= MAX_BYTES_READ


async def test_no_more_headers_are_kept_than_the_first(sender: Sender) -> None:
    headers = {f"x-{number}": "a" * 100 for number in range(200)} | {"x-0": "b" * 9_000}
    async with receiving(lambda _: Reply(headers=headers)) as receiver:
        result = await sender.send(webhook(receiver.url))
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


async def test_no_proxy_of_the_environment_is_asked(
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


async def test_a_cookie_is_not_brought_back(sender: Sender) -> None:
    async with receiving(lambda _: Reply(headers={"Set-Cookie": "a=b; Path=/"})) as receiver:
        for _ in range(2):
            await sender.send(webhook(receiver.url))
        assert len(receiver.received) == 2
        assert not any("cookie" in received.headers for received in receiver.received)


async def test_each_attempt_has_a_connection_of_its_own(sender: Sender) -> None:
    """Although the receiver would keep it."""
    after_the_request: asyncio.Queue[bytes] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(BODY)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n")
        after_the_request.put_nowait(await reader.read())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, asyncio.timeout(60):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        for _ in range(3):
            assert (await sender.send(webhook(url))).has_succeeded
            assert await after_the_request.get() == b""


async def test_a_hundred_webhooks_are_under_way_at_once(sender: Sender) -> None:
    """Whoever is slow holds up nobody: all are received before the first is answered."""
    may_answer = asyncio.Event()

    async def answer(_: Received) -> Reply:
        await may_answer.wait()
        return Reply()

    async with receiving(answer) as receiver:
        sendings = [
            asyncio.create_task(sender.send(webhook(receiver.url, b"%d" % number)))
            for number in range(100)
        ]
        received = await receiver.wait_for(100)
        assert {int(one.body) for one in received} == set(range(100))
        may_answer.set()
        results = await asyncio.gather(*sendings)
    assert all(result.has_succeeded for result in results)


async def test_an_attempt_has_fifteen_seconds_and_not_one_more(
    sender: Sender, wall: ManualClock
) -> None:
    may_answer = asyncio.Event()

    async def answer(_: Received) -> Reply:
        await may_answer.wait()
        return Reply()

    async with receiving(answer) as receiver:
        sending = asyncio.create_task(sender.send(webhook(receiver.url)))
        await receiver.wait_for(1)
        wall.move(TIMEOUT_MS - 1)
        may_answer.set()
        in_time = await sending

        may_answer.clear()
        sending = asyncio.create_task(sender.send(webhook(receiver.url)))
        await receiver.wait_for(2)
        wall.move(TIMEOUT_MS)
        late = await sending
    assert in_time.has_succeeded
    assert in_time.duration_ms == TIMEOUT_MS - 1
    assert late.response is None
    assert late.error == "timed out after 15 s"
    assert late.duration_ms == TIMEOUT_MS


@pytest.mark.parametrize("status", [200, 500])
async def test_the_status_counts_though_the_body_never_ends(
    sender: Sender, wall: ManualClock, status: int
) -> None:
    has_begun = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 %d So\r\nContent-Length: 10\r\n\r\nhalf" % status
        has_begun.set()
        await asyncio.Event().wait()

    async with receiving(lambda _: Verbatim(parts=slowly())) as receiver:
        sending = asyncio.create_task(sender.send(webhook(receiver.url)))
        await has_begun.wait()
        # What was sent is on its way: another exchange behind it, and it has come.
        receiver.answer = lambda _: Reply()
        await sender.send(webhook(receiver.url))
        wall.move(TIMEOUT_MS)
        result = await sending
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
async def test_the_status_counts_though_the_body_breaks_off(sender: Sender, raw: bytes) -> None:
    async with receiving(lambda _: Verbatim(parts=parts(raw))) as receiver:
        result = await sender.send(webhook(receiver.url))
    assert result.has_succeeded
    assert result.response is not None
    assert result.response.body == "half"
    assert result.error is None


async def test_a_failure_spoils_nothing_for_the_next_attempt(sender: Sender) -> None:
    async with receiving(replies(HANG_UP, Reply(status=500), Reply())) as receiver:
        results = [await sender.send(webhook(receiver.url)) for _ in range(3)]
    statuses = [result.response and result.response.status for result in results]
    assert statuses == [None, 500, 200]


async def test_who_sends_may_be_cancelled_and_the_connection_goes(sender: Sender) -> None:
    async with receiving(lambda _: NEVER) as receiver:
        sending = asyncio.create_task(sender.send(webhook(receiver.url)))
        await receiver.wait_for(1)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await receiver.drained()
    assert not others_than_this_test()


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
        sending = asyncio.create_task(sender.send(webhook(url)))
        await is_greeted.wait()
        wall.move(TIMEOUT_MS)
        assert (await sending).error == "timed out after 15 s in the TLS handshake"
        await has_ended.wait()


async def test_closing_the_sender_closes_the_connection_of_an_attempt(sender: Sender) -> None:
    async with receiving(lambda _: NEVER) as receiver:
        sending = asyncio.create_task(sender.send(webhook(receiver.url)))
        await receiver.wait_for(1)
        await sender.close()
        await receiver.drained()
        assert (await sending).error is not None


async def test_cancelling_the_first_sender_leaves_the_others_their_start(sender: Sender) -> None:
    async with receiving() as receiver:
        sendings = [asyncio.create_task(sender.send(webhook(receiver.url))) for _ in range(3)]
        started = asyncio.Event()
        asyncio.get_running_loop().call_soon(started.set)
        await started.wait()
        sendings[0].cancel()
        results = await asyncio.gather(*sendings, return_exceptions=True)
        assert len(receiver.received) == 2
    assert isinstance(results[0], asyncio.CancelledError)


async def test_a_sender_that_has_sent_nothing_is_closed_as_well(wall: ManualClock) -> None:
    sender = Sender(wall, is_in_container=False)
    await sender.close()
    await sender.close()


async def test_nothing_is_left_of_a_sender_that_is_closed(wall: ManualClock) -> None:
    sender = Sender(wall, is_in_container=False)
    async with receiving() as receiver:
        assert (await sender.send(webhook(receiver.url))).has_succeeded
    await sender.close()
    await sender.close()
    gc.collect()
    assert not others_than_this_test()


def others_than_this_test() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
