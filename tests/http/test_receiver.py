"""Receiver of webhooks: paths, and connections without a webhook."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest

from emulator.http.received_webhooks import MAX_BODY_BYTES, ReceivedRequest, WebhookReceiver
from tests.turns import turn

BODY = b'{"type":"payment.created","data":{"id":"pay_1"}}'


@pytest.fixture
async def receiver() -> AsyncIterator[WebhookReceiver]:
    async with WebhookReceiver() as receiver:
        await receiver.listen("127.0.0.1")
        yield receiver


async def test_each_path_has_its_own_webhooks(receiver: WebhookReceiver) -> None:
    first: list[ReceivedRequest] = []
    second: list[ReceivedRequest] = []
    assert [receiver.register(first.append), receiver.register(second.append)] == ["/1", "/2"]
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"{receiver.base_url}/2"
        response = await client.post(url, content=BODY, headers={"Webhook-Id": "evt_1"})
    assert (response.status_code, first) == (200, [])
    [received] = second
    assert received.headers["webhook-id"] == "evt_1"
    assert (received.body, received.local_host) == (BODY, "127.0.0.1")


async def test_it_listens_on_several_addresses(receiver: WebhookReceiver) -> None:
    received: list[ReceivedRequest] = []
    path = receiver.register(received.append)
    port = await receiver.listen("127.0.0.2")
    async with httpx.AsyncClient(trust_env=False) as client:
        await client.post(f"http://127.0.0.2:{port}{path}", content=BODY)
    assert [webhook.local_host for webhook in received] == ["127.0.0.2"]


SENT = {
    "not HTTP": b"nonsense\r\n\r\n",
    "unknown path": b"POST /99 HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
    "unregistered path": b"POST /2 HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
    "no length": b"POST /1 HTTP/1.1\r\ncontent-length: many\r\n\r\n",
    "too large": b"POST /1 HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1),
    "incomplete": b"POST /1 HTTP/1.1\r\ncontent-length: 10\r\n\r\nhalf",
    "too long a head": b"POST /1 HTTP/1.1\r\nx: " + b"a" * 70_000,
}


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
async def test_a_connection_without_a_webhook_is_closed(
    receiver: WebhookReceiver, sent: bytes
) -> None:
    received: list[ReceivedRequest] = []
    receiver.register(received.append)
    receiver.unregister(receiver.register(received.append))
    host, port = receiver.base_url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    writer.write_eof()
    async with asyncio.timeout(60):
        with suppress(ConnectionError):  # It had not read all.
            assert await reader.read() == b""
    writer.close()
    assert received == []


async def test_a_connection_whose_task_has_not_begun_is_closed_too() -> None:
    receiver = WebhookReceiver()
    await receiver.listen("127.0.0.1")
    url = httpx.URL(receiver.base_url)
    with socket.create_connection((url.host, url.port or 0)) as client:
        for _ in range(2):
            await turn()
        await receiver.close()
        client.setblocking(False)
        async with asyncio.timeout(60):
            with suppress(ConnectionResetError):
                assert await asyncio.get_running_loop().sock_recv(client, 1) == b""
