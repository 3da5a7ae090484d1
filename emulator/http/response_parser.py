"""Parses HTTP responses, also those that deviate a little from the standard."""

import asyncio
from typing import Any

import httptools

from .failures import NotHttp

# Deviations in the headers or the body of a response are no reason to doubt its status.
_LENIENCIES = {
    "lenient_headers": True,
    "lenient_chunked_length": True,
    "lenient_transfer_encoding": True,
    "lenient_optional_lf_after_cr": True,
    "lenient_optional_cr_before_lf": True,
    "lenient_optional_crlf_after_chunk": True,
    "lenient_spaces_after_chunk_size": True,
}


class ResponseProtocol(asyncio.Protocol):
    """A connection on which a response arrives.

    `_end` is called at the end of the response, and with the exception of a failure.
    """

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._parser: Any = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(**_LENIENCIES)
        self._received_bytes = 0
        self._status: int | None = None
        self._headers: list[tuple[str, str]] = []
        self._body = bytearray()

    def _end(self, failure: Exception | None) -> None:
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        self._received_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(NotHttp(str(error)))

    # ---- What the parser calls

    def on_message_begin(self) -> None:
        if self._status is None:
            # Those of an interim response, such as 103, are not stored.
            self._headers.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers follow the body.
        if self._status is None:
            self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if not 100 <= status <= 199:
            self._status = status

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self._status is not None:
            self._end(None)
