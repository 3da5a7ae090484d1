"""A request of the contract, its reply, and its journal entry."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import quote

import msgspec
from starlette.types import Receive, Scope, Send

from emulator import ids
from emulator.domain.accounts import mask_keys
from emulator.domain.effects import Cut
from emulator.domain.errors import InvalidApiKey, MissingApiKey, Refusal, RequestTooLarge
from emulator.domain.message_text import escape_controls, received
from emulator.server.api.bodies import read_body
from emulator.server.api.errors import error_body, error_headers, status_of
from emulator.server.api.request_warnings import RequestWarning, slugs_of
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.journal import (
    ENTRY_BYTES,
    HEADERS,
    MAX_HEADER_BYTES,
    JournalEntry,
)
from emulator.server.engine.state.rules import PlacedFault
from emulator.server.storage.database import DatabaseLost

Header = tuple[bytes, bytes]

# The member of the scope of a request of the contract.
EXCHANGE = "emulator.exchange"
JSON: Header = (b"content-type", b"application/json")
# Of a request without a response.
NO_STATUS = 0
FIRST_ERROR = 400
_TOO_MANY_REQUESTS = 429
_STORED = [name.encode() for name in HEADERS]

logger = logging.getLogger(__name__)


def bearer_key(headers: Iterable[Header]) -> str:
    """The Bearer key (contract, section 5).

    Raises MissingApiKey; InvalidApiKey when it is not ASCII, or the header is repeated.
    """
    values = [value for name, value in headers if name == b"authorization"]
    if len(values) > 1:
        raise InvalidApiKey(
            f"The header 'Authorization' was received {len(values)} times; the API key is"
            " ambiguous. Send it once."
        )
    if not values:
        raise MissingApiKey
    scheme, _, key = values[0].strip().partition(b" ")
    key = key.strip()
    if scheme.lower() != b"bearer" or not key:
        raise MissingApiKey(_header_flaw(scheme.decode("latin-1")))
    if not key.isascii():
        raise InvalidApiKey
    return key.decode("ascii")


def _header_flaw(scheme: str) -> str:
    if not scheme:
        flaw = "is empty"
    elif scheme.lower() == "bearer":
        flaw = "has no key after 'Bearer'"
    else:
        flaw = f"has the scheme {received(scheme)}, and the scheme must be Bearer"
    return f"The header 'Authorization' {flaw}. Send 'Authorization: Bearer <key>'."


def raw_path_of(scope: Scope) -> bytes:
    """The path of a request as it was sent, without its query."""
    raw_path: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw_path.partition(b"?")[0]


def shown_path(raw: bytes) -> str:
    """A path for a log line: percent-encoded, without keys."""
    path = raw.decode("ascii", "replace").replace('"', "%22").replace("\\", "%5C")
    return mask_keys(path if path.isprintable() else escape_controls(path))


def log_failure(method: str, path: str, error: Exception) -> None:
    """Log an error that no code expects. A lost database was logged when it was noticed."""
    if not isinstance(error, DatabaseLost):
        logger.error("%s %s failed", method, path, exc_info=error)


class Reply:
    """A whole response; without a status, none was sent. `headers` lack the length of the body."""

    __slots__ = ("body", "headers", "status")

    def __init__(
        self, status: int = NO_STATUS, body: bytes = b"", headers: Iterable[Header] = (JSON,)
    ) -> None:
        self.status = status
        self.body = body
        self.headers = list(headers)

    async def send(self, send: Send, *, length: int | None = None) -> None:
        """Send the response; with a `length`, only the first bytes of the body."""
        headers = [*self.headers, (b"content-length", b"%d" % len(self.body))]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        is_whole = length is None
        await send(
            {"type": "http.response.body", "body": self.body[:length], "more_body": not is_whole}
        )


def refused(refusal: Refusal) -> Reply:
    """The response of a refusal."""
    return Reply(status_of(refusal), error_body(refusal), (JSON, *error_headers(refusal)))


class Exchange(msgspec.Struct, eq=False):
    """A request in progress, and its reply once a call or a layer has set it.

    `fault` is the fault rule that applied, `cut` its effect on the connection, and `instead_of` the
    status of the reply that it replaced, if any. `is_of_gateway` marks the error of a gateway in
    front of the service, which is not JSON. `variants` are the variants of the response.
    """

    method: str
    path: str
    raw_path: bytes
    query: bytes
    headers: dict[bytes, bytes]
    receive: Receive
    # Of the monotonic clock.
    started_ms: float
    owner: Owner | None = None
    # The number of resets of the account when the request arrived.
    generation: int = 0
    # Generated when it is first needed.
    request_id: bytes = b""
    reply: Reply | None = None
    body: bytes = b""
    warnings: list[RequestWarning] = []
    variants: tuple[str, ...] = ()
    is_replay: bool = False
    fault: PlacedFault | None = None
    cut: Cut | None = None
    instead_of: int | None = None
    is_of_gateway: bool = False
    _is_read: bool = False
    _too_large: RequestTooLarge | None = None

    def id_of(self, owner: Owner) -> bytes:
        """The id of the request, which is the next one of its owner; always the same."""
        if not self.request_id:
            owner.requests += 1
            self.request_id = ids.request_id(owner.request_stream, owner.requests)
        return self.request_id

    @property
    def is_outdated(self) -> bool:
        """Whether the account was reset since the request arrived."""
        return self.owner is not None and self.owner.account.generation != self.generation

    async def read(self) -> bytes:
        """The body, read once. Raises RequestTooLarge, ClientDisconnect."""
        if not self._is_read:
            self._is_read = True
            try:
                self.body = await read_body(self.headers, self.receive)
            except RequestTooLarge as refusal:
                self._too_large = refusal
        if self._too_large is not None:
            raise self._too_large
        return self.body

    async def read_for_journal(self) -> None:
        """Read the body of a refused request for its journal entry."""
        with suppress(RequestTooLarge):
            await self.read()


def add_to_journal(exchange: Exchange, owner: Owner, reply: Reply, *, ended_ms: float) -> None:
    """Store a request in the journal, unformatted, because this runs for every request."""
    status, body, error = reply.status, reply.body, b""
    if status >= FIRST_ERROR and not exchange.is_of_gateway:
        error = body
    if exchange.cut is Cut.BEFORE_RESPONSE:
        status, body = NO_STATUS, b""
    elif exchange.cut is Cut.IN_BODY:
        body = body[: len(body) // 2]
    size_bytes = ENTRY_BYTES + len(exchange.raw_path) + len(exchange.query)
    size_bytes += len(exchange.body) + len(body)
    headers = []
    for name in _STORED:
        value = exchange.headers.get(name)
        if value is not None:
            stored = value[:MAX_HEADER_BYTES]
            headers.append((name, stored))
            size_bytes += len(stored)
    newest, stored_headers = owner.journal.newest, tuple(headers)
    if newest is not None and newest.headers == stored_headers:
        stored_headers = newest.headers  # one copy for the requests of one client
    owner.journal.add(
        # More than fifteen keywords are a dictionary for Python, which costs two microseconds.
        JournalEntry(
            exchange.request_id,
            owner.account.clock.now(),
            exchange.method,
            exchange.raw_path,
            exchange.query,
            status,
            exchange.body,
            body,
            warnings=slugs_of(exchange.warnings) if exchange.warnings else (),
            variants=exchange.variants,
            error=error,
            is_replay=exchange.is_replay,
            fault=exchange.fault,
            instead_of=exchange.instead_of,
            duration_ms=ended_ms - exchange.started_ms,
            ended_ms=ended_ms,
            retry_after=dict(reply.headers).get(b"retry-after", b"")
            if status == _TOO_MANY_REQUESTS
            else b"",
            headers=stored_headers,
            size_bytes=size_bytes,
        )
    )
