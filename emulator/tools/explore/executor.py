"""Executes a history: the customer's steps, the changes of the payment, the webhooks."""

import asyncio
from contextlib import nullcontext
from functools import partial

from msgspec import Struct

from emulator.clock import pause, poll
from emulator.domain.instants import format_instant, parse_instant
from emulator.domain.payment import Status
from emulator.domain.payment_methods import DEFAULT_ORDER
from emulator.http import emulator_calls as calls
from emulator.http.response import HttpResponse
from emulator.tools.explore.connections import Browser
from emulator.tools.explore.deliveries import HistoryDeliveries, forged_event
from emulator.tools.explore.histories import History
from emulator.tools.explore.judgement import (
    HAS_MONEY,
    HAS_NO_MONEY,
    Observation,
    Sample,
    TracedStep,
    is_settled,
)
from emulator.tools.explore.response_value import read_path
from emulator.tools.explore.service import MAX_SHARED, Payment, ServiceEvent
from emulator.tools.explore.session import PAUSE_MS, ExploreSession
from emulator.tools.explore.shop import StartFailed, Values
from emulator.tools.explore.steps import (
    CHANGES,
    COMPLETED,
    CREATE_FAULTS,
    CREATED,
    SLOW_READ_MS,
    WAITING,
    HistoryStep,
    Manner,
    StepAction,
)

MAX_START_MS = 15_000
# Real time between two looks at the state of an asynchronous application.
STATE_PAUSE_MS = 20
SLOW_ATTEMPT_S = 0.05
# How long a handler may work after its attempt has timed out.
MAX_WORK_MS = 500
# How long after its response to a webhook a quick application may begin to read the payment.
OBSERVED_MS = 50
# A phone is answered within 30 s.
SINCE_EXPIRY_MS = {StepAction.WAIT: -10_000, StepAction.PASS_EXPIRY: 5_000}
OTHER_AMOUNTS_MINOR = (100, 200)
# The application may mark the order as paid without a webhook.
_NO_WEBHOOK = (StepAction.RETURN, StepAction.SETTLE)
_FORGED = (Manner.FORGED, Manner.STALE, Manner.UNSIGNED, Manner.UNTRUE)


class ShopOrder(Struct):
    """An order of the shop, its payment, and all payments that the shop created for it."""

    id: str
    payment: Payment
    payments: list[Payment]


class HistoryRun:
    """One run of one history."""

    def __init__(self, session: ExploreSession, history: History) -> None:
        self._session, self._history = session, history
        self._shop, self._service = session.shop, session.service
        self._integration = session.shop.integration
        self._observed = Observation(history=history)
        self._deliveries = HistoryDeliveries(session, self._observed)
        self._status: str = Status.PENDING
        # Whether a handler may still be working whose response was not awaited.
        self._is_working = False
        self._known_reads: set[str] = set()
        self._order: ShopOrder

    async def run(self) -> Observation:
        """Execute the steps, then wait for the end. Raises ExploreError."""
        started_ms = self._session.wall.monotonic_ms()
        async with self._session.clock if self._history.moves_clock else nullcontext():
            for step in self._history.steps:
                await self._execute(step)
        await self._finish()
        self._observed.duration_ms = self._session.wall.monotonic_ms() - started_ms
        return self._observed

    async def _execute(self, step: HistoryStep) -> None:
        retried, settle = list(self._observed.unacknowledged), self._integration.settle
        start, job = self._integration.start_line, "" if settle is None else settle.line
        # By name, such as `_deliver`: a table of methods would keep this object until a collection.
        began_ms = self._session.wall.monotonic_ms()
        execute = getattr(self, f"_{step.action.name.lower()}", self._change)
        result: str = await execute(step)
        if step.action in _NO_WEBHOOK and self._status not in HAS_MONEY:
            await self._sample(self._observed.number)
        if self._session.observes_reads:
            await self._count_reads(step)
        span = (began_ms, self._session.wall.monotonic_ms())
        traced = TracedStep(step=step, text=step.text(start, job), result=result, span=span)
        self._observed.trace += (traced,)
        await self._deliveries.retry(retried)

    async def _count_reads(self, step: HistoryStep) -> None:
        """Count how often the application has read the payment in a step, or soon after it."""
        session, count = self._session, await self._new_reads()
        if step.action is StepAction.DELIVER:
            await self._shop.finish_work()
            await pause(session.wall, 0 if self._integration.state.idle else OBSERVED_MS)
            later = await self._new_reads()
            session.reads[step.event] = max(count + later, session.reads.get(step.event, 0))
            session.reads_later |= later > 0
        elif step.action in CHANGES:
            session.reads_later |= count > 0

    async def _new_reads(self) -> int:
        """The number of reads since the last call: of this payment, where histories overlap."""
        path = f"/v1/payments/{self._order.payment['id']}" if self._session.is_shared else "/v1/*"
        reads = await self._service.reads(path)
        count = len(reads - self._known_reads)
        self._known_reads |= reads
        return count

    async def _start(self, step: HistoryStep) -> str:
        browser, manner = self._observed.browser, step.manner
        is_usual = manner is Manner.USUAL
        start = self._start_order if is_usual else partial(self._start_faulty, manner)
        async with nullcontext() if is_usual or manner in WAITING else self._session.retrying:
            self._order, result = await start(browser)
        payment, self._observed.order = self._order.payment, self._order.id
        self._observed.own_ids = payment["checkout_url"], payment["id"], self._order.id
        return result

    async def _start_order(self, browser: Browser) -> tuple[ShopOrder, str]:
        """The order of a customer, and the result in words. Raises ExploreError."""
        async with self._session.starting:
            return await self._order_of(*await self._shop.start(browser))

    async def _start_faulty(self, manner: Manner, browser: Browser) -> tuple[ShopOrder, str]:
        """Start an order; others may start as soon as the fault was applied.

        After an error the customer starts again.
        """
        session, is_early, early = self._session, manner is Manner.EARLY, ""
        fault = session.service.fault("create_payment", CREATE_FAULTS[manner])
        async with session.starting, fault as has_applied:
            starting = asyncio.create_task(session.shop.start(browser, closes=is_early))

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
            order, result = await self._order_of(*await starting)
        except StartFailed as error:
            await session.drop_payments()
            order, again = await self._start_order(browser)
            return order, f"{error.response.text}{early}; the customer starts again: {again}"
        return order, result + early

    async def _deliver_created(self) -> str:
        """Deliver the created event while the response to create is held."""
        payments = await self._service.call(calls.NEWEST_PAYMENTS(limit=1))
        if not payments or payments[0]["id"] == self._session.newest_payment:
            return "no payment was created"
        event = await self._service.event(CREATED, payments[0]["id"])
        return (await self._deliveries.attempt(event, closes=True)).text

    async def _order_of(self, response: HttpResponse, values: Values) -> tuple[ShopOrder, str]:
        """The order that was started, and the result. Raises StartFailed where there is none."""
        integration, service = self._integration, self._service
        member = next((name for name in ("payment", "checkout_url") if name in values), None)
        key, value = "id" if member == "payment" else member, values.get(member or "")
        payment = await self._session.find_payment(lambda each: key is None or each[key] == value)
        if payment is None:
            has = "" if member is None else f"the response has {value!r} as {member}; "
            problem = f"the shop has created no such payment in the emulator at {service.base_url}"
            raise StartFailed(f"{integration.start_line}: {has}{problem}", response)
        place = next(call.order for call in integration.start if call.order)
        number = read_path(place.payment, payment) if place.payment else values["order"]
        if not isinstance(number, str | int) or isinstance(number, bool):
            problem = f"the order at {place} is {number!r}, and no id"
            raise StartFailed(f"{integration.start_line}: {problem}", response)
        order = ShopOrder(str(number), payment, self._session.begin_order(payment))
        return order, f"{response.status}, order {order.id}, {payment['id']}"

    async def _change(self, step: HistoryStep) -> str:
        payment, service = self._order.payment, self._service
        if step.action in (StepAction.APPROVE, StepAction.COMPLETE):
            await self._sample(self._observed.number - 1)
        match step.action:
            case StepAction.LOSE:
                pass
            case StepAction.ROTATE:
                self._deliveries.is_rotated = True
            case StepAction.WAIT | StepAction.PASS_EXPIRY:
                instant = parse_instant(payment["expires_at"]) + SINCE_EXPIRY_MS[step.action]
                await service.call(calls.ADVANCE(body={"until": format_instant(instant)}))
            case StepAction.SUBMIT:
                await service.submit(payment)
            case StepAction.APPROVE | StepAction.DECLINE:
                await service.answer(payment, approves=step.action is StepAction.APPROVE)
            case StepAction.COMPLETE:
                await service.change(payment["id"], Status.COMPLETED, unusual=True)
            case _:
                await service.change(payment["id"], CHANGES[step.action])
        self._status = CHANGES.get(step.action, self._status)
        return f"payment {self._status}" if step.action in CHANGES else ""

    async def _deliver(self, step: HistoryStep) -> str:
        deliveries, shop = self._deliveries, self._shop
        event = await self._service.event(step.event, self._order.payment["id"])
        match step.manner:
            case Manner.AT_ONCE:
                responses = await deliveries.race(event)
            case Manner.WITH_RETURN:
                url = self._order.payment["success_url"]
                page = shop.page_request(self._observed.browser, url)
                responses = await deliveries.race(event, page)
                await shop.open(self._observed.browser, url, responses[1])
            case Manner.WITH_SETTLE:
                job = shop.settle_request(self._order.id)
                responses = await deliveries.race(event, job)
            case Manner.SLOW:
                # The application may respond before the connection is closed.
                attempt = deliveries.webhook(event)
                shop.connections.close()
                left = await shop.connections.send(attempt, timeout_s=SLOW_ATTEMPT_S, closes=True)
                self._is_working = left.failure is not None
                response = await deliveries.attempt(event)
                return f"no response in time, then {response.text}"
            case Manner.READ_ERROR | Manner.SECOND_READ_ERROR | Manner.SLOW_READ:
                responses = [await deliveries.attempt_faulty(event, step.manner)]
            case _:
                responses = [await deliveries.attempt(event)]
        if step.manner is Manner.KILLED and self._session.restart is not None:
            await self._session.restart()
        return " and ".join(response.text for response in responses)

    async def _forge(self, step: HistoryStep) -> str:
        before = await self._sample(self._observed.number - 1)
        event = await self._forged_event(step.manner)
        response = await self._shop.send(self._deliveries.webhook(event, step.manner))
        if step.manner in (Manner.UNKNOWN_TYPE, Manner.OTHER_ORDER) and not response.is_success:
            self._deliveries.record(event, response)
        if self._session.unexpected_wait_ms:
            await pause(self._session.wall, self._session.unexpected_wait_ms)
        after = await self._sample(self._observed.number)
        if step.manner in _FORGED:
            self._observed.forged += ((before, after),)
        return response.text

    async def _forged_event(self, manner: Manner) -> ServiceEvent:
        payment = self._order.payment
        if manner is Manner.OTHER_ORDER:
            other = (await self._start_order(Browser()))[0].payment
        elif manner is Manner.OTHER_AMOUNT:
            amount = next(each for each in OTHER_AMOUNTS_MINOR if each != payment["amount"])
            members = ("currency", "success_url", "cancel_url", "metadata")
            own = {name: payment[name] for name in members}
            order = {**DEFAULT_ORDER, **own, "amount": amount}
            async with self._session.starting:
                other = await self._service.call(calls.CREATE_PAYMENT(body=order))
                await self._session.refresh()
                self._session.take_payments(other)
        else:
            return forged_event(manner, await self._service.event(CREATED, payment["id"]))
        await self._service.submit(other)
        await self._service.answer(other, approves=True)
        return await self._service.event(COMPLETED, other["id"])

    async def _return(self, _: HistoryStep) -> str:
        could_know, url = self._observed.could_know, self._order.payment["success_url"]
        # Where nothing else reports the completed payment, the application may ask for it.
        may_ask = self._integration.settle is None and self._status not in could_know
        if may_ask:
            await self._new_reads()
        page = await self._shop.open(self._observed.browser, url)
        if may_ask and await self._new_reads():
            could_know.add(self._status)
        return page.text

    async def _settle(self, _: HistoryStep) -> str:
        response = await self._shop.send(self._shop.settle_request(self._order.id))
        # A job looks at open orders, and need not look at refunds.
        if response.is_success and self._status != Status.REFUNDED:
            self._observed.could_know.add(self._status)
        return response.text

    async def _sample(self, step: int) -> Sample:
        """Read the order after a step; store it with the payment's status."""
        observed = self._observed
        sample = await self._shop.read_state(self._order.id, observed.browser, step, self._status)
        observed.samples.append(sample)
        return sample

    async def _finish(self) -> None:
        await self._deliveries.retry_in_the_end()
        if self._integration.settle is not None:
            await self._execute(HistoryStep(StepAction.SETTLE))
        state, could_know = self._integration.state, self._observed.could_know
        could_know -= set() if state.closed else {*HAS_NO_MONEY}
        could_know -= set() if state.refunded else {Status.REFUNDED}
        await self._settled()
        if self._session.observes_reads:
            self._session.reads_later |= await self._new_reads() > 0
        await self._end_payments()

    async def _settled(self) -> None:
        """Wait until the order has reached its end, or has had the time for it."""
        session, wall, is_late = self._session, self._session.wall, False
        started_ms = wall.monotonic_ms()
        is_slow = any(step.manner is Manner.SLOW_READ for step in self._history.steps)
        while True:
            await self._sample(self._observed.number - 1)
            elapsed_ms = wall.monotonic_ms() - started_ms
            if not is_settled(self._observed):
                is_late = True
                wait_ms = self._integration.state.max_wait_ms + is_slow * SLOW_READ_MS
            else:
                # Histories that run at the same time delay each other.
                if is_late and not (self._is_working or session.is_shared or is_slow):
                    session.lag_ms = max(session.lag_ms, int(elapsed_ms))
                is_late, wait_ms = False, 0 if self._is_quick else session.unexpected_wait_ms
            if elapsed_ms >= max(wait_ms, MAX_WORK_MS if self._is_working else 0):
                return
            await pause(wall, STATE_PAUSE_MS)
            self._observed.samples.pop()

    @property
    def _is_quick(self) -> bool:
        """Whether the first settled state counts: nothing was delivered that could be one too many.

        Otherwise a second effect may follow later.
        """
        deliveries = [step for step in self._history.steps if step.action is StepAction.DELIVER]
        events = {step.event for step in deliveries if step.manner is Manner.USUAL}
        return not self._is_working and len(events) == len(deliveries)

    async def _end_payments(self) -> None:
        """Note which payments may still complete; expire those that wait for their customer."""
        order, session = self._order, self._session
        await session.refresh()
        payments = [*order.payments, *session.take_payments(order.payment)]
        own, others = order.payment["id"], [each["id"] for each in payments]
        others.remove(own)
        call = calls.NEWEST_PAYMENTS(limit=MAX_SHARED)
        newest = await self._service.call(call) if others else ()
        statuses = {**{each["id"]: each["status"] for each in newest}, own: self._status}
        live = (each for each in (own, *others) if statuses.get(each) not in HAS_NO_MONEY)
        self._observed.live_payments = tuple(live)
        for each in others:
            if statuses.get(each) == Status.PENDING:
                await self._service.change(each, Status.EXPIRED)
