"""The ASGI layers around the routes, from the outside in.

JournalLayer          completes each response of the contract, and stores it in the journal
ErrorLayer            responds to what the inner layers and the routes raise
AuthenticationLayer   finds the owner of a key, and takes a token of the owner's bucket: before
                      routing, also for unknown paths

Then follow the route, the scripted fault of a call (`fault_injection`) and the call itself, which
sets the reply in the exchange; JournalLayer sends it. The layers of the contract pass other
requests on: `is_contract` decides which these are.
"""

import json
import logging
import re
from collections.abc import Callable, Collection
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator import ids
from emulator.domain import errors
from emulator.domain.accounts import TokenBucket
from emulator.domain.effects import Cut
from emulator.domain.errors import UnknownRoute
from emulator.domain.instants import REAL_RATE, Instant
from emulator.domain.variant_effects import VariedMessage
from emulator.domain.variants import Variants
from emulator.server.api.errors import INTERNAL_ERROR_BODY
from emulator.server.api.exchange import (
    EXCHANGE,
    JSON,
    NO_STATUS,
    Exchange,
    Reply,
    add_to_journal,
    bearer_key,
    log_failure,
    refused,
    shown_path,
)
from emulator.server.api.request_warnings import RequestWarning, warning_header
from emulator.server.engine.engine import Engine
from emulator.server.engine.state.account import OWNER_OF_REQUEST, Owner

# The members of a scope with the id of its request, and with the status of a begun response.
REQUEST_ID = "emulator.request_id"
STATUS = "emulator.status"
# The member with the connection of a request, for faults that cut it. Only the server of this
# package sets it.
TRANSPORT = "emulator.transport"

IsContract = Callable[[Scope], bool]

logger = logging.getLogger(__name__)
_CLOSES = "connection-close"
# The id of a payment begins with its ordinal.
_ORDINAL = slice(len(b"/v1/payments/pay_"), len(b"/v1/payments/pay_000000"))


class JournalLayer:
    """Completes the responses of the contract: variants, journal entry and scripted cut."""

    def __init__(
        self, app: ASGIApp, *, engine: Engine, is_contract: IsContract, stream: bytes
    ) -> None:
        """`stream` is the stream of the ids of requests without an owner."""
        self._app = app
        self._engine = engine
        self._is_contract = is_contract
        self._stream = stream
        self._unauthenticated_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_contract(scope):
            await self._app(scope, receive, send)
            return
        wall = self._engine.wall
        exchange = scope[EXCHANGE] = Exchange(
            method=scope["method"],
            path=scope["path"],
            raw_path=scope["raw_path"],
            query=scope["query_string"],
            headers=dict(scope["headers"]),
            receive=receive,
            started_ms=wall.monotonic_ms(),
        )
        await self._app(scope, receive, send)
        # Without a reply, the client has disconnected.
        reply = exchange.reply or Reply()
        # The scope would refer to itself through `receive`, and wait for a garbage collection.
        del scope[EXCHANGE]
        ended_ms = wall.monotonic_ms()
        if exchange.cut is not None and TRANSPORT not in scope:
            logger.error("a fault cuts connections only under `serve`: the response is 500")
            exchange.cut, reply = None, Reply(500, INTERNAL_ERROR_BODY)
        scope[REQUEST_ID] = self._complete(exchange, reply, ended_ms)
        if exchange.cut is not None:
            # Before the response, or after half of its body.
            if exchange.cut is Cut.BEFORE_RESPONSE:
                scope[TRANSPORT].abort()
            else:
                await reply.send(send, length=len(reply.body) // 2)
                scope[TRANSPORT].close()
            while (await receive())["type"] != "http.disconnect":
                pass
        elif reply.status != NO_STATUS:
            await reply.send(send)

    def _complete(self, exchange: Exchange, reply: Reply, ended_ms: float) -> bytes:
        """Change the reply by the variants of its account, and store it; returns its request id."""
        owner = exchange.owner
        if owner is None:
            variants = self._engine.accounts.first.variants
        elif exchange.is_outdated:
            # After a reset, the account neither counts nor stores the request.
            owner = variants = None
        else:
            variants = owner.account.variants
        if owner is None:
            self._unauthenticated_requests += 1
            ordinal = self._unauthenticated_requests
            request_id = ids.request_id(self._stream, ordinal)
        else:
            request_id, ordinal = exchange.id_of(owner), owner.requests
        if variants is not None and reply.status != NO_STATUS:
            now_ms = self._engine.wall.system_ms()
            vary(exchange, reply, variants, ordinal=ordinal, now_ms=now_ms)
        if owner is not None:
            add_to_journal(exchange, owner, reply, ended_ms=ended_ms)
        if exchange.warnings:
            reply.headers.append((b"emulator-warning", warning_header(exchange.warnings)))
        return request_id


class ErrorLayer:
    """Responds to what the inner layers and the routes raise, with the contract's error object."""

    def __init__(self, app: ASGIApp, *, is_contract: IsContract) -> None:
        self._app = app
        self._is_contract = is_contract

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - logged, unless it is a refusal
            reply = self._reply_to(error, scope)
            exchange: Exchange | None = scope.get(EXCHANGE)
            if exchange is not None:
                exchange.reply = reply
            elif STATUS not in scope:
                await reply.send(send)

    def _reply_to(self, error: Exception, scope: Scope) -> Reply:
        if isinstance(error, errors.NotReady) and self._is_contract(scope):
            # At shutdown: the contract has no 503.
            return Reply(500, INTERNAL_ERROR_BODY)
        if isinstance(error, errors.Refusal):
            return refused(error)
        log_failure(scope["method"], shown_path(scope["raw_path"]), error)
        return Reply(500, INTERNAL_ERROR_BODY)


class AuthenticationLayer:
    """Finds the owner of the key of a request of the contract (section 5), and checks its rate."""

    def __init__(
        self, app: ASGIApp, *, engine: Engine, check_host: Callable[[Scope], object]
    ) -> None:
        self._app = app
        self._engine = engine
        self._check_host = check_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises MissingApiKey, InvalidApiKey, RateLimitExceeded.

        Raises ForbiddenOrigin for a browser at a foreign host.
        """
        exchange: Exchange | None = scope.get(EXCHANGE)
        if exchange is not None:
            # Only browsers send it. The demo key is public, so a web page could use it.
            if b"sec-fetch-site" in exchange.headers:
                self._check_host(scope)
            key, accounts = bearer_key(scope["headers"]), self._engine.accounts
            owner = accounts.by_key.get(key) or await accounts.owner_of(key)
            exchange.owner, exchange.generation = owner, owner.account.generation
            scope[OWNER_OF_REQUEST] = owner
            if owner.bucket is not None:
                try:
                    _check_rate(owner, owner.bucket)
                except errors.RateLimitExceeded:
                    # The checklist compares the body with the body of a repetition.
                    await exchange.read_for_journal()
                    raise
            if b"idempotency-key" in exchange.headers:
                exchange.warnings.append(
                    RequestWarning("idempotency-key-header", errors.IdempotencyKeyHeader())
                )
        await self._app(scope, receive, send)


def _check_rate(owner: Owner, bucket: TokenBucket) -> None:
    clock = owner.account.clock
    wait_ms = bucket.take(clock.now())
    if wait_ms:
        # In seconds of real time, because that is what the client waits.
        rate = REAL_RATE if clock.is_frozen else clock.rate_thousandths
        raise errors.RateLimitExceeded(
            retry_after_s=max(1, -(-wait_ms // rate)), clock_is_frozen=clock.is_frozen
        )


def vary(
    exchange: Exchange, reply: Reply, variants: Variants, *, ordinal: int, now_ms: Instant
) -> None:
    """Change a reply, unless the client gets none or a gateway has written it.

    `ordinal` is the number of the response. A create call and its replays have the same variants.
    """
    if exchange.is_of_gateway or exchange.cut is Cut.BEFORE_RESPONSE:
        return
    message = VariedMessage(
        value=json.loads(reply.body) if reply.body.startswith(b"{") else None,
        status=reply.status,
        headers=dict(reply.headers[1:]),
        is_replay=exchange.is_replay,
        now_ms=now_ms,
    )
    location = message.headers.get(b"location")
    if location is None:
        names = variants.vary(message, "response", ordinal)
    else:
        names = variants.vary(message, f"creation {location[_ORDINAL].decode()}")
    if not names:
        return
    exchange.variants = names
    name, media_type = JSON
    reply.headers = [(name, media_type + message.charset.encode()), *message.headers.items()]
    reply.headers.append((b"emulator-variant", ",".join(names).encode()))
    if _CLOSES in names:
        reply.headers.append((b"connection", b"close"))
    if message.value is not None:
        reply.body = message.body().encode()
    reply.status = message.status


class CallRoute(Route):
    """A route without Starlette's 405 and without a HEAD that is not named in `methods`."""

    def __init__(
        self, path: str, endpoint: Callable[..., Any], *, methods: Collection[str], name: str
    ) -> None:
        super().__init__(path, endpoint, methods=methods, name=name)
        self.methods = self._methods = set(methods)
        # Starlette's expression ends with `$`, which also matches before a line feed at the end.
        self.path_regex = re.compile(self.path_regex.pattern.removesuffix("$") + r"\Z")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """No match for another method: the path is then of an unknown route."""
        if scope["method"] in self._methods:
            found = self.path_regex.match(scope["path"])
            if found is not None:
                return Match.FULL, {"endpoint": self.endpoint, "path_params": found.groupdict()}
        return Match.NONE, {}


async def unknown_route(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    """The application of all other paths. Raises UnknownRoute."""
    raise UnknownRoute(scope["method"], scope["path"])
