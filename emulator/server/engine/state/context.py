"""The parts that all operations share: a cache of payments, a notifier of changes, a log."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Set
from contextlib import contextmanager
from typing import TypeVar

from msgspec import Struct, field

from emulator.clock import SystemClock
from emulator.domain.errors import NotReady
from emulator.domain.instants import Instant
from emulator.server.engine.state.account import Account, EngineConfig, Owner
from emulator.server.engine.state.journal import UnauthorizedRequests
from emulator.server.storage.batch import ORDINAL_BITS
from emulator.server.storage.database import Database

# Of each of two generations: when the young one is full, it replaces the old one.
MAX_GENERATION_BYTES = 6 * 1024 * 1024
# The approximate size of an entry without its JSON.
ENTRY_BYTES = 350

T = TypeVar("T")
Query = Callable[[], Awaitable[tuple[bool, T]]]

Topic = int | Account | Owner | None
"""A payment and its deliveries, by its position; the clock of an account; or the deliveries of an
owner. None, the payment of a ping, is nobody's."""


class ChangeNotifier:
    """Notified after a commit; wakes the waiting tasks."""

    def __init__(self, wall: SystemClock) -> None:
        self._wall = wall
        self._waiting: dict[Topic, set[asyncio.Event]] = {}
        # Called at each change, before the operation returns.
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
        for topic in topics:
            for event in self._waiting.get(topic, ()):
                event.set()

    def all_changed(self) -> None:
        """As `changed`, for all topics: rows of an account were removed or restored."""
        self.changed(self._waiting)

    def close(self) -> None:
        self.closed.set()
        self.all_changed()


class _Generation(Struct, eq=False):
    """Some payments, by position and by id."""

    by_position: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    by_id: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    size_bytes: int = 0


class PaymentCache:
    """Contains committed payments only, although transactions and requests use it at any time.

    A created payment is added after the commit. A change evicts its payment twice: within its
    transaction, so that no request gets the old state once the clock has moved, and after the
    commit, because a create of the same commit has just added the old state. Between the two no
    read adds it again: reads run after the commit of their batch, and only one batch runs at a
    time. An eviction whose transaction fails costs one query. A page of newest payments is used
    only while `version` is unchanged, which each addition of a newest payment and each eviction
    increments. Two generations replace a list in order of use: an update of such a list would cost
    every read more than the few payments that are dropped too early.
    """

    __slots__ = ("_generations", "_last", "version")

    def __init__(self) -> None:
        # It counts the changes: a page that was built before the last one may be outdated.
        self.version = 0
        self.clear()

    def clear(self) -> None:
        # The young one and the old one.
        self._generations = [_Generation(), _Generation()]
        # The position of each owner's newest payment, where it is known.
        self._last: dict[int, int] = {}
        self.version += 1

    def put_created(self, position: int, payment_id: str, body: bytes) -> None:
        """Add the newest payment of its owner."""
        self.put(position, payment_id, body)
        self.set_last(position)

    def put(self, position: int, payment_id: str, body: bytes) -> None:
        young = self._generations[0]
        if young.size_bytes > MAX_GENERATION_BYTES:
            self._generations = [_Generation(), young]
            young = self._generations[0]
        young.by_position[position] = (payment_id, body)
        young.by_id[payment_id] = (position >> ORDINAL_BITS, body)
        young.size_bytes += len(body) + ENTRY_BYTES

    def set_last(self, position: int) -> None:
        """Note the position of the newest payment of its owner."""
        self._last[position >> ORDINAL_BITS] = position
        self.version += 1

    def evict(self, positions: Set[int]) -> None:
        for generation in self._generations:
            for position in generation.by_position.keys() & positions:
                payment_id, body = generation.by_position.pop(position)
                del generation.by_id[payment_id]
                generation.size_bytes -= len(body) + ENTRY_BYTES
        # Last, because another thread may evict while the event loop builds a page.
        self.version += 1

    def at(self, position: int) -> tuple[str, bytes] | None:
        """The id and the body of the payment at a position."""
        for generation in self._generations:
            rendered = generation.by_position.get(position)
            if rendered is not None:
                return rendered
        return None

    def newest(self, owner: int, count: int) -> list[tuple[str, bytes]] | None:
        """The ids and bodies of an owner's newest payments; None unless all are here."""
        last = self._last.get(owner)
        if last is None:
            return None
        newest = []
        for position in range(last, max(last - count, owner << ORDINAL_BITS), -1):
            rendered = self.at(position)
            if rendered is None:
                return None  # Perhaps there is none: a position may be left out.
            newest.append(rendered)
        return newest

    def of(self, owner: int, payment_id: str) -> bytes | None:
        for generation in self._generations:
            entry = generation.by_id.get(payment_id)
            if entry is not None:
                return entry[1] if entry[0] == owner else None
        return None


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
        self._settings = context.config.settings
        self._database = context.database
        self._wall = context.wall
        self._payment_cache = context.payment_cache
        self._change_notifier = context.change_notifier
