"""One attempt to deliver: what it tells, how it is made, and what follows from how it ended."""

import json
import logging
import sqlite3
from dataclasses import dataclass
from functools import partial

from emulator import ids
from emulator.clock import SystemClock, pause
from emulator.domain.instants import Instant, format_instant
from emulator.domain.timers import ATTEMPT, ComingAttempt, Due, DueKey
from emulator.domain.webhooks import (
    AttemptResult,
    DeliveryState,
    Endpoint,
    Tamper,
    Trigger,
    WebhookRequest,
)
from emulator.domain.wire import PING, event_json, ping_json
from emulator.engine.delivery.endpoints import put_endpoint
from emulator.engine.payments.payment_history import event_id, payment_at
from emulator.engine.payments.scheduler import PAUSE_AFTER_FAILURE_MS
from emulator.engine.state.account import Account, Owner
from emulator.http.addresses import host_and_port
from emulator.storage import deliveries, events, payments
from emulator.storage.batch import LAST_ORDINAL, Transaction
from emulator.storage.database import Database
from emulator.storage.deliveries import Delivery
from emulator.webhooks.messages import Message, request
from emulator.webhooks.retries import delay_ms_after, is_gone
from emulator.webhooks.sending import Sender

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryJob:
    """A delivery with what it tells: the event, in the bytes that are signed.

    `tampered_body` is the same about another amount, where that is to be sent. `payment_id` is
    None for a ping. `generation` is the account's as it was looked at.
    """

    owner: Owner
    generation: int
    delivery: Delivery
    event_id: str
    event_type: str
    payment_id: str | None
    body: bytes
    tampered_body: bytes

    def sent_body(self, tamper: Tamper | None) -> bytes:
        return self.tampered_body if tamper is Tamper.BODY else self.body


def delivery_id(owner: Owner, delivery: Delivery) -> str:
    return ids.delivery_id(owner.stream, delivery.position & LAST_ORDINAL)


def delivery_job(tx: Transaction, owner: Owner, delivery: Delivery) -> DeliveryJob:
    """The event as it was when it happened, whatever became of the payment since."""
    if delivery.event is None or delivery.payment is None:
        ping_id = ids.ping_id(owner.stream, delivery.position & LAST_ORDINAL)
        ping = ping_json(event_id=ping_id, at=delivery.created_at, mode=owner.mode).encode()
        return DeliveryJob(
            owner=owner,
            generation=owner.account.generation,
            delivery=delivery,
            event_id=ping_id,
            event_type=PING,
            payment_id=None,
            body=ping,
            tampered_body=ping,
        )
    event = events.get(tx, delivery.event)
    payment = payment_at(event, payments.get(tx, delivery.payment))
    name = event_id(owner, event)
    body = event_json(event, payment, event_id=name, mode=owner.mode)
    tampered = body
    if delivery.tamper is Tamper.BODY:
        dearer = payment._replace(amount_minor=payment.amount_minor + 1)
        tampered = event_json(event, dearer, event_id=name, mode=owner.mode)
    return DeliveryJob(
        owner=owner,
        generation=owner.account.generation,
        delivery=delivery,
        event_id=name,
        event_type=event.type,
        payment_id=payment.id,
        body=body.encode(),
        tampered_body=tampered.encode(),
    )


class Attempts:
    """Makes attempts and writes down how they ended."""

    def __init__(
        self, *, database: Database, wall: SystemClock, sender: Sender, stamps_business_time: bool
    ) -> None:
        self._database = database
        self._wall = wall
        self._sender = sender
        self._stamps_business_time = stamps_business_time

    async def make(self, job: DeliveryJob, endpoint: Endpoint, trigger: Trigger) -> None:
        """Make one attempt; it is written down when this returns.

        Raises NotReady when the program stops first; the attempt will be made again.
        """
        account = job.owner.account
        at = account.clock.now()
        tamper = job.delivery.tamper if trigger is Trigger.SCHEDULE else None
        stamp = at if self._stamps_business_time else self._wall.system_ms()
        message = Message(event_id=job.event_id, timestamp_s=stamp // 1000, body=job.body)
        sent = request(
            message,
            url=endpoint.url,
            secrets=endpoint.secrets(at),
            tamper=tamper,
            other_body=job.tampered_body,
        )
        result = await self._sender.send(sent)
        made = _Made(
            job=job,
            endpoint=endpoint,
            at=at,
            trigger=trigger,
            tamper=tamper,
            request=sent,
            result=result,
        )
        await self._write_down(made)
        if not result.has_succeeded:
            logger.warning("webhook %s to %s failed: %s", *_told(made))

    async def _write_down(self, made: "_Made") -> None:
        while True:
            try:
                return await self._database.write(partial(self._record, made=made))
            except sqlite3.Error:
                # Sent again because its answer was lost, it would be sent without end; and a full
                # disk may have room again in a while.
                logger.exception("an attempt could not be written down")
                await pause(self._wall, PAUSE_AFTER_FAILURE_MS)

    def _record(self, tx: Transaction, *, made: "_Made") -> None:
        job, result = made.job, made.result
        owner, sent = job.owner, job.delivery
        stored = deliveries.get(tx, sent.position)
        account = owner.account
        if stored is None or account.is_closed or job.generation != account.generation:
            return  # The account was deleted, or has begun anew.
        number = deliveries.add_attempt(
            tx,
            stored.position,
            at=made.at,
            trigger=made.trigger,
            tamper=made.tamper,
            request=made.request,
            result=result,
        )
        endpoint = owner.endpoints.get(stored.endpoint)
        has_left = endpoint is not None and endpoint.url == made.endpoint.url and is_gone(result)
        after = self._standing_after(stored, None if has_left else endpoint, made)
        deliveries.update(tx, after)
        if endpoint is not None and has_left:
            put_endpoint(tx, owner, endpoint.disabled())
        effects = account.effects_of_attempts
        if effects is not None and made.trigger is Trigger.SCHEDULE:
            effect = _effect(made, number, after.state)
            tx.after_commit.append(partial(effects.note_attempt, deliveries.due_key(sent), effect))

    def _standing_after(
        self, stored: Delivery, endpoint: Endpoint | None, made: "_Made"
    ) -> Delivery:
        """How a delivery stands after an attempt, which it may not have waited for.

        `endpoint` is None where there is nobody left to try again with.
        """
        result = made.result
        if made.trigger is Trigger.SCHEDULE:
            stored = stored._replace(attempts=stored.attempts + 1, is_held=False)
        if result.has_succeeded:
            return stored._replace(state=DeliveryState.SUCCEEDED, due_at=None, is_held=False)
        if made.trigger is not Trigger.SCHEDULE or stored.state is not DeliveryState.PENDING:
            return stored
        delay_ms = None
        if endpoint is not None:
            delay_ms = delay_ms_after(
                endpoint.profile, stored.attempts, result, wall_now_ms=self._wall.system_ms()
            )
        if delay_ms is None:
            return stored._replace(state=DeliveryState.FAILED, due_at=None)
        now = made.job.owner.account.clock.now()
        return stored._replace(due_at=now + delay_ms)

    @staticmethod
    def coming(tx: Transaction, owner: Owner, payment: int) -> list[ComingAttempt]:
        """What is to be sent of a payment, soonest first."""
        return [
            ComingAttempt(
                *deliveries.due_key(delivery),
                delivery_id(owner, delivery),
                events.get(tx, delivery.event).type,
            )
            for delivery in deliveries.pending_of_payment(tx, payment)
            if delivery.event is not None
        ]

    @staticmethod
    def next_due(tx: Transaction, account: Account) -> tuple[DueKey, Due] | None:
        """The account's next attempt, of either mode."""
        found = [
            (deliveries.due_key(delivery), delivery.payment)
            for owner in account.owners
            if (delivery := deliveries.next_of(tx, owner.endpoints)) is not None
            and delivery.payment is not None
        ]
        if not found:
            return None
        key, payment = min(found)
        return key, Due(key[0], ATTEMPT, payments.get(tx, payment).id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """An attempt that has ended; `at` is when it began, by the account's clock."""

    job: DeliveryJob
    endpoint: Endpoint
    at: Instant
    trigger: Trigger
    tamper: Tamper | None
    request: WebhookRequest
    result: AttemptResult


def _told(made: _Made) -> tuple[str, str, str]:
    """What a line of the log tells of a failure; of the address no more than where it leads."""
    result = made.result
    status = "" if result.response is None else f"status {result.response.status}"
    why = ". ".join(filter(None, (status, result.error, result.cause)))
    return made.job.event_type, host_and_port(made.request.url), why


def _effect(made: _Made, number: int, state: DeliveryState) -> str:
    job, result = made.job, made.result
    effect = {
        "at": format_instant(made.at),
        "type": "webhook.attempt",
        "payment": job.payment_id,
        "kind": ATTEMPT,
        "event": job.event_id,
        "event_type": job.event_type,
        "delivery": delivery_id(job.owner, job.delivery),
        "endpoint": made.endpoint.id,
        "number": number,
        "response_status": None if result.response is None else result.response.status,
        "error": result.error,
        "delivery_status": state.value,
    }
    return json.dumps(effect, ensure_ascii=False, separators=(",", ":"))
