"""Who sends what is due: a queue for each endpoint, so that none waits for another."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from functools import partial
from math import ceil
from typing import NamedTuple

from emulator.clock import SystemClock, pause
from emulator.domain.errors import NotReady
from emulator.domain.instants import Instant
from emulator.domain.timers import LAST_SEQUENCE, DueKey
from emulator.domain.webhooks import MAX_HEAD_START_MS, Trigger
from emulator.engine.delivery.attempts import Attempts, DeliveryJob, delivery_job
from emulator.engine.payments.scheduler import FAR_OFF, PAUSE_AFTER_FAILURE_MS
from emulator.engine.state.account import NEVER, Account, Owner
from emulator.storage import deliveries
from emulator.storage.batch import Transaction
from emulator.storage.database import Database, DatabaseLost
from emulator.storage.deliveries import Delivery
from emulator.storage.invalid_rows import check_instant

# Attempts that are under way to one endpoint at a time. Each has a connection of its own, and a
# small server, such as Python's, lets five wait: the next would be heard after a second.
MAX_CONCURRENT_ATTEMPTS = 5

logger = logging.getLogger(__name__)


class EndpointQueue:
    """The way to one endpoint: what is under way there, and when the next thing is due.

    `due_at` is NEVER also where nothing more can begin before something has ended.
    """

    __slots__ = ("due_at", "endpoint", "owner", "tasks", "under_way")

    def __init__(self, owner: Owner, endpoint: int) -> None:
        self.owner = owner
        self.endpoint = endpoint
        self.due_at: Instant = NEVER
        self.under_way: dict[int, Delivery] = {}
        self.tasks: set[asyncio.Task[None]] = set()


class _View(NamedTuple):
    """What a look at a queue has shown: what can begin, and when to look again."""

    errands: list[DeliveryJob]
    due_at: Instant
    has_more: bool


class _HeadStart(NamedTuple):
    """Deliveries that are to arrive before a create call is answered, and whether they have."""

    awaited: set[int]
    has_arrived: asyncio.Event


class Dispatcher:
    """Makes attempts as they fall due by the accounts' clocks; `run` is its task."""

    def __init__(self, *, database: Database, wall: SystemClock, attempts: Attempts) -> None:
        self._database = database
        self._wall = wall
        self._attempts = attempts
        self._loop = asyncio.get_running_loop()
        self._queues: dict[int, EndpointQueue] = {}
        self._stirred: set[EndpointQueue] = set()
        self._called: set[Owner] = set()
        self._sooner = asyncio.Event()
        self._waiting: dict[Account, asyncio.Event] = {}
        self._head_starts: dict[tuple[Owner, str], _HeadStart] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def wake(self, owner: Owner) -> None:
        """Look whether something is due to an owner's endpoints; from any thread."""
        if owner not in self._called:
            self._called.add(owner)
            self._loop.call_soon_threadsafe(self._wake, owner)

    def _wake(self, owner: Owner) -> None:
        self._called.discard(owner)
        for endpoint in owner.endpoints:
            queue = self._queues.get(endpoint)
            if queue is None:
                queue = self._queues[endpoint] = EndpointQueue(owner, endpoint)
            self._look_soon(queue)

    def _look_soon(self, queue: EndpointQueue) -> None:
        if len(queue.under_way) < MAX_CONCURRENT_ATTEMPTS:
            self._stirred.add(queue)
            self._sooner.set()

    @staticmethod
    def check(tx: Transaction, *, owner: Owner) -> None:
        """Read what is due next to an owner's endpoints, for the errors that this may raise."""
        for endpoint in owner.endpoints:
            view = _look_at(tx, queue=EndpointQueue(owner, endpoint), under_way={})
            for job in view.errands:
                check_instant("due_at", job.delivery.due_at)
            if view.due_at != NEVER:
                check_instant("due_at", view.due_at)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            try:
                failed = await self._begin(self._ready())
            except (NotReady, DatabaseLost):
                return
            due_at = self._wall_due_at()
            if failed:
                self._stirred |= failed
                due_at = self._wall.now_ms() + PAUSE_AFTER_FAILURE_MS
            if not self._sooner.is_set():
                await self._wall.wait(self._sooner, until=None if due_at >= FAR_OFF else due_at)
            self._sooner.clear()

    def _ready(self) -> list[EndpointQueue]:
        """The queues to look at: where something has changed, and where time has come."""
        ready, self._stirred = self._stirred, set()
        for queue in self._queues.values():
            if queue.due_at <= queue.owner.account.clock.now():
                ready.add(queue)
        return list(ready)

    def _wall_due_at(self) -> Instant:
        """When, on the wall, something is due in the first of the queues where time flows."""
        flowing = (
            queue.owner.account.clock.wall_instant(queue.due_at)
            for queue in self._queues.values()
            if not queue.owner.account.clock.is_standing
        )
        return min(flowing, default=NEVER)

    async def _begin(self, queues: Sequence[EndpointQueue]) -> set[EndpointQueue]:
        """Begin all that can be begun in these queues; returns those that could not be looked at.

        Raises NotReady, DatabaseLost.
        """
        looks = (
            self._database.read(partial(_look_at, queue=queue, under_way=dict(queue.under_way)))
            for queue in queues
        )
        failed: set[EndpointQueue] = set()
        views = await asyncio.gather(*looks, return_exceptions=True)
        for queue, view in zip(queues, views, strict=True):
            if isinstance(view, NotReady | DatabaseLost):
                raise view
            if isinstance(view, BaseException):
                logger.error("an endpoint's webhooks could not be looked at", exc_info=view)
                failed.add(queue)
            elif self._queues.get(queue.endpoint) is queue:  # Else its account has begun anew.
                self._begin_in(queue, view)
        return failed

    def _begin_in(self, queue: EndpointQueue, view: _View) -> None:
        queue.due_at = view.due_at
        for one in view.errands:
            self._start(queue, one)
        if view.has_more and view.errands:
            self._look_soon(queue)
        if not queue.under_way:
            # Whoever waits for something to be due here waits in vain.
            self._notify_waiting(queue)
            if queue.endpoint not in queue.owner.endpoints:
                del self._queues[queue.endpoint]

    def _notify_waiting(self, queue: EndpointQueue) -> None:
        waiting = self._waiting.get(queue.owner.account)
        if waiting is not None:
            waiting.set()

    def _start(self, queue: EndpointQueue, one: DeliveryJob) -> None:
        queue.under_way[one.delivery.position] = one.delivery
        task = asyncio.create_task(self._attempt(queue, one))
        for tasks in (self._tasks, queue.tasks):
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    async def _attempt(self, queue: EndpointQueue, one: DeliveryJob) -> None:
        try:
            endpoint = queue.owner.endpoints.get(queue.endpoint)
            if endpoint is not None and endpoint.is_enabled:
                await self._attempts.make(one, endpoint, Trigger.SCHEDULE)
            else:
                # Disabled since it was looked at: what is still due would be looked at for ever.
                give_up = partial(deliveries.cancel_all, endpoint=queue.endpoint)
                await self._database.write(give_up)
        except (NotReady, DatabaseLost):
            return  # The program ends, or nothing can be written down any more.
        except Exception:
            # Whatever it was, it must not be repeated without a pause.
            logger.exception("a webhook could not be attempted")
            await pause(self._wall, PAUSE_AFTER_FAILURE_MS)
        finally:
            self._end(queue, one)

    def _end(self, queue: EndpointQueue, one: DeliveryJob) -> None:
        position = one.delivery.position
        queue.under_way.pop(position, None)
        if self._queues.get(queue.endpoint) is queue:
            self._look_soon(queue)
        self._notify_waiting(queue)
        head_start = self._head_starts.get((queue.owner, one.payment_id or ""))
        if head_start is not None:
            head_start.awaited.discard(position)
            if not head_start.awaited:
                head_start.has_arrived.set()

    async def wait_for_due(self, account: Account, deadline_ms: float) -> bool:
        """Wait until all that is due in an account has been attempted, or for monotonic time.

        Returns whether it has.
        """
        changed = self._waiting[account] = asyncio.Event()
        try:
            while self._is_busy(account) or await self._database.read(
                partial(_is_due, account=account)
            ):
                left_ms = deadline_ms - self._wall.monotonic_ms()
                if left_ms <= 0:
                    return False
                for owner in account.owners:
                    self._wake(owner)
                await self._wall.wait(changed, until=self._wall.now_ms() + ceil(left_ms))
                changed.clear()
            return True
        finally:
            del self._waiting[account]

    def _queues_of(self, account: Account) -> list[EndpointQueue]:
        return [queue for queue in self._queues.values() if queue.owner.account is account]

    def _is_busy(self, account: Account) -> bool:
        return any(queue.under_way for queue in self._queues_of(account))

    def give_head_start(self, owner: Owner, payment_id: str, awaited: Iterable[int]) -> None:
        """Note which deliveries are to arrive before the answer that tells of a payment."""
        self._head_starts[owner, payment_id] = _HeadStart(set(awaited), asyncio.Event())

    async def head_start(self, owner: Owner, payment_id: str) -> None:
        """Wait for the attempts that were to arrive first, as long as there are any.

        During an advance nothing is waited for: they have their turn when a handler, which may be
        the caller, has answered.
        """
        head_start = self._head_starts.get((owner, payment_id))
        if head_start is None:
            return
        try:
            effects = owner.account.collector
            if effects is None or effects.horizon is None:
                until = self._wall.now_ms() + MAX_HEAD_START_MS
                await self._wall.wait(head_start.has_arrived, until=until)
        finally:
            self._head_starts.pop((owner, payment_id), None)

    def drop(self, account: Account) -> None:
        """Forget what is under way in an account that is closed or has begun anew."""
        self._loop.call_soon_threadsafe(self._drop, account)

    def _drop(self, account: Account) -> None:
        for queue in self._queues_of(account):
            del self._queues[queue.endpoint]
            self._stirred.discard(queue)
            for task in queue.tasks:
                task.cancel()
        for key in [key for key in self._head_starts if key[0].account is account]:
            self._head_starts.pop(key).has_arrived.set()
        for owner in account.owners:
            # There may have been new events since.
            self._wake(owner)

    async def close(self) -> None:
        """Cancel what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _is_due(tx: Transaction, *, account: Account) -> bool:
    """Whether an attempt is due, and not beyond the horizon."""
    first = (deliveries.next_of(tx, owner.endpoints) for owner in account.owners)
    horizon = _horizon(account)
    return any(one is not None and deliveries.due_key(one) <= horizon for one in first)


def _horizon(account: Account) -> DueKey:
    """What is due later has to wait."""
    effects = account.collector
    if effects is not None and effects.horizon is not None:
        return effects.horizon
    return account.clock.now(), LAST_SEQUENCE


def _look_at(tx: Transaction, *, queue: EndpointQueue, under_way: dict[int, Delivery]) -> _View:
    free = MAX_CONCURRENT_ATTEMPTS - len(under_way)
    if free <= 0 or queue.endpoint not in queue.owner.endpoints:
        return _View([], NEVER, has_more=False)
    # Their first attempts are under way: another one of theirs waits its turn.
    busy = {one.payment for one in under_way.values() if one.attempts == 0}
    found = deliveries.upcoming(
        tx, queue.endpoint, besides=under_way, busy_payments=busy, limit=free + 1
    )
    horizon = _horizon(queue.owner.account)
    errands: list[DeliveryJob] = []
    for delivery in found:
        if deliveries.due_key(delivery) > horizon:
            return _View(errands, delivery.due_at or NEVER, has_more=False)
        is_first = delivery.attempts == 0
        if len(errands) == free or (is_first and delivery.payment in busy):
            continue
        errands.append(delivery_job(tx, queue.owner, delivery))
        if is_first:
            busy.add(delivery.payment)
    return _View(errands, NEVER, has_more=len(found) > len(errands))
