"""Serves HTTP/1.1 on one connection, one request at a time.

A connection is in one of these states:

- *between requests*: its client may be silent for `KEEP_ALIVE_MS`;
- *in a head*, which the client must complete within `MAX_HEAD_MS`;
- *in a body*, which the client must complete within `MAX_BODY_MS`;
- *in progress*: the body is complete, and the response is not written. Further bytes stay unparsed.
  So no request is executed after the response that ends the connection, and their number is
  limited: beyond `MAX_WAITING_BYTES` the socket is not read;
- *ending*: the last response is written. What the client still sends is dropped for a short time,
  because a client that is sending would get a reset, and might not read the response.

The handler of a call of the contract starts when the body is complete. Then it never waits for the
client, and most reads need no task. It starts earlier if the body is long, if the client waits for
`100 Continue`, and if the rest of the body has not arrived after about a second, so that it can
refuse the request early. Any other handler starts after the head.
"""

import asyncio
from typing import Any, cast

import httptools

from emulator.clock import SystemClock
from emulator.domain.errors import MalformedHttp
from emulator.server.api.exchange import Header
from emulator.server.app.gateway import Gateway
from emulator.server.app.heads import (
    IN_CHUNKS,
    ChunkedBody,
    Head,
    HeadParser,
    KnownHeads,
)
from emulator.server.app.pending_request import (
    PendingRequest,
    final_response,
    first_lines,
    without_reason_phrase,
)

# Real time. The contract has no status for a request that never ends, so it gets no response.
KEEP_ALIVE_MS = 75_000
MAX_HEAD_MS = 30_000
MAX_BODY_MS = 60_000
# The time in which a client must read some of a pending response.
MAX_UNREAD_MS = 60_000
# The time for which a client may continue to send after the last response.
MAX_LINGER_MS = 2_000
MAX_LINGER_BYTES = 16 * 1024 * 1024
# Of the requests behind the one in progress, and of a body that its handler has not read.
MAX_WAITING_BYTES = 4 * 1024
MAX_UNREAD_BODY_BYTES = 64 * 1024
# The time for requests in progress at the end, a part of the 0.5 s in which the program ends.
LAST_ANSWERS_S = 0.2

# Calls that wait for something to occur: the end of its side of the connection is the only sign
# that their client is gone.
_WAITING_CALLS = ("/wait", "/stream", "/status")


class ServerState:
    """What a server shares with its connections, as uvicorn has it."""

    def __init__(self) -> None:
        self.connections: set[Connection] = set()
        self.default_headers: list[Header] = []  # of every response


class Connection(asyncio.Protocol):
    """One connection; `wall` supplies the real time that its limits are measured with."""

    def __init__(
        self,
        *,
        gateway: Gateway,
        wall: SystemClock,
        server_state: ServerState,
        **_: object,  # uvicorn passes more to the class that its option `http` names
    ) -> None:
        self._gateway = gateway
        self._wall = wall
        self._state = server_state
        self._transport: asyncio.Transport
        self.addresses: dict[str, Any] = {}
        self.is_for_api = False
        # Received and not processed, with the part of a head that its parser has.
        self._received = b""
        self._parser: HeadParser | None = None
        self._known_heads = KnownHeads()
        # The request whose turn it is, until its body has arrived and its response is written.
        self._request: PendingRequest | None = None
        # The rest of its body: the number of bytes, or the decoder of the chunks.
        self._missing = 0
        self._chunks: ChunkedBody | None = None
        # Done when a client that reads slowly has read most of what was written.
        self._writable: asyncio.Future[None] | None = None
        self._is_processing = self._is_reading_paused = self.has_eof = self._is_ending = False
        self._is_first = True
        self._deadline_ms: float | None = None
        self._lingering_bytes, self._unread_bytes, self._unread_since_ms = 0, 0, 0.0

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._state.connections.add(self)
        get = transport.get_extra_info
        server, client = (tuple(get(name) or ())[:2] or None for name in ("sockname", "peername"))
        scheme = "https" if get("sslcontext") else "http"
        self.addresses = {"server": server, "client": client, "scheme": scheme}
        self.is_for_api = server is not None and self._gateway.is_api_port(server[1])
        self._limit_time(MAX_HEAD_MS)

    def data_received(self, data: bytes) -> None:
        if self._is_ending:
            self._lingering_bytes += len(data)
            if self._lingering_bytes > MAX_LINGER_BYTES:
                self.abort()
            return
        self._received = self._received + data if self._received else data
        self._process()

    def eof_received(self) -> bool:
        """Keep the connection for the responses to the requests that are complete.

        asyncio ends a TLS connection as soon as one side has ended it.
        """
        self.has_eof = True
        request = self._request
        if request is not None:
            request.is_last |= not self._received
            if request.head.path.endswith(_WAITING_CALLS):
                self._lose(request)
                self._end()
        self._process()
        return not self._is_ending and self._transport.can_write_eof()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._state.connections.discard(self)
        self._is_ending = True
        if self._request is not None:
            self._lose(self._request)
        self._release()
        self.resume_writing()

    def pause_writing(self) -> None:
        self._writable = self._writable or asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set_result(None)
            self._writable = None
        self._process()

    # Called by the server.

    def shutdown(self) -> None:
        """End the connection after the response to the request in progress."""
        self._received = b""
        if self._request is None or self._request.has_response:
            self._transport.close()
        else:
            self._request.is_last = True
            self._start(self._request)

    def check_progress(self, now_ms: float) -> None:
        """Disconnect a client without progress; called each second, with the monotonic time."""
        if self._request is not None:
            self._start(self._request)
        unread = self._transport.get_write_buffer_size()
        if unread == 0 or unread != self._unread_bytes:
            self._unread_bytes, self._unread_since_ms = unread, now_ms
        elif now_ms - self._unread_since_ms >= MAX_UNREAD_MS:
            self.abort()
        if unread or not self._is_turn_of_client():
            if not self._is_ending:
                self._deadline_ms = None
        elif self._deadline_ms is None:
            self._deadline_ms = now_ms + self._limit_ms()
        elif now_ms >= self._deadline_ms:
            self.abort()

    # Called by a request.

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def write_response(
        self, status: int, lines: bytes, body: bytes = b"", *, has_reason_phrase: bool = True
    ) -> None:
        if not self._transport.is_closing():
            first = first_lines(status, *self._state.default_headers)
            if not has_reason_phrase:
                first = without_reason_phrase(first)
            self._transport.write(b"%b%b\r\n%b" % (first, lines, body))

    async def writable(self) -> None:
        if self._writable is not None:
            await asyncio.shield(self._writable)

    def end_response(self) -> None:
        request = self._request
        if request is not None and request.is_last:
            self._end()
        elif request is not None and request.has_whole_body:
            self._request = None
            if not self._is_processing:
                self._process()
        else:
            self.limit_reading()  # nobody waits for the rest of the body

    def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def limit_reading(self) -> None:
        """Read from the client, unless too much of what it has sent waits."""
        request = self._request
        # Once it is not read, it is read again when nothing waits.
        limit = 0 if self._is_reading_paused else MAX_WAITING_BYTES
        has_enough = request is not None and (
            len(self._received) > limit or len(request.body) > MAX_UNREAD_BODY_BYTES
        )
        is_paused = not self._is_ending and (self._writable is not None or has_enough)
        if is_paused != self._is_reading_paused and not self._transport.is_closing():
            self._is_reading_paused = is_paused
            (self._transport.pause_reading if is_paused else self._transport.resume_reading)()

    # The states.

    def _process(self) -> None:
        """Process what was received, as long as it is its turn."""
        self._is_processing = True
        try:
            while self._received and self._is_turn_of_client():
                if self._request is not None:
                    self._take_body(self._request)
                elif not self._begin():
                    break
        except (httptools.HttpParserError, MalformedHttp) as error:
            self._refuse(error)
        finally:
            self._is_processing = False
        is_whole = self._request is None or self._request.has_whole_body
        is_idle = is_whole and not (self._received or self._is_reading_paused or self.has_eof)
        if is_idle or self._is_ending:
            return
        if self.has_eof and self._is_turn_of_client():
            if self._request is not None:
                self._lose(self._request)
            self._end()
        elif self._deadline_ms is None and self._limit_ms() != KEEP_ALIVE_MS:
            self._limit_time(self._limit_ms())
        self.limit_reading()

    def _is_turn_of_client(self) -> bool:
        """Whether the connection continues with what the client sends next."""
        if self._writable is not None or self._transport.is_closing():
            return False
        return self._request is None or not (self._request.has_whole_body or self._request.is_lost)

    def _begin(self) -> bool:
        """Begin the next request; false if its head is not complete. Raises MalformedHttp."""
        if self._parser is None:
            known = self._known_heads.match(self._received) if self.is_for_api else None
            if known is not None:
                self._open(*known)
                return True
            self._received = self._received.lstrip(b"\r\n")
            if not self._received:
                # Line breaks between requests do not extend the time of an idle connection.
                if self._deadline_ms is None:
                    self._limit_time(KEEP_ALIVE_MS)
                return False
            self._parser = HeadParser()
            self._deadline_ms = None
        parsed = self._parser.parse(self._received)
        if parsed is None:
            return False
        head, length = parsed
        if self.is_for_api:
            self._known_heads.add(self._received[:length], head)
        self._open(head, length)
        return True

    def _open(self, head: Head, length: int) -> None:
        """Begin the request of a head with that length."""
        self._parser = self._deadline_ms = None
        self._is_first = False
        request = self._request = PendingRequest(self, head)
        end = length + head.length
        is_whole = head.length != IN_CHUNKS and end <= len(self._received)
        if is_whole and not head.expects_100:
            request.body, self._received = self._received[length:end], self._received[end:]
            request.has_whole_body = True
            self._start(request)
            return
        request.body, self._received = bytearray(), self._received[length:]
        self._missing, self._chunks = head.length, None
        if head.length == IN_CHUNKS:
            self._chunks = ChunkedBody(head)
        self._take_body(request)

    def _take_body(self, request: PendingRequest) -> None:
        """Pass what has arrived of a body to its request. Raises MalformedHttp."""
        if self._chunks is not None:
            part, self._received = self._chunks.feed(self._received)
            request.has_whole_body = self._chunks.is_complete
        else:
            part, self._received = self._received[: self._missing], self._received[self._missing :]
            self._missing -= len(part)
            request.has_whole_body = self._missing == 0
        if request.has_whole_body:
            self._deadline_ms = None
        if request.has_response:
            self._request = None if request.has_whole_body else request
            return
        request.body += part
        request.change()
        is_long = max(self._missing, len(request.body)) > MAX_UNREAD_BODY_BYTES
        can_wait = self.is_for_api and request.head.is_usual and not request.head.expects_100
        if request.has_whole_body or is_long or not can_wait:
            self._start(request)

    def _start(self, request: PendingRequest) -> None:
        if request.has_started:
            return
        request.has_started = True
        if self.has_eof:
            request.is_last |= not self._received
            if request.head.path.endswith(_WAITING_CALLS):
                self._end()
                return
        self._gateway.start(request)

    def _lose(self, request: PendingRequest) -> None:
        """Continue without a client: the journal and the log have the request."""
        request.lose()
        self._start(request)

    def _refuse(self, error: Exception) -> None:
        """End the connection after bytes that are not a request, or not its body."""
        from emulator.server.app.request_lines import body_refusal, refusal_of

        request = self._request
        if request is not None and not request.has_response:
            self._received = b""
            request.lose(body_refusal(error))
            self._start(request)
        elif request is not None:
            self._end()
        else:
            is_first = self._is_first
            refusal = refusal_of(error, self._received, is_first=is_first)
            self._end(final_response(refusal, self._gateway.next_request_id()))

    def _end(self, response: bytes = b"") -> None:
        """Write the last response, and drop what the client still sends."""
        self._is_ending = True
        self._release()
        if self._transport.is_closing():
            return
        self._transport.write(response)
        if self.has_eof or not self._transport.can_write_eof():
            self._transport.close()
            return
        self._transport.write_eof()
        self._limit_time(MAX_LINGER_MS)
        self.limit_reading()

    def _release(self) -> None:
        """Drop what belongs to the request in progress."""
        parsers: tuple[Any, ...] = (self._parser, self._chunks)
        for parser in filter(None, parsers):
            parser.close()
        self._received = b""
        self._request = self._parser = self._chunks = None

    def _limit_time(self, limit_ms: int) -> None:
        self._deadline_ms = self._wall.monotonic_ms() + limit_ms

    def _limit_ms(self) -> int:
        if self._parser is not None:
            return MAX_HEAD_MS
        is_in_body = self._request is not None and not self._request.has_whole_body
        return MAX_BODY_MS if is_in_body else KEEP_ALIVE_MS
