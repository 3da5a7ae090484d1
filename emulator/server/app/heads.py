"""Parses the heads and the chunked bodies of HTTP/1.1 requests with httptools.

Header lines that the parser has accepted once mean the same after another usual request line, so
requests that repeat them are recognized by their bytes: a client sends few different header lines,
and parsing them takes a fifth of the time of a read.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import unquote

import httptools

from emulator.domain.errors import MalformedHttp
from emulator.server.api.bodies import MAX_LENGTH_DIGITS
from emulator.server.api.exchange import Header, Headers

MAX_HEAD_BYTES = 64 * 1024
# Of each connection.
MAX_KNOWN_LINES = 16
MAX_KNOWN_LINES_BYTES = 2_048
MAX_REQUEST_LINE_BYTES = 2_048
# The length of a body in chunks, which its head does not tell.
IN_CHUNKS = -1
HEAD_END = b"\r\n\r\n"
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]+")

_ADDED_PER_HEADER = len(": \r\n")
# Method, path and query of the contract's calls, if the target needs no decoding.
_USUAL_LINE = re.compile(
    rb"(GET|POST) (/v1/payments(?:/[0-9A-Za-z_]+)?)(?:\?([0-9A-Za-z_=&%.:,+-]*))? HTTP/1\.1\r\n"
)
# With these, the connection or the body may be processed differently.
_SPECIAL = (b"expect", b"proxy-connection", b"transfer-encoding", b"upgrade")
_FRAMING = (b"content-length", b"transfer-encoding")
_VERSIONS = (b" HTTP/1.1", b" HTTP/1.0")


class Head(NamedTuple):
    """The head of a request; the names of headers are in lower case.

    `length` is that of the body, or IN_CHUNKS. `by_name` has the last header of each name.
    `is_last` says that the connection ends after the response, and `expects_100` that the client
    waits for `100 Continue` before it sends the body.
    """

    method: str
    path: str
    raw_path: bytes
    query: bytes
    headers: list[Header]
    by_name: Headers
    length: int
    is_last: bool = False
    version: str = "1.1"
    expects_100: bool = False

    @property
    def is_usual(self) -> bool:
        """Whether the target is one of the contract's calls."""
        return _USUAL_LINE.match(b"GET %b HTTP/1.1\r\n" % self.raw_path) is not None


class HeadParser:
    """Parses one head, in the parts in which it arrives."""

    def __init__(self) -> None:
        self._head: Head | None = None
        self._error: Exception | None = None
        self._parser: Any = httptools.HttpRequestParser(self)
        self._fed = self._size = 0
        self._target = b""
        self._headers: list[Header] = []
        self._version = ""
        self._is_last = False

    def parse(self, received: bytes) -> tuple[Head, int] | None:
        """The head at the start of what was received so far and its length, if it is complete.

        An invalid one is judged when its request line is complete, so that the response does not
        depend on the packets. Raises httptools.HttpParserError, MalformedHttp.
        """
        found = received.find(HEAD_END, max(0, self._fed - len(HEAD_END)))
        end = len(received) if found < 0 else found + len(HEAD_END)
        if self._error is None:
            self._feed(received[self._fed : end])
        if self._error is not None:
            from emulator.server.app.request_lines import is_unfinished

            if is_unfinished(received):
                return None
            raise self._error
        line_end = received.find(b"\r\n")
        if line_end >= 0 and not received[:line_end].endswith(_VERSIONS):
            raise httptools.HttpParserError
        return None if self._head is None else (self._head, end)

    def _feed(self, data: bytes) -> None:
        try:
            # An upgrade is ignored (RFC 9110, section 7.8): the head is complete.
            with suppress(httptools.HttpParserUpgrade):
                self._parser.feed_data(data)
            self._fed += len(data)
            if self._version:
                self._head = self._complete_head()
            elif self._fed > MAX_HEAD_BYTES:
                self._error = head_too_large(in_body=False)
        except httptools.HttpParserError as error:
            # An error after the head is one of the body, and is found when that is decoded.
            self._head = self._complete_head() if self._version else None
            self._error = None if self._version else error
        if self._head or self._error:
            self.close()

    def close(self) -> None:
        """Release the parser, which refers to this object."""
        self._parser = None

    def _complete_head(self) -> Head:
        """Raises httptools.HttpParserError for a target that is none."""
        target, headers = self._target, self._headers
        if not target.startswith(b"/"):
            from emulator.server.app.request_lines import origin_form

            target = origin_form(target)
        url = httptools.parse_url(target)
        path = url.path.decode("ascii")
        by_name = Headers(headers)
        return Head(
            method=self._parser.get_method().decode("ascii"),
            path=unquote(path) if "%" in path else path,
            raw_path=url.path,
            query=url.query or b"",
            headers=headers,
            by_name=by_name,
            length=_body_length(headers),
            is_last=self._is_last,
            version=self._version,
            expects_100=by_name.get(b"expect", b"").lower() == b"100-continue",
        )

    # Called by the parser.

    def on_url(self, url: bytes) -> None:
        self._size += len(url)
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._size += len(name) + len(value) + _ADDED_PER_HEADER
        if self._size > MAX_HEAD_BYTES:
            raise head_too_large(in_body=False)
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._version = self._parser.get_http_version()
        # After the message, the parser does not know it any more.
        self._is_last = self._version == "1.0" or not self._parser.should_keep_alive()


class KnownHeads:
    """Header lines of one connection that the parser has accepted, each with its head."""

    def __init__(self) -> None:
        self._known: dict[bytes, Head] = {}

    def match(self, data: bytes) -> tuple[Head, int] | None:
        """The head at the start of `data` and its length, if its header lines are known."""
        line = _USUAL_LINE.match(data)
        if line is None:
            return None
        line_end = line.end()
        # A head without headers ends with its request line.
        end = data.find(HEAD_END, line_end - 2) + len(HEAD_END)
        head = self._known.get(data[line_end:end])
        if head is None or line_end > MAX_REQUEST_LINE_BYTES:
            return None
        method, path, query = line.groups(b"")
        return Head(
            method.decode(), path.decode(), path, query, head.headers, head.by_name, head.length
        ), end

    def add(self, data: bytes, head: Head) -> None:
        """Add the head that `data` is, if its repetition needs no parser."""
        line = _USUAL_LINE.match(data)
        lines = b"" if line is None else data[line.end() :]
        is_usual = not any(
            name in _SPECIAL or (name == b"connection" and value.lower() != b"keep-alive")
            for name, value in head.headers
        )
        has_room = len(self._known) < MAX_KNOWN_LINES
        if has_room and is_usual and 0 < len(lines) <= MAX_KNOWN_LINES_BYTES:
            self._known[lines] = head


class ChunkedBody:
    """Decodes a body in chunks, in the parts in which it arrives."""

    def __init__(self, head: Head) -> None:
        """Raises httptools.HttpParserError if the body has another coding."""
        self.is_complete = False
        self._parser: Any = httptools.HttpRequestParser(self)
        self._decoded: list[bytes] = []
        # Of a line that is no data of a chunk: what has arrived of it.
        self._line = bytearray()
        self._data_bytes_left = self._trailer_bytes = 0
        self._has_begun = self._is_last_chunk = False
        framing = [b"%b: %b\r\n" % header for header in head.headers if header[0] in _FRAMING]
        version = head.version.encode()
        self._parser.feed_data(b"POST / HTTP/%b\r\n%b\r\n" % (version, b"".join(framing)))

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """The decoded part, and the bytes after the body.

        The parser gets the data of a chunk, or one line, so that it gets no byte after the body,
        and the limit of a line does not depend on the packets. Raises httptools.HttpParserError,
        MalformedHttp.
        """
        at = 0
        while at < len(data) and not self.is_complete:
            if self._data_bytes_left:
                end = min(len(data), at + self._data_bytes_left)
                self._data_bytes_left -= end - at
            else:
                end = data.find(b"\n", at) + 1 or len(data)
                self._line += data[at:end]
            self._parser.feed_data(data[at:end])
            at = end
            if len(self._line) > MAX_HEAD_BYTES:
                raise head_too_large(in_body=True)
            if self._line.endswith(b"\n"):
                self._end_line()
        decoded, self._decoded = b"".join(self._decoded), []
        if self.is_complete:
            self.close()
        return decoded, data[at:]

    def _end_line(self) -> None:
        """Read the size of the chunk from its line; a line break ends its data."""
        if not self._is_last_chunk and (digits := _CHUNK_SIZE.match(self._line)):
            size = int(digits[0], 16)
            self._is_last_chunk = size == 0
            self._data_bytes_left = size + len(b"\r\n") if size else 0
        self._line.clear()

    def close(self) -> None:
        """Release the parser, which refers to this object."""
        self._parser = None

    # Called by the parser.

    def on_body(self, body: bytes) -> None:
        self._decoded.append(body)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Limit trailers, which may be ignored (RFC 9110, section 6.5.1)."""
        if self._has_begun:
            self._trailer_bytes += len(name) + len(value) + _ADDED_PER_HEADER
            if self._trailer_bytes > MAX_HEAD_BYTES:
                raise head_too_large(in_body=True)

    def on_headers_complete(self) -> None:
        self._has_begun = True

    def on_message_complete(self) -> None:
        self.is_complete = True


def _body_length(headers: Iterable[Header]) -> int:
    """The length of a body. The parser has refused other values than digits."""
    length = 0
    for name, value in headers:
        if name == b"transfer-encoding":
            return IN_CHUNKS
        if name == b"content-length":
            length = int(value[:MAX_LENGTH_DIGITS])
    return length


def head_too_large(*, in_body: bool) -> MalformedHttp:
    what = "trailers and chunk extensions" if in_body else "headers"
    return MalformedHttp(f"The request has more than {MAX_HEAD_BYTES:,} bytes of {what}.")
