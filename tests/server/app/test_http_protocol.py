"""uvicorn's protocol with bounds: it ignores upgrades, and limits what a client sends ahead."""

import json
from typing import Any

import pytest

from emulator.server.app.http_protocol import (
    MAX_INCOMPLETE_BYTES,
    MAX_WAITING_REQUESTS,
    PIECE_BYTES,
)
from tests.connection import CHECKOUT_PORT, Connection, connection
from tests.world import TEST_KEY, order, world

JAVA = "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAA\r\nUpgrade: h2c\r\n"
UPGRADES = {
    "h2c": JAVA,
    "websocket": "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n",
    "TLS": "Upgrade: TLS/1.0\r\nConnection: Upgrade\r\n",
}


def request(
    body: bytes = b"",
    *,
    more: str = "",
    target: str = "/v1/payments",
    method: str = "POST",
    framing: str | None = None,
) -> bytes:
    framing = f"Content-Length: {len(body)}\r\n" if framing is None else framing
    return (
        f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TEST_KEY}\r\n"
        f"Content-Type: application/json\r\n{framing}{more}\r\n"
    ).encode() + body


def create(amount: int = 15_000, **more: Any) -> bytes:
    return request(json.dumps(order(amount=amount)).encode(), **more)


def chunked(body: bytes, *, size: int = 50, trailers: bytes = b"") -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return chunks + b"0\r\n" + trailers + b"\r\n"


READ = request(method="GET", framing="")
CHUNKED = request(framing="Transfer-Encoding: chunked\r\n")


def statuses(client: Connection) -> list[int]:
    return [response.status for response in client.responses()]


async def journal(client: Connection) -> list[int]:
    """The statuses in the journal, the oldest first."""
    listed = await client.world.control("GET", "/requests")
    return [entry["status"] for entry in reversed(listed.json()["data"])]


def packets_of(sent: bytes) -> dict[str, list[bytes]]:
    """The ways in which a request arrives."""
    head_end = sent.index(b"\r\n\r\n") + 4
    return {
        "together": [sent],
        "head and body": [sent[:head_end], sent[head_end:]],
        "in pieces": [sent[at : at + 3] for at in range(0, len(sent), 3)],
    }


@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunks"])
async def test_a_request_with_an_upgrade_is_processed_as_if_it_had_none(is_chunked: bool) -> None:
    """RFC 9110, section 7.8: a server may ignore an upgrade; the request stands."""
    body = json.dumps(order()).encode()
    framing = "Transfer-Encoding: chunked\r\n" if is_chunked else None
    async with world() as emulator:
        for name, upgrade in UPGRADES.items():
            sent = request(chunked(body) if is_chunked else body, more=upgrade, framing=framing)
            for way, packets in packets_of(sent).items():
                client = Connection(emulator)
                await client.send(*packets)
                [response] = client.responses()
                assert response.status == 201, (name, way)
                assert json.loads(response.body)["amount"] == 15_000, (name, way)
                await client.send(create(amount=200))
                assert statuses(client) == [201, 201], (name, way)


async def test_an_upgrade_without_a_body_is_ignored_too() -> None:
    async with connection() as client:
        target = "/_emulator/reset"
        await client.send(request(target=target, more=JAVA))
        await client.ended()
        await client.send(request(target=target, more=JAVA, framing=""), READ)
        await client.ended()
        assert statuses(client) == [204, 204, 200]
        payment = await client.world.create()
        token = payment["checkout_url"].rpartition("/")[2]
        pages = Connection(client.world, port=CHECKOUT_PORT)
        await pages.send(request(method="GET", target=f"/c/{token}", more=JAVA, framing=""))
        assert statuses(pages) == [200]


async def test_pipelined_requests_with_upgrades_are_all_answered() -> None:
    async with connection() as client:
        await client.send(b"".join(create(amount=100 + n, more=JAVA) for n in range(20)))
        amounts = [json.loads(response.body)["amount"] for response in client.responses()]
        assert amounts == list(range(100, 120))


async def test_a_connection_with_upgrade_and_close_is_closed() -> None:
    more = "Connection: Upgrade, close\r\nUpgrade: h2c\r\n"
    async with connection() as client:
        await client.send(create(more=more) + create())
        assert statuses(client) == [201]
        assert client.is_closed


async def test_an_upgrade_with_an_invalid_body_is_refused() -> None:
    framing = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
    async with connection() as client:
        await client.send(request(framing=framing, more=JAVA), b"hello")
        assert [status for status in statuses(client) if status < 400] == []
        assert client.is_closed
        assert await client.world.payments() == []


SENT = {"GET": READ, "POST": create(), "Java": create(more=JAVA)}


@pytest.mark.parametrize("name", SENT)
async def test_64_requests_may_wait_and_a_client_with_more_is_disconnected(name: str) -> None:
    sent = SENT[name]
    in_a_piece = 1 + PIECE_BYTES // len(sent)
    async with connection() as client:
        await client.send(sent * (1 + MAX_WAITING_REQUESTS))
        await client.ended()
        assert len(statuses(client)) == 1 + MAX_WAITING_REQUESTS
        assert not client.is_closed
    async with connection() as client:
        client.protocol.data_received(sent * 2 * (1 + MAX_WAITING_REQUESTS))
        assert client.is_closed
        assert len(client.protocol.pipeline) <= MAX_WAITING_REQUESTS + in_a_piece
        await client.ended()
        assert len(await journal(client)) <= 1


INCOMPLETE = {
    "a head": READ[:-2] + b"X-Long: ",
    "a chunk extension": CHUNKED + b"5;",
    "trailers": CHUNKED + chunked(b"{}")[:-2] + b"X-Long: ",
    "blank lines": b"\r\n",
}


@pytest.mark.parametrize("size", [1, 1_000, 2 * MAX_INCOMPLETE_BYTES])
@pytest.mark.parametrize("name", INCOMPLETE)
async def test_64_kib_that_complete_nothing_end_a_connection(name: str, size: int) -> None:
    filler = b"\r\n" if name == "blank lines" else b"x"
    sent = filler * (2 * MAX_INCOMPLETE_BYTES // len(filler))
    async with connection() as client:
        await client.send(INCOMPLETE[name])
        received = 0
        while received < len(sent) and not client.is_closed:
            client.protocol.data_received(sent[received : received + size])
            received += size
        assert client.is_closed
        assert size > MAX_INCOMPLETE_BYTES or received <= MAX_INCOMPLETE_BYTES + PIECE_BYTES
        await client.ended()


async def test_less_is_accepted() -> None:
    trailers = b"X-Checksum: " + b"a" * (MAX_INCOMPLETE_BYTES - 1_000) + b"\r\n"
    body = chunked(json.dumps(order()).encode(), trailers=trailers)
    long = request(json.dumps(order(metadata={"note": "x" * 200_000})).encode())
    async with connection() as client:
        await client.send(CHUNKED + body, create(), long, create())
        assert statuses(client) == [201, 201, 201, 201]


async def test_no_request_that_waits_is_processed_after_its_client_has_disconnected() -> None:
    async with connection() as client:
        client.protocol.data_received(create() * 20)
        client.transport.close()
        await client.ended()
        assert await journal(client) == [201]


@pytest.mark.parametrize("times", [1, 2], ids=["alone", "with a request behind it"])
async def test_a_stream_ends_with_its_client(times: int) -> None:
    async with connection() as client:
        stream = request(method="GET", target="/_emulator/stream", framing="")
        client.protocol.data_received(stream * times)
        await client.quiet()
        assert client.is_answering
        client.transport.close()
        await client.ended()
        assert not client.is_answering


@pytest.mark.parametrize("target", ["/v1/payments", "/_emulator/accounts"])
async def test_a_long_body_is_refused_before_it_has_arrived(target: str) -> None:
    async with connection() as client:
        head = request(target=target, framing="Content-Length: 10000000000\r\n")
        await client.send(head + bytes(300_000))
        [response] = client.responses()
        assert response.status == 400
        assert b"request_too_large" in response.body
