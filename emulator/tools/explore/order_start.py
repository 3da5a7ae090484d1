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
from emulator.tools.explore.steps import CREATED, Manner

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


class OrderStart:
    """The start of an order in a browser, as the first step of a history."""

    def __init__(
        self, session: ExploreSession, browser: Browser, deliveries: HistoryDeliveries
    ) -> None:
        self._session = session
        self._shop = session.shop
        self._service = session.service
        self._browser = browser
        self._deliveries = deliveries

    async def run(self, manner: Manner = Manner.USUAL) -> tuple[ShopOrder, str]:
        """The order, and the result in words. Raises ExploreError."""
        then = CREATE_FAULTS.get(manner)
        if manner in (Manner.LIMITED, Manner.SLOW_CREATE):
            return await self._taken(await self._start_slowly(then or {}))
        async with self._session.starting:
            if then is None:
                return await self._started(await self._shop.start(self._browser))
            async with self._service.fault("create_payment", then):
                if manner is Manner.EARLY:
                    return await self._start_early()
                started = await self._shop.start(self._browser)
            return await self._taken(started)

    async def _taken(self, started: Started) -> tuple[ShopOrder, str]:
        """The order that was started; after an error the customer starts again."""
        order = await self._order(started)
        if isinstance(order, ShopOrder):
            return order, _result(started, order)
        await self._session.drop_payments()
        order, again = await self._started(await self._shop.start(self._browser))
        return order, f"{started.response.text}; the customer starts again: {again}"

    async def _start_slowly(self, then: Mapping[str, Any]) -> Started:
        """Start an order; others may start as soon as the fault was applied."""

        async def is_applied() -> bool:
            return starting.done() or await self._service.has_applied(fault)

        async with self._session.starting, self._service.fault("create_payment", then) as fault:
            starting = asyncio.create_task(self._shop.start(self._browser))
            try:
                await self._session.wait_for(is_applied, within_ms=MAX_START_MS)
            except BaseException:
                starting.cancel()
                raise
        return await starting

    async def _start_early(self) -> tuple[ShopOrder, str]:
        """Deliver the created event while the response to create is held."""
        known, newest = self._session.newest_payment, ""

        async def is_created() -> bool:
            nonlocal newest
            payments = await self._service.payments(1)
            newest = payments[0]["id"] if payments else ""
            return starting.done() or newest not in ("", known)

        starting = asyncio.create_task(self._shop.start(self._browser, closes=True))
        try:
            await self._session.wait_for(is_created, within_ms=MAX_START_MS)
            delivered = "no payment was created"
            if newest not in ("", known):
                event = await self._deliveries.event(CREATED, newest)
                delivered = (await self._deliveries.attempt(event, 1, closes=True)).text
            order, result = await self._started(await starting)
        finally:
            starting.cancel()
        return order, f"{result}; {CREATED}: {delivered}"

    async def _started(self, started: Started) -> tuple[ShopOrder, str]:
        """The order that was started. Raises ExploreError."""
        order = await self._order(started)
        if isinstance(order, str):
            raise ExploreError(order)
        return order, _result(started, order)

    async def _order(self, started: Started) -> ShopOrder | str:
        """The order that was started, or why there is none."""
        if started.problem:
            return started.problem
        integration, values = self._shop.integration, started.values
        member = next((name for name in ("payment", "checkout_url") if name in values), None)
        key, value = "id" if member == "payment" else member, values.get(member or "")
        payment = await self._session.find_payment(lambda each: key is None or each[key] == value)
        if payment is None:
            has = "" if member is None else f"the response has {value!r} as {member}; "
            return (
                f"{integration.start_line}: {has}the shop has created no such payment in the"
                f" emulator at {self._service.base_url}"
            )
        place = next(call.order for call in integration.start if call.order)
        number = place.payment.read(payment) if place.payment else values["order"]
        if not isinstance(number, str | int) or isinstance(number, bool):
            return f"{integration.start_line}: the order at {place} is {number!r}, and no id"
        return ShopOrder(str(number), payment, self._session.take_payments(payment))


def _result(started: Started, order: ShopOrder) -> str:
    return f"{started.response.status}, order {order.id}, {order.payment['id']}"
