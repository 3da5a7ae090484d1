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

    __slots__ = ("_coroutine", "_waiting", "_waits")

    def __init__(
        self, coroutine: Coroutine[Any, Any, None], waits: "set[asyncio.Future[Any]]"
    ) -> None:
        self._coroutine = coroutine
        self._waits = waits
        # Not a member of the set without a wait: most requests have none.
        self._waiting: asyncio.Future[None] | None = None

    def step(self, _: object = None) -> None:
        try:
            awaited = self._coroutine.send(None)
        except StopIteration:
            self._end()
        except asyncio.CancelledError:
            self._end()  # The database was closed.
        except BaseException:
            self._end()
            raise
        else:
            if self._waiting is None:
                self._waiting = asyncio.get_running_loop().create_future()
                self._waits.add(self._waiting)
            if awaited is None:  # `asyncio.sleep(0)`
                asyncio.get_running_loop().call_soon(self.step)
            else:
                # What a task does: the protocol between futures and their tasks.
                awaited._asyncio_future_blocking = False  # noqa: SLF001
                awaited.add_done_callback(self.step)

    def _end(self) -> None:
        if self._waiting is not None:
            self._waits.discard(self._waiting)
            self._waiting.set_result(None)


def run_without_task(
    coroutine: Coroutine[Any, Any, None], waits: "set[asyncio.Future[Any]]"
) -> None:
    """Execute a coroutine that raises nothing; `waits` has a future of it while it waits."""
    _Steps(coroutine, waits).step()
