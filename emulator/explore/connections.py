"""HTTP client that keeps one connection per host, and can send requests at the same moment.

An application that serves one connection at a time is common; more connections would block it.
"""

import asyncio
import json
import socket
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import httptools

from emulator.clock import SystemClock
from emulator.http.addresses import DEFAULT_PORTS, host_with_port
from emulator.http.client import tls_context
from emulator.http.response_parser import response_parser
from emulator.scenarios.values import Json

MAX_RESPONSE_S = 15
MAX_SECOND_RESPONSE_S = 0.5
MAX_RESPONSE_BYTES = 8 * 1024 * 1024
# Shorter than the keep-alive time of usual servers.
MAX_IDLE_MS = 1_000
# Without one of these headers, the end of the connection ends the body.
_BODY_LENGTHS = {"content-length", "transfer-encoding"}
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)

Address = tuple[str, str, int]
"""Scheme, host and port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to an absolute URL."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def address(self) -> Address:
        parts = urlsplit(self.url)
        return parts.scheme, parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]

    def encode(self, *, closes: bool) -> bytes:
        """The bytes of the request; `closes` requests the end of the connection after it."""
        parts = urlsplit(self.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"host": host_with_port(parts.hostname or "", parts.port), **self.headers}
        if self.body or self.method not in {"GET", "DELETE"}:
            headers["content-length"] = str(len(self.body))
        headers["connection"] = "close" if closes else "keep-alive"
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"{self.method} {target} HTTP/1.1\r\n{lines}\r\n"
        return head.encode("utf-8", "surrogateescape") + self.body


@dataclass(frozen=True, kw_only=True)
class Response:
    """A response; without a complete one, `failure` says why and the rest is empty.

    `is_refused`: no connection was possible.
    """

    status: int = 0
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    failure: str | None = None
    is_refused: bool = False

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """The result in one word or phrase."""
        return self.failure or str(self.status)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @cached_property
    def json(self) -> Json:
        """The parsed body, or None when it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


_CLOSED = Response(failure="the connection was closed without a complete response")
_NOT_HTTP = Response(failure="the response is not HTTP")


class _Connection(asyncio.Protocol):
    """A connection to a server, and the response that arrives on it."""

    def __init__(self) -> None:
        self.is_open = True
        self.used_at_ms: float | None = None
        self.received_bytes = 0
        self._has_head = False
        self._headers: list[tuple[str, str]] = []
        self._body = bytearray()
        self._loop = asyncio.get_running_loop()
        self._response: asyncio.Future[Response] = self._loop.create_future()
        self._transport: Any = None
        self._parser = response_parser(self)

    def write(self, content: bytes) -> None:
        self._transport.write(content)

    async def read(self) -> Response:
        """The next response; the connection accepts another request if it is still open."""
        response = await self._response
        if self.is_open:
            self._response, self.received_bytes = self._loop.create_future(), 0
        return response

    def close(self) -> None:
        self.is_open = False
        self._transport.close()

    def _end(self, response: Response, *, is_open: bool = False) -> None:
        self.is_open = is_open
        if not self._response.done():
            self._response.set_result(response)

    def _complete(self, *, is_open: bool) -> None:
        status, body = self._parser.get_status_code(), bytes(self._body)
        self._end(Response(status=status, headers=self._headers, body=body), is_open=is_open)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.received_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._end(_NOT_HTTP)
        if self.received_bytes > MAX_RESPONSE_BYTES:
            self._end(_NOT_HTTP)
            self.close()
        elif _QUICK_ACK is not None and not self._response.done():
            # A server that writes the body separately waits for the acknowledgement, which
            # this side would delay by 40 ms.
            tcp = self._transport.get_extra_info("socket")
            tcp.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    def connection_lost(self, exc: Exception | None) -> None:
        ends_body = self._has_head and not {name for name, _ in self._headers} & _BODY_LENGTHS
        if ends_body and exc is None:
            self._complete(is_open=False)
        self._end(_CLOSED)
        # It refers to this object.
        del self._parser

    def on_message_begin(self) -> None:
        self._headers, self._body, self._has_head = [], bytearray(), False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        # An interim response, such as 100, precedes the response.
        self._has_head = self._parser.get_status_code() >= 200

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self._has_head:
            self._complete(is_open=self._parser.should_keep_alive())


class Connections:
    """Sends requests; idle connections are used again."""

    def __init__(self, wall: SystemClock) -> None:
        self._wall = wall
        self._idle: defaultdict[Address, list[_Connection]] = defaultdict(list)

    async def send(
        self, request: Request, *, timeout_s: float = MAX_RESPONSE_S, closes: bool = False
    ) -> Response:
        """Send a request and return its response; a failure is a response too.

        `closes` requests the end of the connection after it, for other connections to be served.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return await self._send(request, closes=closes)
        except TimeoutError:
            return _no_response(timeout_s)

    async def send_together(self, requests: Sequence[Request]) -> list[Response]:
        """Send requests at the same moment, each on its own connection."""
        self.close()
        try:
            connections = [await _open(request.address) for request in requests]
        except (OSError, TimeoutError) as error:
            return [_no_connection(error)] * len(requests)
        contents = [request.encode(closes=True) for request in requests]
        for part in (slice(-1), slice(-1, None)):
            for connection, content in zip(connections, contents, strict=True):
                connection.write(content[part])
        return await asyncio.gather(*(_read_last(connection) for connection in connections))

    async def send_and_leave(self, request: Request, *, after_ms: int) -> bool:
        """Send a request, and close the connection after a time or with the response.

        Returns whether there was a response.
        """
        self.close()
        try:
            connection = await _open(request.address)
        except (OSError, TimeoutError):
            return False
        connection.write(request.encode(closes=True))
        return (await _read_last(connection, after_ms / 1000)).failure is None

    async def serves_several(self, request: Request) -> bool:
        """Whether the server answers on a second connection while the first one is open."""
        first, second = await self.send(request), Response(failure="")
        idle = self._idle.pop(request.address, [])
        if first.failure is None and idle:
            second = await self.send(request, timeout_s=MAX_SECOND_RESPONSE_S, closes=True)
        for connection in idle:
            connection.close()
        # A server that closes each connection may still serve several; that is not known.
        return second.failure is None

    def close(self) -> None:
        """Close the idle connections."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    async def _send(self, request: Request, *, closes: bool) -> Response:
        address = request.address
        try:
            connection = self._take(self._idle[address]) or await _open(address)
        except OSError as error:
            return _no_connection(error)
        try:
            connection.write(request.encode(closes=closes))
            response = await connection.read()
        except BaseException:
            connection.close()
            raise
        if connection.is_open and not closes:
            connection.used_at_ms = self._wall.monotonic_ms()
            self._idle[address].append(connection)
            return response
        connection.close()
        if response is _CLOSED and connection.used_at_ms and not connection.received_bytes:
            # The server closed it while it was idle.
            return await self._send(request, closes=closes)
        return response

    def _take(self, idle: list[_Connection]) -> _Connection | None:
        while idle:
            connection = idle.pop()
            age_ms = self._wall.monotonic_ms() - (connection.used_at_ms or 0)
            if age_ms < MAX_IDLE_MS and connection.is_open and not connection.received_bytes:
                return connection
            connection.close()
        return None


async def _open(address: Address) -> _Connection:
    """Open a connection. Raises OSError, TimeoutError."""
    scheme, host, port = address
    tls = None if scheme == "http" else tls_context(scheme)
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(MAX_RESPONSE_S):
        return (await loop.create_connection(_Connection, host, port, ssl=tls))[1]


async def _read_last(connection: _Connection, timeout_s: float = MAX_RESPONSE_S) -> Response:
    """The response on a connection that ends with it."""
    try:
        async with asyncio.timeout(timeout_s):
            return await connection.read()
    except TimeoutError:
        return _no_response(timeout_s)
    finally:
        connection.close()


def _no_connection(error: BaseException) -> Response:
    reason = getattr(error, "strerror", None) or str(error) or "no connection"
    return Response(failure=f"no connection: {reason}", is_refused=True)


def _no_response(timeout_s: float) -> Response:
    return Response(failure=f"no response within {timeout_s:g} s")
