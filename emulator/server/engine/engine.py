"""Composes the operations of the product, and runs their background tasks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from emulator.clock import SystemClock, pause
from emulator.server.engine.accounts.account_registry import AccountRegistry
from emulator.server.engine.payments.context import EngineContext
from emulator.server.engine.payments.payments import CheckoutAddress, Payments
from emulator.server.engine.state.account import EngineConfig
from emulator.server.engine.state.rule_choice import Faults
from emulator.server.engine.state.rules import Library, LoadScenarios
from emulator.server.storage.database import MEMORY, Database
from emulator.server.storage.database_file import UnusableDatabase

if TYPE_CHECKING:
    from emulator.server.engine.accounts.activity import Activity
    from emulator.server.engine.accounts.clock_service import ClockService
    from emulator.server.engine.accounts.scenarios import Scenarios
    from emulator.server.engine.accounts.search import Search
    from emulator.server.engine.accounts.snapshots import Snapshots
    from emulator.server.engine.payments.checkouts import Checkouts
    from emulator.server.engine.payments.customer import Customer
    from emulator.server.engine.payments.payment_history import PaymentHistory
    from emulator.server.engine.recording.recorder import Recorder

CHECK_FILE_EVERY_MS = 1_000


class Engine:
    """All operations; the packages above only decode, call and encode.

    Those that the first request of `/v1` does not need are imported when they are first used.
    """

    def __init__(
        self,
        context: EngineContext,
        accounts: AccountRegistry,
        checkout: CheckoutAddress,
        library: Library,
    ) -> None:
        self._context = context
        self._library = library
        self.wall = context.wall
        self.accounts = accounts
        self.payments = Payments(context, checkout)
        self.change_notifier = context.change_notifier
        self.faults = Faults(context.database)
        self.webhooks = context.webhooks
        self.has_database = context.database.check_file

    @cached_property
    def activity(self) -> "Activity":
        from emulator.server.engine.accounts.activity import Activity

        return Activity(self._context, self.history)

    @cached_property
    def customer(self) -> "Customer":
        from emulator.server.engine.payments.customer import Customer

        return Customer(self._context)

    @cached_property
    def checkouts(self) -> "Checkouts":
        from emulator.server.engine.payments.checkouts import Checkouts

        return Checkouts(self._context, self.customer, self.accounts.owner_numbered)

    @cached_property
    def clock_service(self) -> "ClockService":
        from emulator.server.engine.accounts.clock_service import ClockService

        return ClockService(self._context)

    @cached_property
    def history(self) -> "PaymentHistory":
        from emulator.server.engine.payments.payment_history import PaymentHistory

        return PaymentHistory(self._context)

    @cached_property
    def recording(self) -> "Recorder":
        from emulator.server.engine.recording.recorder import Recorder

        return Recorder(self._context)

    @cached_property
    def search(self) -> "Search":
        from emulator.server.engine.accounts.search import Search

        return Search(self._context, self.accounts)

    @cached_property
    def snapshots(self) -> "Snapshots":
        from emulator.server.engine.accounts.snapshots import Snapshots

        return Snapshots(self._context)

    @cached_property
    def scenarios(self) -> "Scenarios":
        from emulator.server.engine.accounts.scenarios import Scenarios

        return Scenarios(self._context.database, self._library)


@asynccontextmanager
async def open_engine(
    *,
    database_path: str,
    wall: SystemClock,
    config: EngineConfig,
    checkout: CheckoutAddress,
    load_scenarios: LoadScenarios,
) -> AsyncIterator[Engine]:
    """Open the database and run the scheduler for as long as the engine is used.

    Raises UnusableDatabase.
    """
    async with Database(database_path) as database:
        context = EngineContext(database, wall, config)
        library = Library(load_scenarios)
        accounts = AccountRegistry(context, library)
        try:
            await accounts.open()
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise UnusableDatabase(
                f"the database {database_path} has an invalid row ({error!r});"
                " repair the row, or use a new file"
            ) from error
        tasks = [asyncio.create_task(context.scheduler.run(accounts.all))]
        if database_path != MEMORY:
            tasks.append(asyncio.create_task(_check_file(context)))
        try:
            yield Engine(context, accounts, checkout, library)
        finally:
            context.change_notifier.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await context.webhooks.close()


async def _check_file(context: EngineContext) -> None:
    """Detect within a second that the database file was deleted or replaced."""
    while context.database.check_file():
        await pause(context.wall, CHECK_FILE_EVERY_MS)
    # Cached payments may not exist any more either.
    context.payment_cache.clear()
