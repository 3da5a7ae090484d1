"""Serves HTTP/1.1 on one connection: uvicorn's protocol with limits and with our error objects.

It differs from uvicorn's protocol in this:
- an `Upgrade` header is ignored, and the body of its request is read (RFC 9110, section 7.8);
- input that is not HTTP gets an error object, after the responses to the requests before it;
- heads, trailers and chunk extensions are limited in size, incomplete requests in time;
- further requests wait, as bytes, for the response before them, and until their client reads it;
- a client that has ended its side of the connection gets its responses;
- a response is one write, unless it is a stream;
- a usual request of the contract that arrives soon is answered without a task and without ASGI.
"""

import asyncio
import re
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from emulator.clock import SystemClock
from emulator.domain.errors import MalformedHttp
from emulator.server.api.exchange import CONNECTION, Exchange, Headers
from emulator.server.app.gateway import Gateway
from emulator.server.app.received_bytes import Flow, ReceivedBytes
from emulator.server.app.responses import (
    MAX_HEAD_BYTES,
    USUAL_TARGET,
    DirectCycle,
    KnownHeads,
    RequestConnection,
    body_length,
    error_response,
    has_long_body,
    head_too_large,
    run_without_task,
)

# Real time. The contract has no status for a request that never ends, so it gets no response.
MAX_HEAD_MS = 30_000
MAX_BODY_MS = 60_000
# The time in which a client must read some of a pending response.
MAX_UNREAD_MS = 60_000
# How long, and how much, a client may send after the last response; it would get a reset otherwise.
MAX_LINGER_MS = 2_000
MAX_LINGER_BYTES = 16 * 1024 * 1024
# Of further requests; when more wait, reading stops.
MAX_WAITING_BYTES = 4 * 1024

# The parser's position in a message. Not an Enum, because each request changes it three times.
_BETWEEN, _IN_HEAD, _IN_BODY = range(3)
_ADDED_PER_HEADER = len(": \r\n")
# The calls that wait: the end of the client's side is the only sign that nobody waits any more.
_WAITS = re.compile(rb"/(?:stream|wait|status)(?:\?|$)")


class Protocol(HttpToolsProtocol):
    """One connection. `wall` supplies the real time that its limits are measured with."""

    def __init__(self, *args: Any, wall: SystemClock, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._wall = wall
        self._place = _BETWEEN
        self._received = ReceivedBytes()
        # The head of the message in progress so far, or nothing in its body.
        self._start = bytearray()
        # The bytes since the last part of a body, or since the start of the message.
        self._framing_bytes = self._head_bytes = self._ignored_bytes = 0
        self._has_progressed = self._is_replaying_head = self._is_parsing = False
        # Of a head; it is judged when the request line is complete.
        self._error: Exception | None = None
        self._deadline_ms: float | None = None
        self._unread_bytes, self._unread_since_ms = 0, 0.0
        self._request_connection: RequestConnection | None = None
        self._gateway: Gateway = self.config.app  # type: ignore[assignment]
        self._is_for_api = self._has_ended = self._has_eof = self._is_kept_alive = False
        # Whether the request may be answered directly, while its body is read.
        self._is_direct, self._direct_body = False, b""
        self._direct_cycle = DirectCycle()
        self._known_heads = KnownHeads()

    # Called by the transport.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = Flow(self.transport, self._received)
        self._direct_connection = RequestConnection(self, self.transport, self._direct_cycle)
        self._is_for_api = self.server is not None and self._gateway.is_api_port(self.server[1])
        self._deadline_ms = self._wall.monotonic_ms() + MAX_HEAD_MS

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()  # The journal and the log have the request.
        self._received.clear()
        self._request_connection = None  # It refers to this object.
        del self._direct_connection
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection for the responses to the requests that have been received."""
        self._has_eof = True
        if self._is_answering() and not self._received:
            self.cycle.keep_alive = False
        return self._is_kept_for_response()

    def shutdown(self) -> None:
        self._stop_waiting()
        super().shutdown()

    def data_received(self, data: bytes) -> None:
        if self._has_ended:
            self._ignored_bytes += len(data)
            if self._ignored_bytes > MAX_LINGER_BYTES:
                self.transport.abort()
            return
        if self._is_kept_alive:
            self._is_kept_alive = False
            self._deadline_ms = None
        if self._place == _BETWEEN and self._is_for_api and not self._is_busy():
            data = bytes(self._received) + data
            self._received.clear()
            exchange = self._known_heads.exchange(data)
            if exchange is not None:
                self._deadline_ms = None
                self._answer_directly(exchange, keep_alive=True)
                return
            if self._known_heads.lacks_body(data):
                self._received += data
                return
        self._received += data
        self._continue()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._continue()

    def check_progress(self, now_ms: float) -> None:
        """Close the connection if its client has made no progress for too long.

        Called about once a second, with the monotonic time.
        """
        self._stop_waiting()
        unread = self.transport.get_write_buffer_size()
        if unread == 0 or unread != self._unread_bytes:
            self._unread_bytes, self._unread_since_ms = unread, now_ms
        elif now_ms - self._unread_since_ms >= MAX_UNREAD_MS:
            self.transport.abort()
        if self._is_kept_alive and (unread or self._deadline_ms is None):
            self._limit_time()
        if self._deadline_ms is None or now_ms < self._deadline_ms:
            return
        is_our_turn = self.flow.read_paused or (self._place != _IN_BODY and self._is_answering())
        if is_our_turn and not self._has_ended:
            self._limit_time()
        elif unread == 0:
            self.transport.abort()

    def close(self, last_response: bytes = b"") -> None:
        """Write no further response; close the connection when the client has closed it, too.

        A client that is still sending would otherwise get a reset, and might not read the last
        response.
        """
        self._has_ended = True
        self._received.clear()
        if self.transport.is_closing():
            return
        self.transport.write(last_response)
        self._deadline_ms = self._wall.monotonic_ms() + MAX_LINGER_MS
        if self._has_eof:
            self.transport.close()
        else:
            self.flow.resume_reading()
            self.transport.write_eof()

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self._is_replaying_head:
            return
        self._place = _IN_HEAD
        self._head_bytes = 0
        self._has_progressed = True
        self._deadline_ms = None
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_url(self, url: bytes) -> None:
        if not self._is_replaying_head:
            self._head_bytes += len(url)
            self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_replaying_head:
            return
        self._head_bytes += len(name) + len(value) + _ADDED_PER_HEADER
        if self._head_bytes > MAX_HEAD_BYTES:
            raise head_too_large(in_body=self._place == _IN_BODY)
        if self._place == _IN_BODY:
            return  # Trailers may be ignored (RFC 9110, section 6.5.1).
        name = name.lower()
        self.headers.append((name, value))
        if name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"

    def on_headers_complete(self) -> None:
        if self._is_replaying_head:
            return
        head = bytes(self._start)
        if not head.partition(b"\r\n")[0].endswith((b" HTTP/1.1", b" HTTP/1.0")):
            raise httptools.HttpParserError
        self._place = _IN_BODY
        self._head_bytes = 0
        self._has_progressed = True
        self._start.clear()
        self._deadline_ms = None
        self._received.body_left = body_length(self.headers)
        if self._is_for_api:
            self._known_heads.add(head, self.headers)
        if not self.url.startswith(b"/"):
            from emulator.server.app.request_lines import origin_form

            self.url = origin_form(self.url)
        self._direct_body = b""
        is_usual = self._is_for_api and not self.expect_100_continue and not self._is_busy()
        if is_usual and USUAL_TARGET.fullmatch(self.url) and not self.parser.should_upgrade():
            self._is_direct = True
        else:
            self._begin_cycle()

    def on_body(self, body: bytes) -> None:
        self._has_progressed = True
        if self._is_direct:
            self._direct_body += body
            return
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # The parser skips the body; `_ignore_upgrade` reads it.
        self._place = _BETWEEN
        self._has_progressed = True
        self._deadline_ms = None
        if self._is_direct:
            self._is_direct = False
            method, (path, _, query) = self.parser.get_method().decode(), self.url.partition(b"?")
            headers, body = Headers(self.headers), self._direct_body
            is_kept = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
            exchange = Exchange(method, path.decode(), path, query, headers, received=body)
            self._answer_directly(exchange, keep_alive=is_kept)
            return
        cycle = self.cycle
        if cycle.response_complete:
            self._limit_time()  # The response did not wait for the whole body.
            return
        cycle.more_body = False
        cycle.message_event.set()

    def on_response_complete(self) -> None:
        """Continue with the next request, or idle."""
        if self.transport.is_closing() or self._has_ended:
            self._received.clear()
            return
        self._is_kept_alive = self._place == _BETWEEN and not self._received
        self._continue()

    def _begin_cycle(self) -> None:
        """Pass a request to the application, in a task."""
        self._is_direct = False
        url, headers, expects_100 = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects_100
        self.scope["headers"] = headers
        super().on_headers_complete()
        self._request_connection = RequestConnection(
            self, self.transport, self.cycle, method=self.scope["method"]
        )
        self.scope[CONNECTION] = self._request_connection  # type: ignore[literal-required]
        if self._direct_body:
            self.on_body(self._direct_body)

    def _stop_waiting(self) -> None:
        """Pass a request whose body has not arrived to the application, which may refuse it."""
        if self._received and not self._is_busy():
            self._parse_next()
            self._continue()
        if self._is_direct:
            self._begin_cycle()

    def _answer_directly(self, exchange: Exchange, *, keep_alive: bool) -> None:
        """Answer a whole request: its response is written now, or when the database has it."""
        cycle, connection = self._direct_cycle, self._direct_connection
        cycle.begin(self.server_state.default_headers, keep_alive=keep_alive)
        connection.begin(exchange.method)
        self.cycle = cycle  # type: ignore[assignment]
        self._request_connection = connection
        run_without_task(self._gateway.answer(exchange, connection), self.tasks)  # type: ignore[arg-type]

    def _continue(self) -> None:
        """Process received bytes, up to a request that has to wait for the response before it."""
        if self._is_parsing:
            return
        self._is_parsing = True
        while self._received and not (self._has_ended or self.transport.is_closing()):
            if self._place == _BETWEEN and self._is_busy():
                break
            self._parse_next()
        self._is_parsing = False
        if len(self._received) > MAX_WAITING_BYTES:
            self.flow.pause_reading()
        elif self._place != _IN_BODY or not self._is_answering():
            self.flow.resume_reading()
        if self._has_eof and not self._is_kept_for_response():
            self.transport.close()
        is_idle = self._place == _BETWEEN and (self._is_kept_alive or self._is_answering())
        if self._deadline_ms is None and not is_idle:
            self._limit_time()

    def _parse_next(self) -> None:
        """Parse up to the end of a head or of a body, so that no second request begins."""
        piece = self._received.take(is_between=self._place == _BETWEEN)
        self._has_progressed = False
        if self._place == _BETWEEN:
            self._start[:] = piece
            self._framing_bytes = 0
        elif self._place == _IN_HEAD:
            self._start += piece
        try:
            if self._error is not None:
                raise self._error
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade:
                self._ignore_upgrade()
            if self._place == _BETWEEN and self._has_progressed:
                return
            self._check_framing(len(piece))
            if self._is_direct and has_long_body(self.headers, self._direct_body):
                self._begin_cycle()
        except (httptools.HttpParserError, MalformedHttp) as error:
            self._refuse(error)

    def _ignore_upgrade(self) -> None:
        """Continue with a new parser after a head with an `Upgrade` header, where one ends."""
        from emulator.server.app.request_lines import head_with_framing

        closes = not self.parser.should_keep_alive()
        head = head_with_framing(self.headers, self.scope["http_version"], closes=closes)
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._is_replaying_head = True
        self.parser.feed_data(head)
        self._is_replaying_head = False

    def _check_framing(self, received: int) -> None:
        """Limit the bytes that are not part of a body. Raises MalformedHttp."""
        has_progressed = self._has_progressed and not self._start
        self._framing_bytes = 0 if has_progressed else self._framing_bytes + received
        if self._framing_bytes > MAX_HEAD_BYTES:
            raise head_too_large(in_body=self._place == _IN_BODY)

    def _is_answering(self) -> bool:
        return self._request_connection is not None and not self.cycle.response_complete

    def _is_busy(self) -> bool:
        return self.flow.write_paused or self._is_answering()

    def _is_kept_for_response(self) -> bool:
        if not self._is_answering():
            return self.flow.write_paused and bool(self._received)
        is_direct = self._request_connection is self._direct_connection
        return self._place != _IN_BODY and (is_direct or not _WAITS.search(self.url))

    def _limit_time(self) -> None:
        limits_ms = (self.timeout_keep_alive * 1_000, MAX_HEAD_MS, MAX_BODY_MS)
        self._deadline_ms = self._wall.monotonic_ms() + limits_ms[self._place]

    def _refuse(self, error: Exception) -> None:
        """End the connection, after the response to a request whose body has the error."""
        from emulator.server.app.request_lines import body_refusal, is_unfinished, refusal_of

        if self._place != _IN_BODY:
            self._error = error
            if not is_unfinished(self._start):
                refusal = refusal_of(error, self._start, is_first=self._request_connection is None)
                self.close(error_response(refusal, self._gateway.next_request_id()))
            return
        if self._is_direct:
            self._begin_cycle()
        if self._request_connection is not None and self._is_answering():
            self._has_ended = True
            self._request_connection.fail_body(body_refusal(error))
        else:
            self.close()
