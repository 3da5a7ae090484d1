"""Name look-up on threads that do not delay the end of the program."""

import asyncio
import socket
from threading import Event

import pytest

from emulator.http.name_lookup import ip_addresses, run_on_daemon_thread


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
    assert await ip_addresses(host.encode()) == [host]


async def test_a_name_is_looked_up_and_ipv4_comes_first() -> None:
    assert (await ip_addresses(b"localhost"))[0] == "127.0.0.1"


@pytest.mark.parametrize("host", [b"no-such-host.invalid", b"a..b", b"a" * 64, b"%00", b""])
async def test_an_unknown_or_invalid_name_is_not_found(host: bytes) -> None:
    with pytest.raises(socket.gaierror):
        await ip_addresses(host)


async def test_a_look_up_can_be_cancelled() -> None:
    tasks = [asyncio.create_task(ip_addresses(b"no-such-host.invalid")) for _ in range(3)]
    cancelled = asyncio.Event()
    asyncio.get_running_loop().call_soon(cancelled.set)
    await cancelled.wait()
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in ended] == [asyncio.CancelledError] * 3
