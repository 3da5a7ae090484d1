"""uvicorn's HTTP protocol with bounds, given to uvicorn through its public option `http`.

uvicorn 0.54 with httptools has three defects that reach merchants; without them this module can go:
- Nothing bounds pipelined requests (1.7 GB in a minute), a head, a chunk extension or trailers.
- A request with `Upgrade` loses its body, because llhttp stops after the head. Java's HTTP client
  offers `Upgrade: h2c` with each request. A server may ignore an upgrade (RFC 9110, 7.8).
- If a client that pipelines disconnects, only its last request ends; a stream before it goes on.
"""

from functools import partial
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from emulator.server.api.layers import TRANSPORT

MAX_WAITING_REQUESTS = 64  # behind the request in progress
MAX_INCOMPLETE_BYTES = 64 * 1024  # bytes that complete no head, no part of a body, no trailers
PIECE_BYTES = 4 * 1024  # fed to the parser before the bounds are checked


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection that exceeds a bound, and ignores upgrades."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.parser: Any = _Parser(self)
        self._incomplete_bytes = 0
        self._before_last: list[RequestResponseCycle] = []

    def connection_lost(self, exc: Exception | None) -> None:
        for request in self._before_last:
            request.disconnected = True
            request.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            if self.transport.is_closing():
                return
            piece = data[start : start + PIECE_BYTES]
            self._incomplete_bytes += len(piece)
            super().data_received(piece)
            is_over = self._incomplete_bytes > MAX_INCOMPLETE_BYTES
            if is_over or len(self.pipeline) > MAX_WAITING_REQUESTS:
                self.transport.abort()

    def on_headers_complete(self) -> None:
        self._incomplete_bytes = 0
        self.scope[TRANSPORT] = self.transport  # type: ignore[literal-required]
        last = self.cycle
        super().on_headers_complete()
        self.cycle.keep_alive &= self.parser.should_keep_alive()  # older versions of uvicorn do not
        if self.pipeline:
            unanswered = [each for each in self._before_last if not each.response_complete]
            self._before_last = [*unanswered, last]

    def on_body(self, body: bytes) -> None:
        self._incomplete_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._incomplete_bytes = 0
        if not self.parser.has_more():
            super().on_message_complete()


class _Parser:
    """httptools' parser, which continues after a head with an upgrade."""

    def __init__(self, protocol: BoundedProtocol) -> None:
        self._protocol = protocol
        self._restart(protocol)

    def _restart(self, target: Any) -> None:
        self._parser = parser = httptools.HttpRequestParser(target)
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.get_http_version, self.get_method = parser.get_http_version, parser.get_method
        self.should_keep_alive = parser.should_keep_alive

    def should_upgrade(self) -> bool:
        return False  # uvicorn then treats the request as one without an upgrade

    def has_more(self) -> bool:
        """Whether a body follows the end of a message: llhttp ends it after an upgrade's head."""
        return self._parser.should_upgrade() and bool(self._framing)

    @property
    def _framing(self) -> bytes:
        # The header lines of the request that say how long its body is.
        names = (b"content-length", b"transfer-encoding")
        return b"".join(b"%b: %b\r\n" % each for each in self._protocol.headers if each[0] in names)

    def feed_data(self, data: bytes) -> None:
        while data:
            try:
                self._parser.feed_data(data)
                data = b""
            except httptools.HttpParserUpgrade as upgrade:
                data, framing = data[upgrade.args[0] :], self._framing
                self._restart(_AfterUpgrade(self._protocol, is_in_copy=bool(framing)))
                if framing:
                    self._parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % framing)


class _AfterUpgrade:
    """Passes the events of a parser to the protocol, without the copy of a head."""

    def __init__(self, protocol: BoundedProtocol, *, is_in_copy: bool) -> None:
        self._protocol = protocol
        self._is_in_copy = is_in_copy
        self.on_body, self.on_message_complete = protocol.on_body, protocol.on_message_complete
        for event in ("on_message_begin", "on_url", "on_header", "on_headers_complete"):
            setattr(self, event, partial(self._pass_on, event))

    def _pass_on(self, event: str, *data: bytes) -> None:
        if not self._is_in_copy:
            getattr(self._protocol, event)(*data)
        self._is_in_copy &= event != "on_headers_complete"
