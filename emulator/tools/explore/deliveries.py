"""Delivers the events of one payment, repeats failed deliveries, and forges webhooks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from emulator.clock import pause
from emulator.domain.payment import STATUS_OF_EVENT, Status
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.webhooks import WebhookResponse
from emulator.http.diagnosis import (
    FailedRequest,
    diagnose_failure,
    diagnose_response,
    diagnose_timeout,
)
from emulator.http.failures import RequestStage
from emulator.http.response import HttpResponse, timed_out
from emulator.tools.explore.connections import MAX_RESPONSE_S, Request, Span
from emulator.tools.explore.judgement import Unacknowledged
from emulator.tools.explore.service import ExploreError, ServiceEvent
from emulator.tools.explore.session import NEWEST, ExploreSession
from emulator.tools.explore.steps import COMPLETED, READ_NUMBERS, Manner

# The events of all histories that run at the same time; the newest come first.
NEWEST_EVENTS = (*NEWEST, 1_000)
MAX_ATTEMPTS = 5
# Real time before the second and later attempts at the end, doubled each time.
FIRST_PAUSE_MS = 50
# Makes the moment longer in which two handlers have read the payment and have not acted yet.
RACE_LATENCY = "30ms"
RACING_REQUESTS = 4
UNKNOWN_TYPE = "payment.disputed"
SLOW_READ_MS = 3_000
READ_FAULTS: Mapping[Manner, Mapping[str, Any]] = {
    Manner.READ_ERROR: {"status": 500},
    Manner.SECOND_READ_ERROR: {"status": 500},
    Manner.SLOW_READ: {"latency": f"{SLOW_READ_MS}ms"},
}


@dataclass(slots=True)
class HistoryDeliveries:
    """The deliveries of one history; `acknowledged` holds the statuses of acknowledged events.

    `pending` holds the events that are not acknowledged yet, by id. While the webhook secret
    `is_rotated`, webhooks have two signatures. `sent` measures the webhooks, and what raced them.
    """

    session: ExploreSession
    acknowledged: set[str] = field(default_factory=set)
    pending: dict[str, Unacknowledged] = field(default_factory=dict)
    is_rotated: bool = False
    sent: list[Span] = field(default_factory=list)
    _events: dict[tuple[str, str], ServiceEvent] = field(default_factory=dict)

    async def event(self, event_type: str, payment_id: str) -> ServiceEvent:
        """The event of a payment. Raises ExploreError."""
        key = (payment_id, event_type)
        for limit in NEWEST_EVENTS:
            if key in self._events:
                break
            for event in await self.session.service.events(payment_id, limit=limit):
                self._events[payment_id, event.type] = event
        if key not in self._events:
            raise ExploreError(f"the payment {payment_id} has no {event_type}")
        return self._events[key]

    async def attempt(
        self, event: ServiceEvent, step: int, *, closes: bool = False
    ) -> HttpResponse:
        """Deliver an event once, and store the result."""
        response = await self.session.shop.send(self.webhook(event), closes=closes)
        self.record(event, step, response)
        return response

    def webhook(self, event: ServiceEvent, manner: Manner = Manner.USUAL) -> Request:
        """The request of an attempt to deliver an event, genuine or forged."""
        request = self.session.shop.webhook(event, manner, is_rotated=self.is_rotated)
        return self._measured(event.type, request)

    def _measured(self, title: str, request: Request) -> Request:
        """The request, whose span is stored."""
        self.sent.append(Span(title, self.session.wall.monotonic_ms))
        return replace(request, span=self.sent[-1])

    async def attempt_faulty(self, event: ServiceEvent, step: int, manner: Manner) -> HttpResponse:
        """Deliver an event while a read of the payment fails or is slow."""
        session, then, nth = self.session, READ_FAULTS[manner], READ_NUMBERS[manner]
        # The handler of an earlier event may still be about to read the payment.
        await session.shop.finish_work()
        await pause(session.wall, session.read_wait_ms())
        async with session.service.fault("retrieve_payment", then, nth=nth) as fault:
            response = await self.attempt(event, step)
            await session.shop.finish_work()
            wait_ms = session.read_wait_ms(expects_read=session.reads.get(event.type, 0) >= nth)
            await session.wait_for(lambda: session.service.has_applied(fault), within_ms=wait_ms)
        return response

    async def race(self, event: ServiceEvent, step: int, other: Request) -> list[HttpResponse]:
        """Deliver an event at the same moment as another request.

        The emulator is slow to answer the application meanwhile.
        """
        service, shop = self.session.service, self.session.shop
        if other.span is None:
            other = self._measured(f"{other.method} {urlsplit(other.url).path}", other)
        async with service.fault("any", {"latency": RACE_LATENCY}, RACING_REQUESTS):
            responses = await shop.connections.send_together([self.webhook(event), other])
        self.record(event, step, responses[0])
        return responses

    def record(self, event: ServiceEvent, step: int, *responses: HttpResponse) -> None:
        """Store the result of an attempt; an acknowledged delivery is not repeated."""
        if any(response.is_success for response in responses):
            self.pending.pop(event.id, None)
            status = STATUS_OF_EVENT.get(event.type)
            if status is not None:
                self.acknowledged.add(status)
            return
        stored = self.pending.setdefault(event.id, Unacknowledged(event, step))
        stored.results.append(responses[0].text)
        stored.cause = _cause(responses[0], self.session.shop.integration.webhook or "")

    async def retry(self, event_ids: list[str]) -> None:
        """Deliver events once more that are still not acknowledged, up to the usual number."""
        for event_id in event_ids:
            pending = self.pending.get(event_id)
            if pending is not None and len(pending.results) < MAX_ATTEMPTS:
                await self.attempt(pending.event, pending.step)

    async def retry_in_the_end(self) -> None:
        """Repeat the attempts until all events are acknowledged, or none is left."""
        for number in range(MAX_ATTEMPTS - 1):
            if self.pending and number:
                await pause(self.session.wall, FIRST_PAUSE_MS << number - 1)
            await self.retry(list(self.pending))


def _cause(response: HttpResponse, url: str) -> str:
    """The likely cause of a failed attempt, or an empty text."""
    at = FailedRequest(url=url, stage=RequestStage.AWAITING_RESPONSE, is_in_container=False)
    if response.failure is None:
        answer = WebhookResponse(response.status, tuple(response.headers))
        diagnosis = diagnose_response(answer, url)
    elif response == timed_out(MAX_RESPONSE_S):
        diagnosis = diagnose_timeout(at, MAX_RESPONSE_S * 1_000)
    else:
        diagnosis = diagnose_failure(OSError(response.failure), at)
    return "" if diagnosis is None else diagnosis.cause


def forged_event(manner: Manner, genuine: ServiceEvent) -> ServiceEvent:
    """An event that the service has not sent, from a genuine one of the same payment."""
    event = json.loads(genuine.body)
    event["id"] = f"{genuine.id}x"
    if manner is Manner.UNKNOWN_TYPE:
        event["type"] = UNKNOWN_TYPE
    else:
        event["type"] = COMPLETED
        event["data"] |= {"status": Status.COMPLETED, "method": DEFAULT_METHODS[0]}
        event["data"]["completed_at"] = event["timestamp"]
    if manner is Manner.OTHER_MODE:
        event["mode"] = "live"
    body = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
    return ServiceEvent(event["id"], event["type"], genuine.payment, body)
