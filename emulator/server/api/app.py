"""The ASGI application of the contract's three calls.

It does not use Starlette's routes: authentication comes before routing, and the framework would
take half of the time of a request.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from emulator import ids
from emulator.clock import SystemClock
from emulator.domain import errors
from emulator.domain.accounts import Mode
from emulator.domain.instants import REAL_RATE
from emulator.domain.rate_limit import TokenBucket
from emulator.server.api.bodies import ClientDisconnected, check_content_type, decode_object
from emulator.server.api.errors import INTERNAL_ERROR_BODY, error_body, error_headers, status_of
from emulator.server.api.exchange import (
    COMMON_LINES,
    NO_STATUS,
    ClientConnection,
    Exchange,
    Header,
    Reply,
    add_to_journal,
    bearer_key,
    log_failure,
)
from emulator.server.api.parameters import CreateRules, check_order
from emulator.server.api.queries import KNOWN as KNOWN_QUERY
from emulator.server.api.queries import page_query, parse_query
from emulator.server.api.request_warnings import (
    RequestWarning,
    duplicate_parameters,
    first_strict_error,
    warning_header,
)
from emulator.server.engine.accounts.account_registry import AccountRegistry
from emulator.server.engine.delivery.webhooks import Webhooks
from emulator.server.engine.payments.payments import Payments
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.rule_choice import Faults
from emulator.server.storage.database import DatabaseLost
from emulator.server.storage.payments import PageQuery

if TYPE_CHECKING:
    from emulator.domain.variants import Variants

COLLECTION = "/v1/payments"
USUAL_READS = 30
MAX_COUNTED_PAYMENTS = 10_000

_ITEM = COLLECTION + "/"
# The values of `domain.faults.ApiRequest`, which is not imported at start.
_CREATE, _RETRIEVE, _LIST = "create_payment", "retrieve_payment", "list_payments"
_REPLAYED: Header = (b"idempotent-replayed", b"true")


class PaymentsApi:
    """`POST /v1/payments`, `GET /v1/payments/{id}` and `GET /v1/payments`."""

    def __init__(
        self,
        *,
        accounts: AccountRegistry,
        payments: Payments,
        faults: Faults,
        webhooks: Webhooks,
        rules: CreateRules,
        is_strict: bool,
        stream: bytes,
        wall: SystemClock,
    ) -> None:
        self._accounts = accounts
        self._payments = payments
        self._faults = faults
        self._webhooks = webhooks
        self._rules = rules
        self._is_strict = is_strict
        self._wall = wall
        # For the ids of unauthenticated requests.
        self._stream = stream
        self._unauthenticated_requests = 0
        self._operations = {_CREATE: self._create, _RETRIEVE: self._retrieve, _LIST: self._list}

    async def answer(  # noqa: C901 - a further call would take time in every request
        self, exchange: Exchange, client: ClientConnection
    ) -> Reply:
        """Respond to a request; returns the response."""
        try:
            key = bearer_key(exchange.headers.get(b"authorization"))
            owner = self._accounts.known_owner(key) or await self._accounts.owner_of(key)
            exchange.owner, exchange.generation = owner, owner.account.generation
            reply = await self._reply(exchange, owner)
        except (errors.NotReady, DatabaseLost):
            # At shutdown, or after the loss of the database: the contract has no 503.
            reply = Reply(500, INTERNAL_ERROR_BODY, [])
        except errors.Refusal as refusal:
            reply = _refused(refusal)
        except ClientDisconnected:
            no_reply = Reply(NO_STATUS, b"", []).drop()
            reply = no_reply if client.body_error is None else _refused(client.body_error)
        except Exception as error:  # noqa: BLE001 - logged; the client gets the contract's 500
            log_failure(exchange.method, exchange.path, error)
            reply = Reply(500, INTERNAL_ERROR_BODY, [])
        exchange.ended_ms = self._wall.monotonic_ms()
        owner_of_entry = exchange.owner
        if owner_of_entry is None:
            variants = self._accounts.first.variants
        elif owner_of_entry.account.generation == exchange.generation:
            variants = owner_of_entry.account.variants
        else:
            # After a reset, the account neither counts nor stores the request.
            owner_of_entry = variants = None
        request_id = exchange.request_id = self._request_id(exchange, owner_of_entry)
        lines = reply.lines
        if variants is not None and lines is COMMON_LINES:
            lines = self._vary(exchange, reply, variants)
        if owner_of_entry is not None:
            add_to_journal(exchange, owner_of_entry, request_id, reply)
        if exchange.warnings:
            reply.headers.append((b"emulator-warning", warning_header(exchange.warnings)))
        if variants is not None:
            client.is_last |= "connection-close" in exchange.variants
            client.has_reason_phrase = "reason-phrase" not in exchange.variants
        client.reply(reply, lines % (len(reply.body), request_id))
        return reply

    def _vary(self, exchange: Exchange, reply: Reply, variants: "Variants") -> bytes:
        """Change a reply; returns the lines of its common headers."""
        from emulator.server.api.variation import vary

        owner = exchange.owner
        ordinal = self._unauthenticated_requests if owner is None else owner.requests
        now_ms = self._wall.system_ms()
        return vary(exchange, reply, variants, ordinal=ordinal, now_ms=now_ms)

    def _request_id(self, exchange: Exchange, owner: Owner | None) -> bytes:
        """The id of a request; of an owner's request it is always the same."""
        if owner is None:
            self._unauthenticated_requests += 1
            return ids.request_id(self._stream, self._unauthenticated_requests)
        if not exchange.request_id:
            owner.requests += 1
            exchange.request_id = ids.request_id(owner.request_stream, owner.requests)
        return exchange.request_id

    async def _reply(self, exchange: Exchange, owner: Owner) -> Reply:
        if owner.bucket is not None:
            try:
                _check_rate(owner, owner.bucket)
            except errors.RateLimitExceeded:
                # The checklist compares the body with that of a repetition.
                await exchange.read_for_journal()
                raise
        if b"idempotency-key" in exchange.headers:
            exchange.warnings.append(
                RequestWarning("idempotency-key-header", errors.IdempotencyKeyHeader())
            )
        operation = _operation(exchange.method, exchange.path)
        if owner.account.rules.faults:
            return await self._reply_or_fail(exchange, owner, operation)
        return await self._operations[operation](exchange, owner)

    async def _reply_or_fail(self, exchange: Exchange, owner: Owner, operation: str) -> Reply:
        """The reply, with the effect of the fault rule that applies to the request."""
        chosen = await self._faults.choose(owner, operation)
        if chosen is None:
            return await self._operations[operation](exchange, owner)
        from emulator.server.api.fault_injection import inject_after, inject_before, is_late

        effect = chosen.rule.then.effect
        if not is_late(effect):
            exchange.fault = chosen
            if operation == _CREATE:
                await exchange.read_for_journal()
            faulty_reply = await inject_before(effect, self._wall)
            if faulty_reply is None and exchange.is_outdated:
                # The account was reset while the fault delayed the request.
                return Reply(500, b"", []).drop()
            return faulty_reply or await self._operations[operation](exchange, owner)
        # A late fault does not apply to a request that is refused.
        reply = await self._operations[operation](exchange, owner)
        hold = None
        if effect.until_delivery:
            # Before any other task runs: a delivery may be answered while the use is counted.
            hold = self._webhooks.holds.begin(owner, exchange.path[len(_ITEM) :] or None)
        if await self._faults.spend(owner, chosen, generation=exchange.generation):
            exchange.fault, exchange.instead_of = chosen, reply.status
            if hold is not None:
                await self._webhooks.holds.wait(hold)
            reply = await inject_after(effect, self._wall, reply)
        return reply

    async def _create(self, exchange: Exchange, owner: Owner) -> Reply:
        warnings, query = exchange.warnings, exchange.query
        try:
            check_content_type(exchange.headers.get(b"content-type"))
        except errors.UnsupportedContentType:
            await exchange.read_for_journal()
            raise
        body, repeated = decode_object(await exchange.read())
        if query:
            parse_query(query, (), warnings)
        order = check_order(body, self._rules, warnings)
        if repeated:
            warnings.extend(duplicate_parameters(repeated))
        created = await self._payments.create(
            owner,
            order,
            objection=self._strict_error(warnings),
            request_id=self._request_id(exchange, owner).decode(),
        )
        extra = [(b"location", f"{_ITEM}{created.id}".encode())]
        if created.is_replay:
            exchange.is_replay = True
            extra.append(_REPLAYED)
        return Reply(201, created.body, extra)

    async def _retrieve(self, exchange: Exchange, owner: Owner) -> Reply:
        warnings, query = exchange.warnings, exchange.query
        payment_id = exchange.path[len(_ITEM) :]
        if query:
            parse_query(query, (), warnings)
        body = await self._payments.retrieve(owner, payment_id)
        if owner.mode is Mode.LIVE:
            _count_read(owner, payment_id, warnings)
        self._check_strict(warnings)
        return Reply(200, body, [])

    async def _list(self, exchange: Exchange, owner: Owner) -> Reply:
        warnings = exchange.warnings
        values = parse_query(exchange.query, KNOWN_QUERY, warnings)
        body = await self.page_body(owner, values, warnings)
        self._check_strict(warnings)
        return Reply(200, body, [])

    async def page_body(
        self, owner: Owner, values: Mapping[str, str], warnings: list[RequestWarning]
    ) -> bytes:
        """The page of payments for the parameters of a list call. Raises InvalidField."""
        try:
            query = page_query(values, self._rules.methods, warnings)
        except errors.InvalidField as refusal:
            # The cursor is second in the contract's table, but its check reads the payments.
            if refusal.param != "limit" and "after" in values:
                await self._payments.page(owner, PageQuery(limit=1, after=values["after"]))
            raise
        return await self._payments.page(owner, query)

    def _strict_error(self, warnings: list[RequestWarning]) -> errors.Refusal | None:
        return first_strict_error(warnings) if warnings and self._is_strict else None

    def _check_strict(self, warnings: list[RequestWarning]) -> None:
        error = self._strict_error(warnings)
        if error is not None:
            raise error


def _refused(refusal: errors.Refusal) -> Reply:
    return Reply(status_of(refusal), error_body(refusal), error_headers(refusal))


def _operation(method: str, path: str) -> str:
    """The operation of a request. Raises UnknownRoute."""
    if path == COLLECTION:
        if method == "POST":
            return _CREATE
        if method == "GET":
            return _LIST
    elif method == "GET" and path.startswith(_ITEM):
        payment_id = path[len(_ITEM) :]
        if payment_id and "/" not in payment_id:
            return _RETRIEVE
    raise errors.UnknownRoute(method, path)


def _check_rate(owner: Owner, bucket: TokenBucket) -> None:
    clock = owner.account.clock
    wait_ms = bucket.take(clock.now())
    if wait_ms:
        # In seconds of real time, because that is what the client waits.
        rate = REAL_RATE if clock.is_frozen else clock.rate_thousandths
        raise errors.RateLimitExceeded(
            retry_after_s=max(1, -(-wait_ms // rate)), clock_is_frozen=clock.is_frozen
        )


def _count_read(owner: Owner, payment_id: str, warnings: list[RequestWarning]) -> None:
    """Warn of polling in live mode (contract, 4.2)."""
    reads = owner.reads.pop(payment_id, 0) + 1
    if len(owner.reads) >= MAX_COUNTED_PAYMENTS:
        del owner.reads[next(iter(owner.reads))]
    owner.reads[payment_id] = reads
    if reads > USUAL_READS:
        warnings.append(RequestWarning("frequent-polling", None))
