"""Holds what the histories of an exploration share: the shop, the emulator, the new payments."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from emulator.clock import SystemClock
from emulator.tools.explore.service import Payment, Service
from emulator.tools.explore.shop import Shop
from emulator.tools.explore.steps import Manner

# The new payments and events of one history, and of all that run at the same time.
MAX_NEWEST = 16
MAX_SHARED = 100
EARLY_LATENCY = "150ms"
# An effect too many may take this many times as long as the slowest expected one so far.
LAG_FACTOR = 5

CREATE_FAULTS: Mapping[Manner, Mapping[str, Any]] = {
    Manner.ERROR_BEFORE: {"status": 500, "point": "before_commit"},
    Manner.ERROR_AFTER: {"status": 500, "point": "after_commit"},
    Manner.LIMITED: {"status": 429, "retry_after": 1},
    Manner.CUT: {"drop": True, "point": "after_commit"},
    Manner.EARLY: {"latency": EARLY_LATENCY, "point": "after_commit"},
}


@dataclass(slots=True)
class ExploreSession:
    """What the histories of an exploration share."""

    shop: Shop
    service: Service
    wall: SystemClock
    observes_requests: bool = False
    """Whether to observe in which steps the application sends requests to the service."""
    is_shared: bool = False
    """Whether other histories run at the same time."""
    is_limited: bool = False
    """Whether the faults of all histories that are answered 429 are added already."""
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    newest_payment: str | None = None
    lag_ms: int = 0
    """The longest time that an expected state took to appear; 0 while all were there at once."""
    _recent: deque[Payment] = field(default_factory=lambda: deque(maxlen=MAX_SHARED))

    @property
    def unexpected_wait_ms(self) -> int:
        """How long to wait for an effect that must not occur; not where effects are immediate."""
        return min(self.shop.integration.state.within_ms, LAG_FACTOR * self.lag_ms)

    @asynccontextmanager
    async def limited(self, count: int) -> AsyncIterator[None]:
        """Answer this number of create calls 429 during the block."""
        async with self.service.fault("create_payment", CREATE_FAULTS[Manner.LIMITED], count):
            self.is_limited = count > 0
            yield
        self.is_limited = False

    async def find_payment(self, is_wanted: Callable[[Payment], bool]) -> Payment | None:
        """The newest payment that fits, among those that no order has."""
        await self.refresh()
        return next(filter(is_wanted, reversed(self._recent)), None)

    def take_payments(self, payment: Payment) -> list[Payment]:
        """The new payments of the order of a payment: by their metadata, or all if there is one."""
        metadata = payment["metadata"]
        own = [
            each
            for each in self._recent
            if each["id"] == payment["id"]
            or not self.is_shared
            or (metadata and each["metadata"] == metadata)
        ]
        for each in own:
            self._recent.remove(each)
        return own

    async def drop_payments(self) -> None:
        """Forget the new payments: they belong to no order of the customer."""
        await self.refresh()
        if not self.is_shared:
            self._recent.clear()

    @property
    def max_newest(self) -> int:
        """How many of the newest payments or events may be new."""
        return MAX_SHARED if self.is_shared else MAX_NEWEST

    async def refresh(self) -> None:
        """Read the new payments."""
        payments = await self.service.payments(self.max_newest)
        ids = [payment["id"] for payment in payments]
        known = ids.index(self.newest_payment) if self.newest_payment in ids else len(ids)
        self.newest_payment = ids[0] if ids else None
        self._recent.extend(reversed(payments[:known]))
