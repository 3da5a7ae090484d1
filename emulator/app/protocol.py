"""HTTP on one connection: uvicorn's protocol, with one write a turn and errors in our form."""

import asyncio
import re
import sys
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from emulator.api.errors import error_body
from emulator.api.exchange import LINE, Header
from emulator.app.gateway import Gateway
from emulator.domain.errors import MalformedHttp, Refusal, UnknownRoute

LARGEST_HEAD_BYTES = 64 * 1024

_NOT_IN_AN_ADDRESS = re.compile(rb"[^!-~]")
_REQUEST_LINE = re.compile(rb"([A-Za-z-]{1,32}) (/[!-~]*) HTTP/1\.[01]\r\n")


class JoinedWrites:
    """A transport that joins the head and the body of a response into one write.

    uvicorn writes the head and the body of a response apart, which costs a system call and a
    packet more than they need: a fifth of a retrieve.
    """

    __slots__ = ("_held", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._held = b""

    def write(self, data: bytes) -> None:
        """Hold a head until its body comes, or until the end of the turn."""
        if self._held:
            data, self._held = self._held + data, b""
        elif data.startswith(b"HTTP/1.1 "):
            self._held = data
            self._loop.call_soon(self._flush)
            return
        if not self._transport.is_closing():
            self._transport.write(data)

    def write_now(self, data: bytes) -> None:
        """Write what is whole already."""
        self._flush()
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        data, self._held = self._held, b""
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        """All else is the transport's own."""
        return getattr(self._transport, name)


class _Line:
    """The connection of one request; it leaves uvicorn's cycle as its own `send` would.

    That looks at each header twice, in case an application made one up; ours come from us.
    """

    __slots__ = ("_cycle", "_transport")

    def __init__(self, transport: JoinedWrites, cycle: RequestResponseCycle) -> None:
        self._transport = transport
        self._cycle = cycle

    def reply(self, status: int, headers: list[Header], body: bytes) -> None:
        cycle = self._cycle
        if cycle.disconnected:
            return
        if cycle.scope["method"] == "HEAD":
            body = b""
        self._transport.write_now(_written(cycle, status, headers, body))
        if not cycle.keep_alive:
            self._transport.close()
        _end(cycle)

    def break_off(self, status: int, headers: list[Header], part: bytes) -> None:
        if self._cycle.disconnected:
            return
        self._cycle.keep_alive = False
        self._transport.write_now(_written(self._cycle, status, headers, part))
        self._transport.close()
        _end(self._cycle)

    def hang_up(self) -> None:
        if self._cycle.disconnected:
            return
        self._cycle.keep_alive = False
        self._transport.abort()
        _end(self._cycle)


def _written(cycle: RequestResponseCycle, status: int, headers: list[Header], body: bytes) -> bytes:
    parts = [STATUS_LINE[status]]
    for name, value in cycle.default_headers:
        parts += (name, b": ", value, b"\r\n")
    for name, value in headers:
        parts += (name, b": ", value, b"\r\n")
    if not cycle.keep_alive:
        parts.append(b"connection: close\r\n")
    parts += (b"\r\n", body)
    return b"".join(parts)


def _end(cycle: RequestResponseCycle) -> None:
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.message_event.set()
    cycle.on_response()


def _has_bare_address(request: bytes) -> bool:
    """Whether the address in a request line has characters that belong percent-encoded."""
    method, _, rest = request.partition(b"\r\n")[0].partition(b" ")
    address, _, version = rest.rpartition(b" ")
    is_request = method.isalpha() and version.startswith(b"HTTP/1.")
    return is_request and _NOT_IN_AN_ADDRESS.search(address) is not None


class Protocol(HttpToolsProtocol):
    """One connection."""

    _latest = b""
    _head_bytes = 0
    _is_in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = JoinedWrites(transport)
        super().connection_made(self._transport)  # type: ignore[arg-type]

    def on_message_begin(self) -> None:
        self._head_bytes = 0
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()
        self.scope[LINE] = _Line(self._transport, self.cycle)  # type: ignore[literal-required]

    def data_received(self, data: bytes) -> None:
        self._latest = data
        super().data_received(data)
        self._latest = b""
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > LARGEST_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response(f"The head is over {LARGEST_HEAD_BYTES:,} bytes.")

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP: an error object here, too, and the end of the connection.

        A verb that HTTP does not know is a route that the contract does not have.
        """
        if _has_bare_address(self._latest):
            msg = "The address has characters that must be percent-encoded."
        refusal: Refusal = MalformedHttp(msg)
        line = _REQUEST_LINE.match(self._latest)
        if line and isinstance(sys.exc_info()[1], httptools.HttpParserInvalidMethodError):
            refusal = UnknownRoute(line[1].decode(), line[2].decode("latin-1"))
        body = error_body(refusal)
        gateway: Gateway = self.config.app  # type: ignore[assignment]
        status = b"404 Not Found" if isinstance(refusal, UnknownRoute) else b"400 Bad Request"
        self.transport.write(
            b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncache-control: no-store\r\n"
            b"request-id: %s\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s"
            % (status, gateway.next_request_id(), len(body), body)
        )
        self.transport.close()
