"""Starts the orders of a history as its customers do, and pays them once more."""

import asyncio
from contextlib import nullcontext, suppress

from msgspec import Struct

from emulator.clock import poll
from emulator.domain.payment import Status
from emulator.http import emulator_calls as calls
from emulator.http.response import HttpResponse
from emulator.scenarios.values import Json
from emulator.tools.explore.deliveries import HistoryDeliveries
from emulator.tools.explore.needs import PAGE
from emulator.tools.explore.observation import OPEN, AccountGrowth, ObservedOrder
from emulator.tools.explore.response_value import read_path
from emulator.tools.explore.service import Payment
from emulator.tools.explore.session import PAUSE_MS, AnomalyLeftOut, ExploreSession
from emulator.tools.explore.shop import Started, StartFailed, Values
from emulator.tools.explore.shop_client import HUNG, Browser
from emulator.tools.explore.steps import CREATE_FAULTS, CREATED, WAITING, HistoryStep, Manner
from emulator.tools.explore.verdicts import Verdict

MAX_START_MS = 15_000
SERVER_ERROR = 500
_IDENTIFIERS = {"payment": "id", "checkout_url": "checkout URL"}


class OrderStarts(Struct):
    """The starts of one history, whose results are observed.

    The history `is_over` where a second order has no payment of its own. The last start had no call
    of `start` before the number `first_call`, from 0.
    """

    session: ExploreSession
    deliveries: HistoryDeliveries
    is_over: bool = False
    first_call: int = 0

    @property
    def _orders(self) -> list[ObservedOrder]:
        return self.deliveries.observed.orders

    async def start(self, step: HistoryStep) -> str:
        """Start an order, or two at one moment; return the result in words. Raises UserError."""
        match step.manner:
            case Manner.TWO_CUSTOMERS:
                return await self._start_two()
            case Manner.SAME_CUSTOMER | Manner.OPEN_ORDER | Manner.TAMPERED:
                return await self._start_another(step.manner)
            case Manner.USUAL:
                order, result = await self.start_order(Browser())
            case manner:
                is_retried = manner not in WAITING
                async with self.session.retrying if is_retried else nullcontext():
                    order, result = await self._start_faulty(manner, Browser())
        self._orders.append(order)
        shop, anomalies = self.session.shop, self.deliveries.observed.history.anomalies
        await shop.check_new(order)
        opens_page = any(PAGE in each.kind.needs for each in anomalies)
        reason = shop.unopened("success_url", order.payments[0]["success_url"])
        if opens_page and reason:
            raise AnomalyLeftOut(reason)
        return result

    async def start_order(self, browser: Browser) -> tuple[ObservedOrder, str]:
        """The order of a new customer, and the result in words. Raises UserError."""
        await self._open_account()
        async with self.session.starting():
            return await self._order_of(browser, await self.session.shop.start(browser))

    async def _start_faulty(self, manner: Manner, browser: Browser) -> tuple[ObservedOrder, str]:
        """Start an order; others may start as soon as the fault was applied.

        After an error the customer starts again.
        """
        session, is_early, early = self.session, manner is Manner.EARLY, ""
        await self._open_account()
        fault = session.service.fault("create_payment", CREATE_FAULTS[manner])
        async with session.starting(), fault as has_applied:
            starting = asyncio.create_task(session.shop.start(browser))

            async def is_applied() -> bool:
                return starting.done() or await has_applied()

            try:
                await poll(session.wall, is_applied, every_ms=PAUSE_MS, within_ms=MAX_START_MS)
                if is_early:
                    early = f"; {CREATED}: {await self._deliver_created()}"
            except BaseException:
                starting.cancel()
                raise
        try:
            order, result = await self._order_of(browser, await starting)
        except StartFailed as error:
            await session.drop_payments()
            order, again = await self.start_order(browser)
            return order, f"{error.response.text}{early}; the customer starts again: {again}"
        return order, result + early

    async def _deliver_created(self) -> str:
        """Deliver the created event while the response to create is held."""
        session = self.session
        payments = await session.service.call(calls.NEWEST_PAYMENTS(limit=1))
        if not payments or payments[0]["id"] == session.newest_payment:
            return "no payment was created"
        event = await session.service.event(CREATED, payments[0]["id"])
        return (await self.deliveries.attempt(event)).text

    async def _start_two(self) -> str:
        """Two customers start orders at the same moment."""
        if not self.session.names_orders:
            raise AnomalyLeftOut("the payments of two orders have equal metadata")
        browsers = (Browser(), Browser())
        await self._open_account()
        async with self.session.starting():
            starts = map(self.session.shop.start, browsers)
            started = await asyncio.gather(*starts, return_exceptions=True)
            pairs = zip(browsers, started, strict=True)
            results = [await self._join(browser, each) for browser, each in pairs]
        if not self._orders:
            raise AnomalyLeftOut(f"two orders cannot be started at once: {' and '.join(results)}")
        return " and ".join(results)

    async def _start_another(self, manner: Manner) -> str:
        """The same customer orders the same once more, or another customer tampers."""
        first, is_tampered = self._orders[0], manner is Manner.TAMPERED
        browser = Browser() if is_tampered else first.browser
        shop = self.session.shop
        async with self.session.starting():
            known = None if is_tampered else await self._start_known(first)
            if known is not None:
                return await self._join(browser, known)
            start = shop.start(browser, is_new=is_tampered, is_tampered=is_tampered)
            [started] = await asyncio.gather(start, return_exceptions=True)
            return await self._join(browser, started, is_tampered=is_tampered)

    async def _start_known(self, first: ObservedOrder) -> Started | None:
        """Start another order with the values of the first calls, such as a customer's id.

        Where that starts none, such as with a token that is used once, earlier calls run again;
        None where all must run.
        """
        session = self.session
        shop, values = session.shop, first.values
        for number in range(shop.integration.customer_calls, 0, -1):
            with suppress(StartFailed):
                start = shop.start(first.browser, is_new=False, known=values, skipped=number)
                started = await start
                payment = await session.find_payment(started[1], first.payments)
                if payment is not None and str(self._number_of(started[1], payment)) != first.id:
                    self.first_call = number
                    return started
            await session.drop_payments()
        return None

    async def _join(
        self, browser: Browser, started: Started | BaseException, *, is_tampered: bool = False
    ) -> str:
        """Observe a further order, if there is one; a refusal is right, an error is not."""
        line = self.session.shop.integration.start_line
        try:
            if isinstance(started, BaseException):
                raise started
            order, result = await self._order_of(browser, started, is_only=False)
        except StartFailed as error:
            response = error.response
            if not response.is_error:
                raise AnomalyLeftOut(f"there is no second order: {error}") from None
            if not is_tampered:
                self.note(response, f"{line} starts an order", limit=SERVER_ERROR)
            return response.text
        if is_tampered:
            usual, amount = (each.payments[0]["amount"] for each in (self._orders[0], order))
            if amount != usual:
                expected = f"the order is refused, or costs {usual} cents as usual"
                self._add(Verdict.WRONG_AMOUNT, expected, f"its payment has {amount} cents")
            self.deliveries.observed.others.append(order)
        elif any(order.id == each.id for each in self._orders):
            raise AnomalyLeftOut("a second start returns the first order")
        else:
            self.is_over = any(order.statuses.keys() & each.statuses for each in self._orders)
            self._orders.append(order)
        return result

    async def _order_of(
        self, browser: Browser, started: Started, *, is_only: bool = True
    ) -> tuple[ObservedOrder, str]:
        """The order that was started, and the result. Raises StartFailed where there is none."""
        (response, values), session = started, self.session
        integration = session.shop.integration
        known = (each for order in self._orders for each in order.payments)
        payment = await session.find_payment(values, known)
        if payment is None:
            url, problem = session.service.base_url, "no payment was created"
            for name, kind in _IDENTIFIERS.items():
                if name in values:
                    problem = f"'{name}' in the file leads to {values[name]!r} in the response,"
                    problem += f" which is the {kind} of no payment"
            problem += f" in the emulator at {url}, with which the shop must be configured"
            raise StartFailed(f"{integration.start_line}: {problem}", response)
        number = self._number_of(values, payment)
        if not isinstance(number, str | int) or isinstance(number, bool):
            problem = f"the order at {integration.order} is {number!r}, and no id"
            raise StartFailed(f"{integration.start_line}: {problem}", response)
        order = ObservedOrder(
            id=str(number),
            browser=browser,
            payments=[payment],
            created=session.begin_order(payment, is_only=is_only),
            statuses={payment["id"]: Status.PENDING},
            values={**values, "order": str(number)},
        )
        await self._open_account(order)
        return order, f"{response.status}, order {order.id}, {payment['id']}"

    def _number_of(self, values: Values, payment: Payment) -> Json:
        """The id of an order, by its payment where the file says that."""
        path = self.session.shop.integration.order.payment
        return read_path(path, payment) if path else values["order"]

    async def again(self, step: HistoryStep) -> str:
        """The customer pays an order once more, after a failure or in a second tab."""
        session, order = self.session, self._orders[step.order]
        call = session.shop.integration.again
        assert call is not None  # noqa: S101 - no such step otherwise
        async with session.starting():
            response = await session.shop.call(call, order.values, order.browser)
            found = ((name, value.read(response)) for name, value in call.found_values.items())
            values = {name: value for name, value in found if value is not None}
            payment = None
            if not response.is_error and len(values) == len(call.found_values):
                payment = await session.find_payment(values, order.payments)
        status = order.statuses.get("" if payment is None else payment["id"], Status.PENDING)
        has_none = payment is None or status not in OPEN
        # Where the failure is not known, the payment is still the one to pay.
        is_known = order.money in self.deliveries.observed.could_know
        if has_none and is_known and step.manner is Manner.USUAL:
            seen = f"{call.line}: {response.text}"
            seen += "" if payment is None else f", {payment['id']}, which is {status}"
            expected = f"the customer can pay order {order.id} again"
            self._add(Verdict.CANNOT_PAY_AGAIN, expected, seen)
        if payment is None or payment["id"] in order.statuses:
            return response.text if payment is None else f"{response.text}, {payment['id']}"
        order.created += session.take_payments(payment, is_only=len(self._orders) == 1)
        order.payments.append(payment)
        order.statuses[payment["id"]] = Status.PENDING
        return f"{response.text}, {payment['id']}"

    async def between(self, step: HistoryStep) -> str:
        """The customer changes the order before the payment, if the application accepts that."""
        shop, order = self.session.shop, self._orders[step.order]
        call = shop.integration.between
        assert call is not None  # noqa: S101 - no such step otherwise
        response = await shop.call(call, order.values, order.browser)
        order.is_changed = not response.is_error
        return response.text

    async def _open_account(self, order: ObservedOrder | None = None) -> None:
        """Read the account before its first order, or as soon as the order is known."""
        shop, observed = self.session.shop, self.deliveries.observed
        account = shop.integration.account
        if account is None or (order is None and not account.is_common):
            return
        key = shop.account_key(order.values if order else {})
        if key not in observed.accounts:
            browser = order.browser if order else Browser()
            now = await shop.read_account(order.values if order else {}, browser)
            observed.accounts[key] = AccountGrowth(before=now, now=now, by=account.by)
        if order is not None:
            order.account = key

    def note(self, response: HttpResponse, expected: str, *, limit: int) -> bool:
        """Note a request that failed: without an answer, or with this status or a higher one."""
        has_failed = response.failure is not None or response.status >= limit
        self.deliveries.has_hung |= response == HUNG
        if has_failed:
            self._add(Verdict.REQUEST_FAILED, expected, response.text)
        return has_failed

    def _add(self, verdict: Verdict, expected: str, seen: str) -> None:
        observed = self.deliveries.observed
        observed.problems.append((verdict, observed.number, expected, seen))
