"""Sends webhooks, and turns responses and failures into results.

Each request has a connection of its own; so has what must leave at the same moment.
"""

import asyncio
import re
import ssl
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine
from functools import lru_cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httptools
from msgspec import Struct

from emulator.clock import SystemClock
from emulator.domain.webhooks import MAX_TIMEOUT_MS, AttemptResult, WebhookRequest, WebhookResponse
from emulator.http.addresses import DEFAULT_PORTS, host_with_port
from emulator.http.diagnosis import (
    Diagnosis,
    FailedRequest,
    diagnose_failure,
    diagnose_response,
    diagnose_timeout,
)
from emulator.http.failures import NotHttp, RequestStage
from emulator.http.name_lookup import NameLookups, connect_to_first, run_on_daemon_thread
from emulator.http.tls import tls_context

_MAX_CACHED_TARGETS = 64
_IPV4_FORM = r"[0-9]+(\.[0-9]+){3}"
# All printable ASCII characters that a request line may contain; percent signs stay as they are.
_SENT_VERBATIM = "!$%&'()*+,-./:;=?@[\\]^_|~"
# Of a response with all that frames it, and of its body.
MAX_RESPONSE_BYTES = 256 * 1024
MAX_BYTES_READ = 65_536
# Headers, chunks and packets: each takes some time, also where it has only one byte.
MAX_RESPONSE_PARTS = 2_000
MAX_STORED_BYTES = 4_096
MAX_STORED_HEADERS = 64
MAX_HEADER_CHARACTERS = 2_048
# The peer of a closed TLS connection has this real time to confirm the end.
MAX_TLS_SHUTDOWN_S = 1

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


class Destination(Struct, frozen=True, kw_only=True):
    """A parsed URL: `host` is ASCII, `address` is the value of the header `Host`.

    `path` has the query. `authorization` is the header's value for a user in the URL.
    """

    is_tls: bool
    host: str
    port: int
    address: str
    path: str
    authorization: str | None


@lru_cache(_MAX_CACHED_TARGETS)
def parse_destination(url: str) -> Destination:
    """Raises ValueError, also for a name that the domain name system cannot contain."""
    parts = urlsplit(url)
    host, port = _ascii_host(parts.netloc, parts.hostname or ""), parts.port
    usual_port = DEFAULT_PORTS[parts.scheme]
    authorization = None
    if parts.username or parts.password:
        user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        authorization = f"Basic {b64encode(user.encode()).decode('ascii')}"
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return Destination(
        is_tls=parts.scheme == "https",
        host=host,
        port=port or usual_port,
        address=host_with_port(host, None if port == usual_port else port),
        path=quote(path, safe=_SENT_VERBATIM),
        authorization=authorization,
    )


def _ascii_host(netloc: str, host: str) -> str:
    """Raises ValueError."""
    if not host.isascii():
        import ada_url  # noqa: PLC0415 - 20 ms, and few names need it

        encoded = ada_url.idna_to_ascii(host).decode()
        if not encoded:
            raise ValueError(f"the host name {host} is not valid")
        return encoded
    if "[" in netloc or re.fullmatch(_IPV4_FORM, host):
        ip_address(host)
    return host


class HttpExchange(asyncio.Protocol):
    """A request and the progress of its response, which remains when `run` is cancelled.

    `failure` is why there is no response; None also before the end.
    """

    def __init__(
        self,
        request: WebhookRequest,
        lookups: NameLookups,
        tls_context: Callable[[], Awaitable[ssl.SSLContext]],
        *,
        method: str = "POST",
    ) -> None:
        self.url = request.url
        self.stage = RequestStage.RESOLVING
        self.failure: Exception | None = None
        self._request = request
        self._method = method
        self._lookups = lookups
        self._tls_context = tls_context
        self._transport: asyncio.Transport | None = None
        self._has_ended = asyncio.Event()
        self._parser: Any = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(**_LENIENCIES)
        self._received_bytes = self._parts = 0
        self._status: int | None = None
        self._headers: list[tuple[str, str]] = []
        self._body = bytearray()

    @property
    def response(self) -> WebhookResponse | None:
        if self._status is None:
            return None
        return WebhookResponse(
            status=self._status,
            headers=tuple(self._headers),
            body=self._body[:MAX_STORED_BYTES].decode("utf-8", "replace"),
        )

    async def connect(self) -> None:
        """Connect, so that `run` sends the request at once; a failure ends the exchange."""
        await self._attempt(self._connect())

    async def run(self) -> None:
        """Send the request and wait for the end of the response, or of the connection."""
        await self._attempt(self._send())

    def close(self) -> None:
        """Close the connection without waiting for the peer."""
        if self._transport is not None:
            self._transport.abort()

    async def _attempt(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        # ValueError: the URL, or a host name that cannot be encoded for the domain name system.
        except (OSError, ValueError) as error:
            self._end(error)
        except asyncio.CancelledError:
            self._has_ended.set()
            self.close()
            raise

    async def _send(self) -> None:
        if self._transport is None and not self._has_ended.is_set():
            await self._connect()
        if self._transport is not None and not self._has_ended.is_set():
            self._transport.write(self._head() + self._request.body)
            await self._has_ended.wait()
            self._transport.close()

    async def _connect(self) -> None:
        """Connect to the first address that accepts the connection."""
        target = parse_destination(self.url)
        addresses = await self._lookups.ip_addresses(target.host.encode("ascii"))
        self.stage = RequestStage.CONNECTING
        self._transport, _ = await connect_to_first(addresses, target.port, lambda: self)
        if target.is_tls:
            await self._start_tls(self._transport, target)
        self.stage = RequestStage.AWAITING_RESPONSE

    async def _start_tls(self, transport: asyncio.Transport, target: Destination) -> None:
        self.stage = RequestStage.TLS_HANDSHAKE
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                transport,
                self,
                await self._tls_context(),
                server_hostname=target.host,
                ssl_shutdown_timeout=MAX_TLS_SHUTDOWN_S,
            )
        except OSError:
            transport.abort()
            raise
        if encrypted is None:
            raise ConnectionResetError
        self._transport = encrypted

    def _head(self) -> bytes:
        target = parse_destination(self.url)
        headers = {
            "host": target.address,
            **dict(self._request.headers),
            "accept-encoding": "identity",
            "connection": "close",
            "Content-Length": str(len(self._request.body)),
        }
        if target.authorization is not None:
            headers["authorization"] = target.authorization
        lines = [f"{self._method} {target.path} HTTP/1.1"]
        lines += (f"{name}: {value}" for name, value in headers.items())
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")

    def _end(self, failure: Exception | None) -> None:
        """The first end of an exchange counts."""
        if not self._has_ended.is_set():
            self.failure = failure if self._status is None else None
            self._has_ended.set()

    # ---- What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._has_ended.is_set():
            return
        self._parts += 1
        data = data[: MAX_RESPONSE_BYTES - self._received_bytes]
        self._received_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(NotHttp(str(error)))
        if self._received_bytes >= MAX_RESPONSE_BYTES or self._parts >= MAX_RESPONSE_PARTS:
            self._end(NotHttp("the response is too long"))
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or ConnectionResetError())

    # ---- What the parser calls

    def _count_part(self) -> None:
        """Raises NotHttp, which ends the parser."""
        self._parts += 1
        if self._parts >= MAX_RESPONSE_PARTS:
            raise NotHttp("the response has too many parts")

    def on_message_begin(self) -> None:
        self._count_part()
        if self._status is None:
            # The headers of an interim response, such as 103, are not stored.
            self._headers.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_part()
        # Trailers follow the body.
        if self._status is None and len(self._headers) < MAX_STORED_HEADERS:
            self._headers.append((_text(name).lower(), _text(value)[:MAX_HEADER_CHARACTERS]))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if not 100 <= status <= 199:
            self._status = status

    def on_body(self, body: bytes) -> None:
        self._count_part()
        self._body += body[: MAX_BYTES_READ - len(self._body)]
        if len(self._body) >= MAX_BYTES_READ:
            self._end(None)

    def on_message_complete(self) -> None:
        if self._status is not None:
            self._end(None)


def _text(header: bytes) -> str:
    return header.decode("utf-8", "replace")


class Sender:
    """Sends webhooks, each on its own connection.

    An idle connection would block a server that serves one at a time, and might be reused while the
    server closes it. The sender limits neither the number of concurrent requests nor those to one
    address, but it looks up few names at the same time.
    """

    def __init__(
        self,
        wall: SystemClock,
        *,
        is_in_container: bool,
        load_tls: Callable[[], ssl.SSLContext] = tls_context,
    ) -> None:
        self._wall = wall
        self._is_in_container = is_in_container
        self._lookups = NameLookups()
        self._exchanges: set[HttpExchange] = set()
        self._loading: asyncio.Future[ssl.SSLContext] | None = None
        self._load_tls = load_tls

    async def send(
        self, request: WebhookRequest, *, timeout_ms: int = MAX_TIMEOUT_MS
    ) -> AttemptResult:
        """Make one attempt; network failures are results, not exceptions.

        It takes at most `timeout_ms` from name resolution to the end of the response. The status
        decides: an incomplete body does not change the result.
        """
        exchange = HttpExchange(request, self._lookups, self._tls_context)
        started_ms = self._wall.monotonic_ms()
        until = self._wall.now_ms() + timeout_ms
        has_ended = asyncio.Event()
        task = asyncio.create_task(exchange.run())
        task.add_done_callback(lambda _: has_ended.set())
        self._exchanges.add(exchange)
        try:
            await self._wall.wait(has_ended, until=until)
        finally:
            self._exchanges.discard(exchange)
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        if not task.cancelled():
            task.result()
        return self._result(exchange, timeout_ms, self._wall.monotonic_ms() - started_ms)

    async def close(self) -> None:
        """Close all connections; may be called again, and without any connection."""
        for exchange in self._exchanges:
            exchange.close()

    async def _tls_context(self) -> ssl.SSLContext:
        """The trusted certificates, read once on a thread because that takes a while."""
        if self._loading is None:
            self._loading = run_on_daemon_thread(self._load_tls, name="tls-context")
        # Cancelling one attempt must not cancel it for the others.
        return await asyncio.shield(self._loading)

    def _result(self, exchange: HttpExchange, timeout_ms: int, duration_ms: float) -> AttemptResult:
        response = exchange.response
        diagnosis: Diagnosis | None
        failed = FailedRequest(
            url=exchange.url, stage=exchange.stage, is_in_container=self._is_in_container
        )
        if response is not None:
            diagnosis = diagnose_response(response, exchange.url)
        elif exchange.failure is None:
            diagnosis = diagnose_timeout(failed, timeout_ms)
        else:
            diagnosis = diagnose_failure(exchange.failure, failed)
        return AttemptResult(
            response=response,
            error=diagnosis.error if diagnosis else None,
            cause=diagnosis.cause if diagnosis else None,
            duration_ms=duration_ms,
        )
