"""Executes a history: the customer's steps, the changes of the payment, the webhooks."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext

from emulator.clock import pause
from emulator.domain.instants import format_instant, parse_instant
from emulator.domain.payment import Status
from emulator.domain.payment_methods import DEFAULT_ORDER
from emulator.http import emulator_calls as calls
from emulator.tools.explore.browser import Browser
from emulator.tools.explore.deliveries import SLOW_READ_MS, HistoryDeliveries, forged_event
from emulator.tools.explore.histories import History
from emulator.tools.explore.judgement import (
    HAS_MONEY,
    Observation,
    Sample,
    TracedStep,
    is_settled,
)
from emulator.tools.explore.order_start import OrderStart, ShopOrder
from emulator.tools.explore.service import Payment, ServiceEvent
from emulator.tools.explore.session import MAX_SHARED, ExploreSession
from emulator.tools.explore.steps import (
    CHANGES,
    COMPLETED,
    CREATED,
    HistoryStep,
    Manner,
    StepAction,
)

# Real time between two looks at the state of an asynchronous application.
STATE_PAUSE_MS = 20
SLOW_ATTEMPT_MS = 50
# How long a handler may work after its attempt has timed out.
MAX_WORK_MS = 500
# How long after its response to a webhook a quick application may begin to read the payment.
OBSERVED_MS = 50
# A phone is answered within 30 s.
SINCE_EXPIRY_MS = {StepAction.WAIT: -10_000, StepAction.PASS_EXPIRY: 5_000}
OTHER_AMOUNTS_MINOR = (100, 200)

_READING = (StepAction.DELIVER, StepAction.RETURN, StepAction.SETTLE)
Execution = Callable[[HistoryStep], Awaitable[str]]


class HistoryRun:
    """One run of one history."""

    def __init__(self, session: ExploreSession, history: History) -> None:
        self._session = session
        self._shop = session.shop
        self._service = session.service
        self._integration = session.shop.integration
        self._history = history
        self._browser = Browser()
        self._trace: list[TracedStep] = []
        self._samples: list[Sample] = []
        self._forged: list[tuple[Sample, Sample]] = []
        self._deliveries = HistoryDeliveries(session)
        self._could_know: set[str] = set()
        self._status: str = Status.PENDING
        # Whether a handler may still be working whose response was not awaited.
        self._is_working = False
        self._counted_reads = 0
        self._live: tuple[str, ...] = ()
        self._order: ShopOrder

    async def run(self) -> Observation:
        """Execute the steps, then wait for the end. Raises ExploreError."""
        async with self._session.clock if self._history.moves_clock else nullcontext():
            for step in self._history.steps:
                await self._execute(step)
        return await self._finish()

    async def _execute(self, step: HistoryStep) -> None:
        retried, settle = list(self._deliveries.pending), self._integration.settle
        start, job = self._integration.start_line, "" if settle is None else settle.line
        # By name, such as `_deliver`: a table of methods would keep this object until a collection.
        began_ms = self._session.wall.monotonic_ms()
        execute: Execution = getattr(self, f"_{step.action.name.lower()}", self._change)
        is_counted = self._session.observes_reads and step.action in _READING
        result = await (self._count_reads(step, execute) if is_counted else execute(step))
        span = (began_ms, self._session.wall.monotonic_ms())
        traced = TracedStep(step=step, text=step.text(start, job), result=result, span=span)
        self._trace.append(traced)
        await self._deliveries.retry(retried)

    async def _count_reads(self, step: HistoryStep, execute: Execution) -> str:
        """Execute a step, and count how often the application reads the payment meanwhile."""
        session, payment_id = self._session, self._order.payment["id"]
        before = await self._service.count_reads(payment_id)
        result = await execute(step)
        count = await self._service.count_reads(payment_id) - before
        if step.action is StepAction.DELIVER:
            if self._integration.state.idle:
                await self._shop.finish_work()
            else:
                await pause(session.wall, OBSERVED_MS)
            later = await self._service.count_reads(payment_id) - before - count
            session.reads_later |= later > 0
            count += later
            session.reads[step.event] = max(count, session.reads.get(step.event, 0))
        self._counted_reads += count
        return result

    @property
    def _known(self) -> set[str]:
        """The statuses of the payment that the application could know of."""
        return self._could_know | self._deliveries.acknowledged

    @property
    def _number(self) -> int:
        """The number of the current step, from 1."""
        return len(self._trace) + 1

    async def _start(self, step: HistoryStep) -> str:
        start = OrderStart(self._session, self._browser, self._deliveries)
        self._order, result = await start.run(step.manner)
        return result

    async def _change(self, step: HistoryStep) -> str:
        payment, service = self._order.payment, self._service
        if step.action in (StepAction.APPROVE, StepAction.COMPLETE):
            await self._sample(len(self._trace))
        expires_at = parse_instant(payment["expires_at"])
        match step.action:
            case StepAction.WAIT | StepAction.PASS_EXPIRY:
                instant = expires_at + SINCE_EXPIRY_MS[step.action]
                await service.call(calls.ADVANCE(body={"until": format_instant(instant)}))
            case StepAction.SUBMIT:
                await service.submit(payment)
            case StepAction.APPROVE | StepAction.DECLINE:
                await service.answer(payment, approves=step.action is StepAction.APPROVE)
            case StepAction.COMPLETE:
                await service.change(payment["id"], Status.COMPLETED, is_unusual=True)
            case _:
                await service.change(payment["id"], CHANGES[step.action])
        status = CHANGES.get(step.action)
        if status is None:
            return ""
        self._status = status
        return f"payment {status}"

    async def _deliver(self, step: HistoryStep) -> str:
        deliveries, shop, payment = self._deliveries, self._shop, self._order.payment
        event = await deliveries.event(step.event, payment["id"])
        match step.manner:
            case Manner.AT_ONCE:
                second = deliveries.webhook(event)
                responses = await deliveries.race(event, self._number, second)
                deliveries.record(event, self._number, *responses)
            case Manner.WITH_RETURN:
                page = shop.page_request(self._browser, payment["success_url"])
                responses = await deliveries.race(event, self._number, page)
                await shop.follow(self._browser, page.url, responses[1])
            case Manner.WITH_SETTLE:
                job = shop.settle_request(self._order.id)
                responses = await deliveries.race(event, self._number, job)
            case Manner.SLOW:
                # The application may respond before the connection is closed.
                attempt = deliveries.webhook(event)
                left = await shop.connections.send_and_leave(attempt, after_ms=SLOW_ATTEMPT_MS)
                self._is_working = left.failure is not None
                response = await deliveries.attempt(event, self._number)
                return f"no response in time, then {response.text}"
            case Manner.READ_ERROR | Manner.SECOND_READ_ERROR | Manner.SLOW_READ:
                responses = [await deliveries.attempt_faulty(event, self._number, step.manner)]
            case _:
                responses = [await deliveries.attempt(event, self._number)]
        if step.manner is Manner.KILLED and self._session.restart is not None:
            await self._session.restart()
        return " and ".join(response.text for response in responses)

    async def _rotate(self, _: HistoryStep) -> str:
        self._deliveries.is_rotated = True
        return ""

    async def _forge(self, step: HistoryStep) -> str:
        before = await self._sample(len(self._trace))
        event = await self._forged_event(step.manner)
        response = await self._shop.send(self._deliveries.webhook(event, step.manner))
        if step.manner in (Manner.UNKNOWN_TYPE, Manner.OTHER_ORDER) and not response.is_success:
            self._deliveries.record(event, self._number, response)
        if self._session.unexpected_wait_ms:
            await pause(self._session.wall, self._session.unexpected_wait_ms)
        after = await self._sample(self._number)
        if step.manner in (Manner.FORGED, Manner.STALE, Manner.UNSIGNED, Manner.UNTRUE):
            self._forged.append((before, after))
        return response.text

    async def _forged_event(self, manner: Manner) -> ServiceEvent:
        if manner is Manner.OTHER_ORDER:
            start = OrderStart(self._session, Browser(), self._deliveries)
            return await self._completed_event((await start.run())[0].payment)
        payment = self._order.payment
        if manner is Manner.OTHER_AMOUNT:
            amount = next(each for each in OTHER_AMOUNTS_MINOR if each != payment["amount"])
            members = ("currency", "success_url", "cancel_url", "metadata")
            own = {name: payment[name] for name in members}
            order = {**DEFAULT_ORDER, **own, "amount": amount}
            async with self._session.starting:
                other_payment = await self._service.call(calls.CREATE_PAYMENT(body=order))
                await self._session.refresh()
                self._session.take_payments(other_payment)
            return await self._completed_event(other_payment)
        return forged_event(manner, await self._deliveries.event(CREATED, payment["id"]))

    async def _completed_event(self, payment: Payment) -> ServiceEvent:
        """Complete a payment; return the event."""
        await self._service.submit(payment)
        await self._service.answer(payment, approves=True)
        return await self._deliveries.event(COMPLETED, payment["id"])

    async def _lose(self, _: HistoryStep) -> str:
        return ""

    async def _return(self, _: HistoryStep) -> str:
        url = self._order.payment["success_url"]
        # Where nothing else reports the completed payment, the application may ask for it.
        is_observed = self._integration.settle is None and self._status not in self._known
        path = f"/v1/payments/{self._order.payment['id']}" if self._session.is_shared else "/v1/*"
        before = await self._service.last_request(path) if is_observed else None
        response = await self._shop.open(self._browser, url)
        if is_observed and await self._service.last_request(path) != before:
            self._could_know.add(self._status)
        if self._status not in HAS_MONEY:
            await self._sample(self._number)
        return response.text

    async def _settle(self, _: HistoryStep) -> str:
        response = await self._shop.send(self._shop.settle_request(self._order.id))
        # A job looks at open orders, and need not look at refunds.
        if response.is_success and self._status != Status.REFUNDED:
            self._could_know.add(self._status)
        if self._status not in HAS_MONEY:
            await self._sample(self._number)
        return response.text

    async def _sample(self, step: int) -> Sample:
        """Read the order after a step; store it with the payment's status."""
        sample = await self._shop.read_state(
            self._order.id, self._browser, step=step, payment_status=self._status
        )
        self._samples.append(sample)
        return sample

    async def _finish(self) -> Observation:
        await self._deliveries.retry_in_the_end()
        if self._integration.settle is not None:
            await self._execute(HistoryStep(StepAction.SETTLE))
        order = self._order
        await self._session.refresh()
        order.payments += self._session.take_payments(order.payment)
        others = [payment for payment in order.payments if payment["id"] != order.payment["id"]]
        self._live = await self._live_payments(others)
        observation = await self._settled()
        if self._session.observes_reads:
            count = await self._service.count_reads(order.payment["id"])
            self._session.reads_later |= count > self._counted_reads
        await self._end_payments(others)
        return observation

    async def _settled(self) -> Observation:
        """The observation when the order has reached its end, or has had the time for it."""
        session, wall = self._session, self._session.wall
        started_ms, earlier, is_late = wall.monotonic_ms(), len(self._samples), False
        is_slow = any(step.manner is Manner.SLOW_READ for step in self._history.steps)
        while True:
            del self._samples[earlier:]
            await self._sample(len(self._trace))
            observation = self._observation()
            elapsed_ms = wall.monotonic_ms() - started_ms
            if not is_settled(observation):
                is_late = True
                wait_ms = self._integration.state.max_wait_ms + is_slow * SLOW_READ_MS
            else:
                # Histories that run at the same time delay each other.
                if is_late and not (self._is_working or session.is_shared or is_slow):
                    session.lag_ms = max(session.lag_ms, int(elapsed_ms))
                is_late, wait_ms = False, 0 if self._is_quick else session.unexpected_wait_ms
            if elapsed_ms >= max(wait_ms, MAX_WORK_MS if self._is_working else 0):
                return observation
            await pause(wall, STATE_PAUSE_MS)

    @property
    def _is_quick(self) -> bool:
        """Whether the first settled state counts: nothing was delivered that could be one too many.

        Otherwise a second effect may follow later.
        """
        deliveries = [step for step in self._history.steps if step.action is StepAction.DELIVER]
        events = {step.event for step in deliveries if step.manner is Manner.USUAL}
        return not self._is_working and len(events) == len(deliveries)

    async def _live_payments(self, others: list[Payment]) -> tuple[str, ...]:
        """The ids of the order's payments that are completed or may still complete."""
        dead = (Status.FAILED, Status.EXPIRED)
        own = [] if self._status in dead else [self._order.payment["id"]]
        if not others:
            return tuple(own)
        payments = await self._service.payments(MAX_SHARED)
        current = {payment["id"]: payment["status"] for payment in payments}
        return (*own, *(p["id"] for p in others if current.get(p["id"]) not in dead))

    async def _end_payments(self, others: list[Payment]) -> None:
        """Expire the payments that would otherwise wait for their customer."""
        for payment in others:
            if payment["status"] == Status.PENDING:
                await self._service.change(payment["id"], Status.EXPIRED)

    def _observation(self) -> Observation:
        state, not_judged = self._integration.state, set[str]()
        not_judged |= set() if state.closed else {Status.FAILED, Status.EXPIRED}
        not_judged |= set() if state.refunded else {Status.REFUNDED}
        return Observation(
            history=self._history,
            trace=tuple(self._trace),
            sent=tuple(self._deliveries.sent),
            samples=tuple(self._samples),
            forged=tuple(self._forged),
            unacknowledged=tuple(self._deliveries.pending.values()),
            live_payments=self._live,
            could_know=tuple(self._known - not_judged),
            order=self._order.id,
            payment=self._order.payment["id"],
            checkout_url=self._order.payment["checkout_url"],
            browser=self._browser,
        )
