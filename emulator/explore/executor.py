"""Executes a history: the customer's steps, the changes of the payment, the webhooks."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from emulator.clock import SystemClock, pause
from emulator.domain.instants import format_instant, parse_instant
from emulator.domain.payment import Status
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.explore.connections import Request, Response
from emulator.explore.histories import (
    CHANGES,
    COMPLETED,
    CREATED,
    EVENT_STATUSES,
    Action,
    History,
    Manner,
    Step,
)
from emulator.explore.judgement import is_settled
from emulator.explore.observation import (
    ForgedWebhook,
    Observation,
    Sample,
    TracedStep,
    Unacknowledged,
)
from emulator.explore.service import Event, ExploreError, Payment, Service
from emulator.explore.shop import Browser, Shop
from emulator.explore.step_text import step_text

MAX_ATTEMPTS = 5
# Real time: before the second and later attempts at the end, doubled each time; between two
# looks at the state of an asynchronous application; and while the response to create is held.
FIRST_PAUSE_MS = 50
STATE_PAUSE_MS = 20
EARLY_LATENCY = "150ms"
EARLY_PAUSE_MS = 5
MAX_EARLY_PAUSES = 200
# Makes the moment longer in which two handlers have read the payment and have not acted yet.
RACE_LATENCY = "30ms"
RACING_REQUESTS = 4
# A phone is answered within 30 s.
BEFORE_EXPIRY_MS = 10_000
AFTER_EXPIRY_MS = 5_000
HAS_MONEY = (Status.COMPLETED, Status.REFUNDED)
# The new payments and events of one history, and of all that run at the same time.
MAX_NEWEST = 16
MAX_SHARED = 100
OTHER_AMOUNTS_MINOR = (100, 200)
UNKNOWN_TYPE = "payment.disputed"

_CREATE_FAULTS: Mapping[Manner, Mapping[str, Any]] = {
    Manner.ERROR_BEFORE: {"status": 500, "point": "before_commit"},
    Manner.ERROR_AFTER: {"status": 500, "point": "after_commit"},
    Manner.LIMITED: {"status": 429, "retry_after": 1},
    Manner.CUT: {"drop": True, "point": "after_commit"},
    Manner.EARLY: {"latency": EARLY_LATENCY, "point": "after_commit"},
}


@dataclass(slots=True)
class Pending:
    """A delivery that is not acknowledged yet, with the results of its attempts."""

    event: Event
    step: int
    results: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Order:
    """An order of the shop and its payment."""

    id: str
    payment: Payment
    payments: list[Payment]
    """All payments that the shop created for it."""


@dataclass(slots=True)
class Session:
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
    _recent: deque[Payment] = field(default_factory=lambda: deque(maxlen=MAX_SHARED))

    @asynccontextmanager
    async def limited(self, count: int) -> AsyncIterator[None]:
        """Answer this number of create calls 429 during the block."""
        if count == 0:
            yield
            return
        then = _CREATE_FAULTS[Manner.LIMITED]
        fault_id = await self.service.add_fault("create_payment", then, count)
        self.is_limited = True
        try:
            yield
        finally:
            self.is_limited = False
            await self.service.delete_fault(fault_id)

    async def find_payment(self, is_wanted: Callable[[Payment], bool]) -> Payment | None:
        """The newest payment that fits, among those that no order has."""
        await self._refresh()
        return next(filter(is_wanted, reversed(self._recent)), None)

    async def take_payments(self, payment: Payment) -> list[Payment]:
        """The new payments of the order of a payment: by their metadata, or all if there is one."""
        await self._refresh()
        metadata = payment["metadata"]
        own = [
            each
            for each in self._recent
            if each["id"] == payment["id"] or not self.is_shared or each["metadata"] == metadata
        ]
        for each in own:
            self._recent.remove(each)
        return own

    async def drop_payments(self) -> None:
        """Forget the new payments: they belong to no order of the customer."""
        await self._refresh()
        if not self.is_shared:
            self._recent.clear()

    @property
    def max_newest(self) -> int:
        """How many of the newest payments or events may be new."""
        return MAX_SHARED if self.is_shared else MAX_NEWEST

    async def _refresh(self) -> None:
        payments = await self.service.payments(self.max_newest)
        ids = [payment["id"] for payment in payments]
        known = ids.index(self.newest_payment) if self.newest_payment in ids else len(ids)
        self.newest_payment = ids[0] if ids else None
        self._recent.extend(reversed(payments[:known]))


class HistoryRun:
    """One run of one history."""

    def __init__(self, session: Session, history: History) -> None:
        self._session = session
        self._shop = session.shop
        self._service = session.service
        self._integration = session.shop.integration
        self._history = history
        self._browser = Browser()
        self._trace: list[TracedStep] = []
        self._samples: list[Sample] = []
        self._forged: list[ForgedWebhook] = []
        self._events: dict[str, Event] = {}
        self._pending: dict[str, Pending] = {}
        self._could_know: set[str] = set()
        self._reading: set[Step] = set()
        self._status: str = Status.PENDING
        self._live: tuple[str, ...] = ()
        self._order: Order
        self._handlers: Mapping[Action, Callable[[Step], Awaitable[str]]] = {
            Action.START: self._start,
            Action.DELIVER: self._deliver,
            Action.FORGE: self._forge,
            Action.RETURN: self._return,
            Action.SETTLE: self._settle,
        }

    async def run(self) -> Observation:
        """Execute the steps, then wait for the end. Raises ExploreError."""
        first, *others = self._history.steps
        if self._session.is_limited:
            await self._execute(first)
        else:
            async with self._session.starting:
                await self._execute(first)
        for step in others:
            await self._execute(step)
        return await self._finish()

    async def _execute(self, step: Step) -> None:
        retried = list(self._pending)
        is_observed = self._observes(step)
        before = await self._last_request() if is_observed else None
        result = await self._handlers.get(step.action, self._change)(step)
        if is_observed and await self._last_request() != before:
            self._reading.add(step)
            if step.action is Action.RETURN:
                self._could_know.add(self._status)
        self._trace.append(TracedStep(text=step_text(step, self._integration), result=result))
        for event_id in retried:
            if event_id in self._pending:
                await self._attempt(self._pending[event_id])

    async def _last_request(self) -> str | None:
        """The application's last request to the service, about any payment or this one."""
        path = f"payments/{self._order.payment['id']}" if self._session.is_shared else "*"
        return await self._service.last_request(f"/v1/{path}")

    def _observes(self, step: Step) -> bool:
        """Whether to observe the application's requests to the service during a step.

        On a return only where nothing else reports the completed payment.
        """
        if step.action is Action.RETURN and self._integration.settle is None:
            return self._status not in self._could_know
        return self._session.observes_requests and step.action in (Action.DELIVER, Action.RETURN)

    @property
    def _number(self) -> int:
        """The number of the current step, from 1."""
        return len(self._trace) + 1

    # The order

    async def _start(self, step: Step) -> str:
        then = _CREATE_FAULTS.get(step.manner)
        if then is None:
            return await self._start_order(self._shop.start(self._browser))
        is_added = self._session.is_limited
        fault_id = None if is_added else await self._service.add_fault("create_payment", then, 1)
        try:
            if step.manner is Manner.EARLY:
                return await self._start_early()
            response = await self._shop.start(self._browser)
        finally:
            if fault_id is not None:
                await self._service.delete_fault(fault_id)
        if response.is_success:
            return await self._take_order(response)
        # The customer sees an error, and starts again.
        await self._session.drop_payments()
        again = await self._start_order(self._shop.start(self._browser))
        return f"{response.text}; the customer starts again: {again}"

    async def _start_early(self) -> str:
        """Deliver the created event while the response to create is held."""
        starting = asyncio.create_task(self._shop.start(self._browser, closes=True))
        try:
            delivered = await self._deliver_early(starting)
            result = await self._start_order(starting)
        finally:
            starting.cancel()
        return f"{result}; {CREATED}: {delivered}"

    async def _deliver_early(self, starting: "asyncio.Task[Response]") -> str:
        known = self._session.newest_payment
        for _ in range(MAX_EARLY_PAUSES):
            newest = [payment["id"] for payment in await self._service.payments(1)]
            if newest and newest[0] != known:
                await self._read_events(newest[0])
                pending = Pending(self._events[CREATED], self._number)
                return (await self._attempt(pending, closes=True)).text
            if starting.done():
                break
            await pause(self._session.wall, EARLY_PAUSE_MS)
        return "no payment was created"

    async def _start_order(self, starting: Awaitable[Response]) -> str:
        response = await starting
        if not response.is_success:
            body = response.body[:200].decode("utf-8", "replace")
            raise ExploreError(
                f"the order cannot be started: {self._integration.start.line}:"
                f" {response.text} {body}".rstrip()
            )
        return await self._take_order(response)

    async def _take_order(self, response: Response) -> str:
        self._order = await self._read_order(response)
        return f"{response.status}, order {self._order.id}, {self._order.payment['id']}"

    async def _read_order(self, response: Response) -> Order:
        start = self._integration.start
        order = start.order.read(response.json)
        if not isinstance(order, str | int) or isinstance(order, bool):
            raise ExploreError(f"{start.line}: the response has no order at {start.order}")
        member, path = ("checkout_url", start.checkout_url)
        if start.payment is not None:
            member, path = ("id", start.payment)
        assert path is not None  # noqa: S101 - the file has one of them
        value = path.read(response.json)
        payment = await self._session.find_payment(lambda each: each[member] == value)
        if payment is None:
            raise ExploreError(
                f"{start.line}: the response has {value!r} at {path}, which is no payment that the"
                f" shop has created in the emulator at {self._service.base_url}"
            )
        return Order(str(order), payment, await self._session.take_payments(payment))

    # Changes of the payment

    async def _change(self, step: Step) -> str:
        payment, service = self._order.payment, self._service
        if step.action in (Action.APPROVE, Action.COMPLETE):
            await self._sample(len(self._trace))
        expires_at = parse_instant(payment["expires_at"])
        match step.action:
            case Action.WAIT:
                await service.advance_until(format_instant(expires_at - BEFORE_EXPIRY_MS))
            case Action.PASS_EXPIRY:
                await service.advance_until(format_instant(expires_at + AFTER_EXPIRY_MS))
            case Action.SUBMIT:
                await service.submit(payment)
            case Action.APPROVE | Action.DECLINE:
                await service.answer(payment, approves=step.action is Action.APPROVE)
            case Action.COMPLETE:
                await service.change(payment["id"], Status.COMPLETED, is_unusual=True)
            case _:
                await service.change(payment["id"], CHANGES[step.action])
        status = CHANGES.get(step.action)
        if status is None:
            return ""
        self._status = status
        return f"payment {status}"

    # Webhooks

    async def _read_events(self, payment_id: str) -> None:
        for event in await self._service.events(payment_id, limit=self._session.max_newest):
            self._events[event.type] = event

    async def _event(self, event_type: str) -> Event:
        if event_type not in self._events:
            await self._read_events(self._order.payment["id"])
        if event_type not in self._events:
            raise ExploreError(f"the payment {self._order.payment['id']} has no {event_type}")
        return self._events[event_type]

    async def _deliver(self, step: Step) -> str:
        pending = Pending(await self._event(step.event), self._number)
        match step.manner:
            case Manner.AT_ONCE:
                request = self._shop.webhook(pending.event)
                responses = await self._race([request, self._shop.webhook(pending.event)])
                self._record(pending, *responses)
                return " and ".join(response.text for response in responses)
            case Manner.WITH_RETURN:
                url = self._order.payment["success_url"]
                page = self._shop.page_request(self._browser, url)
                response, opened = await self._race([self._shop.webhook(pending.event), page])
                opened = await self._shop.follow(self._browser, url, opened)
            case Manner.WITH_SETTLE:
                job = self._shop.settle_request(self._order.id)
                response, opened = await self._race([self._shop.webhook(pending.event), job])
            case Manner.SLOW:
                await self._shop.attempt_and_leave(pending.event)
                return f"no response in time, then {(await self._attempt(pending)).text}"
            case _:
                return (await self._attempt(pending)).text
        self._record(pending, response)
        return f"{response.text} and {opened.text}"

    async def _race(self, requests: list[Request]) -> list[Response]:
        """Send requests at once, while the emulator is slow to answer the application."""
        then = {"latency": RACE_LATENCY}
        fault_id = await self._service.add_fault("any", then, RACING_REQUESTS)
        try:
            return await self._shop.connections.send_together(requests)
        finally:
            await self._service.delete_fault(fault_id)

    async def _attempt(self, pending: Pending, *, closes: bool = False) -> Response:
        response = await self._shop.deliver(pending.event, closes=closes)
        self._record(pending, response)
        return response

    def _record(self, pending: Pending, *responses: Response) -> None:
        """Store the result of an attempt; an acknowledged delivery is not repeated."""
        event = pending.event
        if any(response.is_success for response in responses):
            self._pending.pop(event.id, None)
            status = EVENT_STATUSES.get(event.type)
            if status is not None:
                self._could_know.add(status)
            return
        stored = self._pending.setdefault(event.id, pending)
        stored.results.append(responses[0].text)

    # Webhooks that are not genuine

    async def _forge(self, step: Step) -> str:
        before = await self._sample(len(self._trace))
        event = await self._forged_event(step.manner)
        response = await self._shop.deliver(event, step.manner)
        if step.manner in (Manner.UNKNOWN_TYPE, Manner.OTHER_ORDER) and not response.is_success:
            pending = Pending(event, self._number)
            self._record(pending, response)
        if self._integration.state.within_ms:
            await pause(self._session.wall, self._integration.state.within_ms)
        after = await self._sample(self._number)
        if step.manner in (Manner.FORGED, Manner.STALE, Manner.UNSIGNED):
            forged = ForgedWebhook(step=self._number, before=before, after=after)
            self._forged.append(forged)
        return response.text

    async def _forged_event(self, manner: Manner) -> Event:
        if manner is Manner.OTHER_ORDER:
            async with self._session.starting:
                other = await self._read_order(await self._shop.start(Browser()))
            return await self._completed_event(other.payment)
        payment = self._order.payment
        if manner is Manner.OTHER_AMOUNT:
            amount = next(each for each in OTHER_AMOUNTS_MINOR if each != payment["amount"])
            members = ("currency", "success_url", "cancel_url", "metadata")
            body = {"amount": amount, **{name: payment[name] for name in members}}
            body["methods"] = list(DEFAULT_METHODS)
            async with self._session.starting:
                other_payment = await self._service.create(body)
                await self._session.take_payments(other_payment)
            return await self._completed_event(other_payment)
        genuine = await self._event(CREATED)
        event = json.loads(genuine.body)
        event["id"] = f"{genuine.id}x"
        if manner is Manner.UNKNOWN_TYPE:
            event["type"] = UNKNOWN_TYPE
        else:
            event["type"] = COMPLETED
            event["data"] |= {
                "status": Status.COMPLETED,
                "method": DEFAULT_METHODS[0],
                "completed_at": event["timestamp"],
            }
        if manner is Manner.OTHER_MODE:
            event["mode"] = "live"
        body_text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        return Event(event["id"], event["type"], payment["id"], body_text.encode())

    async def _completed_event(self, payment: Payment) -> Event:
        """Complete a payment; return the event."""
        await self._service.submit(payment)
        await self._service.answer(payment, approves=True)
        events = await self._service.events(payment["id"], limit=self._session.max_newest)
        return events[-1]

    # The customer and the job

    async def _return(self, _: Step) -> str:
        url = self._order.payment["success_url"]
        response = await self._shop.open(self._browser, url)
        if self._status not in HAS_MONEY:
            await self._sample(self._number)
        return response.text

    async def _settle(self, _: Step) -> str:
        response = await self._shop.settle(self._order.id)
        # A job looks at open orders, and need not look at refunds.
        if response.is_success and self._status != Status.REFUNDED:
            self._could_know.add(self._status)
        if self._status not in HAS_MONEY:
            await self._sample(self._number)
        return response.text

    # The end

    async def _sample(self, step: int) -> Sample:
        """Read the order after a step; store it with the payment's status."""
        sample = await self._shop.read_state(self._order.id, step=step, payment_status=self._status)
        self._samples.append(sample)
        return sample

    async def _finish(self) -> Observation:
        await self._retry_pending()
        if self._integration.settle is not None:
            await self._execute(Step(Action.SETTLE))
        order = self._order
        order.payments += await self._session.take_payments(order.payment)
        others = [payment for payment in order.payments if payment["id"] != order.payment["id"]]
        self._live = await self._live_payments(others)
        observation = await self._settled()
        await self._end_payments(others)
        return observation

    async def _retry_pending(self) -> None:
        length_ms = FIRST_PAUSE_MS
        for number in range(1, MAX_ATTEMPTS):
            if not self._pending:
                return
            if number > 1:
                await pause(self._session.wall, length_ms)
                length_ms *= 2
            for pending in list(self._pending.values()):
                if len(pending.results) < MAX_ATTEMPTS:
                    await self._attempt(pending)

    async def look_again(self) -> Observation:
        """The observation with the present state of the order."""
        self._samples.pop()
        await self._sample(len(self._trace))
        return self._observation()

    async def _settled(self) -> Observation:
        """The observation when the order has reached its end, or has had the time for it."""
        wall, within_ms = self._session.wall, self._integration.state.within_ms
        until_ms = wall.monotonic_ms() + within_ms
        earlier = len(self._samples)
        while True:
            del self._samples[earlier:]
            await self._sample(len(self._trace))
            observation = self._observation()
            if wall.monotonic_ms() >= until_ms or (self._is_quick and is_settled(observation)):
                return observation
            await pause(wall, STATE_PAUSE_MS)

    @property
    def _is_quick(self) -> bool:
        """Whether the first settled state counts: nothing was delivered that could be one too many.

        Otherwise a second effect may follow later.
        """
        deliveries = [step for step in self._history.steps if step.action is Action.DELIVER]
        is_usual = all(step.manner is Manner.USUAL for step in deliveries)
        return is_usual and len({step.event for step in deliveries}) == len(deliveries)

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
        has_closed = self._integration.state.closed is not None
        not_judged = set() if has_closed else {Status.FAILED, Status.EXPIRED}
        unacknowledged = tuple(
            Unacknowledged(step=each.step, event=each.event.type, results=tuple(each.results))
            for each in self._pending.values()
        )
        return Observation(
            history=self._history,
            trace=tuple(self._trace),
            samples=tuple(replace(sample) for sample in self._samples),
            forged=tuple(self._forged),
            unacknowledged=unacknowledged,
            live_payments=self._live,
            could_know=frozenset(self._could_know - not_judged),
            order=self._order.id,
            payment=self._order.payment["id"],
            checkout_url=self._order.payment["checkout_url"],
            reading_steps=frozenset(self._reading),
        )
