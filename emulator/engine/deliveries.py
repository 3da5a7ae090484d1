"""What was sent and how it went, and sending by hand: resend one, ping an endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from emulator import ids
from emulator.domain.errors import UnknownDelivery, UnknownEndpoint, UnknownPayment
from emulator.domain.webhooks import Attempt, DeliveryState, Endpoint, Trigger
from emulator.engine.accounts import Owner
from emulator.engine.attempts import Attempts, Errand, delivery_id, errand_of
from emulator.engine.endpoints import find
from emulator.storage import deliveries, endpoints, payments
from emulator.storage.batch import Transaction, first_position
from emulator.storage.database import Database
from emulator.storage.deliveries import Delivery, DeliveryQuery

MAX_ROWS_PER_READ = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A delivery as it is looked at: what it tells, to which endpoint, and each attempt."""

    id: str
    errand: Errand
    endpoint_id: str
    attempts: list[Attempt]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which deliveries to look at; None asks for nothing."""

    limit: int
    payment_id: str | None = None
    endpoint_id: str | None = None
    state: DeliveryState | None = None


class Deliveries:
    """Reads deliveries, and makes attempts that no schedule asks for."""

    def __init__(self, *, database: Database, attempts: Attempts) -> None:
        self._database = database
        self._attempts = attempts

    async def newest(self, owner: Owner, wanted: Wanted) -> list[Record]:
        """The newest deliveries, newest first. Raises UnknownPayment, UnknownEndpoint.

        They are read some at a time, since whoever writes has to wait for whoever reads.
        """
        found: list[Record] = []
        while len(found) < wanted.limit:
            before = found[-1].errand.delivery.position if found else None
            limit = min(MAX_ROWS_PER_READ, wanted.limit - len(found))
            work = partial(self._newest, owner=owner, wanted=wanted, before=before, limit=limit)
            read = await self._database.read(work, is_long=True)
            found += read
            if len(read) < limit:
                break
        return found

    @staticmethod
    def _newest(
        tx: Transaction, *, owner: Owner, wanted: Wanted, before: int | None, limit: int
    ) -> list[Record]:
        names = endpoints.ids(tx, owner.number)
        query = DeliveryQuery(
            limit=limit,
            before=before,
            payment=_payment(tx, owner, wanted.payment_id),
            endpoint=_endpoint(names, wanted.endpoint_id),
            state=wanted.state,
        )
        found = deliveries.newest(tx, owner.number, query)
        return [_record(tx, owner, delivery, names[delivery.endpoint]) for delivery in found]

    async def get(self, owner: Owner, delivery: str) -> Record:
        """Raises UnknownDelivery."""
        ordinal = ids.delivery_ordinal(owner.stream, delivery)
        if ordinal is None:
            raise UnknownDelivery(delivery)
        return await self._look(owner, first_position(owner.number) + ordinal, name=delivery)

    async def resend(self, owner: Owner, delivery: str) -> Record:
        """Send a delivery once more, genuine, and wait for how it ends.

        Its schedule goes on unless it succeeds. Raises UnknownDelivery, and UnknownEndpoint where
        the endpoint was deleted.
        """
        before = await self.get(owner, delivery)
        endpoint = owner.endpoints.get(before.errand.delivery.endpoint)
        if endpoint is None:
            raise UnknownEndpoint(before.endpoint_id)
        return await self._make(before, endpoint, Trigger.RESEND)

    async def ping(self, owner: Owner, endpoint_id: str) -> Record:
        """Send an endpoint a signed event that tells of nothing, once, and wait for its end.

        Raises UnknownEndpoint.
        """
        work = partial(self._insert_ping, owner=owner, endpoint_id=endpoint_id)
        before, endpoint = await self._database.write(work)
        return await self._make(before, endpoint, Trigger.PING)

    @staticmethod
    def _insert_ping(tx: Transaction, *, owner: Owner, endpoint_id: str) -> tuple[Record, Endpoint]:
        endpoint = find(owner, endpoint_id)
        delivery = Delivery(
            position=tx.next_position("deliveries", owner.number),
            endpoint=endpoint.position,
            event=None,
            payment=None,
            created_at=owner.account.clock.now(),
            # So it stays if the program ends before the endpoint has answered.
            state=DeliveryState.FAILED,
            attempts=0,
            due_at=None,
            sequence=tx.next_timer(),
            is_held=False,
            tamper=None,
        )
        deliveries.put(tx, [delivery])
        return _record(tx, owner, delivery, endpoint.id), endpoint

    async def _make(self, before: Record, endpoint: Endpoint, trigger: Trigger) -> Record:
        """Make an attempt; the record after it.

        Raises UnknownDelivery where the account was reset or deleted meanwhile.
        """
        owner = before.errand.owner
        await self._attempts.make(before.errand, endpoint, trigger)
        after = await self.get(owner, before.id)
        generation = before.errand.generation
        if owner.account.is_closed or after.errand.generation != generation:
            raise UnknownDelivery(before.id)
        return after

    async def _look(self, owner: Owner, position: int, *, name: str) -> Record:
        """Raises UnknownDelivery, which `name` is the name for."""
        return await self._database.read(
            partial(self._one, owner=owner, position=position, name=name)
        )

    @staticmethod
    def _one(tx: Transaction, *, owner: Owner, position: int, name: str) -> Record:
        delivery = deliveries.get(tx, position)
        if delivery is None:
            raise UnknownDelivery(name)
        names = endpoints.ids(tx, owner.number)
        return _record(tx, owner, delivery, names[delivery.endpoint])


def _record(tx: Transaction, owner: Owner, delivery: Delivery, endpoint_id: str) -> Record:
    return Record(
        id=delivery_id(owner, delivery),
        errand=errand_of(tx, owner, delivery),
        endpoint_id=endpoint_id,
        attempts=deliveries.attempts(tx, delivery.position),
    )


def _payment(tx: Transaction, owner: Owner, payment_id: str | None) -> int | None:
    """Raises UnknownPayment."""
    if payment_id is None:
        return None
    payment = payments.find(tx, owner.number, payment_id)
    if payment is None:
        raise UnknownPayment(payment_id)
    return payment.position


def _endpoint(names: Mapping[int, str], endpoint_id: str | None) -> int | None:
    """Raises UnknownEndpoint; those that were deleted are known."""
    if endpoint_id is None:
        return None
    for position, name in names.items():
        if name == endpoint_id:
            return position
    raise UnknownEndpoint(endpoint_id)
