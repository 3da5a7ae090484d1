"""HTTP client that keeps one connection per host, and can send requests at the same moment.

An application that serves one connection at a time is common; more connections would block it.
"""

import asyncio
import json
import socket
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from socket import IPPROTO_TCP
from urllib.parse import urlsplit

from emulator.clock import SystemClock
from emulator.http.addresses import DEFAULT_PORTS, host_with_port
from emulator.http.client import tls_context
from emulator.scenarios.values import Json

MAX_RESPONSE_S = 15
MAX_SECOND_RESPONSE_S = 0.5
MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 8 * 1024 * 1024
# Shorter than the keep-alive time of usual servers.
MAX_IDLE_MS = 1_000
_NO_BODY = {204, 304}
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


@dataclass(slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    used_at_ms: float = 0
    is_used: bool = False


class _Closed(Exception):
    """The connection ended before a response; `was_silent`: not a byte of it arrived."""

    def __init__(self, *, was_silent: bool) -> None:
        super().__init__("the connection was closed without a complete response")
        self.was_silent = was_silent


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
            return Response(failure=f"no response within {timeout_s:g} s")

    async def send_together(self, requests: Sequence[Request]) -> list[Response]:
        """Send requests at the same moment, each on its own connection."""
        self.close()
        try:
            async with asyncio.timeout(MAX_RESPONSE_S):
                connections = [await _open(request.address) for request in requests]
        except (OSError, TimeoutError) as error:
            return [_no_connection(error)] * len(requests)
        contents = [request.encode(closes=True) for request in requests]
        for connection, content in zip(connections, contents, strict=True):
            connection.writer.write(content[:-1])
        for connection in connections:
            with suppress(OSError):
                await connection.writer.drain()
        for connection, content in zip(connections, contents, strict=True):
            connection.writer.write(content[-1:])
        return await asyncio.gather(*(_read_last(connection) for connection in connections))

    async def send_and_leave(self, request: Request, *, after_ms: int) -> bool:
        """Send a request, and close the connection after a time or with the response.

        Returns whether there was a response.
        """
        self.close()
        has_response = False
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(MAX_RESPONSE_S):
                connection = await _open(request.address)
            connection.writer.write(request.encode(closes=True))
            with suppress(_Closed, TimeoutError):
                async with asyncio.timeout(after_ms / 1000):
                    await _read(connection)
                    has_response = True
            connection.writer.close()
        return has_response

    async def serves_several(self, request: Request) -> bool:
        """Whether the server answers on a second connection while the first one is open."""
        first, second = await self.send(request), Response(failure="")
        idle = self._idle.pop(request.address, [])
        if first.failure is None and idle:
            second = await self.send(request, timeout_s=MAX_SECOND_RESPONSE_S, closes=True)
        for connection in idle:
            connection.writer.close()
        # A server that closes each connection may still serve several; that is not known.
        return second.failure is None

    def close(self) -> None:
        """Close the idle connections."""
        for connections in self._idle.values():
            for connection in connections:
                connection.writer.close()
        self._idle.clear()

    async def _send(self, request: Request, *, closes: bool) -> Response:
        address = request.address
        try:
            connection = self._take(address) or await _open(address)
        except OSError as error:
            return _no_connection(error)
        try:
            response = await _exchange(connection, request, closes=closes)
        except _Closed as error:
            connection.writer.close()
            if connection.is_used and error.was_silent:
                # The server closed it while it was idle.
                self._idle.pop(address, None)
                return await self._send(request, closes=closes)
            return Response(failure=str(error))
        except BaseException:
            connection.writer.close()
            raise
        if closes or response.header("connection") == "close" or connection.reader.at_eof():
            connection.writer.close()
        else:
            connection.used_at_ms, connection.is_used = self._wall.monotonic_ms(), True
            self._idle[address].append(connection)
        return response

    def _take(self, address: Address) -> _Connection | None:
        idle = self._idle[address]
        while idle:
            connection = idle.pop()
            age_ms = self._wall.monotonic_ms() - connection.used_at_ms
            if age_ms < MAX_IDLE_MS and not connection.reader.at_eof():
                return connection
            connection.writer.close()
        return None


async def _exchange(connection: _Connection, request: Request, *, closes: bool) -> Response:
    try:
        connection.writer.write(request.encode(closes=closes))
        return await _read(connection)
    except OSError:
        raise _Closed(was_silent=True) from None


async def _open(address: Address) -> _Connection:
    scheme, host, port = address
    tls = None if scheme == "http" else tls_context(scheme)
    reader, writer = await asyncio.open_connection(host, port, ssl=tls, limit=MAX_HEAD_BYTES)
    return _Connection(reader, writer)


def _no_connection(error: BaseException) -> Response:
    reason = getattr(error, "strerror", None) or str(error) or "no connection"
    return Response(failure=f"no connection: {reason}", is_refused=True)


async def _read_last(connection: _Connection) -> Response:
    """The response on a connection that ends with it."""
    try:
        async with asyncio.timeout(MAX_RESPONSE_S):
            return await _read(connection)
    except TimeoutError:
        return Response(failure=f"no response within {MAX_RESPONSE_S} s")
    except (OSError, _Closed) as error:
        return Response(failure=str(error))
    finally:
        connection.writer.close()


async def _read(connection: _Connection) -> Response:
    """Read a response. Raises _Closed."""
    reader = connection.reader
    status = 100
    try:
        while status < 200:
            head = await reader.readuntil(b"\r\n\r\n")
            if _QUICK_ACK is not None:
                # A server that writes the body separately waits for the acknowledgement, which
                # this side would delay by 40 ms.
                tcp = connection.writer.get_extra_info("socket")
                tcp.setsockopt(IPPROTO_TCP, _QUICK_ACK, 1)
            status, headers = _parse_head(head)
        body = await _read_body(reader, status, dict(headers))
    except asyncio.IncompleteReadError as error:
        raise _Closed(was_silent=not error.partial) from None
    except (ValueError, asyncio.LimitOverrunError):
        return Response(failure="the response is not HTTP", headers=[("connection", "close")])
    return Response(status=status, headers=headers, body=body)


def _parse_head(head: bytes) -> tuple[int, list[tuple[str, str]]]:
    """The status and the headers. Raises ValueError."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    version, status, *_ = first.split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(first)
    pairs = (line.partition(":") for line in lines)
    headers = [(name.lower(), value.strip()) for name, _, value in pairs]
    if version == "HTTP/1.0" and ("connection", "keep-alive") not in headers:
        headers.append(("connection", "close"))
    return int(status), headers


async def _read_body(
    reader: asyncio.StreamReader, status: int, headers: Mapping[str, str]
) -> bytes:
    """The body. Raises ValueError, IncompleteReadError."""
    if status in _NO_BODY:
        return b""
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _read_chunks(reader)
    length = headers.get("content-length")
    if length is None:
        return await reader.read(MAX_BODY_BYTES) if reader.at_eof() else await _read_rest(reader)
    if int(length) > MAX_BODY_BYTES:
        raise ValueError(length)
    return await reader.readexactly(int(length))


async def _read_rest(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while part := await reader.read(MAX_HEAD_BYTES):
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise ValueError(len(body))
    return bytes(body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        if len(body) + size > MAX_BODY_BYTES:
            raise ValueError(size)
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return bytes(body)
