"""What happened to a payment, what is scheduled for it, and waiting for more to happen."""

from dataclasses import dataclass
from functools import partial

from emulator import ids
from emulator.clock import SystemClock
from emulator.domain.errors import UnknownPayment
from emulator.domain.payment import Event, Payment, Status
from emulator.domain.timers import ComingAttempt, Timer
from emulator.domain.wire import event_json
from emulator.engine.delivery.webhooks import Webhooks
from emulator.engine.payments.scheduler import Scheduler
from emulator.engine.state.account import Owner
from emulator.engine.state.change_notifier import ChangeNotifier
from emulator.storage import events, payments, timers
from emulator.storage.batch import LAST_ORDINAL, Transaction
from emulator.storage.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentDetail:
    """A payment with its past, oldest first, and what is scheduled for it, soonest first."""

    payment: Payment
    timeline: list[Event]
    scheduled: list[Timer | ComingAttempt]


class PaymentHistory:
    """Reads what the contract does not show."""

    def __init__(
        self,
        *,
        database: Database,
        wall: SystemClock,
        scheduler: Scheduler,
        change_notifier: ChangeNotifier,
        webhooks: Webhooks,
    ) -> None:
        self._database = database
        self._wall = wall
        self._scheduler = scheduler
        self._change_notifier = change_notifier
        self._webhooks = webhooks

    async def detail(self, owner: Owner, payment_id: str) -> PaymentDetail:
        """Raises UnknownPayment."""
        await self._scheduler.fire_due(owner.account)
        return await self._database.read(partial(self._detail, owner=owner, payment_id=payment_id))

    def _detail(self, tx: Transaction, *, owner: Owner, payment_id: str) -> PaymentDetail:
        payment = payments.find(tx, owner.number, payment_id)
        if payment is None:
            raise UnknownPayment(payment_id)
        scheduled: list[Timer | ComingAttempt] = [
            *timers.of_payment(tx, owner.account.number, payment),
            *self._webhooks.coming(tx, owner, payment),
        ]
        return PaymentDetail(
            payment=payment,
            timeline=events.of_payment(tx, payment.position),
            scheduled=sorted(scheduled, key=lambda one: (one.due_at, one.sequence)),
        )

    async def wait(
        self, owner: Owner, payment_id: str, status: Status, *, timeout_ms: int
    ) -> tuple[bool, Payment]:
        """Wait until a payment has taken on a status, for at most `timeout_ms` of real time.

        Returns whether it has, be it already past, and the payment. Raises UnknownPayment, and
        NotReady when the program stops.
        """

        async def look() -> tuple[bool, Payment]:
            detail = await self.detail(owner, payment_id)
            return any(event.status is status for event in detail.timeline), detail.payment

        until = self._wall.now_ms() + timeout_ms
        reached, payment = await look()
        if reached:
            return True, payment
        return await self._change_notifier.watch((payment.position,), look, until=until)

    async def events(self, owner: Owner, *, limit: int) -> list[str]:
        """The bodies of the newest events, newest first, as they are sent."""
        await self._scheduler.fire_due(owner.account)
        work = partial(self._events, owner=owner, limit=limit)
        return await self._database.read(work, is_long=True)

    @staticmethod
    def _events(tx: Transaction, *, owner: Owner, limit: int) -> list[str]:
        return [
            event_json(
                event,
                payment_at(event, payments.get(tx, event.payment)),
                event_id=event_id(owner, event),
                mode=owner.mode,
            )
            for event in events.newest(tx, owner.number, limit)
        ]


def payment_at(event: Event, payment: Payment) -> Payment:
    """The payment as it was when an event told of it: what can change is in the event."""
    return payment._replace(
        status=event.status,
        method=event.method,
        reason=event.reason,
        completed_at=event.completed_at,
    )


def event_id(owner: Owner, event: Event) -> str:
    return ids.event_id(owner.stream, event.position & LAST_ORDINAL)
