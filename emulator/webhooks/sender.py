"""Sends webhooks over the network, and turns responses and failures into results."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from emulator.clock import SystemClock
from emulator.domain.webhooks import (
    MAX_TIMEOUT_MS,
    AttemptResult,
    WebhookRequest,
    WebhookResponse,
)
from emulator.http.client import import_httpx, tls_context
from emulator.http.failures import RequestStage
from emulator.http.name_lookup import ip_addresses, run_on_daemon_thread
from emulator.webhooks.diagnosis import (
    Diagnosis,
    FailedRequest,
    diagnose_failure,
    diagnose_response,
    diagnose_timeout,
)

if TYPE_CHECKING:
    import httpcore
    import httpx

MAX_BYTES_READ = 65_536
MAX_STORED_BYTES = 4_096
MAX_STORED_HEADERS = 64
MAX_HEADER_CHARACTERS = 2_048

# One connection for each attempt: an idle one would block a server that serves one at a time, and
# might be reused while the server closes it.
_CONNECTION_HEADERS = (("accept-encoding", "identity"), ("connection", "close"))
# The trace events of httpcore that mark progress.
_STAGES = {
    "connection.connect_tcp.started": RequestStage.CONNECTING,
    "connection.connect_tcp.complete": RequestStage.TLS_HANDSHAKE,
    "http11.send_request_headers.started": RequestStage.AWAITING_RESPONSE,
}


class Sender:
    """Sends webhooks; the modules for this are loaded with the first one.

    It limits neither the number of concurrent requests nor those to one address.
    """

    def __init__(self, wall: SystemClock, *, is_in_container: bool) -> None:
        self._wall = wall
        self._is_in_container = is_in_container
        self._opening: asyncio.Future[httpx.AsyncHTTPTransport] | None = None

    async def send(
        self, request: WebhookRequest, *, timeout_ms: int = MAX_TIMEOUT_MS
    ) -> AttemptResult:
        """Make one attempt; network failures are results, not exceptions.

        It takes at most `timeout_ms` from name resolution to the end of the response. The status
        decides: an incomplete body does not change the result.
        """
        exchange = _Exchange(await self._transport(), request)
        started_ms = self._wall.monotonic_ms()
        has_ended = asyncio.Event()
        task = asyncio.create_task(exchange.run())
        task.add_done_callback(lambda _: has_ended.set())
        try:
            until = self._wall.now_ms() + timeout_ms
            await self._wall.wait(has_ended, until=until)
        finally:
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            task.result()
        return self._result(exchange, timeout_ms, self._wall.monotonic_ms() - started_ms)

    async def close(self) -> None:
        """Close all connections; may be called again, and without any connection."""
        opening, self._opening = self._opening, None
        if opening is None:
            return
        if opening.done():
            await opening.result().aclose()
        else:
            opening.cancel()

    async def _transport(self) -> "httpx.AsyncHTTPTransport":
        if self._opening is None:
            self._opening = run_on_daemon_thread(_open_transport, name="webhook-transport")
        # Cancelling one attempt must not cancel the import for the others.
        return await asyncio.shield(self._opening)

    def _result(self, exchange: "_Exchange", timeout_ms: int, duration_ms: float) -> AttemptResult:
        response = exchange.response
        diagnosis: Diagnosis | None
        if response is not None:
            diagnosis = diagnose_response(response, exchange.url)
        else:
            failed = FailedRequest(
                url=exchange.url, stage=exchange.stage, is_in_container=self._is_in_container
            )
            if exchange.failure is None:
                diagnosis = diagnose_timeout(failed, timeout_ms)
            else:
                diagnosis = diagnose_failure(exchange.failure, failed)
        return AttemptResult(
            response=response,
            error=diagnosis.error if diagnosis else None,
            cause=diagnosis.cause if diagnosis else None,
            duration_ms=duration_ms,
        )


class _Exchange:
    """One request and its progress, which remains when it is cancelled."""

    def __init__(self, transport: "httpx.AsyncHTTPTransport", request: WebhookRequest) -> None:
        self.url = request.url
        self.stage = RequestStage.RESOLVING
        self.failure: Exception | None = None
        self._transport = transport
        self._request = request
        self._stream: httpcore.AsyncNetworkStream | None = None
        self._status: int | None = None
        self._headers: tuple[tuple[str, str], ...] = ()
        self._body = bytearray()

    @property
    def response(self) -> WebhookResponse | None:
        if self._status is None:
            return None
        return WebhookResponse(
            status=self._status,
            headers=self._headers,
            body=self._body[:MAX_STORED_BYTES].decode("utf-8", "replace"),
        )

    async def run(self) -> None:
        import httpx

        try:
            await self._receive(await self._respond())
        # UnicodeError: a host name that cannot be encoded for the domain name system.
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            self.failure = error
        finally:
            # httpcore leaves it open when it is cancelled in the TLS handshake.
            if self._stream is not None:
                await self._stream.aclose()

    async def _respond(self) -> "httpx.Response":
        """Return the response of the first address that accepts the connection."""
        import httpx

        url = httpx.URL(self.url)
        failures: list[httpx.ConnectError] = []
        for address in await ip_addresses(url.raw_host):
            try:
                return await self._transport.handle_async_request(self._http_request(url, address))
            except httpx.ConnectError as error:
                if self.stage is not RequestStage.CONNECTING:
                    raise
                failures.append(error)
        raise failures[0]

    def _http_request(self, url: "httpx.URL", address: str) -> "httpx.Request":
        import httpx

        request = httpx.Request(
            "POST",
            url.copy_with(host=address),
            headers=[
                ("host", url.netloc.decode("ascii")),
                *self._request.headers,
                *_CONNECTION_HEADERS,
            ],
            content=self._request.body,
            extensions={"trace": self._trace, "sni_hostname": url.raw_host.decode("ascii")},
        )
        if not url.userinfo:
            return request
        return next(httpx.BasicAuth(url.username, url.password).auth_flow(request))

    async def _trace(self, event: str, details: Mapping[str, object]) -> None:
        import httpcore

        self.stage = _STAGES.get(event, self.stage)
        stream = details.get("return_value")
        if isinstance(stream, httpcore.AsyncNetworkStream):
            self._stream = stream

    async def _receive(self, received: "httpx.Response") -> None:
        self._status = received.status_code
        self._headers = tuple(
            (_text(name).lower(), _text(value)[:MAX_HEADER_CHARACTERS])
            for name, value in received.headers.raw[:MAX_STORED_HEADERS]
        )
        try:
            async for part in received.aiter_raw():
                self._body += part[: MAX_BYTES_READ - len(self._body)]
                if len(self._body) >= MAX_BYTES_READ:
                    break
        finally:
            await received.aclose()


def _text(header: bytes) -> str:
    return header.decode("utf-8", "replace")


def _open_transport() -> "httpx.AsyncHTTPTransport":
    """httpx without its client, which would keep cookies and fail over redirects.

    The imports take a while, so that this runs on a thread.
    """
    import_httpx()
    import httpx

    return httpx.AsyncHTTPTransport(
        verify=tls_context("https"),
        trust_env=False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
    )
