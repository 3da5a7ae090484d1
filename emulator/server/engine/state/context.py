"""The parts that all operations share, among them the notifier of changes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from emulator.clock import SystemClock
from emulator.domain.errors import NotReady
from emulator.domain.instants import Instant
from emulator.server.engine.state.account import Account, EngineConfig, Owner
from emulator.server.engine.state.journal import UnauthorizedRequests
from emulator.server.engine.state.payment_cache import PaymentCache
from emulator.server.storage.database import Database

T = TypeVar("T")
Query = Callable[[], Awaitable[tuple[bool, T]]]

Topic = int | Account | Owner | None
"""A payment and its deliveries, by its position; the clock of an account; or the deliveries of an
owner. None, the payment of a ping, is nobody's."""


class ChangeNotifier:
    """Notified after a commit, on any thread; wakes the waiting tasks on the event loop."""

    def __init__(self, wall: SystemClock) -> None:
        self._wall = wall
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Topic, set[asyncio.Event]] = {}
        # Called at each change, on its thread and before the operation returns.
        self.observer: Callable[[], None] | None = None
        self.closed = asyncio.Event()

    async def watch(
        self, topics: tuple[Topic, ...], query: Query[T], *, until: Instant
    ) -> tuple[bool, T]:
        """Query until it is enough: now, after each change of a topic, and at `until`.

        Returns the last result of the query. Raises NotReady when the program stops.
        """
        with self.woken_by(topics) as changed:
            is_over = self._wall.now_ms() >= until
            while not self.closed.is_set():
                is_enough, result = await query()
                if is_enough or is_over:
                    return is_enough, result
                await self._wall.wait(changed, until=until)
                is_over = not changed.is_set()
                changed.clear()
        raise NotReady

    @contextmanager
    def woken_by(self, topics: tuple[Topic, ...]) -> Iterator[asyncio.Event]:
        """An event that is set after each change of a topic, and when the program stops."""
        event = asyncio.Event()
        for topic in topics:
            self._waiting.setdefault(topic, set()).add(event)
        try:
            yield event
        finally:
            for topic in topics:
                waiting = self._waiting[topic]
                waiting.discard(event)
                if not waiting:
                    del self._waiting[topic]

    def changed(self, topics: Iterable[Topic]) -> None:
        if self.observer is not None:
            self.observer()
        if not self._waiting:
            return
        awaited = [topic for topic in topics if topic in self._waiting]
        if awaited:
            # In one call, so that a task that waits for several topics queries once.
            self._loop.call_soon_threadsafe(self._wake, awaited)

    def all_changed(self) -> None:
        """As `changed`, for all topics: rows of an account were removed or restored."""
        self.changed(tuple(self._waiting))

    def _wake(self, topics: Iterable[Topic]) -> None:
        for topic in topics:
            for event in self._waiting.get(topic, ()):
                event.set()

    def close(self) -> None:
        self.closed.set()
        self._wake(self._waiting)


class FailureLog:
    """Logs an error of a work once, until the error changes or the work succeeds."""

    def __init__(self, logger: logging.Logger, message: str) -> None:
        self._logger = logger
        self._message = message
        self._last: dict[Hashable, str] = {}

    def add(self, error: BaseException, work: Hashable = None) -> None:
        if self._last.get(work) != repr(error):
            self._last[work] = repr(error)
            self._logger.error(self._message, exc_info=error)

    def end(self, work: Hashable = None) -> None:
        """The work has succeeded, or is not repeated."""
        self._last.pop(work, None)


class StateContext:
    """One of each part that reads, writes, caches and notifies."""

    def __init__(self, database: Database, wall: SystemClock, config: EngineConfig) -> None:
        self.config = config
        self.database = database
        self.wall = wall
        self.payment_cache = PaymentCache()
        self.change_notifier = ChangeNotifier(wall)
        self.unauthorized = UnauthorizedRequests()


class StateService:
    """Operations that use these parts."""

    def __init__(self, context: StateContext) -> None:
        self._config = context.config
        self._database = context.database
        self._wall = context.wall
        self._payment_cache = context.payment_cache
        self._change_notifier = context.change_notifier
