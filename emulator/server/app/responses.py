"""Processes requests without a task, and writes responses to a connection, whole or cut on purpose.

Header lines that the parser has accepted once mean the same after another usual request line, so
requests that repeat them are recognized by their bytes.
"""

import asyncio
import re
from collections.abc import Coroutine, Sequence
from functools import lru_cache
from typing import Any, Protocol

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from emulator.domain.errors import MalformedHttp, Refusal, UnknownRoute
from emulator.server.api.bodies import MAX_LENGTH_DIGITS
from emulator.server.api.errors import error_body
from emulator.server.api.exchange import Exchange, Header, Headers, lines_of

MAX_HEAD_BYTES = 64 * 1024
# Of each connection.
MAX_HEADS = 16
MAX_LINES_BYTES = 2_048
MAX_LINE_BYTES = 2_048
# Targets of the contract's calls that need no decoding: a path and a query.
USUAL_TARGET = re.compile(rb"(/v1/payments(?:/[0-9A-Za-z_]+)?)(?:\?([0-9A-Za-z_=&%.:,+-]*))?")
_METHODS = {b"GET": "GET", b"POST": "POST"}
_VERSION = b" HTTP/1.1"
_END = b"\r\n\r\n"
# With these, the connection or the body may be processed differently.
_SPECIAL = (b"expect", b"proxy-connection", b"transfer-encoding", b"upgrade")


def has_long_body(headers: Sequence[Header], received: bytes) -> bool:
    """Whether the body of a request has to be limited while it arrives."""
    return max(body_length(headers), len(received)) > HIGH_WATER_LIMIT


def body_length(headers: Sequence[Header]) -> int:
    # The parser has refused other values than digits.
    return int(dict(headers).get(b"content-length", b"0")[:MAX_LENGTH_DIGITS])


def _usual_line(data: bytes, end: int) -> tuple[str, re.Match[bytes]] | None:
    """The method and the target of a usual request line, which ends there."""
    method = _METHODS.get(data[: data.find(b" ")])
    if method is None or end > MAX_LINE_BYTES or data[end - len(_VERSION) : end] != _VERSION:
        return None
    target = USUAL_TARGET.fullmatch(data, len(method) + 1, end - len(_VERSION))
    return target and (method, target)


class KnownHeads:
    """Header lines, each with its headers by name and with the length of the body."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Headers, int]] = {}

    def exchange(self, data: bytes) -> Exchange | None:
        """The request that these bytes are, if they are one usual request with known lines."""
        start, end = data.find(b"\r\n"), data.find(_END) + len(_END)
        headers, length = self._known.get(data[start:end], (None, 0))
        if headers is None or len(data) - end != length:
            return None
        if (line := _usual_line(data, start)) is None:
            return None
        method, target = line
        path, query = target.groups(b"")
        return Exchange(method, path.decode(), path, query, headers, received=data[end:])

    def lacks_body(self, data: bytes) -> bool:
        """Whether these bytes end with known lines, and the body has not arrived."""
        return data.endswith(_END) and self._known.get(data[data.find(b"\r\n") :], ("", 0))[1] > 0

    def add(self, data: bytes, headers: Sequence[Header]) -> None:
        """Add the header lines of a message that begins so, with its headers, if it is usual."""
        start, end = data.find(b"\r\n"), data.find(_END) + len(_END)
        is_short = 0 < end - start <= MAX_LINES_BYTES
        if len(self._known) >= MAX_HEADS or not is_short or data[start:end] in self._known:
            return
        length = body_length(headers)
        is_usual = not any(
            name in _SPECIAL or (name == b"connection" and value.lower() != b"keep-alive")
            for name, value in headers
        )
        if length <= HIGH_WATER_LIMIT and is_usual and _usual_line(data, start):
            self._known[data[start:end]] = (Headers(headers), length)


class _Unobserved:
    """The event of a cycle whose application waits for no message."""

    def set(self) -> None:
        """Do nothing."""


class DirectCycle:
    """The state of one request after another, as uvicorn's cycle, from which it is read."""

    __slots__ = (
        "default_headers",
        "disconnected",
        "keep_alive",
        "response_complete",
        "response_started",
        "waiting_for_100_continue",
    )

    message_event = _Unobserved()

    def __init__(self) -> None:
        self.begin([], keep_alive=True)

    def begin(self, default_headers: list[tuple[bytes, bytes]], *, keep_alive: bool) -> None:
        """Begin the next request."""
        self.default_headers = default_headers
        self.keep_alive = keep_alive
        self.disconnected = False
        self.response_started = False
        self.response_complete = False
        self.waiting_for_100_continue = False


Cycle = RequestResponseCycle | DirectCycle


class Closable(Protocol):
    """The connection as one request sees it."""

    def close(self) -> None:
        """Close the connection when the written data is sent."""

    def on_response_complete(self) -> None:
        """Continue after a response: with the next request, or idle."""


class RequestConnection:
    """The connection of one request; it leaves uvicorn's cycle in the state that `send` would.

    `send` validates each header, which our headers do not need.
    """

    __slots__ = ("_connection", "_cycle", "_method", "_transport", "body_error")

    def __init__(
        self, connection: Closable, transport: asyncio.Transport, cycle: Cycle, *, method: str = ""
    ) -> None:
        self._connection = connection
        self._transport = transport
        self._cycle = cycle
        self.begin(method)

    def begin(self, method: str) -> None:
        """Begin the next request, which has the same cycle."""
        self._method = method
        self.body_error: Refusal | None = None

    def fail_body(self, error: Refusal) -> None:
        """Report that the rest of the body cannot be read: the application sees a disconnect.

        Its response is still written, and is the last one.
        """
        self.body_error = error
        self._cycle.keep_alive = False
        self._cycle.disconnected = True
        self._cycle.message_event.set()

    def reply(self, status: int, header_lines: bytes, body: bytes) -> None:
        cycle = self._cycle
        if cycle.disconnected and self.body_error is None:
            return
        if self._method == "HEAD":
            body = b""
        self._write(_encoded(cycle, status, header_lines, body))
        if not cycle.keep_alive:
            self._connection.close()
        self._end(cycle)

    def break_off(self, status: int, header_lines: bytes, part: bytes) -> None:
        if self._cycle.disconnected:
            return
        self._cycle.keep_alive = False
        self._write(_encoded(self._cycle, status, header_lines, part))
        self._transport.close()
        self._end(self._cycle)

    def hang_up(self) -> None:
        if self._cycle.disconnected:
            return
        self._cycle.keep_alive = False
        self._transport.abort()
        self._end(self._cycle)

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def _end(self, cycle: Cycle) -> None:
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.message_event.set()
        self._connection.on_response_complete()


def head_too_large(*, in_body: bool) -> MalformedHttp:
    what = "trailers and chunk extensions" if in_body else "headers"
    return MalformedHttp(f"The request has more than {MAX_HEAD_BYTES:,} bytes of {what}.")


def error_response(refusal: Refusal, request_id: bytes) -> bytes:
    """The response to bytes that are not a request; it ends the connection."""
    body = error_body(refusal)
    status = b"404 Not Found" if isinstance(refusal, UnknownRoute) else b"400 Bad Request"
    return (
        b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncache-control: no-store\r\n"
        b"request-id: %s\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s"
        % (status, request_id, len(body), body)
    )


def _encoded(cycle: Cycle, status: int, header_lines: bytes, body: bytes) -> bytes:
    if not cycle.keep_alive:
        header_lines += b"connection: close\r\n"
    first_lines = _first_lines(status, *cycle.default_headers)
    return b"%b%b\r\n%b" % (first_lines, header_lines, body)


# The date changes once a second.
@lru_cache(maxsize=64)
def _first_lines(status: int, *headers: Header) -> bytes:
    return STATUS_LINE[status] + lines_of(headers)


class _Steps:
    """Executes a coroutine: up to its first wait at once, and then after each wait.

    A task of asyncio would begin one turn of the event loop later. `asyncio.current_task` is None
    in the coroutine; what needs a task, as `asyncio.timeout` does, has to create one.
    """

    __slots__ = ("_coroutine", "_end", "_in_progress")

    def __init__(
        self, coroutine: Coroutine[Any, Any, None], in_progress: "set[asyncio.Future[Any]]"
    ) -> None:
        self._coroutine = coroutine
        self._in_progress = in_progress
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        in_progress.add(self._end)

    def wait(self, awaited: Any) -> None:
        """Continue after a wait, which is a future, or None for `asyncio.sleep(0)`."""
        if awaited is None:
            asyncio.get_running_loop().call_soon(self._step)
        else:
            # What a task does: the protocol between futures and their tasks.
            awaited._asyncio_future_blocking = False  # noqa: SLF001
            awaited.add_done_callback(self._step)

    def _step(self, _: object = None) -> None:
        try:
            self.wait(self._coroutine.send(None))
        except BaseException as end:
            self._in_progress.discard(self._end)
            self._end.set_result(None)
            # It is cancelled when the database is closed.
            if not isinstance(end, StopIteration | asyncio.CancelledError):
                raise


def run_without_task(
    coroutine: Coroutine[Any, Any, None], in_progress: "set[asyncio.Future[Any]]"
) -> None:
    """Execute a coroutine that raises nothing; if it waits, `in_progress` has a future of it."""
    try:
        awaited = coroutine.send(None)
    except StopIteration:
        return  # Most reads never wait.
    _Steps(coroutine, in_progress).wait(awaited)
