"""A client that sends requests without waiting is served in order, and within limits."""

import pytest

from emulator.server.app.connection import MAX_LINGER_BYTES, MAX_LINGER_MS, MAX_WAITING_BYTES
from tests.server.app.connection import CHECKOUT_PORT, Connection, connection
from tests.server.app.test_protocol import JAVA, create, journal, request, statuses
from tests.turns import turn
from tests.world import API_PORT, world

# Requests in a packet.
TOGETHER = 100
READ = request(b"", method="GET", framing="")
NO_KEY = b"GET /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
UPGRADED = create(more=JAVA)
HEALTH = request(b"", method="GET", framing="", target="/_emulator/health")
PAGE = request(b"", method="GET", framing="", target="/c/none")
LAST = request(b"", method="GET", framing="", more="Connection: close\r\n")


async def waiting_at_most(client: Connection, sent: bytes, packets: int) -> int:
    """The most requests without a response, while the client sends whenever the server reads."""
    received = answered = most = 0
    while answered < packets * TOGETHER:
        if received < packets * TOGETHER and not client.transport.is_paused:
            client.protocol.data_received(sent * TOGETHER)
            received += TOGETHER
        answered += client.transport.sent.count(b"HTTP/1.1 ")
        client.transport.sent.clear()
        most = max(most, received - answered)
        await turn()
    return most


@pytest.mark.parametrize(
    ("port", "sent"),
    [
        pytest.param(API_PORT, READ, id="a read with a key"),
        pytest.param(API_PORT, NO_KEY, id="a read without a key"),
        pytest.param(API_PORT, create(), id="a create"),
        pytest.param(API_PORT, UPGRADED, id="a create in a task"),
        pytest.param(API_PORT, HEALTH, id="a call in a task"),
        pytest.param(CHECKOUT_PORT, PAGE, id="a page"),
    ],
)
async def test_few_requests_wait_however_many_a_client_sends(port: int, sent: bytes) -> None:
    async with world() as emulator:
        most = [
            await waiting_at_most(Connection(emulator, port=port), sent, packets)
            for packets in (5, 10)
        ]
    assert most[0] == most[1] <= TOGETHER + MAX_WAITING_BYTES // len(sent)


async def test_no_request_that_waits_is_processed_after_its_client_has_disconnected() -> None:
    async with connection() as client:
        client.protocol.data_received(create() * TOGETHER)
        client.transport.close()
        await client.quiet()
        assert await journal(client) == [201]


async def test_no_request_that_waits_is_processed_after_a_fault_has_cut_the_connection() -> None:
    async with connection() as client:
        fault = {"when": {}, "then": {"drop": True}}
        assert (await client.world.control("POST", "/faults", fault)).status_code == 201
        await client.send(create() * TOGETHER)
        assert client.is_closed
        assert await journal(client) == [None]


@pytest.mark.parametrize("target", ["/v1/payments", "/_emulator/health"])
async def test_no_request_is_processed_after_the_one_that_ends_the_connection(target: str) -> None:
    last = LAST.replace(b"/v1/payments", target.encode())
    async with connection() as client:
        client.protocol.data_received(last + create() * TOGETHER)
        await client.quiet()
        assert statuses(client) == [200]
        assert 201 not in await journal(client)


@pytest.mark.parametrize("target", ["/v1/payments", "/_emulator/health"])
async def test_a_client_that_still_sends_gets_the_last_response(target: str) -> None:
    """Closing at once would reset the connection of a client whose bytes are not read."""
    async with connection() as client:
        await client.send(LAST.replace(b"/v1/payments", target.encode()))
        assert client.transport.has_eof
        client.protocol.data_received(create())
        client.pass_time(MAX_LINGER_MS - 1)
        assert not client.transport.is_closing()
        assert statuses(client) == [200]
        client.pass_time(1)
        assert client.transport.is_closing()
        assert 201 not in await journal(client)


async def test_what_is_sent_after_the_last_response_is_limited() -> None:
    packet = bytes(256 * 1024)
    async with connection() as client:
        await client.send(LAST)
        for _ in range(MAX_LINGER_BYTES // len(packet)):
            client.protocol.data_received(packet)
        assert not client.transport.is_closing()
        client.protocol.data_received(b"x")
        assert client.transport.is_closing()


async def test_the_connection_ends_with_its_client_after_the_last_response() -> None:
    async with connection() as client:
        await client.send(LAST)
        assert not client.protocol.eof_received()
