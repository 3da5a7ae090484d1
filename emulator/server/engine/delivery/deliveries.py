"""Reads deliveries, resends, releases and drops them, and pings endpoints."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from emulator import ids
from emulator.domain.errors import DeliveryNotPending, UnknownDelivery, UnknownEndpoint
from emulator.domain.instants import format_instant
from emulator.domain.message_text import not_accepted
from emulator.domain.webhooks import (
    Attempt,
    DeliveryState,
    RegisteredEndpoint,
    Tamper,
    Trigger,
    WebhookForm,
)
from emulator.http.webhook_messages import render_body, tampered_body
from emulator.server.engine.delivery.attempts import DeliveryJob, delivery_id, delivery_job
from emulator.server.engine.delivery.dispatcher import MAX_CONCURRENT_ATTEMPTS, Dispatcher
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.context import StateContext, StateService
from emulator.server.storage import accounts, deliveries, delivery_groups, payments
from emulator.server.storage.batch import LAST_ORDINAL, Transaction, first_position
from emulator.server.storage.database import reads, writes
from emulator.server.storage.deliveries import Delivery, DeliveryFilter, ListedDelivery
from emulator.server.storage.delivery_groups import Failures
from emulator.summaries import PaymentSummary

MAX_ROWS_PER_READ = 50
# A page of the dashboard and one more.
MAX_ROWS_WITHOUT_THREAD = 26
MAX_RESENT = 100
_ALL = DeliveryFilter()


class DeliveryDetail(Struct, frozen=True, kw_only=True):
    """A delivery with its event, its attempts, and the id and the form of its endpoint."""

    id: str
    job: DeliveryJob
    endpoint_id: str
    form: WebhookForm
    attempts: list[Attempt]

    def body_of(self, attempt: Attempt) -> bytes:
        """The body that an attempt has sent."""
        variants, job, tamper = self.job.variants(self.form), self.job, attempt.tamper
        event = variants.event(job.event_body())
        if tamper is not Tamper.BODY:
            return variants.body(render_body(self.form, event))
        other = variants.event(job.event_body(tamper))
        return tampered_body(self.form, event, other, variants.body)


class DeliveryRow(NamedTuple):
    """As `ListedDelivery`, with ids and the summary of the payment."""

    id: str
    payment: PaymentSummary | None
    event_type: str
    endpoint_id: str
    state: str
    results: str
    at: str
    is_due: int


class Deliveries(StateService):
    """Reads deliveries, and makes attempts outside the schedule."""

    def __init__(self, context: StateContext, dispatcher: Dispatcher) -> None:
        super().__init__(context)
        self._dispatcher = dispatcher

    async def newest(
        self, owner: Owner, selection: DeliveryFilter = _ALL, *, limit: int
    ) -> list[DeliveryDetail]:
        """The newest deliveries, newest first.

        They are read in parts, because writes wait while a part is read. Raises UnknownPayment,
        UnknownEndpoint, and InvalidField for `before`.
        """
        details: list[DeliveryDetail] = []
        while len(details) < limit:
            before = details[-1].job.delivery.position if details else None
            rows = min(MAX_ROWS_PER_READ, limit - len(details))
            part = await self._newest(owner, selection, before=before, limit=rows)
            details += part
            if len(part) < rows:
                break
        return details

    async def rows(
        self, owner: Owner, selection: DeliveryFilter, *, limit: int
    ) -> list[DeliveryRow]:
        """As `newest`, without the requests and the responses of the attempts."""

        def read(tx: Transaction) -> list[DeliveryRow]:
            before = _position_before(tx, owner, selection)
            found = deliveries.listed(tx, owner.number, selection, limit=limit, before=before)
            return _rows(tx, owner, found)

        # A filter may search all deliveries.
        is_short = selection == _ALL or self._database.has_few("deliveries", owner.number)
        return await self._database.read(read, is_long=not is_short)

    async def _newest(
        self,
        owner: Owner,
        selection: DeliveryFilter,
        *,
        before: int | None = None,
        limit: int,
        is_over: bool = False,
    ) -> list[DeliveryDetail]:
        def read(tx: Transaction) -> list[DeliveryDetail]:
            older = _position_before(tx, owner, selection) if before is None else before
            found = deliveries.newest(
                tx, owner.number, selection, limit=limit, before=older, is_over=is_over
            )
            return _details(tx, owner, found)

        # A filter may search all deliveries.
        is_filtered = is_over or any((selection.endpoint, selection.status, selection.event))
        is_long = is_filtered or limit > MAX_ROWS_WITHOUT_THREAD
        return await self._database.read(read, is_long=is_long)

    async def wait(
        self, owner: Owner, selection: DeliveryFilter, *, timeout_ms: int
    ) -> tuple[bool, DeliveryDetail | None]:
        """Wait until an endpoint has responded to a delivery or no attempt of it is left.

        For at most `timeout_ms` of real time. Returns whether this holds for one of the selected
        deliveries, and the newest of those for which it does, else the newest selected one. Raises
        UnknownPayment, UnknownEndpoint, and NotReady when the program stops.
        """

        async def query() -> tuple[bool, DeliveryDetail | None]:
            owner.account.check_open()
            for is_over in (True, False):
                for newest in await self._newest(owner, selection, limit=1, is_over=is_over):
                    return is_over, newest
            return False, None

        until = self._wall.now_ms() + timeout_ms
        return await self._change_notifier.watch((owner,), query, until=until)

    @reads()
    def get(self, tx: Transaction, owner: Owner, name: str) -> DeliveryDetail:
        """Raises UnknownDelivery."""
        return _details(tx, owner, [_find(tx, owner, name)])[0]

    @reads()
    def subjects(
        self, tx: Transaction, owner: Owner, names: Iterable[str]
    ) -> dict[str, tuple[str, str]]:
        """The payments (empty for a ping) and endpoints of deliveries. Raises UnknownDelivery."""
        identities = accounts.endpoint_identities(tx, owner.number)
        found = {name: _find(tx, owner, name) for name in names}
        summaries = payments.summaries(tx, [*{each.payment or 0 for each in found.values()}])
        ids_of_payments = {position: each.id for position, each in summaries.items()}
        return {
            name: (ids_of_payments.get(each.payment or 0, ""), identities[each.endpoint][0])
            for name, each in found.items()
        }

    @reads()
    def latest_id(self, tx: Transaction, owner: Owner) -> str:
        """The id of the newest delivery. Raises UnknownDelivery."""
        for delivery in deliveries.newest(tx, owner.number, _ALL, limit=1):
            return delivery_id(owner, delivery)
        raise UnknownDelivery

    async def resend(self, owner: Owner, delivery: str) -> DeliveryDetail:
        """Send a delivery once more, without a fault, and wait for the result.

        Its schedule continues unless it succeeds. Raises UnknownDelivery, and UnknownEndpoint
        where the endpoint was deleted.
        """
        before = await self.get(owner, delivery)
        endpoint = owner.endpoints.get(before.job.delivery.endpoint)
        if endpoint is None:
            raise UnknownEndpoint(before.endpoint_id)
        return await self._make(before, endpoint, Trigger.RESEND)

    @reads(scans="deliveries")
    def groups(
        self, tx: Transaction, owner: Owner
    ) -> tuple[list[tuple[str, str, int]], list[tuple[str, Failures]]]:
        """The states and the ids of the endpoints of the deliveries, with counts.

        With the failing ones by endpoint and result, with the ids of the endpoints.
        """
        identities = accounts.endpoint_identities(tx, owner.number)
        found = delivery_groups.groups(tx, owner.number)
        return (
            [(each.state, identities[each.endpoint][0], each.count) for each in found],
            [(identities[each.endpoint][0], each) for each in delivery_groups.failures(tx, found)],
        )

    async def resend_failing(self, owner: Owner, endpoint: str) -> tuple[list[DeliveryDetail], int]:
        """Send the newest failing deliveries of an endpoint once more; they, and the number left.

        The deliveries of one payment are sent one after the other, oldest first. Raises
        UnknownEndpoint, and UnknownDelivery where the account was reset or deleted meanwhile.
        """
        owner.endpoint(endpoint)
        selection = DeliveryFilter(endpoint=endpoint, failing=True)
        found = await self.newest(owner, selection, limit=MAX_RESENT)
        _, failures = await self.groups(owner)
        known = sum(each.count for name, each in failures if name == endpoint)
        by_payment: dict[str | None, list[DeliveryDetail]] = defaultdict(list)
        for each in reversed(found):
            by_payment[each.job.payment_id].append(each)
        semaphore = asyncio.Semaphore(MAX_CONCURRENT_ATTEMPTS)

        async def resend(of_payment: list[DeliveryDetail]) -> list[DeliveryDetail]:
            async with semaphore:
                return [await self.resend(owner, each.id) for each in of_payment]

        sent = await asyncio.gather(*map(resend, by_payment.values()))
        return [each for part in sent for each in part], max(0, known - len(found))

    async def pause(self, owner: Owner) -> None:
        """Make no attempt of the schedule until a limit or the next advance.

        Raises InvalidApiKey.
        """
        async with owner.account.advancing:
            owner.account.check_open()
            self._dispatcher.pauses.begin(owner)
        self._dispatcher.wake(owner)
        self._change_notifier.changed((owner,))

    def pause_left_ms(self, owner: Owner) -> int | None:
        """The real time that is left of a pause; None without a pause."""
        pause = self._dispatcher.pauses.of(owner)
        return None if pause is None else pause.until - self._wall.now_ms()

    async def release(self, owner: Owner, delivery: str) -> DeliveryDetail:
        """Make the next attempt of a delivery now, and wait for the result.

        Raises UnknownDelivery, DeliveryNotPending.
        """
        job = await self._reschedule(owner, delivery, is_dropped=False)
        await self._dispatcher.make_next(job)
        return await self.get(owner, delivery)

    async def drop(self, owner: Owner, delivery: str) -> DeliveryDetail:
        """Make no further attempt of a delivery. Raises UnknownDelivery, DeliveryNotPending."""
        await self._reschedule(owner, delivery, is_dropped=True)
        return await self.get(owner, delivery)

    @writes()
    def _reschedule(
        self, tx: Transaction, owner: Owner, name: str, *, is_dropped: bool
    ) -> DeliveryJob:
        """Drop a pending delivery, or make it due now, after all that are due already."""
        stored = _find(tx, owner, name)
        if stored.state is not DeliveryState.PENDING:
            raise DeliveryNotPending(
                f"Only a pending delivery can be released or dropped; this one is"
                f" {stored.state.value}. To send it once more, use resend."
            )
        if self._dispatcher.is_in_progress(stored):
            raise DeliveryNotPending("An attempt of this delivery is in progress; wait for it.")
        after = stored._replace(
            state=DeliveryState.DROPPED if is_dropped else stored.state,
            due_at=None if is_dropped else owner.account.clock.now(),
            sequence=tx.next_timer(),
            is_postponed=False,
        )
        deliveries.update(tx, after)
        tx.after_commit.append(partial(self._change_notifier.changed, (owner, stored.payment)))
        return delivery_job(tx, owner, after)

    async def ping(self, owner: Owner, endpoint_id: str) -> DeliveryDetail:
        """Send an endpoint a signed event without a payment, once, and wait for the result.

        Raises UnknownEndpoint.
        """
        before, endpoint = await self._insert_ping(owner, endpoint_id)
        return await self._make(before, endpoint, Trigger.PING)

    @writes()
    def _insert_ping(
        self, tx: Transaction, owner: Owner, endpoint_id: str
    ) -> tuple[DeliveryDetail, RegisteredEndpoint]:
        endpoint = owner.endpoint(endpoint_id)
        delivery = Delivery(
            position=tx.next_position("deliveries", owner.number),
            endpoint=endpoint.position,
            event=None,
            payment=None,
            created_at=owner.account.clock.now(),
            # The final state if the program ends before the endpoint responds.
            state=DeliveryState.FAILED,
            attempts=0,
            due_at=None,
            sequence=tx.next_timer(),
            is_postponed=False,
            tamper=None,
        )
        deliveries.put(tx, [delivery])
        return _details(tx, owner, [delivery])[0], endpoint

    async def _make(
        self, before: DeliveryDetail, endpoint: RegisteredEndpoint, trigger: Trigger
    ) -> DeliveryDetail:
        """Make an attempt; returns the delivery after it.

        Raises UnknownDelivery where the account was reset or deleted meanwhile.
        """
        owner = before.job.owner
        async with self._dispatcher.slots:
            await self._dispatcher.attempts.make(before.job, endpoint, trigger)
        after = await self.get(owner, before.id)
        generation = before.job.generation
        if owner.account.is_closed or after.job.generation != generation:
            raise UnknownDelivery(before.id)
        return after


def _find(tx: Transaction, owner: Owner, name: str) -> Delivery:
    ordinal = ids.delivery_ordinal(owner.stream, name)
    position = None if ordinal is None else first_position(owner.number) + ordinal
    delivery = None if position is None else deliveries.get(tx, position)
    if delivery is None:
        raise UnknownDelivery(name)
    return delivery


def _position_before(tx: Transaction, owner: Owner, selection: DeliveryFilter) -> int | None:
    """Raises InvalidField."""
    if selection.before is None:
        return None
    try:
        return _find(tx, owner, selection.before).position
    except UnknownDelivery:
        accepted = "the id of a delivery of this account and mode"
        raise not_accepted("before", selection.before, accepted) from None


def _rows(tx: Transaction, owner: Owner, found: Sequence[ListedDelivery]) -> list[DeliveryRow]:
    identities = accounts.endpoint_identities(tx, owner.number)
    summaries = payments.summaries(tx, [*{each.payment for each in found if each.payment}])
    return [
        DeliveryRow(
            ids.delivery_id(owner.stream, each.position & LAST_ORDINAL),
            summaries.get(each.payment or 0),
            each.event_type,
            identities[each.endpoint][0],
            each.state,
            each.results,
            format_instant(each.at),
            each.is_due,
        )
        for each in found
    ]


def _details(tx: Transaction, owner: Owner, found: Sequence[Delivery]) -> list[DeliveryDetail]:
    identities = accounts.endpoint_identities(tx, owner.number)
    attempts = deliveries.attempts(tx, [delivery.position for delivery in found])
    return [
        DeliveryDetail(
            id=delivery_id(owner, delivery),
            job=delivery_job(tx, owner, delivery),
            endpoint_id=identities[delivery.endpoint][0],
            form=identities[delivery.endpoint][1],
            attempts=attempts[delivery.position],
        )
        for delivery in found
    ]
