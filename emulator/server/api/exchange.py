"""A request of the contract, its reply, and its journal entry."""

import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from emulator.domain.accounts import mask_key
from emulator.domain.errors import InvalidApiKey, MissingApiKey, Refusal, RequestTooLarge
from emulator.server.api.bodies import check_size, read_body
from emulator.server.api.request_warnings import RequestWarning, slugs_of
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.journal import ENTRY_BYTES, HEADERS, MAX_HEADER_BYTES
from emulator.server.storage.database import DatabaseLost

if TYPE_CHECKING:
    from emulator.server.engine.state.rules import FaultCandidate

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

_JOURNALED = [name.encode() for name in HEADERS]
COMMON_LINES = (
    b"content-type: application/json\r\ncontent-length: %d\r\ncache-control: no-store\r\n"
    b"request-id: %b\r\n"
)
# Of a request without a response.
NO_STATUS = 0
FIRST_ERROR = 400
_TOO_MANY_REQUESTS = 429

logger = logging.getLogger(__name__)


class ClientConnection(Protocol):
    """The client of a request."""

    # Why the rest of the body cannot be read, although the client is still connected.
    body_error: Refusal | None
    # Whether the connection ends with the response.
    is_last: bool
    # Whether the status line has one.
    has_reason_phrase: bool

    def reply(self, reply: "Reply", more_lines: bytes) -> None:
        """Write the response; `more_lines` follow its headers."""


def lines_of(headers: Iterable[Header]) -> bytes:
    """Headers as they are written."""
    return b"".join([b"%s: %s\r\n" % header for header in headers])


# Clients repeat few keys. An exception is not cached.
@lru_cache(maxsize=256)
def bearer_key(authorization: bytes | None) -> str:
    """The Bearer key (contract, section 5). Raises MissingApiKey; InvalidApiKey when not ASCII."""
    if authorization is None:
        raise MissingApiKey
    scheme, _, key = authorization.partition(b" ")
    key = key.strip()
    if scheme.lower() != b"bearer" or not key:
        raise MissingApiKey
    if not key.isascii():
        raise InvalidApiKey
    return key.decode("ascii")


def log_failure(method: str, path: str, error: Exception) -> None:
    """Log an error that no code expects. A lost database was logged when it was noticed."""
    if not isinstance(error, DatabaseLost):
        logger.error("%s %s failed", method, path, exc_info=error)


class Reply:
    """A response that is not sent yet.

    A fault may cut or drop it: `sent_body` is the part of the body that the client gets, and
    `sent_status` is NO_STATUS if it gets no byte. `lines` are its usual headers, which lack the
    length of its body and the id of its request.
    """

    lines = COMMON_LINES
    __slots__ = ("body", "headers", "is_cut", "is_dropped", "sent_body", "sent_status", "status")

    def __init__(self, status: int, body: bytes, headers: list[Header]) -> None:
        self.status = self.sent_status = status
        self.body = self.sent_body = body
        self.headers = headers
        self.is_cut = self.is_dropped = False

    def cut(self) -> "Reply":
        """Send only the first half of the body."""
        self.is_cut = True
        self.sent_body = self.body[: len(self.body) // 2]
        return self

    def drop(self) -> "Reply":
        """Send nothing."""
        self.is_dropped = True
        self.sent_status, self.sent_body = NO_STATUS, b""
        return self


class GatewayReply(Reply):
    """The error of a gateway in front of the service, which is not JSON."""

    __slots__ = ("lines",)

    def __init__(self, status: int, body: bytes, headers: list[Header], *, lines: bytes) -> None:
        super().__init__(status, body, headers)
        self.lines = lines


class Headers(dict[bytes, bytes]):
    """The headers of a request by name; requests with the same header lines share them."""

    @cached_property
    def journaled(self) -> tuple[tuple[Header, ...], int]:
        """Those that the journal has, cut and with a masked key, and their length."""
        chosen = {name: self[name][:MAX_HEADER_BYTES] for name in _JOURNALED if name in self}
        scheme, _, key = chosen.get(b"authorization", b"").partition(b" ")
        if key:
            masked = mask_key(key.strip().decode("latin-1")).encode()
            chosen[b"authorization"] = b"%b %b" % (scheme, masked)
        return tuple(chosen.items()), sum(map(len, chain(*chosen.items())))


class Exchange(msgspec.Struct, eq=False):
    """A request in progress.

    `received` is its body if that arrived before it is processed; otherwise `receive` reads it.
    `fault` is the fault rule that applied, and `instead_of` the status of the reply that it
    replaced, if any. `variants` are those of the response.
    """

    method: str
    path: str
    raw_path: bytes
    query: bytes
    headers: Headers
    received: bytes
    # Of the monotonic clock.
    started_ms: float
    ended_ms: float = 0.0
    owner: Owner | None = None
    # The number of resets of the account when the request arrived.
    generation: int = 0
    # Generated when it is first needed.
    request_id: bytes = b""
    body: bytes = b""
    warnings: list[RequestWarning] = []
    variants: tuple[str, ...] = ()
    is_replay: bool = False
    fault: "FaultCandidate | None" = None
    instead_of: int | None = None
    receive: Receive | None = None
    _is_read: bool = False
    _too_large: RequestTooLarge | None = None

    @property
    def is_outdated(self) -> bool:
        """Whether the account was reset since the request arrived."""
        return self.owner is not None and self.owner.account.generation != self.generation

    async def read(self) -> bytes:
        """The body, read once. Raises RequestTooLarge, ClientDisconnected."""
        if not self._is_read:
            self._is_read = True
            try:
                if self.receive is not None:
                    self.body = await read_body(self.headers, self.receive)
                else:
                    check_size(len(self.received))
                    self.body = self.received
            except RequestTooLarge as refusal:
                self._too_large = refusal
        if self._too_large is not None:
            raise self._too_large
        return self.body

    async def read_for_journal(self) -> None:
        """Read the body of a refused request for its journal entry."""
        with suppress(RequestTooLarge):
            await self.read()


def add_to_journal(exchange: Exchange, owner: Owner, request_id: bytes, reply: Reply) -> None:
    """Store a request in the journal, unformatted, because this runs for every request."""
    request_body, sent, status = exchange.body, reply.sent_body, reply.sent_status
    path, query = exchange.raw_path, exchange.query
    headers, headers_bytes = exchange.headers.journaled
    lengths = len(path) + len(query) + len(request_body) + len(sent)
    owner.journal.add(
        (
            request_id,
            owner.account.clock.now(),
            exchange.method,
            path,
            query,
            status,
            request_body,
            sent,
            slugs_of(exchange.warnings) if exchange.warnings else (),
            exchange.variants,
            reply.body if reply.status >= FIRST_ERROR and reply.lines is COMMON_LINES else b"",
            exchange.is_replay,
            exchange.fault,
            exchange.instead_of,
            exchange.ended_ms - exchange.started_ms,
            exchange.ended_ms,
            dict(reply.headers).get(b"retry-after", b"") if status == _TOO_MANY_REQUESTS else b"",
            headers,
            False,
            ENTRY_BYTES + lengths + headers_bytes,
        )
    )
