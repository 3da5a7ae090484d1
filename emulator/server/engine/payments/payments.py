"""Creates, retrieves and lists payments (contract, section 4)."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b

import msgspec

from emulator import ids
from emulator.domain.errors import (
    IdempotencyKeyInUse,
    IdempotencyKeyReused,
    InvalidField,
    NotReady,
    Refusal,
)
from emulator.domain.instants import Instant
from emulator.domain.payment import (
    CREATION,
    DEFAULT_EXPIRES_IN_S,
    FINAL_STATUSES,
    ORDER_TERMS,
    NewEvent,
    OrderTerms,
    Payment,
    Status,
    Terms,
)
from emulator.domain.transitions import Change
from emulator.domain.variant_effects import UNKNOWN_METHOD
from emulator.domain.variants import Variants
from emulator.domain.webhooks import MAX_HEAD_START_MS
from emulator.server.engine.payments.scheduler import EngineContext, EngineService
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.rule_choice import expiry_ms, may_have_delivery_faults
from emulator.server.engine.state.wire import payment_json
from emulator.server.storage import deliveries, payments
from emulator.server.storage.batch import LAST_ORDINAL, Transaction
from emulator.server.storage.database import reads
from emulator.server.storage.payments import NewPayment, PageQuery, UnknownCursor, UsedKey

KEY_RETENTION_MS = 24 * 3_600_000
MAX_WAIT_FOR_KEY_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(OrderTerms):
    """The parameters of a valid create call, with defaults."""

    amount_minor: int
    methods: tuple[str, ...]
    expires_in_s: int = DEFAULT_EXPIRES_IN_S
    idempotency_key: str | None = None
    unknown: str = ""
    """The parameters that the API does not know, in one order."""

    def fingerprint(self) -> bytes:
        """A digest that is equal for two requests with one idempotency key."""
        terms = [getattr(self, name) for name in ORDER_TERMS]
        parameters = (self.amount_minor, self.methods, *terms, self.expires_in_s, self.unknown)
        encoded = msgspec.json.encode(parameters, order="sorted")
        return blake2b(encoded, digest_size=16).digest()


class CreatedPayment(msgspec.Struct, frozen=True, kw_only=True):
    """A payment as it was created, now or by an earlier request with the same key.

    `is_final` is whether it is an earlier payment, on which the customer cannot pay any more.
    """

    id: str
    body: bytes
    is_replay: bool
    is_final: bool = False


class _Request(msgspec.Struct, frozen=True):
    """A create call that waits for its transaction."""

    owner: Owner
    order: Order
    objection: Refusal | None
    id: str | None


class _Draft(NewPayment, frozen=True, kw_only=True):
    """A payment that is decided but not yet written."""

    owner: Owner
    body: bytes


_UsedKeys = dict[int, dict[str, UsedKey]]
_Key = tuple[int, str]


class Payments(EngineService):
    """Creates and reads payments; `checkout_base` is the base of their `checkout_url`."""

    def __init__(self, context: EngineContext, checkout_base: str) -> None:
        super().__init__(context)
        self.checkout_base = checkout_base
        # The event is set when the key is free again.
        self._keys_in_use: dict[_Key, asyncio.Event] = {}
        # The last page of newest payments: the version of the cache, the owner and the limit.
        self._newest_page: tuple[tuple[int, int, int], bytes] | None = None

    async def create(
        self,
        owner: Owner,
        order: Order,
        *,
        objection: Refusal | None,
        request_id: str | None = None,
    ) -> CreatedPayment:
        """Create a payment, or return the one that the first request with its key created.

        `objection` is raised if the request has no other error. The event of the creation names
        `request_id`. Raises IdempotencyKeyReused, and IdempotencyKeyInUse after five seconds of
        waiting for an equal key (contract, 4.1).
        """
        account = owner.account
        if account.due_at <= account.clock.now():
            await self._scheduler.fire_due(account)
        request = _Request(owner, order, objection, request_id)
        if order.idempotency_key is None:
            created = await self._database.write_bulk(self._create, request)
        else:
            key = (owner.number, order.idempotency_key)
            await self._wait_for_key(key)
            self._keys_in_use[key] = asyncio.Event()
            try:
                created = await self._database.write_bulk(self._create, request)
            finally:
                self._keys_in_use.pop(key).set()
        self._scheduler.reschedule(owner.account)
        if owner.endpoints and not created.is_replay:
            await self._wait_for_webhook(owner, created.id)
        return created

    async def _wait_for_webhook(self, owner: Owner, payment_id: str) -> None:
        """Wait for the first attempts of the deliveries that come before the response.

        During an advance this returns at once: the advance makes them after the receiver of another
        event, which may be this caller, has responded.
        """
        if not may_have_delivery_faults(owner) or owner.account.advance.horizon is not None:
            return
        awaited = partial(deliveries.precedes_response, payment_id=payment_id)

        async def query() -> tuple[bool, None]:
            return not await self._database.read(awaited), None

        until = self._wall.now_ms() + MAX_HEAD_START_MS
        # When the program stops, the response is sent as well.
        with suppress(NotReady):
            await self._change_notifier.watch((owner,), query, until=until)

    async def _wait_for_key(self, key: _Key) -> None:
        deadline = self._wall.now_ms() + MAX_WAIT_FOR_KEY_MS
        while (released := self._keys_in_use.get(key)) is not None:
            await self._wall.wait(released, until=deadline)
            if not released.is_set():
                raise IdempotencyKeyInUse

    def _create(
        self, tx: Transaction, requests: Sequence[_Request]
    ) -> list[CreatedPayment | Exception]:
        """Decide each request, then insert all new payments in one statement."""
        used = _used_keys(tx, requests)
        answers: list[CreatedPayment | Exception] = []
        drafts: list[_Draft] = []
        for request in requests:
            try:
                decided = self._decide(tx, request, used)
            except Refusal as refusal:
                answers.append(refusal)
                continue
            if isinstance(decided, _Draft):
                drafts.append(decided)
                decided = CreatedPayment(id=decided.payment.id, body=decided.body, is_replay=False)
            answers.append(decided)
        if drafts:
            self._write(tx, drafts)
        return answers

    def _decide(
        self, tx: Transaction, request: _Request, used: _UsedKeys
    ) -> _Draft | CreatedPayment:
        owner, order = request.owner, request.order
        now = self._status_writer.fire_due(tx, owner.account)
        key, fingerprint, earlier = order.idempotency_key, None, None
        if key is not None:
            fingerprint = order.fingerprint()
            earlier = used[owner.number].get(key)
        is_replay = earlier is not None and now < earlier.used_at + KEY_RETENTION_MS
        if earlier is not None and is_replay and earlier.fingerprint != fingerprint:
            raise IdempotencyKeyReused
        if request.objection is not None:
            raise request.objection
        if earlier is not None:
            if is_replay:
                return _replayed(payments.get(tx, earlier.payment))
            payments.release_key(tx, earlier.payment)
        variants = owner.account.variants
        create = self._new_payment if variants is None else partial(self._new_varied, variants)
        payment = create(tx, owner, order, now)
        return _Draft(
            owner=owner,
            payment=payment,
            body=payment_json(payment),
            idempotency_key=key,
            fingerprint=fingerprint,
            request_id=request.id,
        )

    def _new_varied(
        self, variants: Variants, tx: Transaction, owner: Owner, order: Order, now: Instant
    ) -> Payment:
        """A payment of an account with variants; the first follows another account's payment."""
        is_first = tx.row_count("payments", owner.number) == 0
        if is_first and variants.chosen("unknown-method", "account"):
            self._pay_for_another(tx, owner, order, now)
        payment = self._new_payment(tx, owner, order, now)
        token = payment.terms.checkout_url.rpartition("/")[2]
        varied_token = variants.token(token, payment.position & LAST_ORDINAL)
        terms = replace(payment.terms, checkout_url=self._checkout_url(varied_token))
        return payment._replace(id=ids.payment_id(varied_token), terms=terms)

    def _pay_for_another(self, tx: Transaction, owner: Owner, order: Order, now: Instant) -> None:
        """Create the completed payment of another client, with an unknown method."""
        other = replace(
            order,
            methods=(UNKNOWN_METHOD,),
            metadata={},
            expires_in_s=DEFAULT_EXPIRES_IN_S,
        )
        payment = self._new_payment(tx, owner, other, now)
        self._write(tx, [_Draft(owner=owner, payment=payment, body=payment_json(payment))])
        for status in (Status.PROCESSING, Status.COMPLETED):
            payment = self._status_writer.apply(tx, owner, payment, Change(to=status), now=now)

    def _write(self, tx: Transaction, drafts: list[_Draft]) -> None:
        first_events = payments.insert(tx, drafts)
        for owner in dict.fromkeys(draft.owner for draft in drafts if draft.owner.endpoints):
            created = (
                (event, NewEvent(draft.payment, draft.payment.created_at, CREATION))
                for draft, event in zip(drafts, first_events, strict=True)
                if draft.owner is owner
            )
            self._webhooks.outbox.add(tx, owner, created)
        for draft in drafts:
            self._status_writer.expect(draft.owner.account, draft.payment.expires_at)
        tx.after_commit.append(partial(self._cache, drafts))

    def _cache(self, drafts: list[_Draft]) -> None:
        for draft in drafts:
            self._payment_cache.put_created(draft.payment.position, draft.payment.id, draft.body)

    def _new_payment(self, tx: Transaction, owner: Owner, order: Order, now: Instant) -> Payment:
        position = tx.next_position("payments", owner.number)
        token = ids.checkout_token(owner.stream, position & LAST_ORDINAL)
        terms = Terms(
            checkout_url=self._checkout_url(token),
            **{name: getattr(order, name) for name in ORDER_TERMS},
        )
        payment = Payment(
            position=position,
            id=ids.payment_id(token),
            amount_minor=order.amount_minor,
            methods=order.methods,
            terms=terms,
            created_at=now,
            expires_at=now + order.expires_in_s * 1000,
        )
        if owner.account.rules.with_expiry:
            scripted_ms = expiry_ms(tx, owner, payment)
            if scripted_ms is not None:
                payment = payment._replace(expires_at=now + scripted_ms)
        return payment

    def _checkout_url(self, token: str) -> str:
        return f"{self.checkout_base}/c/{token}"

    async def retrieve(self, owner: Owner, payment_id: str) -> bytes:
        """The payment object. Raises UnknownPayment (contract, 4.2)."""
        account = owner.account
        if account.due_at > account.clock.now():
            body = self._payment_cache.of(owner.number, payment_id)
            if body is not None:
                return body
        await self._scheduler.fire_due(account)
        return await self._retrieve(owner, payment_id)

    @reads()
    def _retrieve(self, tx: Transaction, owner: Owner, payment_id: str) -> bytes:
        return self._render(payments.find(tx, owner.number, payment_id))

    async def page(self, owner: Owner, query: PageQuery) -> bytes:
        """A page of payments, newest first, as JSON (contract, 4.3).

        Raises InvalidField for the cursor.
        """
        account = owner.account
        is_settled = account.due_at > account.clock.now() and not self._database.is_failing
        if query.is_of_newest and is_settled:
            version = (self._payment_cache.version, owner.number, query.limit)
            if self._newest_page is not None and self._newest_page[0] == version:
                return self._newest_page[1]
            newest = self._payment_cache.newest(owner.number, query.limit + 1)
            if newest is not None:
                page = _page_of(newest, query.limit)
                self._newest_page = (version, page)
                return page
        await self._scheduler.fire_due(account)
        return await self._page(owner, query)

    @reads()
    def _page(self, tx: Transaction, owner: Owner, query: PageQuery) -> bytes:
        try:
            positions = payments.page(tx, owner.number, query)
        except UnknownCursor:
            # One message for every such cursor: it must not reveal payments of other accounts.
            raise InvalidField(
                "after",
                '"after" must be the "next_cursor" of a page of this account and mode: the id of'
                " one of its payments. Leave it out for the first page.",
                kind="cursor",
            ) from None
        if query.is_of_newest and positions:
            self._payment_cache.set_last(positions[0])
        return _page_of([self._rendering_at(tx, at) for at in positions], query.limit)

    def _rendering_at(self, tx: Transaction, position: int) -> tuple[str, bytes]:
        rendered = self._payment_cache.at(position)
        if rendered is None:
            payment = payments.get(tx, position)
            rendered = (payment.id, self._render(payment))
        return rendered

    def _render(self, payment: Payment) -> bytes:
        body = payment_json(payment)
        self._payment_cache.put(payment.position, payment.id, body)
        return body


def _page_of(rendered: Sequence[tuple[str, bytes]], limit: int) -> bytes:
    """A page of these payments; there is a next one if they are more than its limit."""
    shown = rendered[:limit]
    has_more = len(rendered) > limit
    page = {
        "data": [msgspec.Raw(body) for _, body in shown],
        "has_more": has_more,
        "next_cursor": shown[-1][0] if has_more else None,
    }
    return msgspec.json.encode(page)


def _used_keys(tx: Transaction, requests: Sequence[_Request]) -> _UsedKeys:
    """The earlier uses of the requests' keys, by owner and key."""
    keys: dict[int, list[str]] = {}
    for request in requests:
        if request.order.idempotency_key is not None:
            keys.setdefault(request.owner.number, []).append(request.order.idempotency_key)
    return {owner: payments.used_keys(tx, owner, names) for owner, names in keys.items()}


def _replayed(payment: Payment) -> CreatedPayment:
    """The response of the request that created a payment: the payment as it was then."""
    first = payment._replace(
        expires_at=payment.created_at + payment.lifetime_ms,
        status=Status.PENDING,
        method=None,
        reason=None,
        completed_at=None,
    )
    is_final = payment.status in FINAL_STATUSES
    return CreatedPayment(id=first.id, body=payment_json(first), is_replay=True, is_final=is_final)
