"""Requests that arrive whole are answered without a task, in order and within the same limits."""

import asyncio
from collections.abc import Awaitable

import pytest

from emulator.clock import RealClock, pause
from emulator.server.app.gateway import Rest
from emulator.server.app.heads import HeadParser, KnownHeads
from tests.server.app.connection import Connection, connection
from tests.server.app.test_protocol import chunked, create, journal, request, statuses
from tests.turns import turn
from tests.world import TEST_KEY

LIST = request(b"", method="GET", framing="")
LAST_LIST = request(b"", method="GET", framing="", more="Connection: close\r\n")

WAIT = "/_emulator/payments/latest/wait?status=completed"


async def paid_client(client: Connection) -> Connection:
    """A client of an account with a payment, which is in memory."""
    await client.world.create()
    await client.world.payments()
    return client


@pytest.mark.parametrize("version", ["1.1", "1.0"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
async def test_a_read_is_answered_before_the_event_loop_continues(
    method: str, version: str
) -> None:
    async with connection() as server:
        client = await paid_client(server)
        sent = request(b"", method=method, framing="", version=version)
        client.protocol.data_received(sent)
        heads = [0] if method == "HEAD" else []
        [answer] = client.responses(to_head=heads)
        assert answer.status == (200 if method == "GET" else 404)
        assert client.is_closed == (version == "1.0")
        assert (answer.headers.get(b"connection") == b"close") == client.is_closed
        assert await journal(client) == [201, 200, answer.status]


async def test_no_read_is_answered_after_the_one_that_ends_the_connection() -> None:
    async with connection() as server:
        client = await paid_client(server)
        await client.send(LAST_LIST + LIST)
        assert statuses(client) == [200]
        assert await journal(client) == [201, 200, 200]


async def test_reads_wait_for_the_create_before_them() -> None:
    async with connection() as server:
        client = await paid_client(server)
        await client.send(LIST + create() + LIST + LIST)
        assert statuses(client) == [200, 201, 200, 200]
        bodies = [len(response.body) for response in client.responses()]
        assert bodies[0] < bodies[2] == bodies[3]


async def test_reads_wait_while_the_client_does_not_read() -> None:
    async with connection() as server:
        client = await paid_client(server)
        client.transport.is_read = False
        await client.send(LIST * 1_000)
        assert client.transport.is_paused
        assert len(client.transport.unsent) < 2 * 64 * 1024
        client.transport.read_all()
        for _ in range(20):
            await client.quiet()
        assert statuses(client) == [200] * 1_000


async def test_a_create_in_progress_is_answered_at_the_end_of_the_program() -> None:
    async with connection() as client:
        client.protocol.data_received(create())
        assert client.is_answering
        client.protocol.shutdown()
        await client.quiet()
        [answer] = client.responses()
        assert (answer.status, answer.headers[b"connection"]) == (201, b"close")
        assert client.is_closed
        assert not client.is_answering


async def test_a_create_whose_client_disconnects_is_executed() -> None:
    async with connection() as client:
        client.protocol.data_received(create())
        client.protocol.connection_lost(None)
        await client.quiet()
        assert client.transport.sent == b""
        assert await journal(client) == [201]


@pytest.mark.parametrize("sent", [create(), create() + LIST, create() + LIST[:9]])
async def test_a_client_that_ends_its_side_gets_its_responses(sent: bytes) -> None:
    async with connection() as client:
        client.protocol.data_received(sent)
        assert client.protocol.eof_received()
        await client.quiet()
        assert statuses(client) == [201, 200][: 1 + sent.endswith(LIST)]
        assert client.is_closed


@pytest.mark.parametrize(
    "sent", [b"", LIST, create()[:-1], request(b"", target=WAIT, method="GET")]
)
async def test_no_other_client_that_ends_its_side_keeps_its_connection(sent: bytes) -> None:
    async with connection() as server:
        client = await paid_client(server)
        client.protocol.data_received(sent)
        assert not client.protocol.eof_received()
        client.transport.close()


async def test_a_warning_and_a_refusal_are_those_of_any_request() -> None:
    async with connection(strict=True) as server:
        client = await paid_client(server)
        unknown = request(b"", method="GET", framing="", target="/v1/payments?x=1")
        client.protocol.data_received(unknown)
        [answer] = client.responses()
        assert (answer.status, answer.headers[b"emulator-warning"]) == (400, b"unknown-parameter:x")


_HEAD_END = b"\r\n\r\n"
HEAD = create().partition(_HEAD_END)[0] + _HEAD_END
BODY = create().partition(_HEAD_END)[2]
CHUNKED_HEAD = request(b"", framing="Transfer-Encoding: chunked\r\n")
WAITING_HEAD = HEAD[:-2] + b"Expect: 100-continue\r\n\r\n"


@pytest.mark.parametrize(
    "packets",
    [
        [HEAD, BODY],
        [HEAD, BODY[:40], BODY[40:]],
        [HEAD[:90], HEAD[90:] + BODY[:9], BODY[9:]],
        [CHUNKED_HEAD, *chunked(BODY).splitlines(keepends=True)],
    ],
    ids=["after the head", "in two packets", "across packets", "in chunks"],
)
async def test_a_body_after_its_head_needs_no_task(packets: list[bytes]) -> None:
    async with connection() as client:
        packets[0] = packets[0].replace(b"POST", b"PUT")
        for packet in packets:
            assert client.responses() == []
            client.protocol.data_received(packet)
        assert statuses(client) == [404]
        await client.send(*(packet.replace(b"PUT", b"POST") for packet in packets))
        assert statuses(client) == [404, 201]
        assert await journal(client) == [404, 201]


async def test_a_request_can_be_refused_while_its_body_has_not_arrived() -> None:
    async with connection() as client:
        await client.send(HEAD.replace(TEST_KEY.encode(), b"test_unknown_key_1"))
        assert statuses(client) == []
        client.pass_time(1_000)
        await client.quiet()
        assert statuses(client) == [401]
        long = Connection(client.world)
        await long.send(request(b"", framing="Content-Length: 300000\r\n"))
        assert statuses(long) == [400]


async def test_a_long_body_is_limited_while_it_arrives() -> None:
    async with connection() as client:
        await client.send(CHUNKED_HEAD, *[b"10000\r\n" + b" " * 65_536 + b"\r\n"] * 5)
        assert statuses(client) == [400]


@pytest.mark.parametrize("ends", ["the program", "the client"])
async def test_a_request_without_its_body_is_processed_at_the_end_of(ends: str) -> None:
    async with connection() as client:
        await client.send(HEAD)
        if ends == "the program":
            client.protocol.shutdown()
            await client.send(BODY)
            [answer] = client.responses()
            assert (answer.status, answer.headers[b"connection"]) == (201, b"close")
        else:
            client.transport.close()
            await client.quiet()
        assert await journal(client) == [201 if ends == "the program" else None]


@pytest.mark.parametrize("ends", ["the program", "the client", "a second"])
async def test_a_known_head_without_its_body_is_processed_too(ends: str) -> None:
    async with connection() as client:
        await client.send(AS_BEFORE, HEAD)
        if ends == "the client":
            client.transport.close()
            await client.quiet()
            assert await journal(client) == [201, None]
            return
        client.protocol.shutdown() if ends == "the program" else client.pass_time(1_000)
        await client.send(BODY)
        assert statuses(client) == [201, 201]
        assert client.is_closed == (ends == "the program")


AS_BEFORE = HEAD + BODY
# As long as its body.
PADDING = b"x" * (300 - len(request(b"", framing="Content-Length: 300\r\n")))
LONG_HEAD = request(b"", framing="Content-Length: 300\r\n").replace(b"127.0", PADDING + b"127.0")
AFTER_A_READ = [LIST + LONG_HEAD, BODY.ljust(300)]
SHORT = b"POST /v1/payments HTTP/1.1\r\nContent-Length: 2\r\n\r\n"
# Packets of one connection, whose first request teaches it a head, and the statuses.
REPEATED: dict[str, tuple[list[bytes], list[int]]] = {
    "as before": ([AS_BEFORE, AS_BEFORE], [201, 201]),
    "with another target": ([LIST, LIST.replace(b" HTTP", b"?limit=101 HTTP")], [200, 400]),
    "of another version": ([LIST, LIST.replace(b"1.1", b"1.0"), LIST], [200, 200]),
    "with another method": ([LIST, LIST.replace(b"GET", b"PUT")], [200, 404]),
    "with an invalid method": ([LIST, LIST.replace(b"GET", b"G T")], [200, 400]),
    "twice in one packet": ([AS_BEFORE, AS_BEFORE * 2, AS_BEFORE], [201] * 4),
    "with bytes after it": ([AS_BEFORE, AS_BEFORE + b"}"], [201, 201, 400]),
    "before its body": ([HEAD, BODY, HEAD, BODY, HEAD, BODY[:9], BODY[9:]], [201] * 3),
    "before the next request": ([SHORT + b"{}", SHORT, b"{}" + LIST], [401, 401, 200]),
    "after a line break": ([LIST, b"\r\n", LIST, b"\r\n" + LIST], [200] * 3),
    "before a head as long as its body": (AFTER_A_READ * 2, [200, 201] * 2),
    "with a huge target": (
        [LIST, LIST.replace(b" HTTP", b"?" + b"a" * 65_536 + b" HTTP")],
        [200, 400],
    ),
    "that ends the connection": ([LAST_LIST, LIST], [200]),
    "in chunks": ([CHUNKED_HEAD + chunked(BODY), CHUNKED_HEAD, chunked(BODY)], [201, 201]),
    "before 100 Continue": ([WAITING_HEAD, BODY] * 2, [201, 201]),
}


@pytest.mark.parametrize(("packets", "expected"), REPEATED.values(), ids=REPEATED)
async def test_a_repeated_head_is_processed_as_the_first(
    packets: list[bytes], expected: list[int]
) -> None:
    async with connection() as client:
        await client.send(*packets)
        assert statuses(client) == expected
        assert not client.is_answering
        assert client.transport.sent.count(b"100 Continue") == packets.count(WAITING_HEAD)


def test_a_repeated_head_is_not_parsed_again() -> None:
    known = KnownHeads()
    head, _ = HeadParser().parse(HEAD)  # type: ignore[misc]
    known.add(HEAD, head)
    repeated, length = known.match(HEAD.replace(b"POST", b"GET") + BODY)  # type: ignore[misc]
    assert (repeated, length) == (head._replace(method="GET"), len(HEAD) - 1)
    assert repeated.headers is head.headers


class Sleeps:
    """An awaitable that gives up one turn of the event loop, as `asyncio.sleep(0)`."""

    def __await__(self):  # type: ignore[no-untyped-def]
        yield


async def run(*awaited: Awaitable[object]) -> list[object]:
    """Run a coroutine that waits for each of these, and return their results."""
    results: list[object] = []

    async def wait_for_all() -> None:
        for one in awaited:
            try:
                results.append(await one)
            except ValueError as error:
                results.append(error)

    work = wait_for_all()
    await asyncio.create_task(Rest(work, work.send(None)))
    return results


async def test_a_coroutine_waits_without_a_task_for_whatever_a_task_can() -> None:
    loop = asyncio.get_running_loop()
    first, second, done = loop.create_future(), loop.create_future(), loop.create_future()
    done.set_result(3)
    error = ValueError()
    loop.call_soon(first.set_result, 1)
    loop.call_soon(second.set_exception, error)
    results = await run(first, Sleeps(), second, done, pause(RealClock(), 1), turn())
    assert results == [1, None, error, 3, None, None]
