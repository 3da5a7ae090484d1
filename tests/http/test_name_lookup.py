"""Name look-up on threads that do not delay the end of the program."""

import asyncio
import socket
import ssl
from threading import Event, Semaphore

import pytest

from emulator.http.name_lookup import (
    MAX_LOOKUPS,
    NameLookups,
    connect_to_first,
    run_on_daemon_thread,
)
from tests.server.webhooks.receiver import receiving, self_signed


async def test_the_result_of_the_function_is_returned() -> None:
    assert await run_on_daemon_thread(lambda: 6 * 7, name="sum") == 42


async def test_the_exception_of_the_function_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await run_on_daemon_thread(lambda: 1 // 0, name="sum")


def test_an_event_loop_ends_while_the_function_runs() -> None:
    may_end, has_ended = Event(), Event()

    def work() -> None:
        may_end.wait()
        has_ended.set()

    async def give_up() -> None:
        waiting = run_on_daemon_thread(work, name="long")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(give_up())
    may_end.set()
    assert has_ended.wait(60)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "10.1.2.3"])
async def test_an_address_is_not_looked_up(host: str) -> None:
    assert await NameLookups().ip_addresses(host.encode()) == [host]


async def test_a_name_is_looked_up_and_ipv4_comes_first() -> None:
    assert (await NameLookups().ip_addresses(b"localhost"))[0] == "127.0.0.1"


@pytest.mark.parametrize("host", [b"shop.localhost", b"A.B.LocalHost", b"shop.localhost."])
async def test_a_name_under_localhost_is_this_machine(host: bytes) -> None:
    assert (await NameLookups().ip_addresses(host))[0] == "127.0.0.1"


@pytest.mark.parametrize("host", [b"no-such-host.invalid", b"a..b", b"a" * 64, b"%00", b""])
async def test_an_unknown_or_invalid_name_is_not_found(host: bytes) -> None:
    with pytest.raises(socket.gaierror):
        await NameLookups().ip_addresses(host)


async def test_a_look_up_can_be_cancelled() -> None:
    tasks = [
        asyncio.create_task(NameLookups().ip_addresses(b"no-such-host.invalid")) for _ in range(3)
    ]
    cancelled = asyncio.Event()
    asyncio.get_running_loop().call_soon(cancelled.set)
    await cancelled.wait()
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in ended] == [asyncio.CancelledError] * 3


class SilentNameServer:
    """Resolves names when it is released; notes the names that it was asked for."""

    def __init__(self) -> None:
        self.names: list[bytes] = []
        self._asked = Semaphore(0)
        self._may_respond = Event()

    def resolve(self, host: bytes) -> list[str]:
        self.names.append(host)
        self._asked.release()
        self._may_respond.wait(60)
        return ["127.0.0.1"]

    async def asked(self, count: int) -> None:
        """Return when it was asked for so many further names."""
        for _ in range(count):
            await asyncio.to_thread(self._asked.acquire, timeout=60)

    def respond(self) -> None:
        self._may_respond.set()


async def test_twice_the_limit_of_names_are_looked_up_on_a_few_threads() -> None:
    server = SilentNameServer()
    lookups = NameLookups(server.resolve)
    hosts = [b"host-%d.test" % number for number in range(2 * MAX_LOOKUPS)]
    tasks = [asyncio.create_task(lookups.ip_addresses(host)) for host in hosts]
    await server.asked(MAX_LOOKUPS)
    assert server.names == hosts[:MAX_LOOKUPS]
    assert await lookups.ip_addresses(b"127.0.0.2") == ["127.0.0.2"]
    server.respond()
    assert await asyncio.gather(*tasks) == [["127.0.0.1"]] * len(hosts)
    assert sorted(server.names) == sorted(hosts)


async def test_a_name_is_looked_up_once_for_all_callers() -> None:
    server = SilentNameServer()
    lookups = NameLookups(server.resolve)
    tasks = [
        asyncio.create_task(lookups.ip_addresses(b"shop.test")) for _ in range(2 * MAX_LOOKUPS)
    ]
    await server.asked(1)
    tasks[0].cancel()
    server.respond()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(ended[0], asyncio.CancelledError)
    assert ended[1:] == [["127.0.0.1"]] * (2 * MAX_LOOKUPS - 1)
    assert server.names == [b"shop.test"]


async def test_callers_that_give_up_start_no_look_up_and_free_no_thread() -> None:
    server = SilentNameServer()
    lookups = NameLookups(server.resolve)
    hosts = [b"host-%d.test" % number for number in range(2 * MAX_LOOKUPS)]
    tasks = [asyncio.create_task(lookups.ip_addresses(host)) for host in hosts]
    await server.asked(MAX_LOOKUPS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    last = asyncio.create_task(lookups.ip_addresses(b"last.test"))
    assert server.names == hosts[:MAX_LOOKUPS]
    server.respond()
    assert await last == ["127.0.0.1"]
    assert server.names == [*hosts[:MAX_LOOKUPS], b"last.test"]


async def test_a_failed_look_up_is_repeated_by_the_next_caller() -> None:
    lookups = NameLookups()
    for _ in range(2):
        with pytest.raises(socket.gaierror):
            await lookups.ip_addresses(b"no-such-host.invalid")


async def test_a_failed_handshake_counts_more_than_an_address_without_a_server() -> None:
    tls = ssl.create_default_context()
    async with receiving(tls=self_signed()) as receiver:
        port = int(receiver.url.rpartition(":")[2].partition("/")[0])
        for addresses in (["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"]):
            with pytest.raises(ssl.SSLCertVerificationError):
                await connect_to_first(
                    addresses, port, asyncio.Protocol, ssl=tls, server_hostname="localhost"
                )
