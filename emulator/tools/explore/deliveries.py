"""Delivers the events of one payment, repeats failed deliveries, and forges webhooks."""

import json

from msgspec import Struct

from emulator.clock import pause, poll
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
from emulator.tools.explore.connections import MAX_RESPONSE_S, Request
from emulator.tools.explore.judgement import Observation, Unacknowledged
from emulator.tools.explore.service import ServiceEvent
from emulator.tools.explore.session import PAUSE_MS, ExploreSession
from emulator.tools.explore.steps import COMPLETED, READ_FAULTS, Manner

MAX_ATTEMPTS = 5
# Real time before the second and later attempts at the end, doubled each time.
FIRST_PAUSE_MS = 50
# Makes the moment longer in which two handlers have read the payment and have not acted yet.
RACE_LATENCY = "30ms"
RACING_REQUESTS = 4
UNKNOWN_TYPE = "payment.disputed"


class HistoryDeliveries(Struct):
    """The deliveries of one history, whose results are observed.

    While the webhook secret `is_rotated`, webhooks have two signatures.
    """

    session: ExploreSession
    observed: Observation
    is_rotated: bool = False

    async def attempt(self, event: ServiceEvent, *, closes: bool = False) -> HttpResponse:
        """Deliver an event once, and store the result."""
        response = await self.session.shop.send(self.webhook(event), closes=closes)
        self.record(event, response)
        return response

    def webhook(self, event: ServiceEvent, manner: Manner = Manner.USUAL) -> Request:
        """The request of an attempt to deliver an event, genuine or forged."""
        request = self.session.shop.webhook(event, manner, is_rotated=self.is_rotated)
        self.observed.sent += (request,)
        return request

    async def attempt_faulty(self, event: ServiceEvent, manner: Manner) -> HttpResponse:
        """Deliver an event while a read of the payment fails or is slow."""
        session, (nth, then) = self.session, READ_FAULTS[manner]
        # The handler of an earlier event may still be about to read the payment.
        await session.shop.finish_work()
        await pause(session.wall, session.read_wait_ms())
        # A handler may retrieve the payment, or list payments.
        async with session.service.fault("any", then, nth=nth) as has_applied:
            response = await self.attempt(event)
            await session.shop.finish_work()
            wait_ms = session.read_wait_ms(expects_read=session.reads.get(event.type, 0) >= nth)
            await poll(session.wall, has_applied, every_ms=PAUSE_MS, within_ms=wait_ms)
        return response

    async def race(self, event: ServiceEvent, other: Request | None = None) -> list[HttpResponse]:
        """Deliver an event at the same moment as another request, or twice.

        The emulator is slow to answer the application meanwhile.
        """
        requests = [self.webhook(event), other or self.webhook(event)]
        slow = {"latency": RACE_LATENCY}
        async with self.session.service.fault("any", slow, RACING_REQUESTS):
            responses = await self.session.shop.connections.send_together(requests)
        self.observed.sent += () if other is None else (other,)
        self.record(event, *(responses if other is None else responses[:1]))
        return responses

    def record(self, event: ServiceEvent, *responses: HttpResponse) -> None:
        """Store the result of an attempt; an acknowledged delivery is not repeated."""
        if any(response.is_success for response in responses):
            self.observed.unacknowledged.pop(event.id, None)
            if event.type in STATUS_OF_EVENT:
                self.observed.could_know.add(STATUS_OF_EVENT[event.type])
            return
        first, new = responses[0], Unacknowledged(event, self.observed.number)
        stored = self.observed.unacknowledged.setdefault(event.id, new)
        stored.results.append(first.text)
        stored.cause = _cause(first, self.session.shop.integration.webhook or "")

    async def retry(self, event_ids: list[str]) -> None:
        """Deliver events once more that are still not acknowledged, up to the usual number."""
        for event_id in event_ids:
            left = self.observed.unacknowledged.get(event_id)
            if left is not None and len(left.results) < MAX_ATTEMPTS:
                await self.attempt(left.event)

    async def retry_in_the_end(self) -> None:
        """Repeat the attempts until all events are acknowledged, or none is left."""
        for number in range(MAX_ATTEMPTS - 1):
            if self.observed.unacknowledged and number:
                await pause(self.session.wall, FIRST_PAUSE_MS << number - 1)
            await self.retry(list(self.observed.unacknowledged))


def _cause(response: HttpResponse, url: str) -> str:
    """The likely cause of a failed attempt, or an empty text."""
    at = FailedRequest(url=url, stage=RequestStage.AWAITING_RESPONSE, is_in_container=False)
    if response.failure is None:
        received = WebhookResponse(response.status, tuple(response.headers))
        diagnosis = diagnose_response(received, url)
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
    return ServiceEvent(event["id"], event["type"], body)
