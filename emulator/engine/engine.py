"""Composes the operations of the product, and runs their background tasks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from emulator.clock import SystemClock, pause
from emulator.engine.accounts.account_registry import AccountRegistry
from emulator.engine.accounts.activity import Activity
from emulator.engine.accounts.clock_service import ClockService
from emulator.engine.accounts.scenarios import Scenarios
from emulator.engine.accounts.snapshots import Snapshots
from emulator.engine.delivery.webhooks import Webhooks
from emulator.engine.payments.checkouts import Checkouts
from emulator.engine.payments.context import EngineContext
from emulator.engine.payments.customer import Customer
from emulator.engine.payments.payment_history import PaymentHistory
from emulator.engine.payments.payments import CheckoutAddress, Payments
from emulator.engine.recording.recorder import Recorder
from emulator.engine.state.account import EngineConfig
from emulator.engine.state.change_notifier import ChangeNotifier
from emulator.engine.state.rule_choice import Faults
from emulator.engine.state.rules import Library, LoadScenarios
from emulator.storage.database import MEMORY, Database
from emulator.storage.invalid_rows import InvalidRow
from emulator.storage.migrations import UnusableDatabase

CHECK_FILE_EVERY_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """All operations; the packages above only decode, call and encode."""

    wall: SystemClock
    accounts: AccountRegistry
    activity: Activity
    payments: Payments
    customer: Customer
    checkouts: Checkouts
    clock_service: ClockService
    history: PaymentHistory
    recording: Recorder
    snapshots: Snapshots
    change_notifier: ChangeNotifier
    faults: Faults
    scenarios: Scenarios
    webhooks: Webhooks

    @classmethod
    def of(
        cls,
        context: EngineContext,
        accounts: AccountRegistry,
        checkout: CheckoutAddress,
        library: Library,
    ) -> "Engine":
        customer = Customer(context)
        history = PaymentHistory(context)
        return cls(
            wall=context.wall,
            accounts=accounts,
            activity=Activity(context, history),
            payments=Payments(context, checkout),
            customer=customer,
            checkouts=Checkouts(context, customer, accounts.owner_numbered),
            clock_service=ClockService(context),
            history=history,
            recording=Recorder(context),
            snapshots=Snapshots(context),
            change_notifier=context.change_notifier,
            faults=Faults(context.database),
            scenarios=Scenarios(context.database, library),
            webhooks=context.webhooks,
        )


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
        context = EngineContext.of(database, wall, config)
        library = Library(load_scenarios)
        accounts = AccountRegistry(context, library)
        try:
            await accounts.open()
        except InvalidRow as error:
            raise UnusableDatabase(
                f"the database {database_path} has {error}; repair the row, or use a new file"
            ) from error
        tasks = [asyncio.create_task(context.scheduler.run(accounts))]
        if database_path != MEMORY:
            tasks.append(asyncio.create_task(_check_file(context)))
        try:
            yield Engine.of(context, accounts, checkout, library)
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
