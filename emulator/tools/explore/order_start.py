"""Starts orders as a customer does, also while the call that creates the payment fails."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulator.tools.explore.browser import Browser
from emulator.tools.explore.deliveries import HistoryDeliveries
from emulator.tools.explore.service import ExploreError, Payment
from emulator.tools.explore.session import ExploreSession
from emulator.tools.explore.shop import Started
from emulator.tools.explore.steps import CREATED, WAITING, Manner

MAX_START_MS = 15_000
EARLY_LATENCY = "150ms"

CREATE_FAULTS: Mapping[Manner, Mapping[str, Any]] = {
    Manner.ERROR_BEFORE: {"status": 500, "point": "before_commit"},
    Manner.ERROR_AFTER: {"status": 500, "point": "after_commit"},
    Manner.LIMITED: {"status": 429, "retry_after": 1},
    Manner.SLOW_CREATE: {"latency": "3s", "point": "after_commit"},
    Manner.CUT: {"drop": True, "point": "after_commit"},
    Manner.EARLY: {"latency": EARLY_LATENCY, "point": "after_commit"},
}


@dataclass(slots=True)
class ShopOrder:
    """An order of the shop and its payment."""

    id: str
    payment: Payment
    payments: list[Payment]
    """All payments that the shop created for it."""


@dataclass(frozen=True, slots=True)
class OrderStart:
    """The start of an order in a browser, as the first step of a history."""

    session: ExploreSession
    browser: Browser
    deliveries: HistoryDeliveries

    async def run(self, manner: Manner = Manner.USUAL) -> tuple[ShopOrder, str]:
        """The order, and the result in words. Raises ExploreError."""
        if manner is Manner.USUAL:
            return await self._start()
        if manner in WAITING:
            return await self._start_faulty(manner)
        async with self.session.retrying:
            return await self._start_faulty(manner)

    async def _start(self) -> tuple[ShopOrder, str]:
        async with self.session.starting:
            started = await self.session.shop.start(self.browser)
            order = await self._order(started)
        if isinstance(order, str):
            raise ExploreError(order)
        return order, _result(started, order)

    async def _start_faulty(self, manner: Manner) -> tuple[ShopOrder, str]:
        """Start an order; others may start as soon as the fault was applied.

        After an error the customer starts again.
        """
        session, early = self.session, ""

        async def is_applied() -> bool:
            return starting.done() or await session.service.has_applied(fault)

        then = CREATE_FAULTS[manner]
        async with session.starting, session.service.fault("create_payment", then) as fault:
            is_early = manner is Manner.EARLY
            starting = asyncio.create_task(session.shop.start(self.browser, closes=is_early))
            try:
                await session.wait_for(is_applied, within_ms=MAX_START_MS)
                if is_early:
                    early = f"; {CREATED}: {await self._deliver_created()}"
            except BaseException:
                starting.cancel()
                raise
        started = await starting
        order = await self._order(started)
        if isinstance(order, ShopOrder):
            return order, _result(started, order) + early
        await session.drop_payments()
        order, again = await self._start()
        return order, f"{started.response.text}{early}; the customer starts again: {again}"

    async def _deliver_created(self) -> str:
        """Deliver the created event while the response to create is held."""
        payments = await self.session.service.payments(1)
        if not payments or payments[0]["id"] == self.session.newest_payment:
            return "no payment was created"
        event = await self.deliveries.event(CREATED, payments[0]["id"])
        return (await self.deliveries.attempt(event, 1, closes=True)).text

    async def _order(self, started: Started) -> ShopOrder | str:
        """The order that was started, or why there is none."""
        if started.problem:
            return started.problem
        integration, values = self.session.shop.integration, started.values
        member = next((name for name in ("payment", "checkout_url") if name in values), None)
        key, value = "id" if member == "payment" else member, values.get(member or "")
        payment = await self.session.find_payment(lambda each: key is None or each[key] == value)
        if payment is None:
            has = "" if member is None else f"the response has {value!r} as {member}; "
            return (
                f"{integration.start_line}: {has}the shop has created no such payment in the"
                f" emulator at {self.session.service.base_url}"
            )
        place = next(call.order for call in integration.start if call.order)
        number = place.payment.read(payment) if place.payment else values["order"]
        if not isinstance(number, str | int) or isinstance(number, bool):
            return f"{integration.start_line}: the order at {place} is {number!r}, and no id"
        return ShopOrder(str(number), payment, self.session.begin_order(payment))


def _result(started: Started, order: ShopOrder) -> str:
    return f"{started.response.status}, order {order.id}, {order.payment['id']}"
