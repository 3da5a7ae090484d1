"""Sends webhooks over the network, and turns responses and failures into results."""

import asyncio
import ssl
from collections.abc import Callable

from emulator.clock import SystemClock
from emulator.domain.webhooks import MAX_TIMEOUT_MS, AttemptResult, WebhookRequest
from emulator.http.diagnosis import (
    Diagnosis,
    FailedRequest,
    diagnose_failure,
    diagnose_response,
    diagnose_timeout,
)
from emulator.http.exchange import HttpExchange
from emulator.http.name_lookup import NameLookups, run_on_daemon_thread
from emulator.http.tls import tls_context


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
