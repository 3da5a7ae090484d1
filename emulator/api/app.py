"""The contract's three calls as one plain ASGI application, in the order of its checks.

It is not made of Starlette's routes because it has three of them, authentication comes before
routing, and half of what a request costs would be the framework.
"""

from emulator import ids
from emulator.api.authentication import bearer_key
from emulator.api.bodies import ClientDisconnected, check_content_type, decode_object
from emulator.api.errors import (
    INTERNAL_ERROR_BODY,
    error_body,
    error_headers,
    status_of,
)
from emulator.api.exchange import (
    Connection,
    CutReply,
    Exchange,
    Header,
    Receive,
    Reply,
    Scope,
    Send,
    deliver,
    log_failure,
    write_down,
)
from emulator.api.parameters import CreateRules, check_order
from emulator.api.queries import KNOWN as KNOWN_QUERY
from emulator.api.queries import page_query, parse_query
from emulator.api.request_warnings import (
    RequestWarning,
    duplicate_parameters,
    first_objection,
    frequent_polling,
    idempotency_key_header,
    warning_header,
)
from emulator.clock import SystemClock
from emulator.domain.accounts import Mode
from emulator.domain.errors import (
    InvalidField,
    NotReady,
    RateLimitExceeded,
    Refusal,
    UnknownRoute,
    UnsupportedContentType,
)
from emulator.engine.accounts.account_registry import AccountRegistry
from emulator.engine.payments.faults import Faults
from emulator.engine.payments.payments import Payments
from emulator.engine.state.account import Owner
from emulator.storage.database import DatabaseLost
from emulator.storage.payments import PageQuery

COLLECTION = "/v1/payments"
USUAL_READS = 30
MAX_COUNTED_PAYMENTS = 10_000

_ITEM = COLLECTION + "/"
# As in `domain.faults.ApiRequest`, which starting does not need.
_CREATE, _RETRIEVE, _LIST = "create_payment", "retrieve_payment", "list_payments"
# In place of a status, where the client has gone away before it was answered.
NOBODY_THERE = 0
_JSON: Header = (b"content-type", b"application/json")
_NO_STORE: Header = (b"cache-control", b"no-store")
_REPLAYED: Header = (b"idempotent-replayed", b"true")


class PaymentsApi:
    """`POST /v1/payments`, `GET /v1/payments/{id}` and `GET /v1/payments`."""

    def __init__(
        self,
        *,
        accounts: AccountRegistry,
        payments: Payments,
        faults: Faults,
        rules: CreateRules,
        is_strict: bool,
        stream: bytes,
        wall: SystemClock,
    ) -> None:
        self._accounts = accounts
        self._payments = payments
        self._faults = faults
        self._rules = rules
        self._is_strict = is_strict
        self._wall = wall
        # The ids of requests that turn out to be nobody's.
        self._stream = stream
        self._strangers = 0
        self._verbs = {_CREATE: self._create, _RETRIEVE: self._retrieve, _LIST: self._list}

    async def answer(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        line: Connection | None = None,
        started_ms: float = 0.0,
    ) -> int:
        """Answer a request; returns the status, 0 when nothing was answered."""
        exchange = Exchange(scope, receive)
        try:
            key = bearer_key(exchange.headers.get(b"authorization"))
            owner = self._accounts.known_owner(key) or await self._accounts.owner_of(key)
            exchange.owner, exchange.generation = owner, owner.account.generation
            reply = await self._reply(exchange, owner)
        except (NotReady, DatabaseLost):
            # At the very end, or for good: the contract's statuses have no 503.
            reply = Reply(500, INTERNAL_ERROR_BODY, [])
        except Refusal as refusal:
            reply = _refused(refusal)
        except ClientDisconnected:
            if line is not None and line.body_error is not None:
                reply = _refused(line.body_error)
            else:
                reply = CutReply(NOBODY_THERE, b"", [], cut_at=None)
        except Exception as error:  # noqa: BLE001 - logged; the client gets the contract's 500
            log_failure(scope, scope["path"], error)
            reply = Reply(500, INTERNAL_ERROR_BODY, [])
        # A life that is over counts and keeps no more requests.
        keeper = None if exchange.is_of_another_life else exchange.owner
        request_id = self._request_id(keeper)
        if keeper is not None:
            took_ms = self._wall.monotonic_ms() - started_ms
            write_down(exchange, keeper, request_id, reply, took_ms)
        headers = reply.headers
        if exchange.odd:
            headers.append((b"emulator-warning", warning_header(exchange.odd)))
        headers += [
            _JSON,
            (b"content-length", b"%d" % len(reply.body)),
            _NO_STORE,
            (b"request-id", request_id),
        ]
        if line is not None and reply.is_whole:
            line.reply(reply.status, headers, reply.body)
            return reply.status
        if reply.status != NOBODY_THERE:
            await deliver(reply, send, line)
        return reply.sent_status

    def _request_id(self, owner: Owner | None) -> bytes:
        if owner is None:
            self._strangers += 1
            return ids.request_id(self._stream, self._strangers)
        owner.requests += 1
        return ids.request_id(owner.request_stream, owner.requests)

    async def _reply(self, exchange: Exchange, owner: Owner) -> Reply:
        _check_rate(owner)
        if b"idempotency-key" in exchange.headers:
            exchange.odd.append(idempotency_key_header())
        request = _request(exchange.scope)
        if owner.account.rules.faults:
            return await self._reply_or_fail(exchange, owner, request)
        return await self._verbs[request](exchange, owner)

    async def _reply_or_fail(self, exchange: Exchange, owner: Owner, request: str) -> Reply:
        """The true answer, or what the fault that a scenario has for it makes of it."""
        chosen = await self._faults.choose(owner, request)
        if chosen is None:
            return await self._verbs[request](exchange, owner)
        from emulator.api.fault_injection import inject_after, inject_before, is_late

        effect = chosen.rule.then.effect
        if not is_late(effect):
            exchange.fault = chosen
            if request == _CREATE:
                await exchange.keep_body()
            spoiled = await inject_before(effect, self._wall)
            if spoiled is None and exchange.is_of_another_life:
                # What it was meant for is gone, and so is what the client waited for.
                return CutReply(500, b"", [], cut_at=None)
            return spoiled or await self._verbs[request](exchange, owner)
        # Whatever is refused had nothing to lose, and goes its way as a refusal.
        reply = await self._verbs[request](exchange, owner)
        if await self._faults.spend(owner, chosen, generation=exchange.generation):
            exchange.fault, exchange.instead_of = chosen, reply.status
            reply = await inject_after(effect, self._wall, reply)
        return reply

    async def _create(self, exchange: Exchange, owner: Owner) -> Reply:
        odd, query = exchange.odd, exchange.scope["query_string"]
        try:
            check_content_type(exchange.headers.get(b"content-type"))
        except UnsupportedContentType:
            await exchange.keep_body()
            raise
        body, repeated = decode_object(await exchange.read())
        if query:
            parse_query(query, (), odd)
        order = check_order(body, self._rules, odd)
        if repeated:
            odd.extend(duplicate_parameters(repeated))
        created = await self._payments.create(owner, order, objection=self._objection(odd))
        extra = [(b"location", f"{_ITEM}{created.id}".encode())]
        if created.is_replay:
            exchange.is_replay = True
            extra.append(_REPLAYED)
        return Reply(201, created.body, extra)

    async def _retrieve(self, exchange: Exchange, owner: Owner) -> Reply:
        odd, query = exchange.odd, exchange.scope["query_string"]
        payment_id = exchange.scope["path"][len(_ITEM) :]
        if query:
            parse_query(query, (), odd)
        body = await self._payments.retrieve(owner, payment_id)
        if owner.mode is Mode.LIVE:
            _count_read(owner, payment_id, odd)
        self._object(odd)
        return Reply(200, body, [])

    async def _list(self, exchange: Exchange, owner: Owner) -> Reply:
        odd = exchange.odd
        values = parse_query(exchange.scope["query_string"], KNOWN_QUERY, odd)
        try:
            query = page_query(values, self._rules.methods, odd)
        except InvalidField as refusal:
            # The cursor comes second in the contract's table, but takes a look at the payments.
            if refusal.param != "limit" and "after" in values:
                await self._payments.page(owner, PageQuery(limit=1, after=values["after"]))
            raise
        page = await self._payments.page(owner, query)
        self._object(odd)
        has_more = page.next_cursor is not None
        tail = b'"%s"' % page.next_cursor.encode() if page.next_cursor is not None else b"null"
        body = b'{"data":[%s],"has_more":%s,"next_cursor":%s}' % (
            b",".join(page.bodies),
            b"true" if has_more else b"false",
            tail,
        )
        return Reply(200, body, [])

    def _objection(self, odd: list[RequestWarning]) -> Refusal | None:
        return first_objection(odd) if odd and self._is_strict else None

    def _object(self, odd: list[RequestWarning]) -> None:
        objection = self._objection(odd)
        if objection is not None:
            raise objection


def _refused(refusal: Refusal) -> Reply:
    return Reply(status_of(refusal), error_body(refusal), error_headers(refusal))


def _request(scope: Scope) -> str:
    """Which of the contract's requests it is. Raises UnknownRoute."""
    method, path = scope["method"], scope["path"]
    if path == COLLECTION:
        if method == "POST":
            return _CREATE
        if method == "GET":
            return _LIST
    elif method == "GET" and path.startswith(_ITEM):
        payment_id = path[len(_ITEM) :]
        if payment_id and "/" not in payment_id:
            return _RETRIEVE
    raise UnknownRoute(method, path)


def _check_rate(owner: Owner) -> None:
    if owner.bucket is None:
        return
    clock = owner.account.clock
    wait_ms = owner.bucket.take(clock.now())
    if wait_ms:
        raise RateLimitExceeded(
            retry_after_s=max(1, -(-wait_ms // 1000)), clock_is_frozen=clock.is_frozen
        )


def _count_read(owner: Owner, payment_id: str, odd: list[RequestWarning]) -> None:
    """Polling is meant for use before going live (contract, 4.2)."""
    reads = owner.reads.pop(payment_id, 0) + 1
    if len(owner.reads) >= MAX_COUNTED_PAYMENTS:
        del owner.reads[next(iter(owner.reads))]
    owner.reads[payment_id] = reads
    if reads > USUAL_READS:
        odd.append(frequent_polling())
