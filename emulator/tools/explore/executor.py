"""Executes a history: the customer's steps, the changes of the payment, the webhooks."""

from contextlib import nullcontext
from functools import partial

from msgspec.structs import replace

from emulator.clock import pause, poll
from emulator.domain.instants import format_instant, parse_instant
from emulator.domain.payment import ORDER_TERMS, Status
from emulator.domain.payment_methods import DEFAULT_ORDER
from emulator.domain.user_error import UserError
from emulator.http import emulator_calls as calls
from emulator.tools.explore.deliveries import (
    FORGERIES,
    HistoryDeliveries,
    encoded,
    forged_event,
)
from emulator.tools.explore.ends import STATE_PAUSE_MS, end_payments, settled
from emulator.tools.explore.histories import History
from emulator.tools.explore.observation import (
    HAS_MONEY,
    HAS_NO_MONEY,
    Observation,
    ObservedOrder,
    Sample,
    TracedStep,
)
from emulator.tools.explore.order_starts import SERVER_ERROR, OrderStarts
from emulator.tools.explore.service import Payment, ServiceEvent
from emulator.tools.explore.session import AnomalyLeftOut, ExploreSession
from emulator.tools.explore.shop import StateUnreadable, with_payment
from emulator.tools.explore.shop_client import Browser
from emulator.tools.explore.steps import (
    CHANGES,
    COMPLETED,
    CREATED,
    KILLS,
    READ_FAULTS,
    HistoryStep,
    Manner,
    StepAction,
)

MAX_JOBS = 5
CLIENT_ERROR = 400
SLOW_ATTEMPT_S = 0.05
# How long after its response to a webhook a quick application may begin to read the payment.
OBSERVED_MS = 50
# A phone is answered within 30 s.
SINCE_EXPIRY_MS = {StepAction.WAIT: -10_000, StepAction.PASS_EXPIRY: 5_000}
OTHER_AMOUNTS_MINOR = (100, 200)
# The application may mark the order as paid without a webhook.
_NO_WEBHOOK = (StepAction.RETURN, StepAction.CANCEL, StepAction.SETTLE)


class HistoryRun:
    """One run of one history."""

    def __init__(self, session: ExploreSession, history: History) -> None:
        self._session, self._history = session, history
        self._shop, self._service = session.shop, session.service
        self._integration = session.shop.integration
        self._observed = Observation(history=history)
        self._deliveries = HistoryDeliveries(session, self._observed)
        self._starts = OrderStarts(session, self._deliveries)
        # Whether a handler may still be working whose response was not awaited.
        self._is_working = False
        self._known_reads: set[str] = set()
        self._step = HistoryStep(StepAction.START)

    @property
    def _lines(self) -> dict[str, str]:
        """The requests of the file, as steps have them in words."""
        file = self._integration
        named = {"job": file.settle, "again": file.again, "between": file.between}
        lines = {name: "" if call is None else call.line for name, call in named.items()}
        return {"start": file.start_line_after(self._starts.first_call), **lines}

    @property
    def _order(self) -> ObservedOrder:
        """The order of the step; the last one where that was refused."""
        orders = self._observed.orders
        return orders[min(self._step.order, len(orders) - 1)]

    @property
    def _payment(self) -> Payment:
        """The payment of the step; the last one where that was refused."""
        payments = self._order.payments
        return payments[min(self._step.payment, len(payments) - 1)]

    @property
    def _status(self) -> str:
        return self._order.statuses[self._payment["id"]]

    async def run(self) -> Observation:
        """Execute the steps, then wait for the end. Raises UserError."""
        started_ms = self._session.wall.monotonic_ms()
        self._observed.hung_alone = not self._session.is_shared
        try:
            async with self._session.clock if self._history.moves_clock else nullcontext():
                for step in self._history.steps:
                    if self._is_possible(step):
                        await self._execute(step)
            await self._finish()
        except StateUnreadable as error:
            if self._history.passes_time and error.response.status in (401, 403, 404):
                raise AnomalyLeftOut(f"after that time, {error.lines[0]}") from None
            if any(traced.step.manner in KILLS for traced in self._observed.trace):
                problem = f"{error.lines[0]}, after the shop was killed and started again with"
                problem += " run.command; run.command must keep the data of the shop"
                raise UserError(problem) from None
            raise
        self._observed.duration_ms = self._session.wall.monotonic_ms() - started_ms
        return self._observed

    def _is_possible(self, step: HistoryStep) -> bool:
        """Whether there are the order and the payment: both may be refused to the customer."""
        orders = self._observed.orders
        if self._starts.is_over or self._deliveries.has_hung:
            return False
        if step.action in (StepAction.START, StepAction.PASS_TIME):
            return True
        is_order = step.order < len(orders)
        is_new = step.action is StepAction.AGAIN
        return is_order and (is_new or step.payment < len(orders[step.order].payments))

    async def _execute(self, step: HistoryStep) -> None:
        self._step = step
        retried = list(self._observed.unacknowledged)
        # By name, such as `_deliver`: a table of methods would keep this object until a collection.
        began_ms = self._session.wall.monotonic_ms()
        name = step.action.name.lower()
        own = getattr(self, f"_{name}", self._change)
        result: str = await getattr(self._starts, name, own)(step)
        if step.action in _NO_WEBHOOK and self._order.money[1] not in HAS_MONEY:
            await self._sample(self._observed.number)
        if self._session.observes_reads:
            await self._count_reads(step)
        span = (began_ms, self._session.wall.monotonic_ms())
        traced = TracedStep(step=step, text=step.text(self._lines), result=result, span=span)
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
        path = f"/v1/payments/{self._payment['id']}" if self._session.is_shared else "/v1/*"
        reads = await self._service.reads(path)
        count = len(reads - self._known_reads)
        self._known_reads |= reads
        return count

    async def _pass_time(self, step: HistoryStep) -> str:
        return await self._session.pass_time(step.manner)

    async def _change(self, step: HistoryStep) -> str:
        payment, service = self._payment, self._service
        if step.action in (StepAction.APPROVE, StepAction.COMPLETE):
            await self._sample(self._observed.number - 1)
        match step.action:
            case StepAction.LOSE:
                pass
            case StepAction.ROTATE:
                self._deliveries.is_rotated = True
            case StepAction.ENCODE:
                self._deliveries.encode = partial(encoded, step.manner)
            case StepAction.WAIT | StepAction.PASS_EXPIRY:
                instant = parse_instant(payment["expires_at"]) + SINCE_EXPIRY_MS[step.action]
                await service.call(calls.ADVANCE(body={"until": format_instant(instant)}))
            case StepAction.SUBMIT:
                await service.submit(payment)
            case StepAction.APPROVE | StepAction.DECLINE:
                await service.answer(payment, approves=step.action is StepAction.APPROVE)
            case StepAction.COMPLETE | StepAction.REVERSE | StepAction.TIME_OUT:
                await service.change(payment["id"], CHANGES[step.action], unusual=True)
            case _:
                await service.change(payment["id"], CHANGES[step.action])
        self._order.is_reversed |= step.action is StepAction.REVERSE
        self._order.statuses[payment["id"]] = CHANGES.get(step.action, self._status)
        return f"payment {self._status}" if step.action in CHANGES else ""

    async def _deliver(self, step: HistoryStep) -> str:
        delivery = self._deliver_event(step)
        return await (self._deliveries.overlap(delivery) if self._deliveries.held else delivery)

    async def _deliver_event(self, step: HistoryStep) -> str:
        deliveries, shop = self._deliveries, self._shop
        event = await self._service.event(step.event, self._payment["id"])
        match step.manner:
            case Manner.AT_ONCE:
                responses = await deliveries.race(event, event)
            case Manner.WITH_RETURN:
                url, browser = self._payment["success_url"], self._order.browser
                page = shop.page_request(browser, url)
                responses = await deliveries.race(event, others=(page,))
                await shop.open(browser, url, responses[-1])
            case Manner.WITH_SETTLE:
                job = shop.settle_request(self._order.id)
                responses = await deliveries.race(event, others=(job,))
            case Manner.SLOW:
                # The application may respond before the connection is closed.
                attempt = deliveries.webhook(event)
                [left] = await shop.client.deliver(attempt, timeout_s=SLOW_ATTEMPT_S)
                self._is_working = left.failure is not None
                response = await deliveries.attempt(event)
                return f"no response in time, then {response.text}"
            case Manner.TOGETHER:
                deliveries.awaiting.append(event)
                return ""
            case Manner.OVERLAPPING:
                await deliveries.hold(event)
                return ""
            case manner if manner in KILLS:
                return await self._deliver_killed(event, manner)
            case manner if manner in READ_FAULTS:
                responses = [await deliveries.attempt_faulty(event, step.manner)]
            case _ if deliveries.awaiting:
                responses = await deliveries.race(event)
            case _:
                responses = [await deliveries.attempt(event)]
        return " and ".join(response.text for response in responses)

    async def _deliver_killed(self, event: ServiceEvent, manner: Manner) -> str:
        """Kill the application when it has acknowledged the event, or while it handles it."""
        deliveries, restart = self._deliveries, self._session.restart
        assert restart is not None  # noqa: S101 - no such step otherwise
        if manner is Manner.KILLED_IN_HANDLER:
            await deliveries.hold(event)
            await restart()
            first = await deliveries.release()
        else:
            first = (await deliveries.attempt(event)).text
            await restart()
        if manner is Manner.KILLED:
            return first
        return f"{first}, then {(await deliveries.attempt(event)).text}"

    async def _forge(self, step: HistoryStep) -> str:
        before = await self._sample(self._observed.number - 1)
        event = await self._forged_event(step.manner)
        requests = self._deliveries.forgeries(event, step.manner)
        responses = [await self._shop.deliver(request) for request in requests]
        is_expected = step.manner in (Manner.UNKNOWN_TYPE, Manner.OTHER_ORDER)
        if is_expected and not responses[0].is_success:
            self._deliveries.record(event, *responses)
        if self._session.unexpected_wait_ms:
            await pause(self._session.wall, self._session.unexpected_wait_ms)
        after = await self._sample(self._observed.number)
        if step.manner in FORGERIES:
            self._observed.forged += ((before, after),)
        return " and ".join(response.text for response in responses)

    async def _forged_event(self, manner: Manner) -> ServiceEvent:
        payment = other = self._payment
        if manner in (Manner.OTHER_ORDER, Manner.FORGED_ORDER):
            other = await self._other_payment()
        elif manner is Manner.OTHER_AMOUNT:
            amount = next(each for each in OTHER_AMOUNTS_MINOR if each != payment["amount"])
            own = {name: payment[name] for name in ("currency", *ORDER_TERMS)}
            order = {**DEFAULT_ORDER, **own, "amount": amount}
            async with self._session.starting():
                other = await self._service.call(calls.CREATE_PAYMENT(body=order))
                await self._session.refresh()
                self._session.take_payments(other)
            await self._service.pay(other)
        if manner in (Manner.OTHER_ORDER, Manner.OTHER_AMOUNT):
            return await self._service.event(COMPLETED, other["id"])
        genuine = await self._service.event(CREATED, payment["id"])
        return forged_event(manner, genuine, other["id"])

    async def _other_payment(self) -> Payment:
        """The completed payment of another customer's order."""
        order, _ = await self._starts.start_order(Browser())
        [payment] = order.payments
        await self._service.pay(payment)
        order.statuses[payment["id"]] = Status.COMPLETED
        self._observed.others.append(order)
        return payment

    async def _cancel(self, _: HistoryStep) -> str:
        """Open `cancel_url`. Raises AnomalyLeftOut for a host that the file does not name."""
        url = self._payment["cancel_url"]
        if reason := self._shop.unopened("cancel_url", url):
            raise AnomalyLeftOut(reason)
        page = await self._shop.open(self._order.browser, url)
        self._starts.note(page, "cancel_url is answered", limit=SERVER_ERROR)
        return page.text

    async def _return(self, step: HistoryStep) -> str:
        payment, could_know = self._payment, self._observed.could_know
        url = payment["success_url"]
        if reason := self._shop.unopened("success_url", url):
            self._session.unopened.add(reason)
            return "not opened"
        if step.manner is Manner.FOREIGN:
            url = with_payment(url, payment["id"], (await self._other_payment())["id"])
        known = payment["id"], self._status
        # Where nothing else reports the completed payment, the application may ask for it.
        may_ask = self._integration.settle is None and known not in could_know
        if may_ask:
            await self._new_reads()
        page = await self._shop.open(self._order.browser, url)
        is_strict = not self._history.anomalies and self._status == Status.COMPLETED
        limit = CLIENT_ERROR if is_strict else SERVER_ERROR
        has_failed = self._starts.note(page, "success_url is answered", limit=limit)
        if may_ask and (await self._new_reads() or has_failed):
            could_know.add(known)
        return page.text

    async def _settle(self, step: HistoryStep) -> str:
        shop, url, browser = self._shop, self._payment["success_url"], self._order.browser
        job = shop.settle_request(self._order.id)
        match step.manner:
            case Manner.JOB_TWICE:
                responses = await self._deliveries.race_requests(job, replace(job))
            case Manner.JOB_WITH_RETURN:
                page = shop.page_request(browser, url)
                responses = await self._deliveries.race_requests(job, page)
                await shop.open(browser, url, responses.pop())
            case _:
                responses = [await shop.send(job)]
        limit = SERVER_ERROR if self._history.anomalies else CLIENT_ERROR
        failed = [self._starts.note(each, "the job is answered", limit=limit) for each in responses]
        if any(failed) or any(response.is_success for response in responses):
            # A job looks at open orders, and need not look at refunds and reversals.
            orders = [self._order] if self._integration.settles_each else self._observed.orders
            usual = (order for order in orders if not order.is_reversed)
            found = (each for order in usual for each in order.statuses.items())
            self._observed.could_know.update(each for each in found if each[1] != Status.REFUNDED)
        return " and ".join(response.text for response in responses)

    async def _sample(self, step: int) -> Sample:
        """Read the order after a step; store it with the status of its money."""
        sample = await self._shop.read_state(self._order, step)
        self._order.samples.append(sample)
        return sample

    async def _finish(self) -> None:
        await self._deliveries.release()
        await self._deliveries.retry_in_the_end()
        orders = self._observed.orders
        self._observed.hung_alone &= self._deliveries.has_hung
        if self._deliveries.has_hung:
            pass
        elif self._integration.settles_each:
            for number in range(len(orders)):
                await self._execute(HistoryStep(StepAction.SETTLE, order=number))
        elif self._integration.settle is not None:
            await self._settle_all()
        state, unjudged = self._integration.state, set[str]()
        unjudged |= set() if state.closed else {*HAS_NO_MONEY}
        unjudged |= set() if state.refunded else {Status.REFUNDED}
        self._observed.unjudged = frozenset(unjudged)
        await settled(self._session, self._observed, is_working=self._is_working)
        if self._session.observes_reads:
            self._session.reads_later |= await self._new_reads() > 0
        await self._session.refresh()
        # Payments that belong to no known order are payments of the first order.
        for order in reversed(orders):
            await end_payments(self._session, order, is_only=order is orders[0])

    async def _settle_all(self) -> None:
        """Run the job: where it pays several orders, until it pays none, or often enough."""
        orders, paid = self._observed.orders, -1
        for _ in range(MAX_JOBS):
            await self._execute(HistoryStep(StepAction.SETTLE))
            if len(orders) == 1:
                return
            before, paid = paid, await self._paid(more_than=max(paid, 0))
            if paid in (before, len(orders)):
                return

    async def _paid(self, more_than: int) -> int:
        """The number of orders that are paid, as soon as it has grown, or had the time for it."""
        shop, observed, paid = self._shop, self._observed, 0

        async def has_grown() -> bool:
            nonlocal paid
            states = [await shop.read_state(each, observed.number) for each in observed.orders]
            paid = sum(state.is_paid for state in states)
            return paid > more_than

        wait_ms = self._integration.state.max_wait_ms
        await poll(self._session.wall, has_grown, every_ms=STATE_PAUSE_MS, within_ms=wait_ms)
        return paid
