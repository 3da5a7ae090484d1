"""Answers a request that has arrived whole, without a task: half of the time of a request."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class _Unobserved:
    """The event of a cycle whose application waits for no message."""

    def set(self) -> None:
        """Do nothing."""


class DirectCycle:
    """The state of a request and its response, as uvicorn's cycle, from which it is read."""

    __slots__ = (
        "default_headers",
        "disconnected",
        "keep_alive",
        "response_complete",
        "response_started",
        "waiting_for_100_continue",
    )

    message_event = _Unobserved()

    def __init__(self, default_headers: list[tuple[bytes, bytes]], *, keep_alive: bool) -> None:
        self.default_headers = default_headers
        self.keep_alive = keep_alive
        self.disconnected = False
        self.response_started = False
        self.response_complete = False
        self.waiting_for_100_continue = False


class _Steps:
    """Executes a coroutine: up to its first wait at once, and then after each wait.

    A task of asyncio would begin one turn of the event loop later. `asyncio.current_task` is None
    in the coroutine; what needs a task, as `asyncio.timeout` does, has to create one.
    """

    __slots__ = ("_coroutine", "_end", "_in_progress")

    def __init__(
        self, coroutine: Coroutine[Any, Any, None], in_progress: "set[asyncio.Future[Any]]"
    ) -> None:
        self._coroutine = coroutine
        self._in_progress = in_progress
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        in_progress.add(self._end)

    def wait(self, awaited: Any) -> None:
        """Continue after a wait, which is a future, or None for `asyncio.sleep(0)`."""
        if awaited is None:
            asyncio.get_running_loop().call_soon(self._step)
        else:
            # What a task does: the protocol between futures and their tasks.
            awaited._asyncio_future_blocking = False  # noqa: SLF001
            awaited.add_done_callback(self._step)

    def _step(self, _: object = None) -> None:
        try:
            self.wait(self._coroutine.send(None))
        except BaseException as end:
            self._in_progress.discard(self._end)
            self._end.set_result(None)
            # It is cancelled when the database is closed.
            if not isinstance(end, StopIteration | asyncio.CancelledError):
                raise


def run_without_task(
    coroutine: Coroutine[Any, Any, None], in_progress: "set[asyncio.Future[Any]]"
) -> None:
    """Execute a coroutine that raises nothing; if it waits, `in_progress` has a future of it."""
    try:
        awaited = coroutine.send(None)
    except StopIteration:
        return  # Most reads never wait.
    _Steps(coroutine, in_progress).wait(awaited)
