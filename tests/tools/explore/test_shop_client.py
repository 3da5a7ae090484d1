"""The requests of explore: their connections, and the end of these when a request is cancelled."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from emulator.clock import RealClock
from emulator.tools.explore.shop_client import Request, ShopClient
from tests.cli.processes import free_port
from tests.turns import turn

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"


@asynccontextmanager
async def counting(*, answered: int) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that responds to this many requests; the list has the connection of each.

    The block ends when all connections have been closed by the client.
    """
    connections: list[int] = []
    handlers: list[asyncio.Task[None] | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.append(asyncio.current_task())
        number = len(handlers)
        with suppress(ConnectionError):
            while line := await reader.readline():
                if line == b"\r\n":
                    connections.append(number)
                    writer.write(OK if len(connections) <= answered else b"")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", connections
        while not handlers:
            await turn()
        await asyncio.gather(*filter(None, handlers))


async def test_each_request_has_a_connection_of_its_own() -> None:
    client = ShopClient(RealClock())
    async with counting(answered=4) as (url, connections):
        request = Request(method="GET", url=url)
        responses = [await client.send(request), *await client.deliver(request, request)]
        responses.append(await client.send(request))
    assert [response.status for response in responses] == [200] * 4
    assert sorted(connections) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("send", "answered", "sent"),
    [
        (lambda client, request: client.send(request), 0, 1),
        (lambda client, request: client.deliver(request), 0, 1),
        (lambda client, request: client.deliver(request, request), 0, 2),
        (lambda client, request: client.serves_several(request), 2, 3),
    ],
    ids=["one", "a webhook", "two at the same moment", "one on a second connection"],
)
async def test_cancelled_requests_close_their_connections(
    send: Callable[[ShopClient, Request], Coroutine[Any, Any, object]], answered: int, sent: int
) -> None:
    async with counting(answered=answered) as (url, connections):
        sending = asyncio.create_task(send(ShopClient(RealClock()), Request(method="GET", url=url)))
        while len(connections) < sent:
            await turn()
        sending.cancel()
        await asyncio.wait([sending])
        assert sending.cancelled()


@pytest.mark.parametrize(("answered", "serves"), [(3, True), (2, False)])
async def test_an_application_serves_several_connections_if_it_answers_on_a_second_one(
    answered: int, serves: bool
) -> None:
    async with counting(answered=answered) as (url, connections):
        client = ShopClient(RealClock())
        assert await client.serves_several(Request(method="GET", url=url)) is serves
    assert connections == [1, 1, 2]


async def test_a_refused_connection_is_a_failure_beside_the_response_of_another() -> None:
    async with counting(answered=1) as (url, _):
        urls = url, f"http://127.0.0.1:{free_port()}/"
        requests = (Request(method="GET", url=each) for each in urls)
        served, refused = await ShopClient(RealClock()).deliver(*requests)
    assert (served.status, refused.status) == (200, 0)
    assert (refused.failure, refused.is_refused) == ("connection refused", True)
