"""Adds the parts that change payments and deliver events to those that all operations share."""

from msgspec.structs import asdict

from emulator.clock import SystemClock
from emulator.server.engine.delivery.webhooks import Webhooks
from emulator.server.engine.payments.scheduler import Scheduler, StatusWriter
from emulator.server.engine.state.account import EngineConfig
from emulator.server.engine.state.context import ChangeNotifier, StateContext, StateService
from emulator.server.engine.state.journal import UnauthorizedRequests
from emulator.server.engine.state.payment_cache import PaymentCache
from emulator.server.storage.database import Database


class EngineContext(StateContext, frozen=True, kw_only=True):
    """One of each part, those that change payments and deliver events included."""

    webhooks: Webhooks
    status_writer: StatusWriter
    scheduler: Scheduler

    @classmethod
    def of(cls, database: Database, wall: SystemClock, config: EngineConfig) -> "EngineContext":
        state = StateContext(
            config=config,
            database=database,
            wall=wall,
            payment_cache=PaymentCache(),
            change_notifier=ChangeNotifier(wall),
            unauthorized=UnauthorizedRequests(),
        )
        webhooks = Webhooks(state)
        status_writer = StatusWriter(state, webhooks)
        return cls(
            **asdict(state),
            webhooks=webhooks,
            status_writer=status_writer,
            scheduler=Scheduler(state, status_writer),
        )


class EngineService(StateService):
    """Operations of the engine, which use all parts."""

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        self._webhooks = context.webhooks
        self._status_writer = context.status_writer
        self._scheduler = context.scheduler
