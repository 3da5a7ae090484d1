"""The verbs of the product put together, and the span in which they may be used."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from emulator.clock import SystemClock, pause
from emulator.engine.accounts.account_factory import EngineConfig
from emulator.engine.accounts.account_registry import AccountRegistry
from emulator.engine.accounts.clock_service import ClockService
from emulator.engine.accounts.scenarios import Scenarios
from emulator.engine.accounts.snapshots import Snapshots
from emulator.engine.delivery.webhooks import Webhooks
from emulator.engine.payments.checkouts import Checkouts
from emulator.engine.payments.customer import Customer
from emulator.engine.payments.faults import Faults
from emulator.engine.payments.payment_history import PaymentHistory
from emulator.engine.payments.payments import CheckoutAddress, Payments
from emulator.engine.payments.scheduler import Scheduler
from emulator.engine.payments.status_writer import StatusWriter
from emulator.engine.recording.recorder import Recorder
from emulator.engine.state.change_notifier import ChangeNotifier
from emulator.engine.state.payment_cache import PaymentCache
from emulator.engine.state.rules import Library, LoadScenarios, Rules
from emulator.storage.database import MEMORY, Database
from emulator.storage.invalid_rows import InvalidRow
from emulator.storage.migrations import UnusableDatabase

CHECK_FILE_EVERY_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Everything that can be done; the rooms above only decode, call and encode."""

    accounts: AccountRegistry
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
    payment_cache = PaymentCache()
    change_notifier = ChangeNotifier(wall)
    rules = Rules(Library(load_scenarios))
    async with Database(database_path) as database:
        webhooks = Webhooks(
            database=database,
            wall=wall,
            given=config.endpoint,
            stamps_business_time=config.stamps_business_time,
        )
        status_writer = StatusWriter(payment_cache, change_notifier, webhooks)
        scheduler = Scheduler(database=database, wall=wall, status_writer=status_writer)
        accounts = AccountRegistry(
            database=database,
            wall=wall,
            scheduler=scheduler,
            payment_cache=payment_cache,
            change_notifier=change_notifier,
            webhooks=webhooks,
            config=config,
            rules=rules,
        )
        try:
            await accounts.open()
        except InvalidRow as error:
            raise UnusableDatabase(
                f"the database {database_path} has {error}; repair the row, or use a new file"
            ) from error
        customer = Customer(database=database, status_writer=status_writer, scheduler=scheduler)
        engine = Engine(
            accounts=accounts,
            payments=Payments(
                database=database,
                wall=wall,
                status_writer=status_writer,
                scheduler=scheduler,
                payment_cache=payment_cache,
                webhooks=webhooks,
                checkout=checkout,
            ),
            customer=customer,
            checkouts=Checkouts(
                database=database,
                wall=wall,
                accounts=accounts,
                scheduler=scheduler,
                customer=customer,
                change_notifier=change_notifier,
            ),
            clock_service=ClockService(
                database=database,
                wall=wall,
                status_writer=status_writer,
                scheduler=scheduler,
                change_notifier=change_notifier,
                webhooks=webhooks,
            ),
            history=PaymentHistory(
                database=database,
                wall=wall,
                scheduler=scheduler,
                change_notifier=change_notifier,
                webhooks=webhooks,
            ),
            recording=Recorder(database=database, scheduler=scheduler),
            snapshots=Snapshots(
                database=database,
                wall=wall,
                status_writer=status_writer,
                scheduler=scheduler,
                payment_cache=payment_cache,
                change_notifier=change_notifier,
                webhooks=webhooks,
            ),
            change_notifier=change_notifier,
            faults=Faults(database=database),
            scenarios=Scenarios(database=database),
            webhooks=webhooks,
        )
        tasks = [asyncio.create_task(scheduler.run(accounts))]
        if database_path != MEMORY:
            tasks.append(asyncio.create_task(_check_file(database, wall, payment_cache)))
        try:
            yield engine
        finally:
            change_notifier.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await webhooks.close()


async def _check_file(database: Database, wall: SystemClock, payment_cache: PaymentCache) -> None:
    """Notice within a second that the database file was deleted or replaced."""
    while database.check_file():
        await pause(wall, CHECK_FILE_EVERY_MS)
    # What memory knows cannot be relied on either.
    payment_cache.clear()
