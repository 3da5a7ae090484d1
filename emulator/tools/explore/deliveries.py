"""Delivers the events of one payment, also in other bytes, repeats deliveries, and forges."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from urllib.parse import parse_qsl

from msgspec import Struct, field

from emulator.clock import pause, poll
from emulator.domain import variant_effects
from emulator.domain.payment import STATUS_OF_EVENT, Status
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.variant_effects import VariedMessage
from emulator.domain.webhooks import Algorithm, Tamper
from emulator.http.diagnosis import cause_of
from emulator.http.response import HttpResponse
from emulator.http.webhook_messages import Message, foreign_secret, webhook_request
from emulator.tools.explore.observation import Observation, Unacknowledged
from emulator.tools.explore.service import ServiceEvent
from emulator.tools.explore.session import PAUSE_MS, ExploreSession
from emulator.tools.explore.shop_client import HUNG, MAX_RESPONSE_S, Request
from emulator.tools.explore.steps import COMPLETED, READ_FAULTS, Manner

MAX_ATTEMPTS = 5
# A history ends after this many attempts without a response: 30 s.
MAX_HUNG_ATTEMPTS = 2
# Real time before the second and later attempts at the end, doubled each time.
FIRST_PAUSE_MS = 50
# Makes the moment longer in which two handlers have read the payment and have not acted yet.
RACE_LATENCY = "30ms"
RACING_REQUESTS = 4
UNKNOWN_TYPE = "payment.disputed"
# The prefix alone, and a text that is hexadecimal and base64.
_TOO_SHORT = ("", "aabb")
FORGERIES: Mapping[Manner, tuple[Tamper | str | None, ...]] = {
    Manner.FORGED: (Tamper.SIGNATURE,),
    Manner.STALE: (Tamper.STALE,),
    Manner.UNSIGNED: (Tamper.UNSIGNED,),
    Manner.MALFORMED: _TOO_SHORT,
    Manner.FORGED_ORDER: (Tamper.SIGNATURE, Tamper.UNSIGNED, *_TOO_SHORT),
    Manner.UNTRUE: (None,),
}
"""How the webhooks of a forgery are signed: tampered with, or by this text."""


class HistoryDeliveries(Struct):
    """The deliveries of one history, whose results are observed.

    While the webhook secret `is_rotated`, webhooks have two signatures. `encode` changes their
    bodies. The `awaiting` events arrive together with the next one. `held` returns the response of
    the handler that waits for its read. `has_hung`: nothing more is sent.
    """

    session: ExploreSession
    observed: Observation
    is_rotated: bool = False
    encode: Callable[[bytes], bytes] = bytes
    awaiting: list[ServiceEvent] = field(default_factory=list)
    held: Callable[[], Awaitable[HttpResponse]] | None = None
    has_hung: bool = False

    async def attempt(self, event: ServiceEvent) -> HttpResponse:
        """Deliver an event once, and store the result."""
        response = await self.session.shop.deliver(self.webhook(event))
        self.record(event, response)
        return response

    def forgeries(self, event: ServiceEvent, manner: Manner) -> list[Request]:
        """The requests with an event that the service has not sent."""
        signed = FORGERIES.get(manner, (None,)) if self.session.shop.form.is_signed else (None,)
        return [self.webhook(event, each) for each in signed]

    def webhook(self, event: ServiceEvent, forgery: Tamper | str | None = None) -> Request:
        """The request of an attempt to deliver an event with the present time, or a forgery."""
        shop, form = self.session.shop, self.session.shop.form
        # The newest secret comes first.
        secrets = [foreign_secret(shop.secret, form)] * self.is_rotated + [shop.secret]
        tamper = forgery if isinstance(forgery, Tamper) else None
        if forgery is not None and tamper is None:
            token = form.signature._replace(algorithm=Algorithm.TOKEN)
            form, secrets = form._replace(signature=token), [forgery]
        sent = webhook_request(
            Message(event_id=event.id, timestamp_s=shop.now_ms // 1000, body=event.body),
            form=form,
            url=shop.integration.webhook or "",
            secrets=secrets,
            tamper=tamper,
            rewrite=self.encode,
        )
        headers = dict(sent.headers)
        request = Request(
            method="POST", url=sent.url, headers=headers, body=sent.body, title=event.type
        )
        self.observed.sent += (request,)
        return request

    async def attempt_faulty(self, event: ServiceEvent, manner: Manner) -> HttpResponse:
        """Deliver an event while a read of the payment fails or is slow."""
        session, (nth, then) = self.session, READ_FAULTS[manner]
        await self._earlier_reads()
        # A handler may retrieve the payment, or list payments.
        async with session.service.fault("any", then, nth=nth) as has_applied:
            response = await self.attempt(event)
            await session.shop.finish_work()
            wait_ms = session.read_wait_ms(expects_read=session.reads.get(event.type, 0) >= nth)
            await poll(session.wall, has_applied, every_ms=PAUSE_MS, within_ms=wait_ms)
        return response

    async def _earlier_reads(self) -> None:
        """Wait: the handler of an earlier event may still be about to read the payment."""
        await self.session.shop.finish_work()
        await pause(self.session.wall, self.session.read_wait_ms())

    async def hold(self, event: ServiceEvent) -> None:
        """Deliver an event until its handler waits for a read of the payment, if it reads it."""
        session, fault = self.session, AsyncExitStack()
        await self._earlier_reads()
        _, then = READ_FAULTS[Manner.OVERLAPPING]
        does_wait = await fault.enter_async_context(session.service.fault("any", then))
        response = asyncio.create_task(session.shop.deliver(self.webhook(event)))

        async def has_ended() -> bool:
            return response.done() or await does_wait()

        async def ended() -> HttpResponse:
            async with fault:
                result = await response
            self.record(event, result)
            return result

        self.held = ended

        max_ms = MAX_RESPONSE_S * 1_000
        await poll(session.wall, has_ended, every_ms=PAUSE_MS, within_ms=max_ms)
        # The application may respond before it reads.
        wait_ms = session.read_wait_ms(expects_read=session.reads.get(event.type, 0) > 0)
        await poll(session.wall, does_wait, every_ms=PAUSE_MS, within_ms=wait_ms)

    async def release(self) -> str:
        """Await the response of the handler that waits for its read, if there is one."""
        if self.held is None:
            return ""
        held, self.held = self.held, None
        return (await held()).text

    async def overlap(self, delivery: Coroutine[None, None, str]) -> str:
        """Deliver another event while a handler waits; an application may handle one at a time."""
        text, first = await asyncio.gather(delivery, self.release())
        return f"{text}; the earlier handler: {first}"

    async def race(
        self, *events: ServiceEvent, others: tuple[Request, ...] = ()
    ) -> list[HttpResponse]:
        """Deliver events at the same moment, the awaiting ones first, and other requests last."""
        events, self.awaiting = (*self.awaiting, *events), []
        requests = (*map(self.webhook, events), *others)
        responses = await self.race_requests(*requests)
        self.observed.sent += others
        for event in dict.fromkeys(events):
            own = (at for at, each in enumerate(events) if each == event)
            self.record(event, *(responses[at] for at in own))
        return responses

    async def race_requests(self, *requests: Request) -> list[HttpResponse]:
        """Send requests at the same moment; meanwhile the emulator answers slowly."""
        slow = {"latency": RACE_LATENCY}
        async with self.session.service.fault("any", slow, RACING_REQUESTS):
            return await self.session.shop.client.deliver(*requests)

    def record(self, event: ServiceEvent, *responses: HttpResponse) -> None:
        """Store the result of an attempt; an acknowledged delivery is not repeated."""
        if any(response.is_success for response in responses):
            self.observed.unacknowledged.pop(event.id, None)
            if event.type in STATUS_OF_EVENT:
                self.observed.could_know.add((event.payment, STATUS_OF_EVENT[event.type]))
            return
        first, new = responses[0], Unacknowledged(event, self.observed.number)
        stored = self.observed.unacknowledged.setdefault(event.id, new)
        stored.results.append(first.text)
        self.has_hung |= stored.results.count(HUNG.text) >= MAX_HUNG_ATTEMPTS
        stored.cause = cause_of(first, self.session.shop.integration.webhook or "")

    async def retry(self, event_ids: list[str]) -> None:
        """Deliver events once more that are still not acknowledged, up to the usual number."""
        for event_id in event_ids:
            left = self.observed.unacknowledged.get(event_id)
            if left and len(left.results) < MAX_ATTEMPTS and not self.has_hung:
                await self.attempt(left.event)

    async def retry_in_the_end(self) -> None:
        """Repeat the attempts until all events are acknowledged, or none is left."""
        for number in range(MAX_ATTEMPTS - 1):
            if self.observed.unacknowledged and number:
                await pause(self.session.wall, FIRST_PAUSE_MS << number - 1)
            await self.retry(list(self.observed.unacknowledged))


def forged_event(manner: Manner, genuine: ServiceEvent, payment: str) -> ServiceEvent:
    """An event of a payment that the service has not sent, from a genuine one of the order."""
    event = json.loads(genuine.body)
    event["id"] = f"{genuine.id}x"
    event["data"]["id"] = payment
    if manner is Manner.UNKNOWN_TYPE:
        event["type"] = UNKNOWN_TYPE
    else:
        event["type"] = COMPLETED
        event["data"] |= {"status": Status.COMPLETED, "method": DEFAULT_METHODS[0]}
        event["data"]["completed_at"] = event["timestamp"]
    if manner is Manner.OTHER_MODE:
        event["mode"] = "live"
    body = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
    return ServiceEvent(event["id"], event["type"], body, genuine.payment)


_VARIANTS = {
    Manner.PRETTY: variant_effects.pretty_json,
    Manner.ESCAPED: variant_effects.escaped_json,
    Manner.REVERSED: variant_effects.member_order,
    Manner.AMHARIC: variant_effects.member_in_event,
}


def encoded(manner: Manner, body: bytes) -> bytes:
    """The body in other bytes: JSON, or the fields of a form."""
    has_fields = not body.startswith(b"{")
    fields = parse_qsl(body.decode(), keep_blank_values=True)
    message = VariedMessage(
        value=dict(fields) if has_fields else json.loads(body), has_fields=has_fields
    )
    _VARIANTS[manner](message)
    return message.body().encode()
