"""Sends deliveries when they are due, with a queue for each endpoint."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from math import ceil

from msgspec import Struct, field

from emulator.clock import PAUSE_AFTER_FAILURE_MS, pause
from emulator.domain.errors import NotReady
from emulator.domain.instants import Instant
from emulator.domain.transitions import LAST_SEQUENCE, DueKey
from emulator.domain.webhooks import Trigger
from emulator.files import descriptor_limit
from emulator.server.engine.delivery.attempts import Attempts, DeliveryJob, delivery_job
from emulator.server.engine.delivery.gates import (
    MAX_PAUSED_DELIVERIES,
    AwaitedPages,
    Holds,
    Pauses,
    attempt_slots,
)
from emulator.server.engine.state.account import FAR_OFF, NEVER, Account, Owner
from emulator.server.engine.state.context import FailureLog, StateContext, StateService
from emulator.server.storage import deliveries
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import DatabaseLost, reads
from emulator.server.storage.deliveries import Delivery

# Concurrent attempts for one endpoint. Each has a connection of its own, and a small server, such
# as Python's, has a backlog of five: the next connection would take a second.
MAX_CONCURRENT_ATTEMPTS = 5

logger = logging.getLogger(__name__)


class EndpointQueue(Struct, eq=False):
    """The attempts in progress for one endpoint, and when its next delivery is due.

    `due_at` is NEVER also where nothing can begin before an attempt in progress ends.
    """

    owner: Owner
    endpoint: int
    due_at: Instant = NEVER
    in_progress: dict[int, Delivery] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)


class NextJobs(Struct, frozen=True):
    """The jobs of a queue that can begin now, and when the queue has to be read again.

    `paused` deliveries are due and wait for the end of a pause.
    """

    jobs: list[DeliveryJob]
    due_at: Instant
    has_more: bool
    paused: int = 0


class Dispatcher(StateService):
    """Makes attempts when they are due by the accounts' clocks; `run` is its task."""

    def __init__(self, context: StateContext, holds: Holds) -> None:
        super().__init__(context)
        self.attempts = Attempts(context, holds)
        self.slots = attempt_slots(descriptor_limit())
        self.pauses = Pauses(self._wall)
        self.awaited_pages = AwaitedPages(self._wall)
        self._queues: dict[int, EndpointQueue] = {}
        self._to_read: set[EndpointQueue] = set()
        self._woken = asyncio.Event()
        self._waiting: dict[Account, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._unread = FailureLog(logger, "the webhooks of an endpoint could not be read")
        self._unattempted = FailureLog(logger, "a webhook could not be attempted")

    def wake(self, owner: Owner) -> None:
        """Read what is due for an owner's endpoints."""
        for endpoint in owner.endpoints:
            self._read_soon(self._queue(owner, endpoint))

    def _queue(self, owner: Owner, endpoint: int) -> EndpointQueue:
        queue = self._queues.get(endpoint)
        if queue is None:
            queue = self._queues[endpoint] = EndpointQueue(owner, endpoint)
        return queue

    def _read_soon(self, queue: EndpointQueue) -> None:
        if len(queue.in_progress) < MAX_CONCURRENT_ATTEMPTS:
            self._to_read.add(queue)
            self._woken.set()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            for owner in self.pauses.over():
                self.resume(owner)
            try:
                failed = await self._begin(self._ready())
            except (NotReady, DatabaseLost):
                return
            due_at = min(self._wall_due_at(), self.awaited_pages.until, self.pauses.next_end())
            if failed:
                self._to_read |= failed
                due_at = self._wall.now_ms() + PAUSE_AFTER_FAILURE_MS
            if not self._woken.is_set():
                await self._wall.wait(self._woken, until=None if due_at >= FAR_OFF else due_at)
            self._woken.clear()

    def _ready(self) -> list[EndpointQueue]:
        """The queues to read: those that have changed, and those with something due."""
        self.release_pages()
        ready, self._to_read = self._to_read, set()
        for queue in self._queues.values():
            if queue.due_at <= queue.owner.account.clock.now():
                ready.add(queue)
        return list(ready)

    def _wall_due_at(self) -> Instant:
        """The real time of the next delivery of the accounts whose clocks flow."""
        flowing = (
            queue.owner.account.clock.wall_instant(queue.due_at)
            for queue in self._queues.values()
            if not queue.owner.account.clock.is_standing
        )
        return min(flowing, default=NEVER)

    async def _begin(self, queues: Sequence[EndpointQueue]) -> set[EndpointQueue]:
        """Begin all jobs that can begin; returns the queues that could not be read.

        Raises NotReady, DatabaseLost.
        """
        failed: set[EndpointQueue] = set()
        reading = [
            self._next_jobs(queue, dict(queue.in_progress), self.pauses.of(queue.owner) is not None)
            for queue in queues
        ]
        results = await asyncio.gather(*reading, return_exceptions=True)
        for queue, result in zip(queues, results, strict=True):
            if isinstance(result, NotReady | DatabaseLost):
                raise result
            if isinstance(result, BaseException):
                self._unread.add(result, queue.endpoint)
                failed.add(queue)
                continue
            self._unread.end(queue.endpoint)
            if self._queues.get(queue.endpoint) is queue:  # Else its account was reset.
                self._begin_in(queue, result)
        return failed

    @reads()
    def _next_jobs(
        self,
        tx: Transaction,
        queue: EndpointQueue,
        in_progress: dict[int, Delivery],
        is_paused: bool,
    ) -> NextJobs:
        """The jobs that can begin; in a pause none, but the number of the deliveries that wait."""
        limit = MAX_PAUSED_DELIVERIES if is_paused else MAX_CONCURRENT_ATTEMPTS - len(in_progress)
        if limit <= 0 or queue.endpoint not in queue.owner.endpoints:
            return NextJobs([], NEVER, has_more=False)
        # A first attempt of theirs is in progress: another first attempt waits for it.
        first = (delivery for delivery in in_progress.values() if delivery.attempts == 0)
        busy = set() if is_paused else {delivery.payment for delivery in first}
        upcoming = deliveries.upcoming(
            tx,
            queue.endpoint,
            exclude=in_progress,
            busy_payments=busy,
            awaiting_page=self.awaited_pages.events,
            limit=limit + 1,
        )
        latest = horizon(queue.owner.account)
        due = [delivery for delivery in upcoming if deliveries.due_key(delivery) <= latest]
        due_at = upcoming[len(due)].due_at or NEVER if len(due) < len(upcoming) else NEVER
        if is_paused:
            return NextJobs([], due_at, has_more=False, paused=len(due))
        begun: list[Delivery] = []
        has_more = False
        for delivery in due:
            is_first = delivery.attempts == 0
            if delivery in begun:
                continue
            if len(begun) >= limit or (is_first and delivery.payment in busy):
                has_more = True
                continue
            # Copies that are sent at the same moment may exceed the limit together.
            begun += _concurrent_copies(tx, delivery) if is_first else [delivery]
            if is_first:
                busy.add(delivery.payment)
        jobs = [delivery_job(tx, queue.owner, delivery) for delivery in begun]
        return NextJobs(jobs, due_at, has_more=has_more and len(due) == len(upcoming))

    def _begin_in(self, queue: EndpointQueue, next_jobs: NextJobs) -> None:
        pause = self.pauses.of(queue.owner)
        if pause is not None:
            if next_jobs.jobs:  # The pause began after they were read.
                self._read_soon(queue)
                return
            pause.waiting[queue.endpoint] = next_jobs.paused
            if pause.is_full:
                self.resume(queue.owner)
        queue.due_at = next_jobs.due_at
        for job in next_jobs.jobs:
            if job.delivery.position not in queue.in_progress:
                self._start(queue, job)
        if next_jobs.has_more and next_jobs.jobs:
            self._read_soon(queue)
        if not queue.in_progress:
            # A waiting task must not wait for this queue: nothing is due here.
            self._notify_waiting(queue)
            if queue.endpoint not in queue.owner.endpoints:
                del self._queues[queue.endpoint]

    def _notify_waiting(self, queue: EndpointQueue) -> None:
        waiting = self._waiting.get(queue.owner.account)
        if waiting is not None:
            waiting.set()

    def _start(self, queue: EndpointQueue, job: DeliveryJob) -> asyncio.Task[None]:
        queue.in_progress[job.delivery.position] = job.delivery
        task = asyncio.create_task(self._attempt(queue, job))
        for tasks in (self._tasks, queue.tasks):
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return task

    def is_in_progress(self, delivery: Delivery) -> bool:
        """Whether an attempt of the schedule is in progress."""
        queue = self._queues.get(delivery.endpoint)
        return queue is not None and delivery.position in queue.in_progress

    async def make_next(self, job: DeliveryJob) -> None:
        """Make the next attempt of the schedule now, also in a pause, and wait for its end."""
        queue = self._queue(job.owner, job.delivery.endpoint)
        if job.delivery.position not in queue.in_progress:
            # A caller that is cancelled does not cancel the attempt.
            await asyncio.wait({self._start(queue, job)})

    def resume(self, owner: Owner) -> None:
        """End the pause of an owner, and send what is due."""
        if self.pauses.end(owner):
            self.wake(owner)
            self._change_notifier.changed((owner,))

    async def _attempt(self, queue: EndpointQueue, job: DeliveryJob) -> None:
        try:
            async with self.slots:
                endpoint = queue.owner.endpoints.get(queue.endpoint)
                if endpoint is not None and endpoint.is_enabled:
                    await self.attempts.make(job, endpoint, Trigger.SCHEDULE)
                else:
                    # Disabled since it was read: what is still due would be read again for ever.
                    cancel = partial(deliveries.cancel_all, endpoint=queue.endpoint)
                    await self._database.write(cancel)
            self._unattempted.end(job.delivery.position)
        except (NotReady, DatabaseLost):
            return  # The program ends, or nothing can be recorded any more.
        except Exception as error:  # noqa: BLE001 - logged
            # An unexpected error must not be repeated without a pause.
            self._unattempted.add(error, job.delivery.position)
            await pause(self._wall, PAUSE_AFTER_FAILURE_MS)
        finally:
            self._end(queue, job)

    def _end(self, queue: EndpointQueue, job: DeliveryJob) -> None:
        position = job.delivery.position
        queue.in_progress.pop(position, None)
        if self._queues.get(queue.endpoint) is queue:
            self._read_soon(queue)  # Which notifies the waiting task when nothing is in progress.
        else:
            self._notify_waiting(queue)

    async def wait_for_due(self, account: Account, deadline_ms: float) -> bool:
        """Wait until all due attempts of an account have been made, or for monotonic time.

        Returns whether they have.
        """
        self.release_pages(account)
        changed = self._waiting[account] = asyncio.Event()
        try:
            while self._is_busy(account) or await self._is_due(account):
                left_ms = deadline_ms - self._wall.monotonic_ms()
                if left_ms <= 0:
                    return False
                for owner in account.owners:
                    self.wake(owner)
                await self._wall.wait(changed, until=self._wall.now_ms() + ceil(left_ms))
                changed.clear()
            return True
        finally:
            del self._waiting[account]

    def _queues_of(self, account: Account) -> list[EndpointQueue]:
        return [queue for queue in self._queues.values() if queue.owner.account is account]

    def _is_busy(self, account: Account) -> bool:
        return any(queue.in_progress for queue in self._queues_of(account))

    @reads()
    def _is_due(self, tx: Transaction, account: Account) -> bool:
        """Whether an attempt is due, and not beyond the horizon."""
        pending = (deliveries.next_of(tx, owner.endpoints) for owner in account.owners)
        latest = horizon(account)
        return any(
            delivery is not None and deliveries.due_key(delivery) <= latest for delivery in pending
        )

    def serve_page(self, payment: int) -> None:
        """Start the delay of the attempts that wait for the page of a payment."""
        self.awaited_pages.serve(payment)
        self._woken.set()

    def release_pages(self, account: Account | None = None) -> None:
        """Begin the attempts of an account without their pages, or those whose wait is over."""
        for owner in self.awaited_pages.release(account):
            self.wake(owner)

    def forget(self, endpoint: int) -> None:
        """Drop the queue of an endpoint that was deleted, when its attempts have ended."""
        queue = self._queues.get(endpoint)
        if queue is not None:
            self._read_soon(queue)

    def drop(self, account: Account) -> None:
        """Cancel the attempts of an account that was deleted, reset or restored."""
        for queue in self._queues_of(account):
            del self._queues[queue.endpoint]
            self._to_read.discard(queue)
            for task in queue.tasks:
                task.cancel()
        self.awaited_pages.release(account)
        for owner in account.owners:
            self.pauses.end(owner)
            # There may have been new events meanwhile.
            self.wake(owner)

    async def close(self) -> None:
        """Cancel the attempts in progress, and close their connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.attempts.sender.close()


def horizon(account: Account) -> DueKey:
    """The last due key that may be attempted now."""
    return account.advance.horizon or (account.clock.now(), LAST_SEQUENCE)


def _concurrent_copies(tx: Transaction, delivery: Delivery) -> list[Delivery]:
    """The deliveries whose first attempts begin together, this one included."""
    if not delivery.is_concurrent or delivery.payment is None:
        return [delivery]
    return [
        copy
        for copy in deliveries.pending_of_payment(tx, delivery.payment)
        if copy.attempts == 0
        and (copy.event, copy.endpoint, copy.due_at)
        == (delivery.event, delivery.endpoint, delivery.due_at)
    ]
