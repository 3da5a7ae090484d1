"""Makes one attempt to deliver an event, records its result and schedules the next one."""

import logging
import os
import sqlite3
from functools import partial

import msgspec
from msgspec import Struct

from emulator import ids
from emulator.clock import PAUSE_AFTER_FAILURE_MS, pause
from emulator.domain.hosts import hide_url_secrets
from emulator.domain.instants import Instant, format_instant
from emulator.domain.message_text import JSON_MEMBERS
from emulator.domain.payment import EVENT_TYPES, PING, UNKNOWN_EVENT_TYPE, Event, Payment, Status
from emulator.domain.transitions import ATTEMPT, ComingAttempt, Due, DueKey
from emulator.domain.variants import EventVariants
from emulator.domain.webhooks import (
    MAX_TIMEOUT_MS,
    Attempt,
    ContentType,
    DeliveryState,
    Profile,
    RegisteredEndpoint,
    Tamper,
    Trigger,
    WebhookForm,
    WebhookRequest,
)
from emulator.http.addresses import host_and_port, is_in_container
from emulator.http.exchange import Sender
from emulator.http.tls import tls_context
from emulator.http.webhook_messages import Message, render_body, webhook_request
from emulator.server.engine.delivery.gates import Holds
from emulator.server.engine.state.account import Account, Owner
from emulator.server.engine.state.context import FailureLog, StateContext, StateService
from emulator.server.engine.state.journal import AttemptSpan
from emulator.server.engine.state.wire import ping_json
from emulator.server.storage import deliveries, events, payments
from emulator.server.storage.batch import LAST_ORDINAL, Transaction
from emulator.server.storage.database import writes
from emulator.server.storage.deliveries import Delivery

_SECOND = 1_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE

# The delay of each attempt after the previous one, or after the event.
DELAYS_MS = {
    Profile.DEFAULT: (0, _SECOND, 5 * _SECOND, 15 * _SECOND, _MINUTE),
    # The schedule that the specification of Standard Webhooks recommends.
    Profile.STANDARD: (
        *(0, 5 * _SECOND, 5 * _MINUTE, 30 * _MINUTE),
        *(hours * _HOUR for hours in (2, 5, 10, 14, 20, 24)),
    ),
}
# The endpoint must be disabled (Standard Webhooks).
_GONE = 410

logger = logging.getLogger(__name__)


class DeliveryJob(Struct, frozen=True, kw_only=True):
    """A delivery with its event, and the payment of the event.

    Both are None for a ping. An event of a type that the emulator does not use has only a payment.
    `generation` is the account's when the delivery was read.
    """

    owner: Owner
    generation: int
    delivery: Delivery
    event: Event | None
    payment: Payment | None
    event_id: str
    event_type: str

    @property
    def payment_id(self) -> str | None:
        return None if self.payment is None else self.payment.id

    def event_body(self, tamper: Tamper | None = None) -> bytes:
        """The event in our own form, without variants; a tampered one has a different amount."""
        payment = self.payment
        if self.event is None or payment is None:
            return ping_json(
                event_id=self.event_id,
                at=self.delivery.created_at,
                mode=self.owner.mode,
                event_type=self.event_type,
                payment_id=self.payment_id,
            )
        if tamper is Tamper.BODY:
            payment = payment._replace(amount_minor=payment.amount_minor + 1)
        return self.owner.usual_event_body(self.event, payment)

    def variants(self, form: WebhookForm) -> EventVariants:
        """The variants of the event in a form of webhooks; a ping has none."""
        if self.payment is None:
            return EventVariants(())
        position = self.delivery.position if self.event is None else self.event.position
        has_fields = form.content_type is ContentType.FORM
        render = partial(render_body, form)
        return self.owner.event_variants(position, render, has_fields=has_fields)


def _with_variants(sent: WebhookRequest, variants: EventVariants) -> WebhookRequest:
    """The request with the names of its variants, and with the media type that it has."""
    headers = [
        (name, value + variants.charset if name == "content-type" else value)
        for name, value in sent.headers
    ]
    headers.append(("emulator-variant", ",".join(variants.names)))
    return sent._replace(headers=tuple(headers))


def delivery_id(owner: Owner, delivery: Delivery) -> str:
    return ids.delivery_id(owner.stream, delivery.position & LAST_ORDINAL)


def delivery_job(tx: Transaction, owner: Owner, delivery: Delivery) -> DeliveryJob:
    """The delivery with its event, which shows the payment as it was at the event."""
    event = None
    payment = None if delivery.payment is None else payments.get(tx, delivery.payment)
    if delivery.event is None or delivery.payment is None:
        event_id = ids.ping_id(owner.stream, delivery.position & LAST_ORDINAL)
        event_type = PING if payment is None else UNKNOWN_EVENT_TYPE
    else:
        event = events.get(tx, delivery.event, delivery.payment)
        event_id, event_type = owner.event_id(event), event.type
    return DeliveryJob(
        owner=owner,
        generation=owner.account.generation,
        delivery=delivery,
        event=event,
        payment=payment,
        event_id=event_id,
        event_type=event_type,
    )


def _log_failure(event_type: str, attempt: Attempt) -> None:
    texts = {"error": attempt.error, "cause": attempt.cause}
    shown = {name: hide_url_secrets(text) for name, text in texts.items() if text}
    status = {} if attempt.status is None else {"status": attempt.status}
    reason = ". ".join([*(f"status {code}" for code in status.values()), *shown.values()])
    host = host_and_port(attempt.url)
    facts = {"message": "webhook failed", "event": event_type, "host": host, **status, **shown}
    words = "webhook %s to %s failed: %s"
    logger.warning(words, event_type, host, reason, extra={JSON_MEMBERS: facts})


class Attempts(StateService):
    """Makes attempts and records their results."""

    def __init__(self, context: StateContext, holds: Holds) -> None:
        super().__init__(context)
        self.sender = Sender(
            self._wall,
            is_in_container=is_in_container(os.environ),
            load_tls=partial(
                tls_context,
                authorities=self._config.webhook_authorities,
                verifies=not self._settings.webhook_insecure,
            ),
        )
        self._holds = holds
        self.unanswered = 0  # attempts that took the whole time of an attempt

    async def make(self, job: DeliveryJob, endpoint: RegisteredEndpoint, trigger: Trigger) -> None:
        """Make one attempt and record it.

        Raises NotReady when the program stops first; the attempt is repeated later.
        """
        account = job.owner.account
        at = account.clock.now()
        is_scheduled = trigger is Trigger.SCHEDULE
        tamper = job.delivery.tamper if is_scheduled else None
        stamp = at if self._config.stamps_business_time else self._wall.system_ms()
        variants = job.variants(endpoint.form)
        event = variants.event(job.event_body())
        message = Message(event_id=job.event_id, timestamp_s=stamp // 1000, body=event)
        sent = webhook_request(
            message,
            form=endpoint.form,
            url=endpoint.url,
            secrets=endpoint.secrets(at),
            tamper=tamper,
            other_body=b"" if tamper is None else variants.event(job.event_body(tamper)),
            rewrite=variants.body,
        )
        if account.variants is not None and variants.names:
            account.variants.applied.update(variants.names)
            sent = _with_variants(sent, variants)
        timeout_ms = job.delivery.timeout_ms if is_scheduled else None
        span = AttemptSpan(job.payment_id, endpoint.id, self._wall.monotonic_ms())
        job.owner.journal.attempts.append(span)
        try:
            result = await self.sender.send(sent, timeout_ms=timeout_ms or MAX_TIMEOUT_MS)
        finally:
            span.ended_ms = self._wall.monotonic_ms()
            self.unanswered += span.ended_ms - span.began_ms >= MAX_TIMEOUT_MS
        # Its number is known when it is stored.
        response = result.response
        attempt = Attempt(
            number=0,
            at=at,
            trigger=trigger,
            tamper=tamper,
            url=sent.url,
            headers=sent.headers,
            status=response and response.status,
            response_headers=response and response.headers,
            response_body=response and response.body,
            error=result.error,
            cause=result.cause,
            duration_ms=result.duration_ms,
        )
        is_completion = job.event_type == EVENT_TYPES[Status.COMPLETED]
        if is_completion and tamper is None and attempt.has_succeeded:
            span.proof = delivery_id(job.owner, job.delivery)
        await self._record(job, endpoint, attempt)
        if attempt.status is not None and job.payment_id is not None:
            self._holds.release(job.owner, job.payment_id)
        if not attempt.has_succeeded:
            _log_failure(job.event_type, attempt)

    async def _record(
        self, job: DeliveryJob, endpoint: RegisteredEndpoint, attempt: Attempt
    ) -> None:
        failures = FailureLog(logger, "an attempt could not be stored")
        while True:
            try:
                return await self._write(job, endpoint, attempt)
            except sqlite3.Error as error:
                # An attempt without a record would be repeated without end; and a full disk may
                # have free space again later.
                failures.add(error)
                await pause(self._wall, PAUSE_AFTER_FAILURE_MS)

    @writes()
    def _write(
        self, tx: Transaction, job: DeliveryJob, used: RegisteredEndpoint, attempt: Attempt
    ) -> None:
        owner, sent = job.owner, job.delivery
        stored = deliveries.get(tx, sent.position)
        account = owner.account
        if stored is None or account.is_closed or job.generation != account.generation:
            return  # The account was deleted, reset or restored.
        number = deliveries.add_attempt(tx, stored.position, attempt)
        endpoint = owner.endpoints.get(stored.endpoint)
        is_removed = attempt.status == _GONE and endpoint is not None and endpoint.url == used.url
        now = account.clock.now()
        after = self._state_after(stored, None if is_removed else endpoint, attempt, now)
        after = after._replace(last_status=attempt.status, last_error=attempt.error)
        deliveries.update(tx, after)
        tx.after_commit.append(partial(self._change_notifier.changed, (owner, stored.payment)))
        if endpoint is not None and is_removed:
            owner.put_endpoint(tx, endpoint.disabled())
        advance = account.advance
        if advance.has_begun and attempt.trigger is Trigger.SCHEDULE:
            effect = _effect(job, used, attempt._replace(number=number), after.state)
            tx.after_commit.append(partial(advance.add_attempt, deliveries.due_key(sent), effect))

    @staticmethod
    def _state_after(
        stored: Delivery, endpoint: RegisteredEndpoint | None, attempt: Attempt, now: Instant
    ) -> Delivery:
        """A delivery after an attempt, which may not have been a scheduled one.

        `endpoint` is None where it was deleted or responded that it is gone.
        """
        if attempt.trigger is Trigger.SCHEDULE:
            stored = stored._replace(attempts=stored.attempts + 1, is_postponed=False)
        if attempt.has_succeeded:
            return stored._replace(state=DeliveryState.SUCCEEDED, due_at=None, is_postponed=False)
        if attempt.trigger is not Trigger.SCHEDULE or stored.state is not DeliveryState.PENDING:
            return stored
        delays_ms = () if endpoint is None else DELAYS_MS[endpoint.profile]
        if stored.attempts >= len(delays_ms):
            return stored._replace(state=DeliveryState.FAILED, due_at=None)
        return stored._replace(due_at=now + delays_ms[stored.attempts])


def coming_attempts(tx: Transaction, owner: Owner, payment: int) -> list[ComingAttempt]:
    """The next attempts of a payment's deliveries, soonest first."""
    return [
        ComingAttempt(
            *deliveries.due_key(delivery),
            delivery_id(owner, delivery),
            events.get(tx, delivery.event, payment).type,
        )
        for delivery in deliveries.pending_of_payment(tx, payment)
        if delivery.event is not None
    ]


def next_attempt(tx: Transaction, account: Account) -> tuple[DueKey, Due] | None:
    """The account's next attempt, in either mode."""
    due = [
        (deliveries.due_key(delivery), delivery.payment)
        for owner in account.owners
        if (delivery := deliveries.next_of(tx, owner.endpoints)) is not None
        and delivery.payment is not None
    ]
    if not due:
        return None
    key, payment = min(due)
    return key, Due(key[0], ATTEMPT, payments.get(tx, payment).id)


def _effect(
    job: DeliveryJob, endpoint: RegisteredEndpoint, attempt: Attempt, state: DeliveryState
) -> bytes:
    effect = {
        "at": format_instant(attempt.at),
        "type": "webhook.attempt",
        "payment": job.payment_id,
        "kind": ATTEMPT,
        "event": job.event_id,
        "event_type": job.event_type,
        "delivery": delivery_id(job.owner, job.delivery),
        "endpoint": endpoint.id,
        "number": attempt.number,
        "response_status": attempt.status,
        "error": attempt.error,
        "delivery_status": state.value,
    }
    return msgspec.json.encode(effect)
