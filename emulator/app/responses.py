"""Writes responses to a connection, whole or cut on purpose, and produces them without a task."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from emulator.api.errors import error_body
from emulator.api.exchange import Message, lines_of
from emulator.domain.errors import Refusal, UnknownRoute


class JoinedWrites:
    """A transport that joins the head and the body of a response into one write.

    uvicorn writes the head and the body separately, which costs a system call and a packet: a
    fifth of the time of a retrieve.
    """

    __slots__ = ("_held", "_loop", "_transport", "is_closing")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.is_closing = transport.is_closing
        self._loop = asyncio.get_running_loop()
        self._held = b""

    def write(self, data: bytes) -> None:
        """Hold a head until its body, or until the next turn of the event loop."""
        if self._held:
            data, self._held = self._held + data, b""
        elif data.startswith(b"HTTP/1.1 "):
            self._held = data
            self._loop.call_soon(self._flush)
            return
        if not self._transport.is_closing():
            self._transport.write(data)

    def write_now(self, data: bytes) -> None:
        """Write data without holding it."""
        if self._held:
            self._flush()
        if not self.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def write_eof(self) -> None:
        self._flush()
        self._transport.write_eof()

    def _flush(self) -> None:
        data, self._held = self._held, b""
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        """Everything else is delegated to the transport."""
        return getattr(self._transport, name)


class _Unobserved:
    """The event of a cycle whose application waits for no message."""

    def set(self) -> None:
        """Do nothing."""


class DirectCycle:
    """The state of a request and its response, as uvicorn's cycle, from which it is read."""

    __slots__ = (
        "default_headers",
        "disconnected",
        "keep_alive",
        "response_complete",
        "response_started",
        "waiting_for_100_continue",
    )

    message_event = _Unobserved()

    def __init__(self, default_headers: list[tuple[bytes, bytes]], *, keep_alive: bool) -> None:
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
        self, connection: Closable, transport: JoinedWrites, cycle: Cycle, *, method: str
    ) -> None:
        self._connection = connection
        self._method = method
        self._transport = transport
        self._cycle = cycle
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
        self._transport.write_now(_encoded(cycle, status, header_lines, body))
        if not cycle.keep_alive:
            self._connection.close()
        self._end(cycle)

    def break_off(self, status: int, header_lines: bytes, part: bytes) -> None:
        if self._cycle.disconnected:
            return
        self._cycle.keep_alive = False
        self._transport.write_now(_encoded(self._cycle, status, header_lines, part))
        self._transport.close()
        self._end(self._cycle)

    def hang_up(self) -> None:
        if self._cycle.disconnected:
            return
        self._cycle.keep_alive = False
        self._transport.abort()
        self._end(self._cycle)

    def _end(self, cycle: Cycle) -> None:
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.message_event.set()
        self._connection.on_response_complete()


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
    first_lines = STATUS_LINE[status] + lines_of(cycle.default_headers)
    if not cycle.keep_alive:
        header_lines += b"connection: close\r\n"
    return b"%b%b\r\n%b" % (first_lines, header_lines, body)


async def no_send(_: Message) -> None:
    """The `send` of a direct answer, which the connection writes."""
    raise NotImplementedError


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
