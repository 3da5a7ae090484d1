"""Holds what the histories of an exploration share: the shop, the emulator, the new payments."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from itertools import takewhile

from msgspec import Struct, field

from emulator.clock import SystemClock
from emulator.domain.instants import format_instant, parse_instant
from emulator.domain.user_error import UserError
from emulator.http import emulator_calls as calls
from emulator.scenarios.values import Json
from emulator.tools.explore.service import MAX_SHARED, NEWEST, Payment, Service
from emulator.tools.explore.shop import Shop
from emulator.tools.explore.shop_process import ShopTime, instant_after
from emulator.tools.explore.steps import Manner

# An effect too many may take this many times as long as the slowest expected one so far.
LAG_FACTOR = 5
# Real time after the response to a webhook in which the application may read the payment.
MAX_READ_MS = 200
# Real time between two looks at what the application has done.
PAUSE_MS = 5


# Payments have other instants, and no customer waits longer.
A_MILLISECOND = {"seconds": 0.001, "webhooks": "background"}


class AnomalyLeftOut(UserError):
    """An anomaly that the application turns out not to have; the message is the reason."""


class ExploreSession(Struct):
    """What the histories of an exploration share."""

    shop: Shop
    service: Service
    wall: SystemClock
    shop_time: ShopTime | None = None
    """Moves the clock of the application; None where it cannot be moved."""
    unopened: set[str] = field(default_factory=set)
    """Why pages are not opened."""
    no_clock: str = ""
    """Why the clock of the application cannot be moved."""
    restart: Callable[[], Awaitable[None]] | None = None
    """Kills the application, and starts it again; only where the file has its command."""
    observes_reads: bool = False
    """Whether to count how often the application reads a payment while it handles an event."""
    reads: dict[str, int] = field(default_factory=dict)
    """The most reads of the payment by event, as far as they were counted."""
    reads_later: bool = True
    """Whether the application may read the payment after its response, until that was observed."""
    patience: int = 1
    """How many times `within` an expected state may take."""
    is_shared: bool = False
    """Whether other histories run at the same time."""
    retrying: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a create may be sent again, which must not meet the fault of another history."""
    clock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by a history that moves the clock, until its payment has its last status."""
    names_orders: bool = True
    """Whether the payments of each order have other metadata, as far as that is known."""
    newest_payment: str | None = None
    lag_ms: int = 0
    """The longest time that an expected state took to appear; 0 while all were there at once."""
    _last_metadata: Mapping[str, str] | None = None
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _recent: deque[Payment] = field(default_factory=lambda: deque(maxlen=MAX_SHARED))

    @property
    def unexpected_wait_ms(self) -> int:
        """How long to wait for an effect that must not occur; not where effects are immediate."""
        return min(self.max_wait_ms, LAG_FACTOR * self.lag_ms)

    @property
    def max_wait_ms(self) -> int:
        """How long to wait for an expected state."""
        return self.patience * self.shop.integration.state.max_wait_ms

    def read_wait_ms(self, *, expects_read: bool = False) -> int:
        """How long after its response to a webhook the application may read the payment."""
        is_awaited = not self.shop.integration.state.idle and (self.reads_later or expects_read)
        return max(self.unexpected_wait_ms, MAX_READ_MS * is_awaited)

    @asynccontextmanager
    async def starting(self) -> AsyncIterator[None]:
        """Start an order, alone until its create was sent, and a millisecond later than others."""
        async with self._starting:
            await self.service.call(calls.ADVANCE(body=A_MILLISECOND))
            yield

    async def pass_time(self, manner: Manner) -> str:
        """Move the clocks of the account and of the application. Raises AnomalyLeftOut."""
        shop = self.shop
        if self.shop_time is None:
            raise AnomalyLeftOut(self.no_clock)
        now = parse_instant((await self.service.call(calls.CLOCK()))["now"])
        instant = instant_after(manner, max(now, shop.now_ms))
        await self.service.call(calls.ADVANCE(body={"until": format_instant(instant)}))
        shop.ahead_ms = instant - self.wall.system_ms()
        self.shop_time.move(shop.ahead_ms)
        if not await shop.has_time():
            self.shop_time, shop.ahead_ms = None, 0
            self.no_clock = "the `Date` of the shop's responses does not follow libfaketime"
            raise AnomalyLeftOut(self.no_clock)
        return format_instant(instant)

    async def find_payment(
        self, values: Mapping[str, Json], known: Iterable[Payment]
    ) -> Payment | None:
        """The payment that a response names, which may be a known one; else the newest."""
        await self.refresh()
        for name, key in (("payment", "id"), ("checkout_url", "checkout_url")):
            if name in values:
                payments = (*reversed(self._recent), *known)
                return next((each for each in payments if each[key] == values[name]), None)
        return self._recent[-1] if self._recent else None

    def begin_order(self, payment: Payment, *, is_only: bool = True) -> list[Payment]:
        """The new payments of a new order, by one of them."""
        metadata = payment["metadata"]
        self.names_orders &= bool(metadata) and metadata != self._last_metadata
        self._last_metadata = metadata
        return self.take_payments(payment, is_only=is_only)

    def take_payments(self, payment: Payment, *, is_only: bool = True) -> list[Payment]:
        """The new payments of the order of a payment: by their metadata, or all of the only one."""

        def is_own(each: Payment) -> bool:
            is_same = each["id"] == payment["id"] or each["metadata"] == payment["metadata"] != {}
            return is_same or (is_only and not self.is_shared)

        own = list(filter(is_own, self._recent))
        for each in own:
            self._recent.remove(each)
        return own

    async def drop_payments(self) -> None:
        """Forget the new payments: they belong to no order of the customer."""
        await self.refresh()
        if not self.is_shared:
            self._recent.clear()

    async def refresh(self) -> None:
        """Read the new payments."""
        for limit in NEWEST:
            payments = await self.service.call(calls.NEWEST_PAYMENTS(limit=limit))
            new = list(takewhile(lambda each: each["id"] != self.newest_payment, payments))
            if len(new) < len(payments):
                break
        self.newest_payment = payments[0]["id"] if payments else None
        self._recent.extend(reversed(new))
