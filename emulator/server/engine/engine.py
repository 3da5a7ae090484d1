"""Composes the operations of the product, and runs their background tasks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from emulator.clock import SystemClock, pause
from emulator.server.engine.accounts.account_registry import AccountRegistry
from emulator.server.engine.accounts.activity import Activity
from emulator.server.engine.accounts.clock_service import ClockService
from emulator.server.engine.accounts.scenarios import Scenarios
from emulator.server.engine.accounts.search import Search
from emulator.server.engine.accounts.snapshots import Snapshots
from emulator.server.engine.payments.checkouts import Checkouts
from emulator.server.engine.payments.customer import Customer
from emulator.server.engine.payments.payment_history import PaymentHistory
from emulator.server.engine.payments.payments import Payments
from emulator.server.engine.payments.scheduler import EngineContext
from emulator.server.engine.state.account import EngineConfig
from emulator.server.engine.state.rule_choice import Faults
from emulator.server.engine.state.rules import Library, LoadScenarios
from emulator.server.storage.batch import DamagedDatabase
from emulator.server.storage.database import MEMORY, Database
from emulator.server.storage.database_file import damaged

if TYPE_CHECKING:
    from emulator.server.engine.accounts.recorder import Recorder

CHECK_FILE_EVERY_MS = 1_000


class Engine:
    """All operations; the packages above only decode, call and encode.

    The operations exist while the engine is open. Each opening begins with the state of the
    database, which is empty where it is in memory.
    """

    def __init__(
        self,
        *,
        wall: SystemClock,
        config: EngineConfig,
        load_scenarios: LoadScenarios,
    ) -> None:
        self.settings = config.settings
        self.config = config
        self._load_scenarios = load_scenarios
        self.wall = wall
        self.is_open = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Open the database, and run the scheduler for as long as the engine is used.

        Raises UserError.
        """
        async with Database(self.settings.database) as database:
            context = EngineContext(database, self.wall, self.config)
            library = Library(self._load_scenarios)
            accounts = AccountRegistry(context, library)
            try:
                await accounts.open()
            except DamagedDatabase as error:
                raise damaged(self.settings.database, error.reason) from None
            self._compose(context, accounts, library)
            tasks = [asyncio.create_task(context.scheduler.run(accounts.all))]
            if self.settings.database != MEMORY:
                tasks.append(asyncio.create_task(_check_file(context)))
            self.is_open = True
            try:
                yield
            finally:
                self.is_open = False
                context.change_notifier.close()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await context.webhooks.close()

    def end(self) -> None:
        """End streams, waits and held responses, before the engine is closed."""
        self.change_notifier.close()

    @property
    def is_ending(self) -> bool:
        return self.change_notifier.closed.is_set()

    @property
    def recording(self) -> "Recorder":
        """The recorder; the scenario format that it writes takes 40 ms to import."""
        from emulator.server.engine.accounts.recorder import Recorder

        return Recorder(self._context)

    def _compose(self, context: EngineContext, accounts: AccountRegistry, library: Library) -> None:
        self._context = context
        self.accounts = accounts
        self.payments = Payments(context, self.settings.public_checkout_url)
        self.history = PaymentHistory(context)
        self.customer = Customer(context)
        self.checkouts = Checkouts(context, accounts.owner_numbered)
        self.faults = Faults(context.database)
        self.webhooks = context.webhooks
        self.activity = Activity(context, self.history)
        self.clock_service = ClockService(context)
        self.scenarios = Scenarios(context.database, library)
        self.search = Search(context, accounts)
        self.snapshots = Snapshots(context)
        self.change_notifier = context.change_notifier
        self.has_database = context.database.check_file


async def _check_file(context: EngineContext) -> None:
    """Detect within a second that the database file was deleted or replaced."""
    while context.database.check_file():
        await pause(context.wall, CHECK_FILE_EVERY_MS)
    # Cached payments may not exist any more either.
    context.payment_cache.clear()
