"""Fires timers before a read and in real time, and composes the parts that all operations use."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial

from emulator.clock import PAUSE_AFTER_FAILURE_MS, SystemClock
from emulator.domain.errors import NotReady
from emulator.domain.instants import Instant
from emulator.domain.transitions import LAST_SEQUENCE
from emulator.server.engine.delivery.webhooks import Webhooks
from emulator.server.engine.payments.status_writer import StatusWriter
from emulator.server.engine.state.account import FAR_OFF, NEVER, Account, EngineConfig
from emulator.server.engine.state.context import FailureLog, StateContext, StateService
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import Database, DatabaseLost, writes

logger = logging.getLogger(__name__)


class Scheduler(StateService):
    """Fires due timers in chunks, in one transaction each; `run` sleeps until the next one."""

    def __init__(self, context: StateContext, status_writer: StatusWriter) -> None:
        super().__init__(context)
        self._status_writer = status_writer
        self._woken = asyncio.Event()
        self._sleeps_until: Instant = NEVER

    async def fire_due(self, account: Account) -> None:
        """Fire the due timers of an account, so that a read returns the present state."""
        while account.due_at <= account.clock.now():
            await self._fire(account)

    @writes(is_long=True)
    def _fire(self, tx: Transaction, account: Account) -> None:
        self._status_writer.fire(tx, account, until=(account.clock.now(), LAST_SEQUENCE))

    def reschedule(self, account: Account) -> None:
        """Wake the scheduler where an account's next timer is sooner than expected."""
        if not account.clock.is_standing and self._wall_due_at(account) < self._sleeps_until:
            self._woken.set()

    @staticmethod
    def _wall_due_at(account: Account) -> Instant:
        return account.clock.wall_instant(account.due_at)

    async def run(self, accounts: Callable[[], Iterable[Account]]) -> None:
        """Fire timers as real time passes; the owner of the task cancels it."""
        failures = FailureLog(logger, "timers could not be fired")
        while True:
            # While it fires timers, any new timer makes it read again.
            self._sleeps_until = NEVER
            try:
                due_at = await self._fire_all(accounts)
                failures.end()
            except (NotReady, DatabaseLost):
                return
            except Exception as error:  # noqa: BLE001 - logged
                # Reads fire timers themselves; a full disk may have free space again later.
                failures.add(error)
                due_at = self._wall.now_ms() + PAUSE_AFTER_FAILURE_MS
            self._sleeps_until = due_at
            await self._wall.wait(self._woken, until=None if due_at >= FAR_OFF else due_at)
            self._woken.clear()

    async def _fire_all(self, accounts: Callable[[], Iterable[Account]]) -> Instant:
        """Fire the due timers of flowing clocks; returns the real time of the next timer."""
        flowing = [account for account in accounts() if not account.clock.is_standing]
        for account in flowing:
            await self.fire_due(account)
        return min((self._wall_due_at(account) for account in flowing), default=NEVER)


class EngineContext(StateContext):
    """One of each part, those that change payments and deliver events included."""

    def __init__(self, database: Database, wall: SystemClock, config: EngineConfig) -> None:
        super().__init__(database, wall, config)
        self.webhooks = Webhooks(self)
        self.status_writer = StatusWriter(self, self.webhooks)
        self.scheduler = Scheduler(self, self.status_writer)


class EngineService(StateService):
    """Operations of the engine, which use all parts."""

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        self._webhooks = context.webhooks
        self._status_writer = context.status_writer
        self._scheduler = context.scheduler

    def _forget(self, tx: Transaction, account: Account) -> None:
        """Forget what memory has of the rows of an account, which were removed or replaced."""
        tx.forget_ordinals()
        # At once for reads of the same batch; later because a create of the batch fills it again.
        self._payment_cache.clear()
        tx.after_commit += [
            partial(self._webhooks.dispatcher.drop, account),
            self._payment_cache.clear,
            self._change_notifier.all_changed,
        ]
