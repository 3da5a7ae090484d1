"""Threads that the end of the program does not wait for, as it does for those of an executor."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def on_a_thread(work: Callable[[], T], *, name: str) -> "asyncio.Future[T]":
    """What comes of some work, which goes on whatever becomes of who waits for it."""
    result: Future[T] = Future()
    # From here on nobody can cancel it.
    result.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result.set_result(work())
        except Exception as error:  # noqa: BLE001 - who waits gets it
            result.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return asyncio.wrap_future(result)
