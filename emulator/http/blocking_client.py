"""Calls an emulator without asyncio, and with the standard library alone."""

import http.client
import os
import selectors
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from .emulator_calls import MAX_RESPONSE_S, EmulatorCall
from .failures import NotHttp, RequestStage, connection_failure
from .response import HttpResponse
from .tls import tls_context

# Pytest shows the line of the test instead.
__tracebackhide__ = True

T = TypeVar("T")


class IdleConnections:
    """Idle connections to one server; later requests of any thread use them again."""

    def __init__(self) -> None:
        self._idle: list[tuple[int, http.client.HTTPConnection]] = []

    def take(self) -> http.client.HTTPConnection | None:
        # IndexError: there is none, or another thread has taken the last one.
        with suppress(IndexError):
            while True:
                process, connection = self._idle.pop()
                # A connection of another process belongs to the one that forked this one.
                if process == os.getpid() and not _has_ended(connection):
                    return connection
                connection.close()
        return None

    def put(self, connection: http.client.HTTPConnection) -> None:
        self._idle.append((os.getpid(), connection))

    def close(self) -> None:
        while (connection := self.take()) is not None:
            connection.close()


def _has_ended(idle: http.client.HTTPConnection) -> bool:
    """Whether the server has closed the connection: there is something to read before a request."""
    if idle.sock is None:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(idle.sock, selectors.EVENT_READ)
        return bool(selector.select(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingEmulator:
    """Calls one emulator, with or without an API key; `log` is its log file on this machine.

    Of a response at most `max_bytes` are read. Without `idle_connections`, each call has its own
    connection. `verifies`: the certificate of a server with HTTPS must be valid for this system.
    """

    base_url: str
    key: str | None = None
    log: Path | None = None
    timeout_s: float = MAX_RESPONSE_S
    max_bytes: int | None = None
    idle_connections: IdleConnections | None = None
    verifies: bool = True

    def call(self, call: EmulatorCall[T]) -> T:
        """The result of a call. Raises PaymentsEmulatorError."""
        return call.result(self.send(call), self.base_url)

    def send(self, call: EmulatorCall[Any]) -> HttpResponse:
        """The response to a call; every failure is one, too."""
        kept = None if self.idle_connections is None else self.idle_connections.take()
        connection = kept or self._connection()
        is_reusable = False
        try:
            try:
                response = self._response(connection, call)
            except ConnectionError:
                # The server may have processed the request before it closed the connection.
                if kept is None or call.method != "GET":
                    raise
                connection.close()
                response = self._response(connection, call)
            body = response.read(self.max_bytes)
            is_reusable = response.isclosed() and not response.will_close
        except (OSError, http.client.HTTPException) as error:
            return HttpResponse(failure=self._explain(error))
        finally:
            if self.idle_connections is not None and is_reusable:
                self.idle_connections.put(connection)
            else:
                connection.close()
        headers = [(name.lower(), value) for name, value in response.getheaders()]
        return HttpResponse(status=response.status, headers=headers, body=body)

    def _connection(self) -> http.client.HTTPConnection:
        url = urlsplit(self.base_url)
        host, port, timeout_s = url.hostname or "", url.port, self.timeout_s
        if url.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=timeout_s)
        # Not with the authorities of certifi, which need its package.
        context = ssl.create_default_context() if self.verifies else tls_context(verifies=False)
        return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context)

    def _response(
        self, connection: http.client.HTTPConnection, call: EmulatorCall[Any]
    ) -> http.client.HTTPResponse:
        headers, body = call.encode(self.key)
        path = f"{urlsplit(self.base_url).path}{call.path}"
        connection.request(call.method, path, body or None, headers)
        return connection.getresponse()

    def _explain(self, error: Exception) -> str:
        is_connected = isinstance(error, ConnectionError)
        if isinstance(error, http.client.BadStatusLine) and not is_connected:
            error = NotHttp()
        stage = RequestStage.AWAITING_RESPONSE if is_connected else RequestStage.CONNECTING
        host = urlsplit(self.base_url).hostname or ""
        failure = connection_failure(error, host=host, stage=stage)
        if isinstance(error, TimeoutError):
            failure = f"timed out after {self.timeout_s:g} s"
        return failure if self.log is None else f"{failure}; see its log {self.log}"
