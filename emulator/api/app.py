"""The contract's three calls as one plain ASGI application, in the order of its checks.

It is not made of Starlette's routes because it has three of them, authentication comes before
routing, and half of what a request costs would be the framework.
"""

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from emulator import ids
from emulator.api.authentication import bearer_key
from emulator.api.bodies import ClientGone, check_content_type, decode_object, read_body
from emulator.api.errors import (
    INTERNAL_ERROR_BODY,
    error_body,
    error_headers,
    status_of,
)
from emulator.api.oddities import (
    Oddity,
    duplicate_parameters,
    first_objection,
    frequent_polling,
    idempotency_key_header,
    warning_header,
)
from emulator.api.parameters import CreateRules, check_order
from emulator.api.queries import KNOWN as KNOWN_QUERY
from emulator.api.queries import page_query, parse_query
from emulator.domain.accounts import Mode
from emulator.domain.errors import InvalidField, NotReady, RateLimitExceeded, Refusal, UnknownRoute
from emulator.engine.accounts import Owner
from emulator.engine.directory import Directory
from emulator.engine.payments import Payments
from emulator.storage.payments import PageQuery

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]
WriteWhole = Callable[[int, list[Header], bytes], None]

COLLECTION = "/v1/payments"
# Where a server that can write a whole response in one go says how: ASGI takes two messages.
WHOLE_REPLY = "emulator.whole_reply"
USUAL_READS = 30
MOST_COUNTED_PAYMENTS = 10_000

_ITEM = COLLECTION + "/"
_JSON: Header = (b"content-type", b"application/json")
_NO_STORE: Header = (b"cache-control", b"no-store")
_REPLAYED: Header = (b"idempotent-replayed", b"true")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Reply:
    """What is going to be answered."""

    status: int
    body: bytes
    headers: list[Header]


class PaymentsApi:
    """`POST /v1/payments`, `GET /v1/payments/{id}` and `GET /v1/payments`."""

    def __init__(
        self,
        *,
        directory: Directory,
        payments: Payments,
        rules: CreateRules,
        is_strict: bool,
        stream: bytes,
    ) -> None:
        self._directory = directory
        self._payments = payments
        self._rules = rules
        self._is_strict = is_strict
        # The ids of requests that turn out to be nobody's.
        self._stream = stream
        self._strangers = 0

    async def answer(
        self, scope: Scope, receive: Receive, send: Send, write_whole: WriteWhole | None = None
    ) -> int:
        """Answer a request; returns the status, 0 when the client has gone away."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        owner: Owner | None = None
        odd: list[Oddity] = []
        try:
            key = bearer_key(headers.get(b"authorization"))
            owner = self._directory.known_owner(key) or await self._directory.owner_of(key)
            reply = await self._reply(owner, scope, headers, receive, odd)
        except Refusal as refusal:
            reply = Reply(status_of(refusal), error_body(refusal), error_headers(refusal))
        except ClientGone:
            return 0
        except NotReady:
            # At the very end; the contract's statuses have no 503.
            reply = Reply(500, INTERNAL_ERROR_BODY, [])
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            reply = Reply(500, INTERNAL_ERROR_BODY, [])
        if odd:
            reply.headers.append((b"emulator-warning", warning_header(odd)))
        reply.headers += [
            _JSON,
            (b"content-length", b"%d" % len(reply.body)),
            _NO_STORE,
            (b"request-id", self._request_id(owner)),
        ]
        if write_whole is not None:
            write_whole(reply.status, reply.headers, reply.body)
        else:
            await send(
                {"type": "http.response.start", "status": reply.status, "headers": reply.headers}
            )
            await send({"type": "http.response.body", "body": reply.body})
        return reply.status

    def _request_id(self, owner: Owner | None) -> bytes:
        if owner is None:
            self._strangers += 1
            return ids.request_id(self._stream, self._strangers)
        owner.requests += 1
        return ids.request_id(owner.request_stream, owner.requests)

    async def _reply(
        self,
        owner: Owner,
        scope: Scope,
        headers: dict[bytes, bytes],
        receive: Receive,
        odd: list[Oddity],
    ) -> Reply:
        _check_rate(owner)
        if b"idempotency-key" in headers:
            odd.append(idempotency_key_header())
        method, path = scope["method"], scope["path"]
        if path == COLLECTION:
            if method == "POST":
                return await self._create(owner, scope, headers, receive, odd)
            if method == "GET":
                return await self._list(owner, scope, odd)
        elif method == "GET" and path.startswith(_ITEM):
            payment_id = path[len(_ITEM) :]
            if payment_id and "/" not in payment_id:
                return await self._retrieve(owner, payment_id, scope, odd)
        raise UnknownRoute(method, path)

    async def _create(
        self,
        owner: Owner,
        scope: Scope,
        headers: dict[bytes, bytes],
        receive: Receive,
        odd: list[Oddity],
    ) -> Reply:
        check_content_type(headers.get(b"content-type"))
        raw = await read_body(headers, receive)
        body, repeated = decode_object(raw)
        if scope["query_string"]:
            parse_query(scope["query_string"], (), odd)
        order = check_order(body, self._rules, odd)
        if repeated:
            odd.extend(duplicate_parameters(repeated))
        created = await self._payments.create(owner, order, objection=self._objection(odd))
        extra = [(b"location", f"{_ITEM}{created.id}".encode())]
        if created.is_replay:
            extra.append(_REPLAYED)
        return Reply(201, created.body, extra)

    async def _retrieve(
        self, owner: Owner, payment_id: str, scope: Scope, odd: list[Oddity]
    ) -> Reply:
        if scope["query_string"]:
            parse_query(scope["query_string"], (), odd)
        body = await self._payments.retrieve(owner, payment_id)
        if owner.mode is Mode.LIVE:
            _count_read(owner, payment_id, odd)
        self._object(odd)
        return Reply(200, body, [])

    async def _list(self, owner: Owner, scope: Scope, odd: list[Oddity]) -> Reply:
        values = parse_query(scope["query_string"], KNOWN_QUERY, odd)
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

    def _objection(self, odd: list[Oddity]) -> Refusal | None:
        return first_objection(odd) if odd and self._is_strict else None

    def _object(self, odd: list[Oddity]) -> None:
        objection = self._objection(odd)
        if objection is not None:
            raise objection


def _check_rate(owner: Owner) -> None:
    if owner.bucket is None:
        return
    clock = owner.account.clock
    wait_ms = owner.bucket.take(clock.now())
    if wait_ms:
        raise RateLimitExceeded(
            retry_after_s=max(1, -(-wait_ms // 1000)), clock_is_frozen=clock.is_frozen
        )


def _count_read(owner: Owner, payment_id: str, odd: list[Oddity]) -> None:
    """Polling is meant for use before going live (contract, 4.2)."""
    reads = owner.reads.pop(payment_id, 0) + 1
    if len(owner.reads) >= MOST_COUNTED_PAYMENTS:
        del owner.reads[next(iter(owner.reads))]
    owner.reads[payment_id] = reads
    if reads > USUAL_READS:
        odd.append(frequent_polling())
