"""Who sends what is due: a lane for each endpoint, so that none waits for another."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from functools import partial
from math import ceil
from typing import NamedTuple

from emulator.clock import Wall, pause
from emulator.domain.errors import NotReady
from emulator.domain.instants import Instant
from emulator.domain.timers import LAST_SEQUENCE, DueKey
from emulator.domain.webhooks import MAX_HEAD_START_MS, Trigger
from emulator.engine.accounts import NEVER, Account, Owner
from emulator.engine.attempts import Attempts, Errand, errand_of
from emulator.engine.settling import FAR_OFF, PAUSE_AFTER_FAILURE_MS
from emulator.storage import deliveries
from emulator.storage.batch import Transaction
from emulator.storage.database import Database, DatabaseLost
from emulator.storage.deliveries import Delivery
from emulator.storage.invalid_rows import check_instant

# Attempts that are under way to one endpoint at a time. Each has a connection of its own, and a
# small server, such as Python's, lets five wait: the next would be heard after a second.
MAX_CONCURRENT_ATTEMPTS = 5

logger = logging.getLogger(__name__)


class Lane:
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
    """What a look at a lane has shown: what can begin, and when to look again."""

    errands: list[Errand]
    due_at: Instant
    has_more: bool


class _HeadStart(NamedTuple):
    """Deliveries that are to arrive before a create call is answered, and whether they have."""

    awaited: set[int]
    has_arrived: asyncio.Event


class Dispatcher:
    """Makes attempts as they fall due by the accounts' clocks; `run` is its task."""

    def __init__(self, *, database: Database, wall: Wall, attempts: Attempts) -> None:
        self._database = database
        self._wall = wall
        self._attempts = attempts
        self._loop = asyncio.get_running_loop()
        self._lanes: dict[int, Lane] = {}
        self._stirred: set[Lane] = set()
        self._called: set[Owner] = set()
        self._sooner = asyncio.Event()
        self._waiting: dict[Account, asyncio.Event] = {}
        self._head_starts: dict[tuple[Owner, str], _HeadStart] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def stir(self, owner: Owner) -> None:
        """Look whether something is due to an owner's endpoints; from any thread."""
        if owner not in self._called:
            self._called.add(owner)
            self._loop.call_soon_threadsafe(self._stir, owner)

    def _stir(self, owner: Owner) -> None:
        self._called.discard(owner)
        for endpoint in owner.endpoints:
            lane = self._lanes.get(endpoint)
            if lane is None:
                lane = self._lanes[endpoint] = Lane(owner, endpoint)
            self._look_soon(lane)

    def _look_soon(self, lane: Lane) -> None:
        if len(lane.under_way) < MAX_CONCURRENT_ATTEMPTS:
            self._stirred.add(lane)
            self._sooner.set()

    @staticmethod
    def check(tx: Transaction, *, owner: Owner) -> None:
        """Read what is due next to an owner's endpoints, for the errors that this may raise."""
        for endpoint in owner.endpoints:
            view = _look_at(tx, lane=Lane(owner, endpoint), under_way={})
            for errand in view.errands:
                check_instant("due_at", errand.delivery.due_at)
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

    def _ready(self) -> list[Lane]:
        """The lanes to look at: where something has changed, and where time has come."""
        ready, self._stirred = self._stirred, set()
        for lane in self._lanes.values():
            if lane.due_at <= lane.owner.account.clock.now():
                ready.add(lane)
        return list(ready)

    def _wall_due_at(self) -> Instant:
        """When, on the wall, something is due in the first of the lanes where time flows."""
        flowing = (
            lane.owner.account.clock.wall_instant(lane.due_at)
            for lane in self._lanes.values()
            if not lane.owner.account.clock.is_standing
        )
        return min(flowing, default=NEVER)

    async def _begin(self, lanes: Sequence[Lane]) -> set[Lane]:
        """Begin all that can be begun in these lanes; returns those that could not be looked at.

        Raises NotReady, DatabaseLost.
        """
        looks = (
            self._database.read(partial(_look_at, lane=lane, under_way=dict(lane.under_way)))
            for lane in lanes
        )
        failed: set[Lane] = set()
        views = await asyncio.gather(*looks, return_exceptions=True)
        for lane, view in zip(lanes, views, strict=True):
            if isinstance(view, NotReady | DatabaseLost):
                raise view
            if isinstance(view, BaseException):
                logger.error("an endpoint's webhooks could not be looked at", exc_info=view)
                failed.add(lane)
            elif self._lanes.get(lane.endpoint) is lane:  # Else its account has begun anew.
                self._begin_in(lane, view)
        return failed

    def _begin_in(self, lane: Lane, view: _View) -> None:
        lane.due_at = view.due_at
        for one in view.errands:
            self._start(lane, one)
        if view.has_more and view.errands:
            self._look_soon(lane)
        if not lane.under_way:
            # Whoever waits for something to be due here waits in vain.
            self._tell_waiting(lane)
            if lane.endpoint not in lane.owner.endpoints:
                del self._lanes[lane.endpoint]

    def _tell_waiting(self, lane: Lane) -> None:
        waiting = self._waiting.get(lane.owner.account)
        if waiting is not None:
            waiting.set()

    def _start(self, lane: Lane, one: Errand) -> None:
        lane.under_way[one.delivery.position] = one.delivery
        task = asyncio.create_task(self._attempt(lane, one))
        for tasks in (self._tasks, lane.tasks):
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    async def _attempt(self, lane: Lane, one: Errand) -> None:
        try:
            endpoint = lane.owner.endpoints.get(lane.endpoint)
            if endpoint is not None and endpoint.is_enabled:
                await self._attempts.make(one, endpoint, Trigger.SCHEDULE)
            else:
                # Disabled since it was looked at: what is still due would be looked at for ever.
                give_up = partial(deliveries.cancel_all, endpoint=lane.endpoint)
                await self._database.write(give_up)
        except (NotReady, DatabaseLost):
            return  # The program ends, or nothing can be written down any more.
        except Exception:
            # Whatever it was, it must not be repeated without a pause.
            logger.exception("a webhook could not be attempted")
            await pause(self._wall, PAUSE_AFTER_FAILURE_MS)
        finally:
            self._end(lane, one)

    def _end(self, lane: Lane, one: Errand) -> None:
        position = one.delivery.position
        lane.under_way.pop(position, None)
        if self._lanes.get(lane.endpoint) is lane:
            self._look_soon(lane)
        self._tell_waiting(lane)
        head_start = self._head_starts.get((lane.owner, one.payment_id or ""))
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
                    self._stir(owner)
                await self._wall.wait(changed, until=self._wall.now_ms() + ceil(left_ms))
                changed.clear()
            return True
        finally:
            del self._waiting[account]

    def _lanes_of(self, account: Account) -> list[Lane]:
        return [lane for lane in self._lanes.values() if lane.owner.account is account]

    def _is_busy(self, account: Account) -> bool:
        return any(lane.under_way for lane in self._lanes_of(account))

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
        for lane in self._lanes_of(account):
            del self._lanes[lane.endpoint]
            self._stirred.discard(lane)
            for task in lane.tasks:
                task.cancel()
        for key in [key for key in self._head_starts if key[0].account is account]:
            self._head_starts.pop(key).has_arrived.set()
        for owner in account.owners:
            # There may have been new events since.
            self._stir(owner)

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


def _look_at(tx: Transaction, *, lane: Lane, under_way: dict[int, Delivery]) -> _View:
    free = MAX_CONCURRENT_ATTEMPTS - len(under_way)
    if free <= 0 or lane.endpoint not in lane.owner.endpoints:
        return _View([], NEVER, has_more=False)
    # Their first attempts are under way: another one of theirs waits its turn.
    busy = {one.payment for one in under_way.values() if one.attempts == 0}
    found = deliveries.upcoming(
        tx, lane.endpoint, besides=under_way, busy_payments=busy, limit=free + 1
    )
    horizon = _horizon(lane.owner.account)
    errands: list[Errand] = []
    for delivery in found:
        if deliveries.due_key(delivery) > horizon:
            return _View(errands, delivery.due_at or NEVER, has_more=False)
        is_first = delivery.attempts == 0
        if len(errands) == free or (is_first and delivery.payment in busy):
            continue
        errands.append(errand_of(tx, lane.owner, delivery))
        if is_first:
            busy.add(delivery.payment)
    return _View(errands, NEVER, has_more=len(found) > len(errands))
