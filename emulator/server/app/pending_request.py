"""A request in progress: its body as it arrives, and its response as it is written."""

import asyncio
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol

from emulator.domain.errors import Refusal, UnknownRoute
from emulator.server.api.errors import error_body
from emulator.server.api.exchange import Header, Message, Reply, lines_of
from emulator.server.app.heads import Head

_STATUS_LINES = {
    int(status): f"HTTP/1.1 {int(status)} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_LAST = b"connection: close\r\n"
_FINAL_RESPONSE = (
    b"%bcontent-type: application/json\r\ncache-control: no-store\r\nrequest-id: %b\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%b"
)


# The date changes once a second.
@lru_cache(maxsize=64)
def first_lines(status: int, *headers: Header) -> bytes:
    """The status line of a response, and the lines of headers."""
    return _STATUS_LINES[status] + lines_of(headers)


def without_reason_phrase(lines: bytes) -> bytes:
    """The first lines with an empty reason phrase, after the blank that it follows."""
    return lines[: len(b"HTTP/1.1 200 ")] + lines[lines.index(b"\r\n") :]


def final_response(refusal: Refusal, request_id: bytes) -> bytes:
    """The response to bytes that are not a request; it ends the connection."""
    status = 404 if isinstance(refusal, UnknownRoute) else 400
    body = error_body(refusal)
    return _FINAL_RESPONSE % (_STATUS_LINES[status], request_id, len(body), body)


class Client(Protocol):
    """The connection of a request."""

    # The members of an ASGI scope that are the same for all requests of a connection.
    addresses: dict[str, Any]
    # Whether its listener serves the contract, and not the pages.
    is_for_api: bool

    def write(self, data: bytes) -> None:
        """Write to the client, if it is still connected."""

    def write_response(
        self, status: int, lines: bytes, body: bytes = b"", *, has_reason_phrase: bool = True
    ) -> None:
        """Write a response after the headers of every response, if the client is connected."""

    async def writable(self) -> None:
        """Return when the client has read most of what was written, or is disconnected."""

    def limit_reading(self) -> None:
        """Read from the client again, if it has not sent too much that waits."""

    def end_response(self) -> None:
        """Continue after the response."""

    def close(self) -> None:
        """Disconnect when everything is written."""

    def abort(self) -> None:
        """Disconnect now."""


class PendingRequest:
    """A request in progress, as its handler sees it.

    `body_error` says why the rest of the body cannot be read, although the client is connected.
    """

    # Class attributes, because most requests never change them.
    body: bytes | bytearray = b""
    body_error: Refusal | None = None
    has_started = has_whole_body = has_response = False
    is_lost = False
    has_reason_phrase = True
    _is_continued = _is_read = False
    _changed: asyncio.Event | None = None

    def __init__(self, client: Client, head: Head) -> None:
        self.client = client
        self.head = head
        self.is_last = head.is_last

    async def receive(self) -> Message:
        """The next part of the body, or the end of the client, as ASGI has them."""
        if self.head.expects_100 and not self._is_continued:
            self._is_continued = True
            self.client.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not (self.is_lost or self.has_response):
            if self.body or (self.has_whole_body and not self._is_read):
                body, self.body = bytes(self.body), bytearray()
                self._is_read = self.has_whole_body
                self.client.limit_reading()
                return {"type": "http.request", "body": body, "more_body": not self._is_read}
            self._changed = self._changed or asyncio.Event()
            self._changed.clear()
            await self._changed.wait()
        return {"type": "http.disconnect"}

    def change(self) -> None:
        """Continue a handler that waits for the body, or for the end of the client."""
        if self._changed is not None:
            self._changed.set()

    def lose(self, reason: Refusal | None = None) -> None:
        """Report that the rest of the request does not arrive.

        With a reason, the client is still connected, and gets the last response.
        """
        self.is_lost = self.is_last = True
        self.body_error = reason
        self.change()

    def reply(self, reply: Reply, more_lines: bytes = b"") -> None:
        """Write a response, or what a fault leaves of it; `more_lines` follow its headers."""
        if self.is_lost and self.body_error is None:
            return
        if reply.is_dropped:
            self.client.abort()
            return
        if reply.is_cut:
            self.is_last = True
        body = b"" if self.head.method == "HEAD" else reply.sent_body
        lines = lines_of(reply.headers) + more_lines if reply.headers else more_lines
        if self.is_last:
            lines += _LAST
        self.client.write_response(
            reply.status, lines, body, has_reason_phrase=self.has_reason_phrase
        )
        if reply.is_cut:
            self.client.close()
        self._end()

    def begin_stream(self, status: int, lines: bytes) -> None:
        """Begin a response whose length is not known yet."""
        if self.head.version == "1.0":
            self.is_last = True
        else:
            lines += b"transfer-encoding: chunked\r\n"
        self.client.write_response(status, lines + _LAST if self.is_last else lines)

    async def send_part(self, part: bytes, *, is_last: bool) -> None:
        """Write a part of a stream; waits until the client has read most of what was written."""
        if self.is_lost:
            return
        if self.head.method != "HEAD":
            if self.head.version != "1.0":
                part = b"%x\r\n%b\r\n" % (len(part), part) if part else b""
                part += b"0\r\n\r\n" if is_last else b""
            self.client.write(part)
        if is_last:
            self._end()
        else:
            await self.client.writable()

    def _end(self) -> None:
        self.has_response = True
        self.body = b""  # nobody reads the rest, which is still received
        if self._changed is not None:
            self._changed.set()
        self.client.end_response()
