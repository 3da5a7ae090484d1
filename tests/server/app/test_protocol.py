"""One connection: upgrades, bytes after a request, limits of size and time."""

import gc
import json
from cProfile import Profile
from typing import Any

import pytest

from emulator.server.app.connection import KEEP_ALIVE_MS, MAX_BODY_MS, MAX_HEAD_MS, MAX_UNREAD_MS
from emulator.server.app.heads import MAX_HEAD_BYTES
from tests.server.app.connection import CHECKOUT_PORT, Connection, connection
from tests.world import TEST_KEY, order, world

JAVA = "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAA\r\nUpgrade: h2c\r\n"
UPGRADES = {
    "h2c": JAVA,
    "websocket": "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n",
    "TLS": "Upgrade: TLS/1.0\r\nConnection: Upgrade\r\n",
    "of HTTP/1.0": "Connection: upgrade\r\nUpgrade: h2c\r\n",
}


def request(
    body: bytes,
    *,
    more: str = "",
    target: str = "/v1/payments",
    method: str = "POST",
    framing: str | None = None,
    version: str = "1.1",
) -> bytes:
    framing = f"Content-Length: {len(body)}\r\n" if framing is None else framing
    return (
        f"{method} {target} HTTP/{version}\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {TEST_KEY}\r\n"
        f"Content-Type: application/json\r\n{framing}{more}\r\n"
    ).encode() + body


def create(amount: int = 15_000, **more: Any) -> bytes:
    return request(json.dumps(order(amount=amount)).encode(), **more)


def chunked(body: bytes, *, size: int = 50, trailers: bytes = b"") -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + (
        b"0\r\n" + trailers + b"\r\n"
    )


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
async def test_a_request_with_an_upgrade_header_is_processed_as_if_it_had_none(
    is_chunked: bool,
) -> None:
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


async def test_control_calls_and_pages_ignore_an_upgrade_too() -> None:
    async with connection() as client:
        sent = request(b'{"name":"shop"}', target="/_emulator/accounts", more=JAVA)
        await client.send(sent[:-15], sent[-15:])
        [response] = client.responses()
        assert json.loads(response.body)["name"] == "shop"
        payment = await client.world.create()
        token = payment["checkout_url"].rpartition("/")[2]
        pages = Connection(client.world, port=CHECKOUT_PORT)
        await pages.send(request(b"", method="GET", target=f"/c/{token}", more=JAVA, framing=""))
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


async def test_no_request_is_processed_after_the_one_that_ends_the_connection() -> None:
    # The parser would continue after this request; the server closes each HTTP/1.0 connection.
    first = create(version="1.0", more="Connection: keep-alive\r\n")
    async with connection() as client:
        await client.send(first + create()[:-1])
        assert statuses(client) == [201]
        assert client.is_closed
        assert not client.is_answering


async def test_a_stream_ends_with_its_client_although_a_request_follows_it() -> None:
    async with connection() as client:
        stream = request(b"", method="GET", target="/_emulator/stream", framing="")
        client.protocol.data_received(stream + create())
        await client.quiet()
        assert client.is_answering
        client.transport.close()
        await client.quiet()
        assert not client.is_answering


async def test_connect_is_an_unknown_route() -> None:
    """Design, section 4: an unknown route or verb gets 404."""
    async with connection() as client:
        await client.send(request(b"", method="CONNECT", target="shop.example:443", framing=""))
        await client.send(create())
        assert statuses(client) == [404, 201]


async def test_a_target_in_absolute_form_is_accepted() -> None:
    """RFC 9112, section 3.2.2: a server must accept it."""
    async with connection() as client:
        for target in ("http://127.0.0.1:8080/v1/payments", "HTTP://x/v1/payments"):
            await client.send(create(target=target))
        assert statuses(client) == [201, 201]


async def test_a_target_without_a_path_is_an_unknown_route() -> None:
    async with connection() as client:
        for method, target in (("OPTIONS", "*"), ("DELETE", "http://127.0.0.1:8080")):
            await client.send(request(b"", method=method, target=target, framing=""))
        assert statuses(client) == [404, 404]
        for response in client.responses():
            assert json.loads(response.body)["error"]["code"] == "route_not_found"


EXTRA_BYTES = [b"}", b'""', b"\x00", b"} GET / HTTP/1.1\r\n\r\n", b"\xe1\x88\xb0"]


@pytest.mark.parametrize("target", ["/v1/payments", "/_emulator/accounts"])
async def test_bytes_after_a_request_do_not_change_its_response(target: str) -> None:
    """A client that counts characters instead of bytes sends more than it declares."""
    is_payment = target == "/v1/payments"
    sent = request(json.dumps(order()).encode() if is_payment else b"{}", target=target)
    async with world() as emulator:
        for packets in [way for extra in EXTRA_BYTES for way in ([sent, extra], [sent + extra])]:
            client = Connection(emulator)
            journaled = await journal(client)
            await client.send(*packets)
            first, second = client.responses()
            assert (first.status, second.status) == (201, 400), packets
            error = json.loads(second.body)["error"]
            assert error["code"] == "invalid_request_body"
            assert "Content-Length" in error["message"]
            assert second.headers[b"connection"] == b"close"
            assert client.is_closed
            assert await journal(client) == journaled + ([201] if is_payment else [])


async def test_an_error_waits_for_all_requests_that_were_pipelined_before_it() -> None:
    async with connection() as client:
        await client.send(create(amount=101) + create(amount=102) + b"nonsense\r\n\r\n")
        assert statuses(client) == [201, 201, 400]
        assert await journal(client) == [201, 201]


@pytest.mark.parametrize("is_apart", [False, True], ids=["one packet", "two packets"])
async def test_a_body_that_cannot_be_read_is_refused_in_its_turn(is_apart: bool) -> None:
    head = request(b"", framing="Transfer-Encoding: chunked\r\n")
    packets = [create() + head + b"1\r\n{\r\n", b"XYZ\r\n"]
    async with connection() as client:
        await client.send(*(packets if is_apart else [b"".join(packets)]))
        assert statuses(client) == [201, 400]
        assert client.is_closed
        wire = [status for status in await journal(client) if status]
        assert wire in ([201], [201, 400])


async def test_an_error_in_a_body_that_was_answered_already_ends_the_connection() -> None:
    head = request(b"", target="/v1/nothing", framing="Transfer-Encoding: chunked\r\n")
    async with connection() as client:
        await client.send(head + b"1\r\n{\r\n", b"XYZ\r\n")
        assert statuses(client) == [404]
        assert client.is_closed


async def test_a_body_of_unknown_length_is_refused() -> None:
    """RFC 9112, section 6.3: such a request must get 400, and the connection must be closed."""
    async with world() as emulator:
        for coding in ("gzip", "chunked, gzip", "identity"):
            for more in ("", JAVA):
                client = Connection(emulator)
                framing = f"Transfer-Encoding: {coding}\r\n"
                await client.send(request(b"", method="GET", framing=framing, more=more))
                assert statuses(client) == [400], (coding, more)
                assert client.is_closed, (coding, more)


TRAILER = b"X-Checksum: " + b"a" * 1_000 + b"\r\n"


@pytest.mark.parametrize("packet", [TRAILER * 16, b"x" * 16_384], ids=["many", "one"])
async def test_trailers_are_limited_as_the_head_is(packet: bytes) -> None:
    head = request(b"", framing="Transfer-Encoding: chunked\r\n")
    start = chunked(json.dumps(order()).encode())[:-2]
    async with connection() as client:
        await client.send(head + start + b"X-Long: ", *[packet] * 8)
        [response] = client.responses()
        assert response.status == 400
        assert b"trailers" in response.body
        assert client.is_closed


async def test_trailers_below_the_limit_are_ignored() -> None:
    body = chunked(json.dumps(order()).encode(), trailers=TRAILER * 60 + b"Authorization: none\r\n")
    async with connection() as client:
        await client.send(request(body, framing="Transfer-Encoding: chunked\r\n"))
        await client.send(create())
        assert statuses(client) == [201, 201]


async def test_chunk_extensions_are_limited_too() -> None:
    head = request(b"", framing="Transfer-Encoding: chunked\r\n")
    async with connection() as client:
        await client.send(head + b"5;", *[b"x" * 16_384] * 8)
        assert statuses(client) == [400]


async def test_a_long_chunk_extension_is_refused_if_its_chunk_is_in_the_same_packet() -> None:
    body = json.dumps(order()).encode()
    start = b"%x;%b\r\n" % (len(body), b"x" * MAX_HEAD_BYTES)
    head = request(b"", framing="Transfer-Encoding: chunked\r\n")
    async with connection() as client:
        await client.send(head + start + body + b"\r\n0\r\n\r\n")
        assert statuses(client) == [400]


@pytest.mark.parametrize("content", [b"\n", b"\r\n\r\n"])
async def test_line_breaks_in_a_chunk_are_no_work(content: bytes) -> None:
    body = content * 10_000
    async with connection() as client:
        sent = request(
            b"%x\r\n%b\r\n" % (len(body), body), framing="Transfer-Encoding: chunked\r\n"
        )
        with Profile() as profile:
            await client.send(sent)
    calls = sum(entry.callcount for entry in profile.getstats())
    assert calls < len(body) / 10


@pytest.mark.parametrize("size", [1, 16_384, 200_000])
async def test_a_long_head_is_refused_however_it_arrives(size: int) -> None:
    sent = request(b"", method="GET", framing="", more=f"X-Long: {'x' * MAX_HEAD_BYTES}\r\n")
    packets = [sent[at : at + size] for at in range(0, len(sent), size)]
    async with connection() as client:
        await client.send(*packets, pauses=size > 1)
        assert statuses(client) == [400]
        assert b"more than 65,536 bytes of headers" in client.responses()[0].body


async def test_a_long_body_does_not_count_as_the_head_of_the_next_request() -> None:
    long = request(json.dumps(order(metadata={"note": "x" * 100_000})).encode())
    async with connection() as client:
        await client.send(long + create()[:40], create()[40:])
        assert statuses(client) == [201, 201]


async def test_a_head_that_stays_incomplete_for_30_s_ends_the_connection() -> None:
    async with world() as emulator:
        for start in (b"", b"\r\n", b"POST /v1/pay", create()[:60]):
            client = Connection(emulator)
            if start:
                await client.send(start)
            client.pass_time(MAX_HEAD_MS - 1)
            assert not client.is_closed, start
            client.pass_time(1)
            assert client.is_closed, start


async def test_bytes_that_trickle_in_do_not_extend_the_time_for_a_head() -> None:
    async with connection() as client:
        for byte in create()[:29]:
            await client.send(bytes([byte]))
            client.pass_time(1_000)
        assert not client.is_closed
        client.pass_time(2_000)
        assert client.is_closed


async def test_a_body_that_stays_incomplete_for_60_s_ends_the_connection() -> None:
    async with connection() as client:
        await client.send(create()[:-1])
        client.pass_time(MAX_BODY_MS - 1)
        assert not client.is_closed
        client.pass_time(1)
        assert client.is_closed
        await client.quiet()
        assert await client.world.payments() == []


async def test_a_body_that_is_not_read_has_to_end_as_well() -> None:
    async with connection() as client:
        head = request(b"", target="/v1/nothing", framing="Content-Length: 9000000000\r\n")
        await client.send(head)
        for _ in range(MAX_BODY_MS // 1_000):
            await client.send(b"x" * 1_000)
            client.pass_time(1_000)
        assert statuses(client) == [404]
        assert client.is_closed


async def test_a_head_has_to_wait_while_an_earlier_request_is_answered() -> None:
    async with connection() as client:
        payment = await client.world.create()
        wait = request(
            b"",
            method="GET",
            framing="",
            target=f"/_emulator/payments/{payment['id']}/wait?status=completed&timeout=60",
        )
        await client.send(wait + b"POST /v1")
        client.pass_time(MAX_HEAD_MS)
        assert not client.is_closed
        client.world.wall.move(60_000)
        await client.quiet()
        assert statuses(client) == [200]
        client.pass_time(MAX_HEAD_MS)
        assert client.is_closed


async def test_line_breaks_between_requests_do_not_keep_a_connection_open() -> None:
    async with connection() as client:
        await client.send(create())
        await client.send(b"\r\n")
        client.pass_time(KEEP_ALIVE_MS - 1)
        await client.send(b"\r\n")
        assert not client.is_closed
        client.pass_time(1)
        assert client.is_closed


async def test_an_idle_connection_stays_open() -> None:
    async with connection() as client:
        await client.send(create())
        client.pass_time(10 * MAX_BODY_MS)
        assert not client.is_closed
        await client.send(create())
        assert statuses(client) == [201, 201]


async def test_a_client_that_reads_nothing_for_60_s_is_disconnected() -> None:
    async with connection() as client:
        client.transport.is_read = False
        await client.send(create())
        client.pass_time(0)
        client.pass_time(MAX_UNREAD_MS - 1)
        assert not client.is_closed
        client.pass_time(1)
        assert client.is_closed


async def test_a_client_that_reads_slowly_stays_connected() -> None:
    async with connection() as client:
        client.transport.is_read = False
        await client.send(create())
        for _ in range(10):
            client.pass_time(MAX_UNREAD_MS - 1)
            del client.transport.unsent[:10]
        assert not client.is_closed


async def test_further_requests_wait_until_earlier_responses_are_read() -> None:
    """What a client can make the server keep does not grow with what it sends."""
    requests = 200
    async with connection() as client:
        for amount in range(100, 200):
            await client.world.create(amount=amount, metadata={"note": "x" * 500})
        page = request(b"", method="GET", framing="", target="/v1/payments?limit=100")
        client.transport.is_read = False
        await client.send(page * requests)
        one_page = 110_000
        assert one_page / 2 < len(client.transport.unsent) < 2 * one_page
        assert client.transport.is_paused
        client.transport.read_all()
        await client.quiet()
        for _ in range(requests // 10):
            await client.quiet()
        assert statuses(client) == [200] * requests


async def test_an_idle_connection_is_closed_after_75_s() -> None:
    async with connection() as client:
        await client.send(create())
        client.pass_time(0)
        client.pass_time(KEEP_ALIVE_MS - 1)
        await client.send(create())
        client.pass_time(0)
        client.pass_time(KEEP_ALIVE_MS - 1)
        assert not client.is_closed
        client.pass_time(1)
        assert client.is_closed
        assert statuses(client) == [201, 201]


@pytest.mark.parametrize(
    ("target", "status"), [("/v1/payments", 400), ("/_emulator/unknown", 404)], ids=["now", "later"]
)
async def test_the_rest_of_a_refused_body_is_dropped_and_the_next_request_answered(
    target: str, status: int
) -> None:
    """Its first part, as long as a packet of the event loop, must not stop the reading."""
    head = request(b"", framing="Content-Length: 3000000\r\n", target=target)
    async with connection() as client:
        await client.send(head + bytes(256 * 1024))
        for _ in range(3_000_000 // (256 * 1024) - 1):
            assert not client.transport.is_paused
            await client.send(bytes(256 * 1024))
        await client.send(bytes(3_000_000 % (256 * 1024)) + create())
        assert statuses(client) == [status, 201]


async def test_a_connection_is_idle_after_the_rest_of_a_refused_body() -> None:
    """The limit of the body no longer applies."""
    async with connection() as client:
        refused = request(b"", framing="Content-Length: 300\r\n", target="/_emulator/unknown")
        await client.send(refused, bytes(300))
        client.pass_time(0)
        client.pass_time(KEEP_ALIVE_MS - 1)
        await client.send(create())
        assert statuses(client) == [404, 201]


async def test_no_request_leaves_objects_to_a_garbage_collection() -> None:
    """Collections are rare while the program serves."""
    async with connection() as client:
        health = request(b"", method="GET", framing="", target="/_emulator/health")
        body = request(
            chunked(b"{}"), target="/_emulator/x", framing="Transfer-Encoding: chunked\r\n"
        )
        await client.send(health, body)
        gc.collect()
        gc.disable()
        try:
            for _ in range(100):
                await client.send(health, body)
            assert gc.collect() < 100
        finally:
            gc.enable()
