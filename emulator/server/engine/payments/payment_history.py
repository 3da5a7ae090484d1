"""Reads the events and the scheduled changes of payments, and waits for a status."""

from collections.abc import Sequence

from msgspec import Struct

from emulator import ids
from emulator.domain.effects import RedirectMoment
from emulator.domain.errors import UnknownEvent, UnknownPayment
from emulator.domain.message_text import not_accepted
from emulator.domain.payment import Event, Payment, Status
from emulator.domain.transitions import ComingAttempt, Timer
from emulator.server.engine.delivery.attempts import coming_attempts
from emulator.server.engine.payments.scheduler import EngineService
from emulator.server.engine.state.account import Owner
from emulator.server.storage import deliveries, events, payments, timers
from emulator.server.storage.batch import Transaction, positions_of
from emulator.server.storage.database import reads
from emulator.server.storage.events import Action
from emulator.server.storage.payments import PageQuery
from emulator.summaries import PaymentSummary


class PaymentDetail(Struct, frozen=True, kw_only=True):
    """A payment with its events and actions, oldest first, and its scheduled changes.

    `redirect` is when its page redirects, where a checkout rule determines it.
    """

    payment: Payment
    redirect: RedirectMoment | None
    timeline: list[Event]
    actions: list[Action]
    scheduled: list[Timer | ComingAttempt]


class PaymentHistory(EngineService):
    """Reads what the contract's API does not return."""

    @reads()
    def latest_id(self, tx: Transaction, owner: Owner) -> str:
        """The id of the newest payment. Raises UnknownPayment."""
        for position in payments.page(tx, owner.number, PageQuery(limit=1)):
            return payments.get(tx, position).id
        raise UnknownPayment

    @reads()
    def summaries(self, tx: Transaction, names: Sequence[str]) -> dict[str, PaymentSummary]:
        """The existing ones of the payments with these ids."""
        return payments.summaries_by_id(tx, names)

    @reads()
    def counts(self, tx: Transaction, owner: Owner) -> tuple[int, int]:
        """The numbers of an owner's payments and deliveries."""
        return tx.row_count("payments", owner.number), tx.row_count("deliveries", owner.number)

    @reads(scans="payments")
    def kinds(self, tx: Transaction, owner: Owner) -> list[tuple[str, str | None, int]]:
        """The statuses and reasons of the newest payments, the most frequent first."""
        return payments.kinds(tx, owner.number)

    async def detail(self, owner: Owner, payment_id: str) -> PaymentDetail:
        """Raises UnknownPayment."""
        await self._scheduler.fire_due(owner.account)
        return await self._detail(owner, payment_id)

    @reads()
    def _detail(self, tx: Transaction, owner: Owner, payment_id: str) -> PaymentDetail:
        payment = payments.find(tx, owner.number, payment_id)
        scheduled: list[Timer | ComingAttempt] = [*timers.of_payment(tx, payment.position)]
        scheduled += coming_attempts(tx, owner, payment.position)
        redirect = deliveries.redirect(tx, payment.position)
        return PaymentDetail(
            payment=payment,
            redirect=None if redirect is None else redirect[0],
            timeline=events.of_payment(tx, payment.position),
            actions=events.actions_of_payment(tx, payment.position),
            scheduled=sorted(scheduled, key=lambda item: (item.due_at, item.sequence)),
        )

    async def wait(
        self, owner: Owner, payment_id: str, status: Status, *, timeout_ms: int
    ) -> tuple[bool, Payment]:
        """Wait until a payment has taken on a status, for at most `timeout_ms` of real time.

        Returns whether it has, now or earlier, and the payment. Raises UnknownPayment, and
        NotReady when the program stops.
        """

        async def query() -> tuple[bool, Payment]:
            detail = await self.detail(owner, payment_id)
            return any(event.status is status for event in detail.timeline), detail.payment

        until = self._wall.now_ms() + timeout_ms
        reached, payment = await query()
        if reached:
            return True, payment
        return await self._change_notifier.watch((payment.position,), query, until=until)

    async def events(
        self, owner: Owner, *, limit: int, before: str | None = None, among: int | None = None
    ) -> list[bytes]:
        """The bodies of the newest events, or of those before an event, newest first, as sent.

        Failed attempts count for `among`, the number of the newest entries that may be events.
        Raises InvalidField for `before`.
        """
        await self._scheduler.fire_due(owner.account)
        return await self._events(owner, limit, before, among)

    @reads(is_long=True)
    def event(self, tx: Transaction, owner: Owner, name: str) -> bytes:
        """The body of an event. Raises UnknownEvent."""
        position = _event_position(tx, owner, name)
        if position is None:
            raise UnknownEvent(name)
        (event,) = events.newest(tx, owner.number, 1, before=position + 1)
        if event.position != position:
            raise UnknownEvent(name)  # A failed attempt is no event.
        return owner.event_body(event, payments.get(tx, event.payment))

    @reads(is_long=True)
    def changes(self, tx: Transaction, owner: Owner, limit: int) -> list[tuple[Event, Payment]]:
        """The newest events with their payments as they are now, oldest first."""
        newest = events.newest(tx, owner.number, limit)
        return [(event, payments.get(tx, event.payment)) for event in reversed(newest)]

    @reads(is_long=True)
    def _events(
        self, tx: Transaction, owner: Owner, limit: int, before: str | None, among: int | None
    ) -> list[bytes]:
        position = None
        if before is not None:
            position = _event_position(tx, owner, before)
            if position is None:
                raise not_accepted("before", before, "the id of an event of this account and mode")
        first = 0 if among is None else events.next_position(tx, owner.number) - among
        return [
            owner.event_body(event, payments.get(tx, event.payment))
            for event in events.newest(tx, owner.number, limit, before=position)
            if event.position >= first
        ]


def _event_position(tx: Transaction, owner: Owner, name: str) -> int | None:
    first, _ = positions_of(owner.number)
    count = events.next_position(tx, owner.number) - first
    ordinal = ids.event_ordinal(owner.stream, name, count)
    return None if ordinal is None else first + ordinal
