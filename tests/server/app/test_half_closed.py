"""A client that ends its side of the connection, as `nc -N` does, still gets its responses."""

import json

import pytest

from tests.server.app.connection import CHECKOUT_PORT, Connection, connection
from tests.server.app.test_protocol import create, request, statuses
from tests.world import API_PORT, World, order, world

ADVANCE = request(b'{"seconds":1}', target="/_emulator/clock/advance")
FREEZE = request(b'{"now":"2026-02-01T00:00:00Z"}', target="/_emulator/clock", method="PUT")
HEALTH = request(b"", target="/_emulator/health", method="GET", framing="")
WAIT = "/_emulator/payments/{id}/wait?status=completed"


async def half_closed(emulator: World, *packets: bytes, port: int = API_PORT) -> Connection:
    """A client that has sent these packets and no more, and has got what it gets."""
    client = Connection(emulator, port=port)
    for packet in packets:
        client.protocol.data_received(packet)
    if not client.protocol.eof_received():
        client.transport.close()
    await client.ended()
    return client


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(HEALTH, 200, id="health"),
        pytest.param(FREEZE, 200, id="control"),
        pytest.param(ADVANCE, 200, id="control, in parts"),
        pytest.param(request(b"{", target="/_emulator/accounts"), 400, id="refused"),
        pytest.param(HEALTH.replace(b"/_emulator/health", b"/"), 200, id="dashboard"),
        pytest.param(HEALTH.replace(b"health", b"deliveries"), 200, id="list"),
        pytest.param(create(target="/v1/payments?x=1"), 201, id="contract"),
    ],
)
async def test_a_call_is_answered(sent: bytes, status: int) -> None:
    async with world() as emulator:
        client = await half_closed(emulator, sent)
        assert client.transport.sent.startswith(b"HTTP/1.1 %d " % status)
        assert client.transport.sent.count(b"connection: close\r\n") == 1
        assert client.transport.is_closing()
        assert not client.is_answering


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_checkout_page_is_answered(method: str) -> None:
    async with world() as emulator:
        token = (await emulator.create())["checkout_url"].rpartition("/")[2]
        body = b"method=telebirr&phone=0900000001" if method == "POST" else b""
        sent = request(body, target=f"/c/{token}", method=method)
        sent = sent.replace(b"application/json", b"application/x-www-form-urlencoded")
        client = await half_closed(emulator, sent, port=CHECKOUT_PORT)
        assert statuses(client) == [200 if method == "GET" else 403]
        assert client.transport.is_closing()


@pytest.mark.parametrize("first", [HEALTH, create(), ADVANCE], ids=["task", "direct", "parts"])
async def test_all_requests_that_were_sent_are_answered(first: bytes) -> None:
    async with world() as emulator:
        client = await half_closed(emulator, first + HEALTH + create() + HEALTH[:20])
        assert client.transport.sent.count(b"HTTP/1.1 20") == 3
        assert client.transport.is_closing()


async def test_a_request_is_answered_when_its_client_reads_late() -> None:
    async with world() as emulator:
        note = {"note": "x" * 500}
        for _ in range(100):
            await emulator.create(metadata=note)
        client = Connection(emulator)
        client.transport.is_read = False
        page = request(b"", method="GET", framing="", target="/v1/payments?limit=100")
        await client.send(page * 3)
        assert client.protocol.eof_received()
        client.transport.read_all()
        await client.quiet()
        assert statuses(client) == [200] * 3
        assert client.transport.is_closing()


async def test_a_long_stream_is_complete_although_its_client_reads_slowly() -> None:
    async with world() as emulator:
        for _ in range(300):
            await emulator.create(metadata={"note": "x" * 400})
        target = "/_emulator/requests?limit=300"
        client = Connection(emulator)
        client.transport.is_read = False
        client.protocol.data_received(request(b"", method="GET", framing="", target=target))
        assert client.protocol.eof_received()
        await client.quiet()
        pauses = 0
        while not client.transport.is_closing():
            pauses += bool(client.transport.unsent)
            client.transport.read_all()
            client.transport.is_read = False
            await client.quiet()
        client.transport.read_all()  # what is written is sent before the connection closes
        assert pauses > 2
        assert not client.is_answering
        head, _, rest = bytes(client.transport.sent).partition(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head
        body = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
        assert int(size, 16) == 0
        assert json.loads(body) == await emulator.shown(target.removeprefix("/_emulator"))


@pytest.mark.parametrize("is_after_a_response", [False, True])
async def test_an_incomplete_body_behind_an_unread_response_is_lost(
    is_after_a_response: bool,
) -> None:
    """The client ends its side while its earlier response waits, and reads that later."""
    target = "/_emulator/accounts" if is_after_a_response else "/v1/payments"
    async with world() as emulator:
        for _ in range(100):
            await emulator.create(metadata={"note": "x" * 800})
        client = Connection(emulator)
        client.transport.is_read = False
        page = request(b"", method="GET", framing="", target="/v1/payments?limit=100")
        await client.send(page + create(target=target)[:-1])
        client.protocol.eof_received()
        client.transport.read_all()
        await client.quiet()
        assert statuses(client) == [200]
        assert client.transport.is_closing()
        assert not client.is_answering


@pytest.mark.parametrize("before", [b"", HEALTH, create()])
async def test_a_call_that_waits_ends_with_its_client(before: bytes) -> None:
    async with world() as emulator:
        payment = await emulator.create()
        target = WAIT.format(**payment)
        wait = request(b"", method="GET", framing="", target=target)
        client = await half_closed(emulator, before + wait + create())
        assert 0 not in statuses(client)
        assert len(statuses(client)) == bool(before)
        assert not client.is_answering


@pytest.mark.parametrize("cut", [1, len(order())])
async def test_an_incomplete_request_is_not_answered(cut: int) -> None:
    async with connection() as server:
        client = await half_closed(server.world, create()[:-cut])
        assert statuses(client) == []
        assert client.transport.is_closing()
