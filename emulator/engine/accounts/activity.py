"""Sends what changes in an account and mode to the listeners of its stream, twice a second."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import NamedTuple

from emulator.clock import SystemClock
from emulator.domain.errors import NotReady
from emulator.engine.payments.context import EngineContext
from emulator.engine.payments.payment_history import PaymentHistory
from emulator.engine.state.account import Owner
from emulator.storage.batch import Transaction
from emulator.storage.database import Database, DatabaseLost, reads

MIN_INTERVAL_MS = 500
MAX_EVENTS_PER_MESSAGE = 25
# A listener that has not taken so many messages is too slow, and is dropped.
MAX_WAITING_MESSAGES = 20
# Listeners get a message one after another, many in groups, so that the responses to them and to
# their requests do not delay those to the merchant.
MAX_GROUPS = 100
GROUP_INTERVAL_MS = 5

KINDS = ("payments", "requests", "deliveries", "clock", "rules", "endpoints", "unauthorized")

logger = logging.getLogger(__name__)


class StreamMessage(NamedTuple):
    """A message of the stream: one of KINDS, and a JSON object.

    What it is about had occurred at `at_ms`, in monotonic real time.
    """

    kind: str
    data: str
    at_ms: float


class _State(NamedTuple):
    """What differs after a change; one field for each kind but `deliveries`."""

    payments: int
    requests: object
    clock: tuple[object, ...]
    rules: object
    endpoints: object
    unauthorized: int


class Activity:
    """The streams of all accounts; an account without listeners costs nothing."""

    def __init__(self, context: EngineContext, history: PaymentHistory) -> None:
        self._database: Database = context.database
        self._wall: SystemClock = context.wall
        self._notifier = context.change_notifier
        self._history = history
        self._unauthorized = context.unauthorized
        self._feeds: dict[Owner, _Feed] = {}

    async def listen(self, owner: Owner) -> AsyncIterator[StreamMessage]:
        """What changes from now on.

        It ends when the listener is too slow, the account is deleted or the program stops.
        """
        state = await self._state(owner)
        feed = self._feeds.get(owner)
        if feed is None:
            feed = self._feeds[owner] = _Feed()
            feed.task = asyncio.create_task(self._run(owner, feed, state))
        return feed.messages()

    async def _run(self, owner: Owner, feed: "_Feed", before: _State) -> None:
        """Compare the state of an owner twice a second, and send the differences."""
        try:
            with self._notifier.woken_by((owner,)) as deliveries_changed:
                while await self._wait(owner, feed, MIN_INTERVAL_MS):
                    now = await self._state(owner)
                    changed = [
                        kind
                        for kind in _State._fields
                        if getattr(before, kind) != getattr(now, kind)
                    ]
                    if deliveries_changed.is_set():
                        deliveries_changed.clear()
                        changed.append("deliveries")
                    at_ms = self._wall.monotonic_ms()
                    messages = [
                        StreamMessage(kind, await self._data(owner, kind, since=before), at_ms)
                        for kind in changed
                    ]
                    before = now
                    if messages:
                        await self._send(owner, feed, messages)
        except (NotReady, DatabaseLost):
            pass  # The program stops, or the loss was logged when it was noticed.
        except Exception:  # The clients connect again after the end of their streams.
            logger.exception("the stream of an account has failed")
        finally:
            del self._feeds[owner]
            feed.close()

    async def _send(self, owner: Owner, feed: "_Feed", messages: list[StreamMessage]) -> None:
        queues = list(feed.queues)
        size = -(-len(queues) // MAX_GROUPS)
        for start in range(0, len(queues), size):
            if start and not await self._wait(owner, feed, GROUP_INTERVAL_MS):
                return
            feed.send(messages, queues[start : start + size])

    async def _wait(self, owner: Owner, feed: "_Feed", duration_ms: int) -> bool:
        """Whether the stream of the owner goes on after this time."""
        await self._wall.wait(self._notifier.closed, until=self._wall.now_ms() + duration_ms)
        return bool(feed.queues) and not (owner.account.is_closed or self._notifier.closed.is_set())

    async def _state(self, owner: Owner) -> _State:
        account = owner.account
        return _State(
            payments=await self._event_count(owner),
            requests=owner.journal.newest,
            clock=(*account.clock.pace, account.due_at, account.generation),
            rules=(account.rules, account.snapshot_extras),
            endpoints=owner.endpoints,
            unauthorized=self._unauthorized.count,
        )

    @reads()
    def _event_count(self, tx: Transaction, owner: Owner) -> int:
        return tx.row_count("events", owner.number)

    async def _data(self, owner: Owner, kind: str, *, since: _State) -> str:
        """A JSON object."""
        if kind != "payments":
            return "{}"
        # A reset makes the count smaller.
        count = max(0, await self._event_count(owner) - since.payments)
        limit = min(count, MAX_EVENTS_PER_MESSAGE)
        bodies = await self._history.events(owner, limit=limit) if limit else []
        events = ",".join(bodies)
        return f'{{"count": {count}, "events": [{events}]}}'


_Queue = asyncio.Queue[StreamMessage | None]


class _Feed:
    """The listeners of one owner."""

    def __init__(self) -> None:
        self.queues: set[_Queue] = set()
        self.task: asyncio.Task[None]

    def messages(self) -> AsyncIterator[StreamMessage]:
        """The messages to a new listener."""
        queue: _Queue = asyncio.Queue(MAX_WAITING_MESSAGES)
        self.queues.add(queue)
        return self._messages_of(queue)

    async def _messages_of(self, queue: _Queue) -> AsyncIterator[StreamMessage]:
        try:
            while (message := await queue.get()) is not None:
                yield message
        finally:
            self.queues.discard(queue)

    def send(self, messages: list[StreamMessage], queues: list[_Queue]) -> None:
        for queue in self.queues.intersection(queues):
            if queue.qsize() + len(messages) > MAX_WAITING_MESSAGES:
                self._end(queue)
            else:
                for message in messages:
                    queue.put_nowait(message)

    def close(self) -> None:
        for queue in list(self.queues):
            self._end(queue)

    def _end(self, queue: _Queue) -> None:
        """Let a listener end after at most the message that it is sending."""
        self.queues.discard(queue)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)
