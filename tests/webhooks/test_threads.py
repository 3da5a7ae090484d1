"""Work on threads that the end of the program does not wait for."""

import asyncio
from threading import Event

import pytest

from emulator.webhooks.threads import on_a_thread


async def test_who_waits_gets_what_comes_of_it() -> None:
    assert await on_a_thread(lambda: 6 * 7, name="sum") == 42


async def test_who_waits_gets_what_goes_wrong() -> None:
    with pytest.raises(ZeroDivisionError):
        await on_a_thread(lambda: 1 // 0, name="sum")


def test_a_loop_ends_while_the_work_goes_on() -> None:
    may_end, has_ended = Event(), Event()

    def work() -> None:
        may_end.wait()
        has_ended.set()

    async def give_up() -> None:
        waiting = on_a_thread(work, name="long")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(give_up())
    may_end.set()
    assert has_ended.wait(60)
