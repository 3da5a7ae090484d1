"""The verbs of the product put together, and the span in which they may be used."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from emulator.clock import Wall, pause
from emulator.engine.announcements import Announcements
from emulator.engine.changes import Changes
from emulator.engine.checkouts import Checkouts
from emulator.engine.customer import Customer
from emulator.engine.directory import Directory
from emulator.engine.faults import Faults
from emulator.engine.founding import Rulings
from emulator.engine.history import History
from emulator.engine.payments import CheckoutAddress, Payments
from emulator.engine.recording import Recording
from emulator.engine.rendered import Rendered
from emulator.engine.rules import Library, LoadScenarios, Rules
from emulator.engine.scenarios import Scenarios
from emulator.engine.settling import Settling
from emulator.engine.snapshots import Snapshots
from emulator.engine.timekeeper import Timekeeper
from emulator.engine.webhooks import Webhooks
from emulator.storage.database import MEMORY, Database
from emulator.storage.invalid_rows import InvalidRow
from emulator.storage.migrations import UnusableDatabase

CHECK_FILE_EVERY_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Everything that can be done; the rooms above only decode, call and encode."""

    directory: Directory
    payments: Payments
    customer: Customer
    checkouts: Checkouts
    timekeeper: Timekeeper
    history: History
    recording: Recording
    snapshots: Snapshots
    announcements: Announcements
    faults: Faults
    scenarios: Scenarios
    webhooks: Webhooks


@asynccontextmanager
async def open_engine(
    *,
    database_path: str,
    wall: Wall,
    rulings: Rulings,
    checkout: CheckoutAddress,
    load_scenarios: LoadScenarios,
) -> AsyncIterator[Engine]:
    """Open the database and run the scheduler for as long as the engine is used.

    Raises UnusableDatabase.
    """
    rendered = Rendered()
    announcements = Announcements(wall)
    rules = Rules(Library(load_scenarios))
    async with Database(database_path) as database:
        webhooks = Webhooks(
            database=database,
            wall=wall,
            given=rulings.endpoint,
            stamps_business_time=rulings.stamps_business_time,
        )
        changes = Changes(rendered, announcements, webhooks)
        settling = Settling(database=database, wall=wall, changes=changes)
        directory = Directory(
            database=database,
            wall=wall,
            settling=settling,
            rendered=rendered,
            announcements=announcements,
            webhooks=webhooks,
            rulings=rulings,
            rules=rules,
        )
        try:
            await directory.open()
        except InvalidRow as error:
            raise UnusableDatabase(
                f"the database {database_path} has {error}; repair the row, or use a new file"
            ) from error
        customer = Customer(database=database, changes=changes, settling=settling)
        engine = Engine(
            directory=directory,
            payments=Payments(
                database=database,
                wall=wall,
                changes=changes,
                settling=settling,
                rendered=rendered,
                webhooks=webhooks,
                checkout=checkout,
            ),
            customer=customer,
            checkouts=Checkouts(
                database=database,
                wall=wall,
                directory=directory,
                settling=settling,
                customer=customer,
                announcements=announcements,
            ),
            timekeeper=Timekeeper(
                database=database,
                wall=wall,
                changes=changes,
                settling=settling,
                announcements=announcements,
                webhooks=webhooks,
            ),
            history=History(
                database=database,
                wall=wall,
                settling=settling,
                announcements=announcements,
                webhooks=webhooks,
            ),
            recording=Recording(database=database, settling=settling),
            snapshots=Snapshots(
                database=database,
                wall=wall,
                changes=changes,
                settling=settling,
                rendered=rendered,
                announcements=announcements,
                webhooks=webhooks,
            ),
            announcements=announcements,
            faults=Faults(database=database),
            scenarios=Scenarios(database=database),
            webhooks=webhooks,
        )
        tasks = [asyncio.create_task(settling.run(directory))]
        if database_path != MEMORY:
            tasks.append(asyncio.create_task(_check_file(database, wall, rendered)))
        try:
            yield engine
        finally:
            announcements.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await webhooks.close()


async def _check_file(database: Database, wall: Wall, rendered: Rendered) -> None:
    """Notice within a second that the database file was deleted or replaced."""
    while database.check_file():
        await pause(wall, CHECK_FILE_EVERY_MS)
    # What memory knows cannot be relied on either.
    rendered.clear()
