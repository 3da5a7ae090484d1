"""Groups the parts that the operations share, and passes them to each group of operations."""

import msgspec

from emulator.clock import SystemClock
from emulator.server.engine.delivery.webhooks import Webhooks
from emulator.server.engine.payments.scheduler import Scheduler, StatusWriter
from emulator.server.engine.state.account import EngineConfig
from emulator.server.engine.state.change_notifier import ChangeNotifier
from emulator.server.engine.state.payment_cache import PaymentCache
from emulator.server.engine.state.unauthorized import UnauthorizedRequests
from emulator.server.storage.database import Database


class EngineContext(msgspec.Struct, frozen=True, kw_only=True):
    """One of each part that reads, writes, caches, schedules and notifies."""

    config: EngineConfig
    database: Database
    wall: SystemClock
    payment_cache: PaymentCache
    change_notifier: ChangeNotifier
    unauthorized: UnauthorizedRequests
    webhooks: Webhooks
    status_writer: StatusWriter
    scheduler: Scheduler

    @classmethod
    def of(cls, database: Database, wall: SystemClock, config: EngineConfig) -> "EngineContext":
        payment_cache = PaymentCache()
        change_notifier = ChangeNotifier(wall)
        webhooks = Webhooks(
            database=database, wall=wall, change_notifier=change_notifier, config=config
        )
        status_writer = StatusWriter(payment_cache, change_notifier, webhooks, wall)
        return cls(
            config=config,
            database=database,
            wall=wall,
            payment_cache=payment_cache,
            change_notifier=change_notifier,
            unauthorized=UnauthorizedRequests(),
            webhooks=webhooks,
            status_writer=status_writer,
            scheduler=Scheduler(database=database, wall=wall, status_writer=status_writer),
        )


class EngineService:
    """Operations of the engine, which use the shared parts."""

    def __init__(self, context: EngineContext) -> None:
        self._config = context.config
        self._database = context.database
        self._wall = context.wall
        self._payment_cache = context.payment_cache
        self._change_notifier = context.change_notifier
        self._webhooks = context.webhooks
        self._status_writer = context.status_writer
        self._scheduler = context.scheduler
