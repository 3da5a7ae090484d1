"""One request of the contract and its answer: what is known of them on the way."""

import errno
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from emulator.api.bodies import read_body
from emulator.api.request_warnings import RequestWarning, slugs_of
from emulator.domain.errors import Refusal, RequestTooLarge
from emulator.engine.state.account import Owner
from emulator.engine.state.journal import ENTRY_BYTES
from emulator.storage.database import DatabaseLost

if TYPE_CHECKING:
    from emulator.engine.state.rules import FaultCandidate

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

# Where a server that knows its connection puts it: ASGI takes two messages for an answer, and
# cannot cut one off.
LINE = "emulator.line"

_FIRST_ERROR = 400
_NO_DESCRIPTORS = {errno.EMFILE, errno.ENFILE}

logger = logging.getLogger(__name__)


class Connection(Protocol):
    """The connection that a request came on."""

    # Why the rest of the request's body cannot be read, although the client is still there.
    body_error: Refusal | None

    def reply(self, status: int, headers: list[Header], body: bytes) -> None:
        """Write a whole response in one go."""

    def break_off(self, status: int, headers: list[Header], part: bytes) -> None:
        """Write a response up to somewhere in its body, and close the connection."""

    def hang_up(self) -> None:
        """Cut the connection with nothing said."""


def log_failure(scope: Scope, path: str, error: Exception) -> None:
    """Log an error that no code expects, with its traceback.

    A process that cannot open files fails wherever a module is imported late. That is no defect
    of the place, so it is one line. A lost database was logged when it was noticed.
    """
    if isinstance(error, DatabaseLost):
        return
    if getattr(error, "errno", None) in _NO_DESCRIPTORS or isinstance(error, ImportError):
        logger.error("%s %s failed: %s", scope["method"], path, error)
    else:
        logger.error("%s %s failed", scope["method"], path, exc_info=error)


class Reply:
    """What is going to be answered."""

    __slots__ = ("body", "headers", "status")

    is_whole = True

    def __init__(self, status: int, body: bytes, headers: list[Header]) -> None:
        self.status = status
        self.body = body
        self.headers = headers

    @property
    def sent_body(self) -> bytes:
        """What the client gets of the body."""
        return self.body

    @property
    def sent_status(self) -> int:
        """The status that the client gets; 0 for none."""
        return self.status


class CutReply(Reply):
    """One that ends after so many bytes of its body, or (None) is not even begun."""

    __slots__ = ("cut_at",)

    is_whole = False

    def __init__(
        self, status: int, body: bytes, headers: list[Header], *, cut_at: int | None
    ) -> None:
        super().__init__(status, body, headers)
        self.cut_at = cut_at

    @property
    def sent_body(self) -> bytes:
        return b"" if self.cut_at is None else self.body[: self.cut_at]

    @property
    def sent_status(self) -> int:
        return 0 if self.cut_at is None else self.status


class Exchange:
    """A request while it is answered. `odd` is what is tolerated in it, `body` what it carried.

    `fault` is the one that has struck it, and `instead_of` the status of the true answer that it
    spoiled, if there was one.
    """

    # Of the class, since most requests never have them.
    owner: Owner | None = None
    # How often the account had begun anew when the request came.
    generation = 0
    # Known before the answer only where the database stores it.
    request_id: bytes | None = None
    body = b""
    is_replay = False
    fault: "FaultCandidate | None" = None
    instead_of: int | None = None

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.receive = receive
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.odd: list[RequestWarning] = []
        self._is_read = False
        self._too_large: RequestTooLarge | None = None

    @property
    def is_of_another_life(self) -> bool:
        """Whether the account has begun anew since the request came."""
        return self.owner is not None and self.owner.account.generation != self.generation

    async def read(self) -> bytes:
        """The body, which is there to be read once. Raises RequestTooLarge, ClientGone."""
        if not self._is_read:
            self._is_read = True
            try:
                self.body = await read_body(self.headers, self.receive)
            except RequestTooLarge as refusal:
                self._too_large = refusal
        if self._too_large is not None:
            raise self._too_large
        return self.body

    async def keep_body(self) -> None:
        """Read the body of a request that is refused for something else, for the journal."""
        with suppress(RequestTooLarge):
            await self.read()


async def deliver(reply: Reply, send: Send, line: Connection | None) -> None:
    """Answer, or cut the connection; without a line that raises ConnectionResetError."""
    cut_at = reply.cut_at if isinstance(reply, CutReply) else len(reply.body)
    if line is None:
        await _send(reply, send, cut_at)
    elif cut_at is None:
        line.hang_up()
    else:
        line.break_off(reply.status, reply.headers, reply.sent_body)


async def _send(reply: Reply, send: Send, cut_at: int | None) -> None:
    if cut_at is not None:
        start = {"type": "http.response.start", "status": reply.status, "headers": reply.headers}
        await send(start)
        body = {"type": "http.response.body", "body": reply.sent_body}
        await send({**body, "more_body": not reply.is_whole})
    if not reply.is_whole:
        raise ConnectionResetError


def write_down(
    exchange: Exchange, owner: Owner, request_id: bytes, reply: Reply, duration_ms: float
) -> None:
    """Keep a request in the journal; every request comes by here, so nothing is shaped yet."""
    scope, request_body, sent = exchange.scope, exchange.body, reply.body
    status = reply.status
    if not reply.is_whole:
        sent, status = reply.sent_body, reply.sent_status
    path, query = scope.get("raw_path") or b"", scope["query_string"]
    owner.journal.add(
        (
            request_id,
            owner.account.clock.now(),
            scope["method"],
            path,
            query,
            status,
            request_body,
            sent,
            slugs_of(exchange.odd) if exchange.odd else (),
            reply.body if reply.status >= _FIRST_ERROR else b"",
            exchange.is_replay,
            exchange.fault,
            exchange.instead_of,
            duration_ms,
            False,
            ENTRY_BYTES + len(path) + len(query) + len(request_body) + len(sent),
        )
    )
