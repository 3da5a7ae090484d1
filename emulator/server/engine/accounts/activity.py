"""Sends what changes in an account and mode to the listeners of its stream, twice a second."""

import asyncio
import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import NamedTuple

import msgspec

from emulator.domain.errors import NotReady
from emulator.server.engine.payments.payment_history import PaymentHistory
from emulator.server.engine.payments.scheduler import EngineContext, EngineService
from emulator.server.engine.state.account import Owner
from emulator.server.storage import payments
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import DatabaseLost, reads

MIN_INTERVAL_MS = 500
MAX_EVENTS_PER_MESSAGE = 25
# A listener for which more messages wait is too slow, and is dropped.
MAX_WAITING_MESSAGES = 20

KINDS = ("payments", "requests", "deliveries", "clock", "rules", "endpoints", "unauthorized")

logger = logging.getLogger(__name__)


class StreamMessage(msgspec.Struct, frozen=True):
    """A message of the stream: one of KINDS, and a JSON object.

    What it is about had occurred at `at_ms`, in monotonic real time; messages about the same
    changes have the same instant.
    """

    kind: str
    data: str
    at_ms: float


class _State(NamedTuple):
    """What differs after a change; one field for each kind but `deliveries`.

    Of the stream of one payment, `payments` never differs.
    """

    payments: int
    requests: object
    clock: tuple[object, ...]
    rules: object
    endpoints: object
    unauthorized: int


class Activity(EngineService):
    """The streams of all accounts; an account without listeners costs nothing."""

    def __init__(self, context: EngineContext, history: PaymentHistory) -> None:
        super().__init__(context)
        self._history = history
        self._unauthorized = context.unauthorized
        self._feeds: dict[Owner | int, _Feed] = {}

    async def listen(self, owner: Owner, payment: str | None) -> AsyncIterator[StreamMessage]:
        """What changes from now on; with `payment`, no requests and deliveries of other payments.

        It ends when the listener is too slow, the account is deleted or the program stops. Raises
        UnknownPayment.
        """
        topic: Owner | int = owner
        path = None
        if payment is not None:
            find = partial(payments.find, owner=owner.number, payment_id=payment)
            topic = (await self._database.read(find)).position
            path = f"/v1/payments/{payment}".encode()
        state = await self._state(owner, path)
        feed = self._feeds.get(topic)
        if feed is None:
            feed = self._feeds[topic] = _Feed(owner, topic, path)
            feed.task = asyncio.create_task(self._run(feed, state))
        return feed.messages()

    def revision(self, owner: Owner) -> str:
        """Differs after each change that a stream of the owner would report, and after others."""
        newest = owner.journal.newest
        request = "" if newest is None else newest.id.decode()
        unauthorized = self._unauthorized.count
        return f"{self._database.changes}-{self._is_paused(owner)}-{request}-{unauthorized}"

    def _is_paused(self, owner: Owner) -> bool:
        return self._webhooks.deliveries.pause_left_ms(owner) is not None

    async def _run(self, feed: "_Feed", before: _State) -> None:
        """Compare the state of an owner twice a second, and send the differences."""
        owner = feed.owner
        # Of one payment, a changed delivery and a changed status are the same to its listeners.
        woken_kind = "deliveries" if feed.path is None else "payments"
        try:
            with self._change_notifier.woken_by((feed.topic,)) as has_changed:
                while await self._wait(feed):
                    now = await self._state(owner, feed.path)
                    changed = [
                        kind
                        for kind in _State._fields
                        if getattr(before, kind) != getattr(now, kind)
                    ]
                    if has_changed.is_set():
                        has_changed.clear()
                        changed.append(woken_kind)
                    at_ms = self._wall.monotonic_ms()
                    messages = [
                        StreamMessage(kind, await self._data(feed, kind, since=before), at_ms)
                        for kind in changed
                    ]
                    before = now
                    feed.send(messages)
        except (NotReady, DatabaseLost):
            pass  # The program stops, or the loss was logged when it was noticed.
        except Exception:  # The clients connect again after the end of their streams.
            logger.exception("the stream of an account has failed")
        finally:
            del self._feeds[feed.topic]
            feed.close()

    async def _wait(self, feed: "_Feed") -> bool:
        """Wait until the next comparison; whether the stream goes on."""
        until = self._wall.now_ms() + MIN_INTERVAL_MS
        await self._wall.wait(self._change_notifier.closed, until=until)
        is_over = feed.owner.account.is_closed or self._change_notifier.closed.is_set()
        return bool(feed.queues) and not is_over

    async def _state(self, owner: Owner, path: bytes | None) -> _State:
        account, journal = owner.account, owner.journal
        is_paused = self._is_paused(owner)
        return _State(
            payments=0 if path else await self._event_count(owner),
            requests=next(journal.newest_first(path=path), None) if path else journal.newest,
            clock=(*account.clock.pace, account.due_at, account.generation, is_paused),
            rules=(account.rules, account.snapshot_journals),
            endpoints=owner.endpoints,
            unauthorized=self._unauthorized.count,
        )

    @reads()
    def _event_count(self, tx: Transaction, owner: Owner) -> int:
        return tx.row_count("events", owner.number)

    async def _data(self, feed: "_Feed", kind: str, *, since: _State) -> str:
        owner = feed.owner
        if kind != "payments" or feed.path:
            return "{}"
        # A reset makes the count smaller.
        count = max(0, await self._event_count(owner) - since.payments)
        limit = min(count, MAX_EVENTS_PER_MESSAGE)
        bodies = await self._history.events(owner, limit=limit, among=count) if limit else []
        change = {"count": count, "events": [msgspec.Raw(body) for body in bodies]}
        return msgspec.json.encode(change).decode()


_Queue = asyncio.Queue[StreamMessage | None]


class _Feed(msgspec.Struct, eq=False):
    """The listeners of one owner, or of the payment with a position and a path."""

    owner: Owner
    topic: Owner | int
    path: bytes | None
    queues: set[_Queue] = set()
    task: asyncio.Task[None] | None = None

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

    def send(self, messages: list[StreamMessage]) -> None:
        for queue in list(self.queues):
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
