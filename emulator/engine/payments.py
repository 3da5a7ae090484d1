"""The contract's three verbs: create, retrieve and list (contract, section 4)."""

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b

import msgspec

from emulator import ids
from emulator.clock import Wall
from emulator.domain.errors import (
    IdempotencyKeyInUse,
    IdempotencyKeyReused,
    InvalidField,
    Refusal,
    UnknownPayment,
)
from emulator.domain.instants import Instant
from emulator.domain.payment import Payment, Status, Terms
from emulator.domain.timers import Timer, TimerKind
from emulator.domain.transitions import EXPIRE
from emulator.domain.wire import payment_json
from emulator.engine.accounts import Owner
from emulator.engine.changes import Changes, event_of
from emulator.engine.rendered import Rendered
from emulator.engine.rules import Rules
from emulator.engine.settling import Settling
from emulator.storage import events, idempotency, payments
from emulator.storage.database import LAST_ORDINAL, Database, Transaction
from emulator.storage.idempotency import UsedKey
from emulator.storage.payments import PageQuery, UnknownCursor

KEY_RETENTION_MS = 24 * 3_600_000
LONGEST_WAIT_FOR_KEY_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a valid create call asks for, after defaults."""

    amount_minor: int
    methods: tuple[str, ...]
    success_url: str
    cancel_url: str
    metadata: dict[str, str]
    expires_in_s: int
    idempotency_key: str | None = None

    def fingerprint(self) -> bytes:
        """What two requests with one idempotency key must have in common."""
        parameters = (
            self.amount_minor,
            self.methods,
            self.success_url,
            self.cancel_url,
            sorted(self.metadata.items()),
            self.expires_in_s,
        )
        return blake2b(msgspec.json.encode(parameters), digest_size=16).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A payment as it was created, now or by an earlier request with the same key."""

    id: str
    body: bytes
    is_replay: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Rendered payments, newest first, and the cursor of the next page if there is one."""

    bodies: list[bytes]
    next_cursor: str | None


@dataclass(slots=True, kw_only=True)
class CheckoutAddress:
    """The public base of the checkout pages, known when the listener is bound."""

    base: str


class Payments:
    """Creates payments and reads them back, settled."""

    def __init__(
        self,
        *,
        database: Database,
        wall: Wall,
        changes: Changes,
        settling: Settling,
        rendered: Rendered,
        rules: Rules,
        checkout: CheckoutAddress,
    ) -> None:
        self._database = database
        self._wall = wall
        self._changes = changes
        self._settling = settling
        self._rendered = rendered
        self._rules = rules
        self._checkout = checkout
        self._in_flight: dict[tuple[int, str], asyncio.Event] = {}

    async def create(self, owner: Owner, order: Order, *, objection: Refusal | None) -> Created:
        """Create a payment, or answer as the first request with its idempotency key was.

        `objection` is raised where all else is right. Raises IdempotencyKeyReused, and
        IdempotencyKeyInUse after five seconds of waiting for an equal key (contract, 4.1).
        """
        work = partial(self._create, owner=owner, order=order, objection=objection)
        if order.idempotency_key is None:
            created = await self._database.write(work)
        else:
            flight = (owner.number, order.idempotency_key)
            await self._wait_for_key(flight)
            landed = self._in_flight[flight] = asyncio.Event()
            try:
                created = await self._database.write(work)
            finally:
                del self._in_flight[flight]
                landed.set()
        self._settling.notice(owner.account)
        return created

    async def _wait_for_key(self, flight: tuple[int, str]) -> None:
        deadline: Instant | None = None
        while (landed := self._in_flight.get(flight)) is not None:
            deadline = deadline or self._wall.now_ms() + LONGEST_WAIT_FOR_KEY_MS
            await self._wall.wait(landed, until=deadline)
            if not landed.is_set():
                raise IdempotencyKeyInUse

    def _create(
        self, tx: Transaction, *, owner: Owner, order: Order, objection: Refusal | None
    ) -> Created:
        now = self._changes.settle(tx, owner.account)
        key = order.idempotency_key
        fingerprint = b""
        if key is not None:
            fingerprint = order.fingerprint()
            used = idempotency.find(tx, owner.number, key)
            if used is not None and now < used.used_at + KEY_RETENTION_MS:
                if used.fingerprint != fingerprint:
                    raise IdempotencyKeyReused
                if objection is not None:
                    raise objection
                return _replayed(payments.get(tx, used.payment))
        if objection is not None:
            raise objection
        payment = self._new_payment(tx, owner, order, now)
        self._write_new(tx, owner, payment, now)
        if key is not None:
            used = UsedKey(fingerprint=fingerprint, payment=payment.position, used_at=now)
            idempotency.use(tx, owner.number, key, used)
        body = payment_json(payment).encode()
        tx.after_commit.append(partial(self._rendered.put, payment.position, payment.id, body))
        return Created(id=payment.id, body=body, is_replay=False)

    def _new_payment(
        self, tx: Transaction, owner: Owner, order: Order, now: Instant
    ) -> Payment:
        position = tx.next_position("payments", owner.number)
        token = ids.checkout_token(owner.stream, position & LAST_ORDINAL)
        scripted_ms = self._rules.expiry_ms(
            tx,
            owner,
            methods=order.methods,
            amount_minor=order.amount_minor,
            metadata=order.metadata,
        )
        expires_in_ms = order.expires_in_s * 1000 if scripted_ms is None else scripted_ms
        terms = {
            "checkout_url": f"{self._checkout.base}/c/{token}",
            "success_url": order.success_url,
            "cancel_url": order.cancel_url,
            "metadata": order.metadata,
        }
        return Payment(
            position=position,
            id=ids.payment_id(token),
            amount_minor=order.amount_minor,
            methods=order.methods,
            terms=Terms(msgspec.json.encode(terms).decode()),
            created_at=now,
            expires_at=now + expires_in_ms,
        )

    def _write_new(self, tx: Transaction, owner: Owner, payment: Payment, now: Instant) -> None:
        timer = Timer(
            due_at=payment.expires_at,
            sequence=tx.next_timer(),
            payment=payment.position,
            kind=TimerKind.EXPIRY,
            change=EXPIRE,
        )
        payments.insert(tx, payment, owner=owner.number, expiry_timer=timer.sequence)
        position = tx.next_position("events", owner.number)
        events.insert(tx, [event_of(payment, now, position=position)])
        self._changes.schedule(tx, owner.account, timer)

    async def retrieve(self, owner: Owner, payment_id: str) -> bytes:
        """The payment object. Raises UnknownPayment (contract, 4.2)."""
        account = owner.account
        if account.due_at > account.clock.now():
            body = self._rendered.of(owner.number, payment_id)
            if body is not None:
                return body
        await self._settling.settle(account)
        return await self._database.read(
            partial(self._retrieve, owner=owner, payment_id=payment_id)
        )

    def _retrieve(self, tx: Transaction, *, owner: Owner, payment_id: str) -> bytes:
        payment = payments.find(tx, owner.number, payment_id)
        if payment is None:
            raise UnknownPayment(payment_id)
        return self._render(payment)

    async def page(self, owner: Owner, query: PageQuery) -> Page:
        """A page of payments, newest first. Raises InvalidField for the cursor (contract, 4.3)."""
        await self._settling.settle(owner.account)
        return await self._database.read(partial(self._page, owner=owner, query=query))

    def _page(self, tx: Transaction, *, owner: Owner, query: PageQuery) -> Page:
        try:
            positions = payments.page(tx, owner.number, query)
        except UnknownCursor:
            raise InvalidField(
                "after", "The cursor is not a payment of this account and mode.", kind="cursor"
            ) from None
        shown = positions[: query.limit]
        next_cursor = None
        if len(positions) > query.limit:
            next_cursor = payments.get(tx, shown[-1]).id
        return Page(
            bodies=[self._rendered.at(at) or self._render(payments.get(tx, at)) for at in shown],
            next_cursor=next_cursor,
        )

    def _render(self, payment: Payment) -> bytes:
        body = payment_json(payment).encode()
        self._rendered.put(payment.position, payment.id, body)
        return body


def _replayed(payment: Payment) -> Created:
    """The answer of the request that created a payment: what can change is as it was then."""
    first = replace(payment, status=Status.PENDING, method=None, reason=None, completed_at=None)
    return Created(id=first.id, body=payment_json(first).encode(), is_replay=True)
