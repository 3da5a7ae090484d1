"""Groups the parts that all operations share, and passes them to each group of operations."""

import msgspec

from emulator.clock import SystemClock
from emulator.server.engine.state.account import EngineConfig
from emulator.server.engine.state.change_notifier import ChangeNotifier
from emulator.server.engine.state.journal import UnauthorizedRequests
from emulator.server.engine.state.payment_cache import PaymentCache
from emulator.server.storage.database import Database


class StateContext(msgspec.Struct, frozen=True, kw_only=True):
    """One of each part that reads, writes, caches and notifies."""

    config: EngineConfig
    database: Database
    wall: SystemClock
    payment_cache: PaymentCache
    change_notifier: ChangeNotifier
    unauthorized: UnauthorizedRequests


class StateService:
    """Operations that use these parts."""

    def __init__(self, context: StateContext) -> None:
        self._config = context.config
        self._database = context.database
        self._wall = context.wall
        self._payment_cache = context.payment_cache
        self._change_notifier = context.change_notifier
