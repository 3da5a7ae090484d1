"""Who fires what is due: readers, before they read, and the scheduler, in real time."""

import asyncio
import logging
from collections.abc import Iterable
from functools import partial
from typing import Protocol

from emulator.clock import SystemClock
from emulator.domain.errors import NotReady
from emulator.domain.instants import Instant
from emulator.domain.timers import LAST_SEQUENCE
from emulator.engine.payments.status_writer import StatusWriter
from emulator.engine.state.account import NEVER, Account
from emulator.storage.batch import Transaction
from emulator.storage.database import Database, DatabaseLost

PAUSE_AFTER_FAILURE_MS = 1_000
# Beyond any instant that a wall will show: NEVER, seen from a clock that is ahead or behind.
FAR_OFF: Instant = NEVER // 2

logger = logging.getLogger(__name__)


class AccountsOf(Protocol):
    """Whoever knows all accounts."""

    def all(self) -> Iterable[Account]: ...


class Scheduler:
    """Fires due timers in chunks, a transaction each; its scheduler sleeps until the next one."""

    def __init__(
        self, *, database: Database, wall: SystemClock, status_writer: StatusWriter
    ) -> None:
        self._database = database
        self._wall = wall
        self._status_writer = status_writer
        self._sooner = asyncio.Event()
        self._sleeps_until: Instant = NEVER

    async def fire_due(self, account: Account) -> None:
        """Fire all that is due in an account by now, so that a read sees the present."""
        while account.due_at <= account.clock.now():
            await self._database.write(partial(self._fire, account=account), is_long=True)

    def _fire(self, tx: Transaction, *, account: Account) -> None:
        self._status_writer.fire(tx, account, until=(account.clock.now(), LAST_SEQUENCE))

    def reschedule(self, account: Account) -> None:
        """Tell the scheduler that an account's next timer or its clock may have changed."""
        if not account.clock.is_standing and self._wall_due_at(account) < self._sleeps_until:
            self._sooner.set()

    @staticmethod
    def _wall_due_at(account: Account) -> Instant:
        return account.clock.wall_instant(account.due_at)

    async def run(self, accounts: AccountsOf) -> None:
        """Fire timers as real time passes; the owner of the task cancels it."""
        while True:
            # While it is at work, whatever is due at all makes it look again.
            self._sleeps_until = NEVER
            try:
                due_at = await self._fire_all(accounts)
            except (NotReady, DatabaseLost):
                return
            except Exception:
                # Readers settle for themselves; a full disk may have room again in a while.
                logger.exception("timers could not be fired")
                due_at = self._wall.now_ms() + PAUSE_AFTER_FAILURE_MS
            self._sleeps_until = due_at
            await self._wall.wait(self._sooner, until=None if due_at >= FAR_OFF else due_at)
            self._sooner.clear()

    async def _fire_all(self, accounts: AccountsOf) -> Instant:
        """Fire what is due where time flows; returns when, on the wall, the next timer is due."""
        flowing = [account for account in accounts.all() if not account.clock.is_standing]
        for account in flowing:
            await self.fire_due(account)
        return min((self._wall_due_at(account) for account in flowing), default=NEVER)
