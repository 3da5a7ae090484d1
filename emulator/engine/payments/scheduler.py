"""Fires due timers: before a read, and in real time."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Protocol

from emulator.clock import PAUSE_AFTER_FAILURE_MS, SystemClock
from emulator.domain.errors import NotReady
from emulator.domain.instants import Instant
from emulator.domain.timers import LAST_SEQUENCE
from emulator.engine.payments.status_writer import StatusWriter
from emulator.engine.state.account import FAR_OFF, NEVER, Account
from emulator.storage.batch import Transaction
from emulator.storage.database import Database, DatabaseLost, writes

logger = logging.getLogger(__name__)


class AllAccounts(Protocol):
    """Returns all accounts."""

    def all(self) -> Iterable[Account]: ...


class Scheduler:
    """Fires due timers in chunks, in one transaction each; `run` sleeps until the next one."""

    def __init__(
        self, *, database: Database, wall: SystemClock, status_writer: StatusWriter
    ) -> None:
        self._database = database
        self._wall = wall
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

    async def run(self, accounts: AllAccounts) -> None:
        """Fire timers as real time passes; the owner of the task cancels it."""
        while True:
            # While it fires timers, any new timer makes it read again.
            self._sleeps_until = NEVER
            try:
                due_at = await self._fire_all(accounts)
            except (NotReady, DatabaseLost):
                return
            except Exception:
                # Reads fire timers themselves; a full disk may have free space again later.
                logger.exception("timers could not be fired")
                due_at = self._wall.now_ms() + PAUSE_AFTER_FAILURE_MS
            self._sleeps_until = due_at
            await self._wall.wait(self._woken, until=None if due_at >= FAR_OFF else due_at)
            self._woken.clear()

    async def _fire_all(self, accounts: AllAccounts) -> Instant:
        """Fire the due timers of flowing clocks; returns the real time of the next timer."""
        flowing = [account for account in accounts.all() if not account.clock.is_standing]
        for account in flowing:
            await self.fire_due(account)
        return min((self._wall_due_at(account) for account in flowing), default=NEVER)
