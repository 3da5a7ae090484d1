"""Adds the parts that change payments and deliver events to those that all operations share."""

from emulator.clock import SystemClock
from emulator.server.engine.delivery.webhooks import Webhooks
from emulator.server.engine.payments.scheduler import Scheduler, StatusWriter
from emulator.server.engine.state.account import EngineConfig
from emulator.server.engine.state.context import StateContext, StateService
from emulator.server.storage.database import Database


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
